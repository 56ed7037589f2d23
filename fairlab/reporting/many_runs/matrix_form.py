"""Schema and reader of ``experiments/PAPER/matrix.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired, Required, TypedDict

from fairlab.checks.foreign import read_yaml, require_form
from fairlab.checks.values import Text
from fairlab.files import check_folder
from fairlab.types import Bounds, FairlabError, Seed

PUBLISHED = Path(__file__).parents[1] / "papers"
Overrides = list[Any]  # texts, or lists of texts shared by YAML anchors
ByScale = dict[str, Overrides | str]  # a sentence instead of overrides states why there is no run


class MatrixFile(TypedDict):
    """Schema of a matrix."""

    seeds: Annotated[list[Seed], Bounds(1, 1_000)]
    options: ByScale
    runs: dict[str, dict[str, Overrides | str | bool]]
    tables: dict[str | int, dict[str, Any]]
    published: NotRequired[str]
    before: NotRequired[dict[str, str]]
    made: NotRequired[dict[str, Overrides]]
    tolerance: NotRequired[dict[str, float]]
    encoders: NotRequired[dict[str, ByScale]]
    tasks: NotRequired[dict[str, ByScale]]


class TableForm(TypedDict, total=False):
    """Schema of a table in a matrix. Rows and columns can differ by scale."""

    rows: Required[dict[str, str | dict[str, Any]]]
    published: str
    title: str
    where: str
    setting: str
    columns: list[str] | dict[str, Any]
    against: str
    averages: dict[str, list[str]]


class RowForm(TypedDict, total=False):
    """Schema of a table row at one scale."""

    run: str
    phase: Text  # empty if only one model was evaluated
    reason: str
    encoder: str
    runs: dict[str, str]


def read_matrix_content(file: Path) -> dict[str, Any]:
    """Read a matrix and check it against the schema.

    Raises:
        FairlabError: The folder contains a link that leads out of it, the file is not YAML, or the content does not fit
            the schema.
    """
    check_folder(file.parent)
    content = read_yaml(file)
    require_form(file, content, MatrixFile)
    named = content.get("published")
    if named is not None and named not in (there := sorted(found.stem for found in PUBLISHED.glob("*.yaml"))):
        raise FairlabError(f"{file}: there are no published tables '{named}'; there are: {', '.join(there)}")
    for key in ("options", "made"):
        for name, overrides in content.get(key, {}).items():
            _require_texts(file, f"{key}.{name}", overrides)
    for key in ("runs", "encoders", "tasks"):
        for name, by_scale in content.get(key, {}).items():
            for scale, overrides in by_scale.items():
                _require_texts(file, f"{key}.{name}.{scale}", overrides)
    for name, table in content["tables"].items():
        require_form(file, table, TableForm, f"tables.{name}")
    return content


def require_row(file: Path, table: str, name: str, row: Any) -> None:
    """Check that a table row at one scale is the id of a run or a :class:`RowForm`."""
    require_form(file, row, str | RowForm, f"tables.{table}.rows.{name}")


def require_columns(file: Path, table: str, columns: Sequence[Any]) -> None:
    """Check that the table columns at one scale have the form BENCHMARK/SUBSET/QUANTITY."""
    for column in columns:
        require_form(file, column, str, f"tables.{table}.columns")
        if column.count("/") != 2:
            raise FairlabError(
                f"{file}: tables.{table}.columns has '{column}', which is not of the form BENCHMARK/SUBSET/QUANTITY"
            )


def _require_texts(file: Path, key: str, overrides: Any) -> None:
    """Check that overrides are texts or nested lists of texts."""
    for number, one in enumerate(overrides if isinstance(overrides, list) else ()):
        if isinstance(one, list):
            _require_texts(file, f"{key}[{number}]", one)
        else:
            require_form(file, one, str, f"{key}[{number}]")
