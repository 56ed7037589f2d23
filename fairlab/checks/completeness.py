"""Checks of external classes: whether they describe themselves and have all members that runs need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlab.types import FairlabError

HOW = "see docs/extending.md for an example"


def refuse_without_title(kind: type[Any], what: str) -> None:
    """Raise if a class, of the kind ``what``, lacks a title, limits or a citation, which cards and reports need."""
    for name in ("title", "limits", "citation"):
        if not str(getattr(kind, name, "")).strip():
            raise FairlabError(f"the {what} {kind.__name__} has no {name}; give its class one, {HOW}")


def refuse_without(part: Any, names: Iterable[str], what: str, base: str) -> None:
    """Raise if an object lacks members; the message lists all missing ones.

    Args:
        part: Object that a configuration names.
        names: Names of the members.
        what: Kind of the part, such as ``method``.
        base: Class that defines or declares these members.
    """
    if missing := [name for name in names if not hasattr(part, name)]:
        raise FairlabError(
            f"the {what} {type(part).__name__} has no {', '.join(missing)}; derive its class from {base}, and set in "
            f"its constructor the values that {base} leaves open, {HOW}"
        )
