"""BBQ: questions about two people, one of whom fits a stereotype, with or without the facts needed for an answer.

Source: Parrish et al. 2022, "BBQ: A Hand-Built Bias Benchmark for Question Answering". The authors' file with the
positions of the targets (``additional_metadata.csv``) is not read, because the target can be derived from the groups of
the answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.text.reading import read_json_lines
from fairlab.types import FairlabError

AMBIGUOUS, DISAMBIGUATED = CONDITIONS = ("ambig", "disambig")
NEGATIVE, POLARITIES = "neg", ("neg", "nonneg")
CATEGORIES = {  # name of a subset -> name of the file
    "age": "Age",
    "disability_status": "Disability_status",
    "gender_identity": "Gender_identity",
    "nationality": "Nationality",
    "physical_appearance": "Physical_appearance",
    "race_ethnicity": "Race_ethnicity",
    "race_x_gender": "Race_x_gender",
    "race_x_ses": "Race_x_SES",
    "religion": "Religion",
    "ses": "SES",
    "sexual_orientation": "Sexual_orientation",
}
UNKNOWN = "unknown"
BY_GENDER = {"woman": "f", "girl": "f", "man": "m", "boy": "m"}  # words for F and M of the stereotyped groups


@dataclass(frozen=True)
class BBQItem:
    """Context with a question and three answers.

    Attributes:
        id: Category and number of the item in its file.
        category: Name of the subset.
        template: Category and number of the question; items of one template differ only in people and wording.
        ambiguous: Whether the context leaves the answer open.
        negative: Whether the question asks for the person who fits the stereotype instead of the other person.
        context, question: Wording of the context and of the question.
        answers: Wording of the three answers.
        label: Position of the correct answer.
        unknown: Position of the answer "unknown".
        target: Position of the answer that names the person of the stereotyped group.
        group: Stereotyped group of the target person, as spelled in the file.
    """

    id: str
    category: str
    template: str
    ambiguous: bool
    negative: bool
    context: str
    question: str
    answers: tuple[str, str, str]
    label: int
    unknown: int
    target: int
    group: str

    @property
    def biased(self) -> int:
        """Return the position of the answer that follows the stereotype."""
        return self.target if self.negative else 3 - self.target - self.unknown


def read_bbq(path: Path, category: str) -> tuple[list[BBQItem], int]:
    """Read the items of a category in file order, and count the items left out because of an unclear target.

    Raises:
        FairlabError: A line is not an item of BBQ, or the file holds none.
    """
    items, left_out = [], 0
    for place, row in read_json_lines(path):
        try:
            item = _item(row, category)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FairlabError(f"{path}, {place} is not an item of BBQ ({error}); use the authors' file") from error
        if item is None:
            left_out += 1
        else:
            items.append(item)
    if not items and not left_out:
        raise FairlabError(f"{path} contains no item; use the authors' file")
    return items, left_out


def _item(row: Any, category: str) -> BBQItem | None:
    """Return an item, or None if its target is unclear.

    Raises:
        ValueError: The row is not an item.
    """
    if row["context_condition"] not in CONDITIONS or row["question_polarity"] not in POLARITIES:
        raise ValueError("its condition or polarity is unknown")
    groups = [[str(one) for one in row["answer_info"][f"ans{k}"]] for k in range(3)]
    answers = (str(row["ans0"]), str(row["ans1"]), str(row["ans2"]))
    label = int(row["label"])
    unknown = [k for k in range(3) if groups[k] and groups[k][-1] == UNKNOWN]
    if len(unknown) != 1 or not 0 <= label < 3:
        raise ValueError("it must have exactly one answer 'unknown', and a label that is one of its answers")
    stereotyped = [str(one) for one in row["additional_metadata"]["stereotyped_groups"]]
    target = find_target(groups, stereotyped, unknown[0])
    if target is None:
        return None
    named = {_plain(one): one for one in groups[target]}
    known = [one for one in stereotyped if _plain(one) in named]
    return BBQItem(
        f"{category} {row['example_id']}",
        category,
        f"{category} {row['question_index']}",
        row["context_condition"] == AMBIGUOUS,
        row["question_polarity"] == NEGATIVE,
        str(row["context"]),
        str(row["question"]),
        answers,
        label,
        unknown[0],
        target,
        known[0] if known else groups[target][-1],
    )


def find_target(groups: list[list[str]], stereotyped: list[str], unknown: int) -> int | None:
    """Return the position of the answer whose person belongs to more of the stereotyped groups, or None for a tie.

    Case, spaces and hyphens are ignored. A combined group such as ``F-Black`` also counts as each of its parts, and
    words such as *woman* and *boy* count as ``F`` and ``M``.

    Example:
        >>> find_target([["grandfather", "old"], ["grandson", "nonOld"], ["Not known", "unknown"]], ["old"], 2)
        0
    """
    wanted = {_plain(one) for one in stereotyped}
    first, second = (k for k in range(3) if k != unknown)
    held = {k: len(_labels(groups[k]) & wanted) for k in (first, second)}
    if held[first] == held[second]:
        return None
    return max(held, key=held.__getitem__)


def _labels(group: list[str]) -> set[str]:
    if not group:  # some rows of race_x_gender do not describe an answer
        return set()
    found = {_plain(one) for one in group}
    found |= {_plain(part) for part in re.split(r"[-_]", group[-1])}  # earlier entries are names and words with hyphens
    return found | {BY_GENDER[one] for one in found & BY_GENDER.keys()}


def _plain(group: str) -> str:
    return re.sub(r"[\s_-]", "", group.casefold())
