"""Pairs of a text and its rewritten text, in which one person has another attribute, each with a control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlab.audit.control import changed_words, control_of
from fairlab.augmentation.perturbation import Perturbation, Rewritten
from fairlab.checks.progress import with_progress
from fairlab.rewriting.word_rewriters import Selection
from fairlab.text.fields import join_fields
from fairlab.types import FairlabError

AT_ONCE = 256  # texts per step of the progress bar


@dataclass(frozen=True)
class Pair:
    """Text of a row before and after one person changes, with its control.

    Attributes:
        row: Position of the row in the data.
        axis, source, target: Axis, and the attributes before and after the change.
        before, after, control: Fields of the three texts.
        words, control_words: Number of words changed in the rewritten text and in the control.
    """

    row: int
    axis: str
    source: str
    target: str
    before: list[str]
    after: list[str]
    control: list[str]
    words: int
    control_words: int


@dataclass(frozen=True)
class Pairs:
    """Pairs of one axis.

    Attributes:
        axis: Name of the axis.
        attributes: Attributes of the axis.
        pairs: At most one pair per row.
        people: Number of rows in which a person's attribute was found.
        rows: Total number of rows.
        faults: Number of rejected rewrites, by reason.
        read: Text that states the error rate of the rule-based rewriter on the axis, as measured for fairlab.
    """

    axis: str
    attributes: tuple[str, ...]
    pairs: list[Pair]
    people: int
    rows: int
    faults: Mapping[str, int]
    read: str

    def __len__(self) -> int:
        return len(self.pairs)


def make_pairs(
    fields: Sequence[Sequence[str]], axis: str, *, mode: Literal["syntax", "lexical"] = "syntax", seed: int = 0
) -> Pairs:
    """Change one person in every text to another attribute of an axis, and make the controls.

    The person and the attribute are drawn by a hash.

    Args:
        fields: Fields of each text.
        axis: Name of a lexicon, or path of a lexicon file.
        mode: Method of finding words, as in :class:`fairlab.augmentation.perturbation.Perturbation`.
        seed: Seed for drawing the persons and target attributes.

    Raises:
        FairlabError: There is no such axis.
    """
    perturbation = Perturbation(axes=[axis], sampling="uniform", mode=mode, seed=seed)
    lexicon = perturbation.lexicons[0]
    texts = [join_fields(some) for some in fields]
    chosen: dict[int, Selection] = {}
    made: list[Rewritten] = []
    parts = [range(k, min(k + AT_ONCE, len(texts))) for k in range(0, len(texts), AT_ONCE)]
    for part in with_progress(parts, f"rewriting by {lexicon.axis}"):
        drawn = perturbation.choose([texts[k] for k in part], [k + 1 for k in part], perturbation.weights([]))
        some = {k: choice for k, choice in zip(part, drawn, strict=True) if choice is not None}
        made += perturbation.rewrite([fields[k] for k in some], list(some.values())) if some else []
        chosen |= some
    pairs, faults = [], Counter[str]()
    for (k, choice), found in zip(chosen.items(), made, strict=True):
        if found.fault[0]:
            faults[found.fault[0]] += 1
            continue
        before, after = list(fields[k]), found.fields
        control, count = control_of(before, after, f"{seed}:{lexicon.axis}:{k}")
        words = sum(changed_words(*both) for both in zip(before, after, strict=True))
        pairs.append(Pair(k, lexicon.axis, choice.source, choice.target, before, after, control, words, count))
    return Pairs(lexicon.axis, lexicon.attributes, pairs, len(chosen), len(texts), dict(faults), lexicon.error_rate)


def refuse_without_people(found: Sequence[Pairs], name: str) -> None:
    """Raise if no text could be rewritten along any axis, so that there is no pair."""
    if not any(found):
        axes = ", ".join(one.axis for one in found)
        raise FairlabError(
            f"no text of {name} names people whose {axes} the rules can change; give data about people, or axis=FILE "
            "with a lexicon of your own"
        )
