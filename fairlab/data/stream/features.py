"""Types of dataset columns, as defined by the ``datasets`` library, for inputs and for written output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.backbones.hub import Licence, licence_in
from fairlab.data.stream.formats import FORMATS
from fairlab.data.stream.manifest import NAME, read_manifest
from fairlab.data.stream.rows import TASK
from fairlab.data.stream.saved import opened, saved_folder
from fairlab.types import FairlabError

if TYPE_CHECKING:  # datasets takes seconds to import
    import datasets

NAMES_OF_ROWS = "id"  # augmented rows have new ids, which are text


@dataclass(frozen=True)
class Described:
    """Metadata of an input.

    Attributes:
        features: Types of the input's columns; empty if the input does not declare them.
        licence: Licence named in the input's dataset card; None if no licence is named.
    """

    features: Mapping[str, Any] = field(default_factory=dict)
    licence: Licence = None


def description_of(source: str) -> Described:
    """Return the types of an input's columns, and its licence.

    Args:
        source: Input, as for :func:`fairlab.data.stream.rows.read_rows`. Plain text, JSON and CSV declare no metadata.

    Raises:
        FairlabError: The input contains images, sound or other binary data instead of text.
    """
    path, folder = Path(source), saved_folder(source)
    if (path / NAME).is_file():  # an output of fairlab.augment
        found = Described(_of_columns(path / NAME), licence_in(path))
    elif folder is None and (path.exists() or path.suffix.lower() in FORMATS or source.startswith(TASK)):
        found = Described(_of_parquet(path) if path.suffix.lower() == ".parquet" else {})
    else:
        features = dict(next(iter(opened(source).values())).features or {})
        found = Described(features, licence_in(folder) if folder else _licence_on_hub(source.partition(":")[0]))
    for name, feature in found.features.items():
        if _holds_bytes({name: feature}):
            raise FairlabError(
                f"the column '{name}' of {source} contains bytes, such as pictures or sound; remove it from the data"
            )
    return found


def _of_columns(manifest: Path) -> Mapping[str, Any]:
    """Return the types of the columns listed in a manifest.

    Raises:
        FairlabError: The ``datasets`` library does not know a type.
    """
    import datasets

    columns = read_manifest(manifest).get("columns", {})
    try:
        return datasets.Features.from_dict(columns)
    except Exception as error:  # datasets raises many kinds of errors for invalid types
        raise FairlabError(
            f"{manifest}: 'columns' has types that datasets does not know; run fairlab.augment again"
        ) from error


def _of_parquet(path: Path) -> Mapping[str, Any]:
    """Return the types of the columns in a Parquet file, with label names if ``datasets`` wrote it.

    A column whose type ``datasets`` does not support, such as a map, is left out. The mapping is empty if the file is
    damaged, which is reported later, when it is read.
    """
    import datasets
    import pyarrow
    from pyarrow import parquet

    found: dict[str, Any] = {}
    try:
        schema = parquet.read_schema(path)
    except (pyarrow.ArrowException, OSError):
        return found
    for name in schema.names:
        with suppress(pyarrow.ArrowException, ValueError):
            column = pyarrow.schema([schema.field(name)], schema.metadata)
            found |= datasets.Features.from_arrow_schema(column)
    return found


def _holds_bytes(features: Mapping[str, Any]) -> bool:
    import datasets
    import pyarrow

    def binary(kind: pyarrow.DataType) -> bool:
        if pyarrow.types.is_nested(kind):
            return any(binary(kind.field(number).type) for number in range(kind.num_fields))
        return pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind)

    return binary(datasets.Features(features).arrow_schema.field(0).type)


def _licence_on_hub(name: str) -> Licence:
    from huggingface_hub import DatasetCard

    try:
        return DatasetCard.load(name, ignore_metadata_errors=True).data.license
    except (OSError, ValueError):  # there is no dataset card
        return None


def features_written(files: Sequence[Path], known: Mapping[str, Any]) -> datasets.Features:
    """Return the types of all columns in files of JSON lines, for reading by ``datasets``.

    A column of the input keeps its type if all written values fit it. Any other column gets a type that fits its values
    in all files, or the type JSON if they are of several kinds.
    """
    import datasets
    import pyarrow

    found: dict[str, Any] = {}
    for file in files:
        for name, values in _columns(file):
            if isinstance(found.get(name), datasets.Json):
                continue
            own = None if name == NAMES_OF_ROWS else known.get(name)
            if own is not None and found.get(name, own) is own and _fits(values, own):
                found[name] = own
                continue
            try:
                parts = [pyarrow.schema([(name, pyarrow.array(values).type)])]
                parts += [datasets.Features({name: found[name]}).arrow_schema] if name in found else []
                merged = pyarrow.unify_schemas([part.remove_metadata() for part in parts], promote_options="permissive")
                found[name] = datasets.Features.from_arrow_schema(merged)[name]
            except (pyarrow.ArrowException, ValueError, TypeError):
                found[name] = datasets.Json()
    return datasets.Features(found)


def _columns(file: Path) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name and the values of each column of a file, with None for rows without the column."""
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for name in dict.fromkeys(name for row in rows for name in row):
        yield name, [row.get(name) for row in rows]


def _fits(values: Sequence[Any], feature: Any) -> bool:
    """Return whether JSON values fit a type. Times, dates and decimal numbers are written as text."""
    import datasets
    import pyarrow

    if isinstance(feature, datasets.Json):
        return True
    kind = datasets.Features({"values": feature}).arrow_schema.field("values").type
    for into in (lambda: pyarrow.array(values, type=kind), lambda: pyarrow.array(values).cast(kind)):
        try:
            array = into()
        except (pyarrow.ArrowException, ValueError, TypeError):
            continue
        return not pyarrow.types.is_struct(kind) or _keys(values) <= {part.name for part in array.type}
    return False


def _keys(values: Sequence[Any]) -> set[str]:
    return {key for value in values if value is not None for key in value}
