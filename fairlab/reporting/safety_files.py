"""Files that a safety-ensemble run writes for its report: numbers by harm, and texts by subgroup."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from fairlab.checks.foreign import read_object, require_form
from fairlab.checks.values import Text
from fairlab.types import FairlabError

OVERVIEW = "overview.json"  # file in the record's folder with the data of the figures
LARGEST = "largest_gaps.json"  # file in the record's folder with texts by subgroup
Number = float | None


class Averages(TypedDict):
    """Sliced averages of an identity category.

    ``values`` has one row for each entry of ``rows`` and one column for each entry of ``subgroups``.
    """

    subgroups: list[str]
    rows: list[str]
    values: list[list[Number]]


class Reliability(TypedDict):
    """Mean score (``predicted``) and share of unsafe texts (``observed``) in each tenth of the texts."""

    predicted: list[Number]
    observed: list[Number]


class Gaps(TypedDict):
    """Largest gap between subgroups, averaged over identity categories.

    ``features`` has one value for each source score; ``before`` and ``after`` are the values of the two models.
    """

    features: list[Number]
    before: Number
    after: Number


class Contributions(TypedDict):
    """Contribution of each source score to the models before and after debiasing; empty if a model has none."""

    before: list[float]
    after: list[float]


class HarmOverview(TypedDict):
    """Entry for one harm in ``overview.json``."""

    features: list[str]
    averages: dict[str, Averages]
    reliability: Reliability
    gaps: Gaps
    contributions: Contributions


class LargestGap(TypedDict):
    """Entry for one text in ``largest_gaps.json``."""

    key: Any
    text: Text
    truth: int
    before: float
    after: float
    gap: float


def read_overview(folder: Path) -> dict[str, Any]:
    """Return the numbers in ``overview.json`` by harm, or an empty dict if the run did not write the file.

    Raises:
        FairlabError: The file is damaged, or an entry does not have the form of :class:`HarmOverview`.
    """
    file = folder / OVERVIEW
    content = _read(file, dict[str, HarmOverview])
    for harm, found in content.items():
        count, contributions = len(found["features"]), found["contributions"]
        tables = all(_is_table(one) for one in found["averages"].values())
        curve = len(found["reliability"]["predicted"]) == len(found["reliability"]["observed"])
        each = all(len(contributions[phase]) in (0, count) for phase in contributions)
        if not (tables and curve and each and len(found["gaps"]["features"]) == count):
            raise FairlabError(f"{file}: {harm} has lists of different lengths; put a whole copy of it there")
    return content


def read_largest_gaps(folder: Path) -> dict[str, Any]:
    """Return the texts in ``largest_gaps.json`` by harm and subgroup, or an empty dict without such a file.

    Raises:
        FairlabError: The file is damaged, or an entry does not have the form of :class:`LargestGap`.
    """
    return _read(folder / LARGEST, dict[str, dict[str, list[LargestGap]]])


def _read(file: Path, form: Any) -> dict[str, Any]:
    content = read_object(file) if file.is_file() else {}
    require_form(file, content, form)
    return content


def _is_table(averages: Averages) -> bool:
    rows, columns = len(averages["rows"]), len(averages["subgroups"])
    return len(averages["values"]) == rows and all(len(values) == columns for values in averages["values"])
