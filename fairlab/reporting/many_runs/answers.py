"""Sentences on the settings of a sweep that are nearest to an ideal value."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.reporting.tables.grouping import Choice, best, spoiled
from fairlab.reporting.tables.naming import settings_text


def short_choice(choice: Choice) -> str:
    """Return the user-given name of a group of runs, or, as overrides, the settings that are not defaults."""
    said = {key: value for key, value in choice.settings.items() if value not in ("default", "none")}
    return choice.called or settings_text(said) or choice.name


def nearest_said(choices: Sequence[Choice], key: str, name: str) -> str:
    """Return a short sentence on the settings nearest to the ideal value and the significance of their lead."""
    if not (found := best(choices, key)):
        return ""
    first, alike = found
    point, others = first.points[key], sum(key in choice.points for choice in choices) - 1
    unsound = any(key in choice.points and spoiled(choice.points[key]) for choice in choices)
    said = f"{name}: {short_choice(first)} is nearest to {point.ideal:g}{' of the sound settings' * unsound}"
    if not others:
        return f"{said}, for one choice of settings."
    return f"{said}, but {_not_distinguished(len(alike), others)}." if alike else f"{said} beyond chance."


def _not_distinguished(alike: int, others: int) -> str:
    if others == 1:
        return "the only other setting cannot be distinguished from it"
    if alike == others:
        return f"none of the {others} other settings can be distinguished from it"
    return f"{alike} of the {others} other settings cannot be distinguished from it"


def no_answer(choices: Sequence[Choice]) -> str:
    """Return the reason why no settings can be called nearest to an ideal value."""
    if not choices:
        return "No run finished, so no settings can be compared."
    return "No settings can be called nearest to an ideal value: no sound model has a reading with one."
