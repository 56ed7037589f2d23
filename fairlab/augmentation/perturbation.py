"""Perturbation augmentation: each text is rewritten so that one randomly chosen person has another attribute.

The choices of words and attributes are made first, and can be stored, shared and reused; see
:mod:`fairlab.data.stream.choices`.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2 and algorithm 1.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.protocols import RowAugmentationOnAxes
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.linkers import RULES
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.rewriting.verifiers import load_verifiers
from fairlab.rewriting.word_rewriters import ByAxis, Selection, WordRewriter
from fairlab.text.difference import changes
from fairlab.text.fields import NOT_SPLIT, join_fields, split_fields
from fairlab.text.papers import QIAN_2022
from fairlab.types import Description, Made, QuantityInfo, Row

UNCHANGED = "the rewriter made no change"
EMPTY = "the rewriter left a field empty"
HALF = "a field with a person stayed"  # reason for rejecting a rewrite of only some fields
NO_WORD = "rows without a word of the axes"
IN_DOUBT = "rows with a word of the axes, but without a person who can be rewritten with certainty"
CHOICE = "choice"  # key of a row's choice


PERTURBED = Description(
    "perturbation",
    "Perturbation",
    "How many rows mention a person who could be changed?",
    {
        "perturbed": QuantityInfo(
            "changed rows", "rows in which a person was changed, of all that can be read", "%", low=0.0, high=100.0
        )
    },
    needs=("texts",),
)


@dataclass(frozen=True)
class Rewritten:
    """Result of rewriting one person in a text.

    Attributes:
        fields: Fields of the example after rewriting, or the original fields if the rewritten text was rejected.
        fault: Reason for rejecting the rewritten text, and details; both empty if it was accepted.
        text: Text from the rewriter, even if it was rejected; empty if the rewriter gave no text or made no change.
    """

    fields: list[str]
    fault: tuple[str, str] = ("", "")
    text: str = ""


class Perturbation(RowAugmentationOnAxes):
    """Augmentation that rewrites one person per text to another demographic attribute.

    A text without a perturbable word stays unchanged. For each text, ``choose`` draws a word and a target from K, the
    set of all pairs of a word and another attribute of its axis. The draw depends only on the seed, the text's number
    and its words. ``rewrite`` applies the choices with the rewriter. A rewritten text is accepted only if its number of
    fields is unchanged, no field became empty, no verifier rejects it, and it differs from the original.

    Args:
        axes: Names of lexicons such as ``gender``, or paths of lexicon files.
        sampling: Distribution of the draw: ``uniform`` over K, or ``inverse_frequency``, which weights every pair by
            the inverse frequency of its axis's words in the dataset, so that each axis has the same overall
            probability. The paper only says that its finetuning data used "a modified frequency-based sampling strategy
            that ensures representation of race/ethnicity"; this weighting is not from the paper.
        mode: Method of finding words, see :class:`fairlab.rewriting.perturbable_words.PerturbableWords`.
        linker: Method of finding the words for one person, see :func:`fairlab.rewriting.english.linkers.load_linker`.
        verify: Names of verifiers, see :func:`fairlab.rewriting.verifiers.load_verifiers`; the number of fields is
            always checked.
        choices: File of earlier choices on the same data (``choices.jsonl``), used instead of a draw.
        whole_examples: Whether an example is left unchanged if a field that mentions a person of the axis would stay.
            The label of such a pair may be wrong: *two men climb* and *two women climb*, of which one was changed.
        rewriter: Rewriter that applies choices; None for the rule-based rewriter.
        seed: Seed for the drawn choices and for the first names that rules insert.

    Raises:
        FairlabError: There is no lexicon for an axis.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1 and footnotes 2 and 4; appendix E
    for the filter of harmful phrases.
    """

    title = "perturbation augmentation"
    limits = "One person per text is changed, in English; statements that were true of the person may become false."
    citation = QIAN_2022
    name = "perturbation"
    plan = "fairlab.run.augmenting.perturbing.Perturbing"

    def __init__(
        self,
        *,
        axes: Sequence[str],
        sampling: Literal["uniform", "inverse_frequency"],
        mode: Literal["syntax", "lexical"] = "syntax",
        linker: str = RULES,
        verify: Sequence[str] = ("harms",),
        choices: str | None = None,
        whole_examples: bool = False,
        rewriter: WordRewriter | None = None,
        seed: int = 0,
    ) -> None:
        self.lexicons = [load_lexicon(axis) for axis in axes]
        self.words = PerturbableWords(self.lexicons, mode, linker)
        self.sampling = sampling
        self.choices = None if choices is None else Path(choices)
        self.whole_examples = whole_examples
        self.seed = seed
        self.verifiers = {lexicon.axis: load_verifiers(verify, lexicon) for lexicon in self.lexicons}
        self.rewriter = rewriter or rules(self.lexicons, seed=seed, mode=mode, linker=linker)

    def weights(self, texts: Iterable[str]) -> dict[str, float]:
        """Return the sampling weight of each axis: 1, or the inverse of the number of its words in all texts.

        Words are identified by their neighbours in both modes.
        """
        if self.sampling == "uniform":
            return dict.fromkeys(self.words.finders, 1.0)
        counts = Counter[str]()
        for text in texts:
            for place, count in self.words.attributes(text).items():
                counts[place.partition("/")[0]] += count
        return {axis: 1 / max(1, counts[axis]) for axis in self.words.finders}

    def choose(
        self, texts: Sequence[str], numbers: Sequence[int], weights: Mapping[str, float]
    ) -> list[Selection | None]:
        """Draw a word and a target attribute for every text; None for a text without a perturbable word.

        Args:
            texts: Texts to choose in, each with its fields joined.
            numbers: Number of each text in the dataset, so that draws differ between texts with the same words.
            weights: Sampling weight of each axis, see :meth:`weights`.
        """
        return [
            drawn_selection(found, [weights[one.axis] for one in found], f"{self.seed}:{number}") if found else None
            for found, number in zip(self.words.selections(texts), numbers, strict=True)
        ]

    def reason_to_stay(self, text: str) -> str:
        """Return the name under which a text without a choice is counted: without a word of the axes, or in doubt."""
        return IN_DOUBT if next(self.words.possible(read_cased(text).text), None) else NO_WORD

    def rewrite(self, examples: Sequence[Sequence[str]], chosen: Sequence[Selection]) -> list[Rewritten]:
        """Apply the choices to examples, each given by its fields, and reject faulty rewrites."""
        texts = [join_fields(fields) for fields in examples]
        made = self.rewriter.rewrite_words(texts, chosen)
        return [self._judged(*each) for each in zip(examples, texts, chosen, made, strict=True)]

    def _judged(self, fields: Sequence[str], text: str, choice: Selection, made: str | NotRewritten) -> Rewritten:
        kept = list(fields)
        if isinstance(made, NotRewritten):
            return Rewritten(kept, (f"rewriter: {made.outcome}", made.reason))
        parts = split_fields(made, fields)
        if parts is None:
            return Rewritten(kept, (NOT_SPLIT, f"{len(fields)} fields do not come back"), made)
        if parts == kept:
            return Rewritten(kept, (UNCHANGED, ""))
        if any(before.strip() and not after.strip() for before, after in zip(kept, parts, strict=True)):
            return Rewritten(kept, (EMPTY, "no text came back"), made)
        for verifier in self.verifiers[choice.axis]:
            if finding := verifier.fault(text, {choice.target: made}):
                return Rewritten(kept, (verifier.name, finding), made)
        if self.whole_examples and (stayed := self.words.stayed(kept, parts, choice.axis)):
            return Rewritten(kept, (HALF, stayed[0]), made)
        return Rewritten(parts, text=made)

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return every row, rewritten if possible, in order.

        The row's ``extra`` contains its choice.
        """
        chosen = {k: Selection(**row.extra[CHOICE]) for k, row in enumerate(rows) if row.extra.get(CHOICE)}
        made = self.rewrite([rows[k].fields for k in chosen], list(chosen.values())) if chosen else []
        rewritten = dict(zip(chosen, made, strict=True))
        return [self._made(row, chosen.get(k), rewritten.get(k)) for k, row in enumerate(rows)]

    def _made(self, row: Row, choice: Selection | None, found: Rewritten | None) -> Made:
        """Return a row with its fields rewritten or unchanged, and counts for the statistics."""
        rest = {key: value for key, value in row.extra.items() if key != CHOICE}
        original = {"id": row.id, **row.named, **rest}
        if choice is None or found is None:
            return Made(rows=({**original, "perturbed": False},), counts={self.reason_to_stay(row.text): 1})
        counts = {f"chosen/{choice.axis}": 1}
        if found.fault[0]:
            versions = {choice.target: found.text} if found.text else {}
            kept = {**original, "perturbed": False}
            if found.fault[0] == UNCHANGED:
                return Made(rows=(kept,), counts=counts | {UNCHANGED: 1})
            return Made(rows=(kept,), reason=found.fault[0], detail=found.fault[1], versions=versions, counts=counts)
        counts |= {
            "perturbed": 1,
            f"perturbed/{choice.axis}": 1,
            f"perturbed/{choice.axis}/{choice.source}/{choice.target}": 1,
        }
        # counts texts that contain each attribute, for figure 2
        for side, text in (("before", row.text), ("after", found.text)):
            counts |= {f"{side}/{place}": 1 for place in self.words.attributes(text)}
        provenance = {
            "perturbed": True,
            CHOICE: asdict(choice),
            "source_id": row.id,
            "source_place": row.place,
            "source_text": row.text,
            "augmentation": self.name,
            **self.rewriter.provenance,
            "changed": {choice.target: changes(row.text, join_fields(found.fields))},
        }
        return Made(
            rows=({**original, **dict(zip(row.names, found.fields, strict=True)), **provenance},), counts=counts
        )


class Choosing:
    """First half of the augmentation, which draws the choices.

    Its output rows are the choices, without any texts.

    Args:
        perturbation: Augmentation that draws the choices.
        weights: Sampling weight of each axis, see :meth:`Perturbation.weights`.
    """

    def __init__(self, perturbation: Perturbation, weights: Mapping[str, float]) -> None:
        self.perturbation = perturbation
        self.weights = weights

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the choice for every row, in order, with the row's number and the hash of its text.

        Rows without a perturbable word have no choice.
        """
        found = self.perturbation.choose([row.text for row in rows], [row.number for row in rows], self.weights)
        return [
            Made(counts={self.perturbation.reason_to_stay(row.text): 1})
            if choice is None
            else Made(rows=({"number": row.number, "sha256": text_sha256(row.text), **asdict(choice)},))
            for row, choice in zip(rows, found, strict=True)
        ]


def rules(lexicons: Sequence[Lexicon], *, seed: int = 0, **settings: Any) -> WordRewriter:
    """Return a rule-based rewriter for several axes, with settings of :class:`RuleGroups` such as ``mode``."""
    return ByAxis({lexicon.axis: RuleGroups(lexicon=lexicon, seed=seed, **settings) for lexicon in lexicons})


def drawn_selection(found: Sequence[Selection], weights: Sequence[float], key: str) -> Selection:
    """Draw a selection with probability proportional to its weight.

    The draw uses a hash of the key, so that it is the same on every machine.

    Example:
        >>> pair = [Selection(0, "he", "gender", "man", target) for target in ("neutral", "woman")]
        >>> [drawn_selection(pair, [1.0, 1.0], f"0:{k}").target for k in range(6)]
        ['woman', 'woman', 'woman', 'neutral', 'neutral', 'woman']
    """
    left = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64 * sum(weights)
    for one, weight in zip(found, weights, strict=True):
        left -= weight
        if left < 0:
            return one
    return found[-1]


def text_sha256(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256, which links a choice to its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
