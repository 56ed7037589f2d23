"""Prompts, each stored as a versioned file with a task and examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fairlab.checks.foreign import require_form
from fairlab.files import sha256
from fairlab.text.reading import read_yaml_text
from fairlab.types import FairlabError

FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Prompt:
    """Contents of a prompt file.

    Attributes:
        name: Name of an included file, or path of a custom one.
        version: Number that increases whenever the file changes.
        sha256: SHA-256 of the file, for the record.
        task: First instruction to the model; ``$words`` are substituted.
        examples: Examples shown as earlier turns of the chat.
        extra: All other keys of the file.
    """

    name: str
    version: int
    sha256: str
    task: str
    examples: tuple[dict[str, str], ...]
    extra: dict[str, Any]

    def file_with(self, examples: Sequence[dict[str, str]]) -> str:
        """Return the content of a prompt file with the same task but other examples."""
        content = {"version": self.version, **self.extra, "task": self.task, "examples": list(examples)}
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)


def load_prompt(name: str) -> Prompt:
    """Load a prompt by the name of an included file or by the path of a custom file.

    Raises:
        FairlabError: There is no such file, or it lacks a key.
    """
    own = Path(name)
    path = own if own.suffix == ".yaml" else FOLDER / f"{name}.yaml"
    if not path.is_file():
        ours = ", ".join(sorted(found.stem for found in FOLDER.glob("*.yaml")))
        raise FairlabError(f"there is no prompt {name}; give the path of a yaml file or one of: {ours}")
    content = read_yaml_text(path, "is not a yaml file")
    if not isinstance(content, dict) or (missing := [key for key in ("version", "task") if key not in content]):
        what = missing[0] if isinstance(content, dict) else "version"
        raise FairlabError(f"the prompt {path} has no key '{what}'; see {FOLDER.name}/counterfactual_group.yaml")
    for key, form in {"version": int, "task": str, "examples": list[dict[str, Any]] | None}.items():
        require_form(path, content.get(key), form, key)
    version, task, examples = content.pop("version"), content.pop("task"), content.pop("examples", None) or []
    return Prompt(name, version, sha256(path), task, tuple(examples), content)
