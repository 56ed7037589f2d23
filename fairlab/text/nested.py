"""Access to cells of rows by name, such as ``text``, or ``input.text`` in ``{"input": {"text": ...}}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cell_at(row: Mapping[Any, Any], name: str) -> Any:
    """Return the cell with a given name, or None if there is no such cell.

    The name is a column name, or the names of nested mappings joined by dots. A column whose own name
    contains a dot is preferred.

    Example:
        >>> cell_at({"input": {"text": "She sings."}}, "input.text")
        'She sings.'
    """
    if name in row:
        return row[name]
    outer, _, inner = name.partition(".")
    held = row.get(outer)
    return cell_at(held, inner) if inner and isinstance(held, Mapping) else None


def without_cell(row: Mapping[Any, Any], name: str) -> dict[Any, Any]:
    """Return a row without the named cell (see :func:`cell_at`), and without mappings that become empty.

    Example:
        >>> without_cell({"input": {"text": "She sings."}, "label": 1}, "input.text")
        {'label': 1}
    """
    outer, _, inner = name.partition(".")
    held = row.get(outer)
    if name in row or not inner or not isinstance(held, Mapping):
        return {key: value for key, value in row.items() if key != name}
    kept = without_cell(held, inner)
    return {key: kept if key == outer else value for key, value in row.items() if key != outer or kept}
