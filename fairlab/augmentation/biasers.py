"""Expansion by biasers: every text is copied for each member of a set of biasers, and each copy is varied twice.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 3.1. Details that the paper does not specify are settings; docs/biasers.md lists them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from fairlab.backbones.backbone import Backbone
from fairlab.llm.client import LLM
from fairlab.protocols import RowAugmentation
from fairlab.rewriting.biasers import BiaserRewriter, Copy
from fairlab.rewriting.by_llm.llm_morphs import LLMMorph
from fairlab.rewriting.english.mentions import UNALIGNED
from fairlab.rewriting.group_rewriters import columns
from fairlab.rewriting.morphs.summaries import ExtractiveSummary, ModelSummary
from fairlab.rewriting.morphs.upshift import SentenceUpshift, WordUpshift
from fairlab.text.fields import named_fields
from fairlab.text.papers import MONDAL_2024
from fairlab.types import FairlabError, Made, Row

NO_BIASER, WITH_BIASER = "entries without a biaser", "entries with a biaser"
COPIES, UP, DOWN = "copies", "upshifts", "downshifts"
DUPLICATES = "duplicates left out"
NOT_MADE = "morphs not made, or with a fault"
REFUSED = f"rewriter: {UNALIGNED}"
TO = "to/"  # prefix of counts of rows by member


class Biasers(RowAugmentation):
    """Augmentation that copies a text for every other member of a biaser's set, and makes two variants of each copy.

    A biaser is a word for a group, such as an ethnicity; the input texts are called entries. Variants (morphs) are an
    upshift, which adds to the text, and a downshift, which shortens it. Output rows have the columns of the input, plus
    ``kind`` (``entry``, ``copy``, ``upshift`` or ``downshift``), ``biaser`` (the member a copy was made for),
    ``replaced`` (the replaced text) and their origin. An entry without a biaser is kept once. A row whose text equals
    another row's text in the same shard, ignoring case and spaces, is omitted and counted. Entries take precedence over
    rows derived from other entries.

    Args:
        rewriter: Rewriter that finds and replaces biasers.
        mentions: Biasers to expand: ``first`` for the first biaser of an entry, ``each`` for every distinct biaser in
            turn.
        morph: Rows from which variants are made: ``copies``, as in the paper's example, or ``all`` rows, including the
            entries.
        upshift: Kind of upshift: ``word`` replaces or inserts words with a masked LM, ``sentence`` appends one sentence
            with a causal LM, and ``llm`` prompts ``llm``.
        summary: Kind of downshift: ``extractive``, ``llm``, or the folder or hub name of a sequence-to-sequence model.
        language_model: Masked LM for ``upshift=word``, or causal LM for ``upshift=sentence``; otherwise unused.
        llm: Language model for ``upshift=llm`` and ``summary=llm``; otherwise unused.
        seed: Seed for the positions and kinds of an upshift's changes.

    Raises:
        FairlabError: The rewriter is another one, or the required language model is missing.
        CannotScore: The language model is of the wrong kind for the upshift.
    """

    title = "expansion by biasers"
    limits = "Copies apply statements about one member to all, which may be false; one axis at a time, in English."
    citation = MONDAL_2024
    name = "biasers"

    def __init__(
        self,
        *,
        rewriter: BiaserRewriter,
        language_model: Backbone,
        mentions: Literal["first", "each"] = "first",
        morph: Literal["copies", "all"] = "copies",
        upshift: Literal["word", "sentence", "llm"] = "word",
        summary: str = "extractive",
        llm: LLM | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(rewriter, BiaserRewriter):
            raise FairlabError("the augmentation biasers works only with rewriter=biasers; leave rewriter out")
        self.rewriter = rewriter
        self.mentions: Literal["first", "each"] = mentions
        self.morph = morph
        self.upshift: Callable[[Sequence[str]], list[str]]
        if upshift == "llm":
            self.upshift = LLMMorph(llm, "upshift", rewriter.held)
        else:
            kind = WordUpshift if upshift == "word" else SentenceUpshift
            self.upshift = kind(language_model, rewriter.held, seed)
        self.downshift = summariser(summary, rewriter, llm)
        rewriter.provenance |= {"upshift": upshift, "summary": self.downshift.name}

    def expands(self, texts: Sequence[str]) -> list[bool]:
        """Return, for each text, whether it contains a biaser that can be replaced."""
        return [isinstance(copies, list) and bool(copies) for copies in self.rewriter.copies(texts, mentions="first")]

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the rows made from every entry, in order."""
        answers = self.rewriter.copies([row.text for row in rows], mentions=self.mentions)
        found = [answer if isinstance(answer, list) else [] for answer in answers]
        # texts to morph: for each row, its own text if all rows are morphed, followed by its copies
        morphed: list[str] = []
        for row, copies in zip(rows, found, strict=True):
            morphed += [row.text] if self.morph == "all" else []
            morphed += [copy.text for copy in copies]
        shifts = iter(zip(self.upshift(morphed), self.downshift(morphed), strict=True))
        seen = set[str]()
        entries = [self._new(row.text, seen) for row in rows]
        made = [
            self._made(row, fresh, copies, shifts, seen)
            for row, fresh, copies in zip(rows, entries, found, strict=True)
        ]
        return [
            one if isinstance(answer, list) else replace(one, reason=REFUSED, detail=str(answer), counts={})
            for one, answer in zip(made, answers, strict=True)
        ]

    def _made(self, row: Row, fresh: bool, copies: Sequence[Copy], shifts: Any, seen: set[str]) -> Made:
        """Return the rows made from one entry: the entry itself, then every copy with its two variants."""
        made: list[dict[str, Any]] = []
        counts = Counter({WITH_BIASER if copies else NO_BIASER: 1})

        def add(kind: str, text: str, about: dict[str, Any], new: bool, name: str) -> None:
            fields = named_fields(row, text)
            if not new or not text.strip() or fields is None:
                counts[DUPLICATES if text.strip() and not new else NOT_MADE] += 1
                return
            provenance = columns(row, self.name, self.rewriter, {"text": text}) if name else {}
            of_row = {"id": f"{row.number}-{len(made)}", **fields, **row.extra, "kind": kind, "entry": row.id}
            made.append(of_row | about | provenance)
            counts[name] += 1 if name else 0
            if "biaser" in about:
                counts[TO + about["biaser"]] += 1

        def both(about: dict[str, Any]) -> None:
            for kind, name, text in zip(("upshift", "downshift"), (UP, DOWN), next(shifts), strict=True):
                add(kind, text, about, self._new(text, seen), name)

        add("entry", row.text, {}, fresh, "")
        if self.morph == "all":
            both({})
        for copy in copies:
            about = {"biaser": copy.biaser, "replaced": copy.replaced}
            add("copy", copy.text, about, self._new(copy.text, seen), COPIES)
            both(about)
        return Made(rows=tuple(made), counts=dict(+counts))

    @staticmethod
    def _new(text: str, seen: set[str]) -> bool:
        """Return whether a text has not been seen before, and mark it as seen."""
        key = " ".join(text.casefold().split())
        if key in seen:
            return False
        seen.add(key)
        return True


def summariser(summary: str, rewriter: BiaserRewriter, llm: LLM | None) -> Any:
    """Return the object that makes downshifts; see the argument ``summary`` of :class:`Biasers`."""
    if summary == "extractive":
        return ExtractiveSummary(rewriter.held)
    return LLMMorph(llm, "summary", rewriter.held) if summary == "llm" else ModelSummary(summary)


def expansion_verdict(entries: int, members: int, written: int) -> str:
    """Return a sentence that compares the size of an expansion with the paper's 1,641 rows (10 entries) and 4,248 (50).

    Args:
        entries: Number of entries that were expanded, N.
        members: Number of biasers in the set, |b|.
        written: Number of rows in the expansion.

    Example:
        >>> expansion_verdict(10, 20, 590)[:70]
        '590 rows of 10 entries and 20 biasers; one mention per entry can give '
    """
    return (
        f"{written:,} rows of {entries:,} entries and {members} biasers; one mention per entry can give "
        f"{largest(entries, members):,} at most. The paper's 1,641 rows of 10 entries and 4,248 of 50 with 20 biasers "
        f"are above that ({largest(10, 20):,} and {largest(50, 20):,}): they need 27 to 28 and 69 to 74 expanded "
        "mentions, as with mentions=each"
    )


def largest(entries: int, members: int) -> int:
    """Return the maximum number of rows if one mention per entry is expanded: 3 N (1 + |b|).

    N is the number of entries, and |b| is the number of biasers in the set b. The factor 3 counts each text (an entry
    or one of its |b| copies) together with its two variants, an upshift and a downshift.
    """
    return 3 * entries * (1 + members)
