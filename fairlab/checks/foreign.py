"""Readers for untrusted JSON, YAML and safetensors files, with size limits and schema checks.

The content is only parsed. It is never imported, interpolated or executed. A file that does not have the expected form
causes an error of one sentence, which names the file, the key and the expected form.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from numpy.typing import NDArray

from fairlab.checks.json_text import DEEPEST, from_json
from fairlab.checks.values import faults
from fairlab.files import MOST_BYTES, read_bounded
from fairlab.types import FairlabError

MERGE = "tag:yaml.org,2002:merge"
MOST_YAML = 1 << 20  # maximum size in bytes; parsing takes about three seconds
MOST_NODES = 1_000_000  # maximum number of values in a YAML file after its aliases are expanded


def read_json(file: Path, most: int = MOST_BYTES) -> Any:
    """Read a JSON file.

    Raises:
        FairlabError: The file is missing, is larger than ``most`` bytes, is not JSON, or is nested too deeply.
    """
    text = read_bounded(file, most)
    try:
        return from_json(text)
    except ValueError as error:
        raise FairlabError(
            f"{file} cannot be read as JSON ({error_text(error)}); replace it with a complete copy"
        ) from error


def read_object(file: Path) -> dict[str, Any]:
    """Read a JSON file that contains an object.

    Raises:
        FairlabError: The content is not an object, or :func:`read_json` fails.
    """
    content = read_json(file)
    if not isinstance(content, dict):
        raise FairlabError(
            f"{file} must contain a JSON object, not a {type(content).__name__}; replace it with a complete copy"
        )
    return content


class _Loader(yaml.SafeLoader):
    """YAML loader that builds no Python objects and accepts no duplicate keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping, and refuse duplicate keys, because YAML would silently use the last value."""
        written = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != MERGE]
        if repeated := [key for key, count in Counter(written).items() if count > 1]:
            raise yaml.YAMLError(f"the key {repeated[0]!a} occurs more than once, {node.start_mark}")
        return super().construct_mapping(node, deep)


def read_yaml(file: Path) -> Any:
    """Read a YAML file in UTF-8 with :func:`parse_yaml`.

    Raises:
        FairlabError: The file is missing or too large, or :func:`parse_yaml` fails.
    """
    return parse_yaml(read_bounded(file), file)


def parse_yaml(text: str, file: Path, otherwise: str = "is not YAML") -> Any:
    """Parse a YAML text that contains one value. Tags of Python objects are refused.

    Args:
        text: YAML text.
        file: File to name in error messages.
        otherwise: Beginning of the error message if the text is not YAML.

    Raises:
        FairlabError: The text is longer than :data:`MOST_YAML`, is not YAML, has duplicate keys in a mapping, is nested
            too deeply, or its aliases expand to more than :data:`MOST_NODES` values.
    """
    refuse_long_yaml(len(text), file)
    try:
        loader = _Loader(text)  # also refuses control characters
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_too_large(file, node)
        return loader.construct_document(node)
    except RecursionError as error:
        raise FairlabError(f"{file} {otherwise} that can be read: it is nested too deeply; flatten it") from error
    except (yaml.YAMLError, ValueError, ArithmeticError) as error:
        raise FairlabError(f"{file} {otherwise}: {error_text(error)}; fix it") from error


def refuse_long_yaml(length: int, file: Path) -> None:
    """Refuse a YAML text of a file that is longer, in bytes or characters, than :data:`MOST_YAML`."""
    if length > MOST_YAML:
        raise FairlabError(f"{file} has more than {MOST_YAML:,} bytes of YAML, the limit for such a file; shorten it")


def require_form(file: Path, content: Any, form: Any, key: str = "") -> None:
    """Refuse content that does not fit a schema; the message describes the first mismatch.

    Args:
        file: File to name in error messages.
        content: Content of the file, or a part of the content.
        form: Type annotation that serves as the schema, such as a ``TypedDict``; see :mod:`fairlab.checks.values`.
        key: Dotted key of the part, or an empty text for the whole content.
    """
    for fault in faults(key, content, form, nodes=False):
        raise FairlabError(f"{file}: {fault.lstrip()}")


def _refuse_too_large(file: Path, root: yaml.Node) -> None:
    """Refuse a YAML tree that is too large, too deep or infinite after its aliases are expanded."""
    known: dict[int, tuple[int, int]] = {}

    def size_and_height(node: yaml.Node, depth: int) -> tuple[int, int]:
        _, height = known.get(id(node), (0, 0))
        if depth + height > DEEPEST:  # this is also true if an alias is inside its own anchor
            raise FairlabError(f"{file} is nested more than {DEEPEST} levels deep; flatten it")
        if not height:
            parts: list[yaml.Node] = []
            if isinstance(node, yaml.MappingNode):
                parts = [part for pair in node.value for part in pair]
            elif isinstance(node, yaml.SequenceNode):
                parts = node.value
            found = [size_and_height(part, depth + 1) for part in parts]
            known[id(node)] = 1 + sum(size for size, _ in found), 1 + max((one for _, one in found), default=0)
        return known[id(node)]

    if size_and_height(root, 1)[0] > MOST_NODES:
        raise FairlabError(
            f"{file} expands to more than {MOST_NODES:,} values through its aliases (*NAME); write them out"
        )


def error_text(error: Exception) -> str:
    """Return the message of an error in one line of at most 200 characters."""
    return " ".join(str(error).split())[:200]


def read_tensors(file: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a safetensors file, by name.

    Raises:
        FairlabError: The file is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not file.is_file():
        raise FairlabError(f"{file} is not a file; put a complete copy of it there")
    try:
        return load_file(file)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:  # numpy lacks bfloat16
        raise FairlabError(f"{file} is damaged ({error_text(error)}); replace it with a complete copy") from error
