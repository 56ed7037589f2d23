"""RAZOR: rewriting of the documents that differ most from documents with other labels, until the labels are closer.

The rounds need the whole dataset at once, so they run first, and their results are written with the rows.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR: Sharpening Knowledge by Cutting Bias with Unsupervised Text Rewriting",
section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.augmentation.rounds import TriedDocument, read_rewritten_round, write_round
from fairlab.metrics.shortcuts import WIDTH, EmbeddingSpace, Space, TokenSpace
from fairlab.metrics.shortcuts_by_chance import ChanceSpace
from fairlab.metrics.shortcuts_by_word import AssociationSpace, StrongestSpace
from fairlab.metrics.shortcuts_official import OFFICIAL_WIDTH, OfficialSpace
from fairlab.metrics.surface_probe import probe_gain, too_little
from fairlab.protocols import Planned, refuse_axis
from fairlab.rewriting.labelled.label_keeping import LabelCheck, Labelled, LabelledRewriter
from fairlab.text.difference import changes
from fairlab.text.fields import join_fields
from fairlab.text.papers import YANG_2025
from fairlab.text.surface_tokens import negations, surface_tokens
from fairlab.types import Count, Description, FairlabError, Made, QuantityInfo, Row

BY_TEXT = {"association": AssociationSpace, "strongest": StrongestSpace, "chance": ChanceSpace}
NONE, NOT_LOWER = "the rewriter offers no text", "no rewrite has a lower shortcut score"
LOST = "no rewrite keeps its label"
Embed = Callable[[Sequence[str]], NDArray[np.floating]]

RAZOR = Description(
    "razor",
    "RAZOR",
    "How well do the texts of a dataset predict its labels, before and after rewriting?",
    {
        "gain": QuantityInfo(
            "gain",
            "accuracy by the words alone, above the commonest label's share (0: no shortcut)",
            "points",
            0.0,
            -100.0,
            100.0,
            headline=True,
        ),
        "association": QuantityInfo(
            "association with the label",
            "Cramer's V of negations and labels (0: none)",
            "Cramer's V",
            0.0,
            0.0,
            1.0,
            headline=True,
        ),
        "share": QuantityInfo("texts with a negation", "share of all texts", "%", low=0.0, high=100.0),
    },
    needs=("texts", "labels"),
)
MADE_BY = ("label", "compat", "features", "accept", "k", "candidates")


class Razor(Planned):
    """Search that rewrites the documents with the highest shortcut scores.

    Labels and the size of the dataset are preserved. Every round scores all documents, and selects the ``k`` documents
    with the highest scores that were not selected before. For each of these documents, it requests rewrites, discards
    rewrites that the check rejects, and replaces the document by the rewrite with the lowest score. The scores of all
    other documents then take the new document into account. The search ends if a round raises the objective by less
    than ``tolerance``, if a probe of the texts gains ``until_gain`` or less, if every document was selected once, or
    after ``rounds`` rounds. A document without an accepted rewrite is kept.

    Args:
        rewriter: Rewriter that makes new texts, G_alpha.
        check: Check that a rewrite keeps the document's label, G_beta.
        k: Number of documents selected per round, over all labels or, with ``compat=official``, per label.
        candidates: Number of rewrites requested per document.
        rounds: Maximum number of rounds.
        tolerance: Minimum rise of the objective, a mean cosine, for another round.
        until_gain: Gain in points at which the search ends, which is not in the paper: the cross-validated accuracy of
            a bag-of-words probe of the rewritten texts (:mod:`fairlab.metrics.surface_probe`) minus the share of the
            most frequent label; None trains no probe.
        accept: Condition for accepting a rewrite: ``if_lower`` requires a score below the document's; ``always``, as in
            the paper, accepts the best rewrite regardless of its score.
        compat: Form of the score: ``paper``, equations 7-14, or ``official``, the released code.
        features: Basis of the scores: ``surface``, as in the paper; ``embedding``, for the ablation in section 4.2;
            ``association``, which scores documents by how strongly their tokens predict their label, and thus finds
            shortcuts that are words; ``strongest``, by the one token that predicts it most; or ``chance``, random
            scores as a control. The last three are not in the paper.
        scored: Part of a document to score: ``rewritten_field`` for only the rewritten text, or ``joined`` to include
            its context.
        pe: Kind of position encoding with ``compat=paper``, ``paper`` or ``vaswani``; see
            :func:`fairlab.metrics.shortcuts.positions`.
        width: Length of a position encoding; None gives 128 for ``paper`` and 8 for ``official``.
        label: Column of the label; unused in this class, to which the caller passes documents with their labels.
        verify: Name or names of the check from which ``check`` was built; unused in this class.
        vectors: Name of the encoder from which ``embed`` was built; unused in this class.
        embed: Function from texts to vectors, for ``features=embedding``.

    Source: section 3.3 of the paper. In addition to the rules in the paper, a document is selected only once, so that
        rounds continue if a rewriter offers no rewrite.
    """

    title = "rewriting of shortcuts (RAZOR)"
    limits = "Distances between vectors decide which texts are shortcuts; a rewrite may lose its label."
    citation = YANG_2025
    name = "razor"
    plan = "fairlab.run.augmenting.rounds.Rounds"

    def __init__(
        self,
        *,
        rewriter: LabelledRewriter,
        check: LabelCheck,
        k: Count,
        candidates: Count,
        rounds: Count,
        tolerance: float,
        until_gain: float | None = None,
        accept: Literal["always", "if_lower"] = "if_lower",
        compat: Literal["paper", "official"] = "paper",
        features: Literal["surface", "embedding", "association", "strongest", "chance"] = "surface",
        scored: Literal["rewritten_field", "joined"] = "rewritten_field",
        pe: Literal["paper", "vaswani"] = "paper",
        width: Count | None = None,
        label: str = "label",
        verify: str | Sequence[str] | None = None,
        vectors: str | None = None,
        embed: Embed | None = None,
    ) -> None:
        self.rewriter, self.check = rewriter, check
        self.k, self.candidates, self.rounds, self.tolerance = k, candidates, rounds, tolerance
        self.until_gain = until_gain
        self.accept, self.compat, self.features, self.scored = accept, compat, features, scored
        self.pe, self.width, self.embed = pe, width, embed
        self.label, self.verify, self.vectors = label, verify, vectors

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the search, for the manifest.

        Raises:
            FairlabError: An axis was given.
        """
        refuse_axis(values, "razor looks for shortcuts without an axis")
        return {name: values["augmentation"][name] for name in MADE_BY}

    def __call__(self, items: Sequence[Labelled], folder: Path) -> tuple[list[Labelled], list[dict[str, Any]]]:
        """Run the search, and return the documents and the rounds.

        Finished rounds are read from ``folder``.

        Args:
            items: Dataset to rewrite.
            folder: Folder for the files ``round-NN.json``, which are written after each round. An interrupted round is
                repeated, from the ledger if a language model rewrites.

        Returns:
            Documents after the last round, in the original order; and a dictionary per round with its number, the
            objective before and after it, the outcomes of the selected documents by index (``tried``) and, with
            ``until_gain``, the probe's gain before and after it.

        Raises:
            FairlabError: All documents have the same label, they are too few for a probe, or the rewriter or the check
                fails.
        """
        folder.mkdir(parents=True, exist_ok=True)
        items = list(items)
        space = self.space(items)
        gain = self._gain(items)
        tried: set[int] = set()
        found = list[dict[str, Any]]()
        for number in range(1, self.rounds + 1):
            file = folder / f"round-{number:02}.json"
            before = space.objective
            if file.exists():
                one = read_rewritten_round(file, len(items))
                self._again(one, items, space)
            else:
                chosen = self.selected(space.gamma(), space.labels, tried)
                if not chosen:
                    break
                one = {"round": number, "objective_before": before, "tried": self._round(chosen, items, space)}
                one["objective"] = space.objective
                if gain is not None:
                    one |= {"gain_before": gain, "gain": self._gain(items)}
                write_round(file, one)
            tried |= {int(place) for place in one["tried"]}
            found.append(one)
            gain = one.get("gain")
            if space.objective - before < self.tolerance or (gain is not None and gain <= self.until_gain):
                break
        return items, found

    def _gain(self, items: Sequence[Labelled]) -> float | None:
        """Return the probe's accuracy minus the share of the most frequent label, in points; None without a probe."""
        if self.until_gain is None:
            return None
        texts, labels = [item.text for item in items], [item.label for item in items]
        if short := too_little(labels, texts):
            raise FairlabError(f"augmentation.until_gain trains a probe: {short}; give more rows, or null")
        return probe_gain(texts, labels)

    def space(self, items: Sequence[Labelled]) -> Space:
        """Build the space in which the shortcut scores of the documents are computed."""
        texts, labels = [self._scored(item, item.text) for item in items], [item.label for item in items]
        if self.features == "embedding":
            if self.embed is None:
                raise FairlabError("augmentation.features=embedding needs an encoder; give augmentation.vectors=minilm")
            return EmbeddingSpace(texts, labels, self.embed)
        if self.features in BY_TEXT:
            return BY_TEXT[self.features](texts, labels)
        if self.compat == "official":
            return OfficialSpace(texts, labels, width=self.width or OFFICIAL_WIDTH)
        return TokenSpace(texts, labels, width=self.width or WIDTH, pe=self.pe)

    def selected(self, gamma: NDArray[np.floating], labels: NDArray[np.integer], tried: set[int]) -> list[int]:
        """Return the indices of the documents for the next round, by descending score.

        Ties keep their order.
        """
        order = [int(place) for place in np.argsort(-gamma, kind="stable") if int(place) not in tried]
        if self.compat == "paper":
            return order[: self.k]
        left = dict.fromkeys(labels.tolist(), self.k)
        chosen = []
        for place in order:
            if left[label := int(labels[place])]:
                left[label] -= 1
                chosen.append(place)
        return chosen

    def _round(self, chosen: Sequence[int], items: list[Labelled], space: Space) -> dict[str, TriedDocument]:
        """Rewrite the selected documents in ``items`` and in ``space``, and return the outcome for each of them."""
        offered = self.rewriter.rewrites([items[place] for place in chosen], self.candidates)
        pairs = [(place, text) for place, some in zip(chosen, offered, strict=True) for text in some]
        pairs = [(place, text) for place, text in pairs if text != items[place].text]
        faults = self.check.faults([items[place] for place, _ in pairs], [text for _, text in pairs]) if pairs else []
        kept: dict[int, list[str]] = {place: [] for place in chosen}
        turned_down: dict[int, list[list[str]]] = {place: [] for place in chosen}
        for (place, text), fault in zip(pairs, faults, strict=True):
            if fault is None:
                kept[place].append(text)
            else:
                turned_down[place].append([text, fault])
        made = {}
        for place in chosen:
            one = self._tried(place, items[place], kept[place], turned_down[place], space)
            if one["text"] is not None:
                self._put(place, one["text"], items, space)
            made[str(place)] = one
        return made

    def _tried(
        self, place: int, item: Labelled, kept: Sequence[str], turned_down: list[list[str]], space: Space
    ) -> TriedDocument:
        before = space.score(place, self._scored(item, item.text))
        if not kept:
            reason = LOST if turned_down else NONE
            return TriedDocument(text=None, before=before, after=None, reason=reason, turned_down=turned_down)
        scores = [space.score(place, self._scored(item, text)) for text in kept]
        best = int(np.argmin(scores))
        higher = self.accept == "if_lower" and scores[best] >= before
        text, reason = (None, NOT_LOWER) if higher else (kept[best], "")
        return TriedDocument(text=text, before=before, after=scores[best], reason=reason, turned_down=turned_down)

    def _again(self, one: Mapping[str, Any], items: list[Labelled], space: Space) -> None:
        """Apply the rewrites of a finished round in their original order, so that sums are exactly equal."""
        for place, tried in one["tried"].items():
            if tried["text"] is not None:
                self._put(int(place), tried["text"], items, space)

    def _put(self, place: int, text: str, items: list[Labelled], space: Space) -> None:
        items[place] = Labelled(text, items[place].label, items[place].context)
        space.replace(place, self._scored(items[place], text))

    def _scored(self, item: Labelled, text: str) -> str:
        return f"{item.context} {text}" if self.scored == "joined" and item.context else text


class Replaced:
    """Lookup of the results of RAZOR's rounds; all rows are kept, rewritten or unchanged.

    Args:
        tried: Outcomes for the selected documents, by row number.
        label: Name of the column that contains the label.
        provenance: Columns that name the rewriter and the check, added to every rewritten row.
    """

    def __init__(self, tried: Mapping[int, Mapping[str, Any]], label: str, provenance: Mapping[str, Any]) -> None:
        self.tried, self.label, self.provenance = tried, label, provenance

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return every row, rewritten or unchanged, in order."""
        return [self._made(row, self.tried.get(row.number)) for row in rows]

    def _made(self, row: Row, one: Mapping[str, Any] | None) -> Made:
        original = {"id": row.id, **row.named, **row.extra}
        kept = {**original, "rewritten": False}
        if one is None:
            return Made(rows=(kept,))
        if one["text"] is None:
            versions, detail = _shown(row, one)
            return Made(rows=(kept,), reason=one["reason"], detail=detail, versions=versions, counts={"selected": 1})
        fields = [*row.fields[:-1], one["text"]]
        made = {
            **original,
            row.names[-1]: one["text"],
            "rewritten": True,
            "gamma": [one["before"], one["after"]],
            "source_id": row.id,
            "source_place": row.place,
            "source_text": row.text,
            "augmentation": "razor",
            **self.provenance,
            "changed": {"rewritten": changes(row.text, join_fields(fields))},
        }
        return Made(rows=(made,), counts={"selected": 1, "rewritten": 1, f"rewritten/{row.extra[self.label]}": 1})


def _shown(row: Row, one: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Return an unchanged document's rejected rewrite, if it has one, and the details of the rejection."""
    if one["reason"] == LOST:
        text, objection = one["turned_down"][0]
        return {"rewrite": join_fields([*row.fields[:-1], text])}, objection
    if one["after"] is not None:
        return {}, f"{one['after']:.6f} at best, for {one['before']:.6f}"
    return {}, ""


def rounds_history(items: Sequence[Labelled], rounds: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the objective and the number of negations before the first round and after every round.

    Args:
        items: Dataset before the first round.
        rounds: Rounds returned by :class:`Razor`.

    Returns:
        One row for round 0 and one per round, with ``objective``, the number of ``negations`` in all texts, the numbers
        of documents ``selected`` and ``rewritten``, and the probe's ``gain`` if there is a probe.
    """
    counts = [negations(surface_tokens(item.text)) for item in items]
    rows = [{"round": 0, "objective": rounds[0]["objective_before"], "negations": sum(counts)}] if rounds else []
    if rounds and "gain" in rounds[0]:
        rows[0]["gain"] = rounds[0]["gain_before"]
    for one in rounds:
        for place, tried in one["tried"].items():
            if tried["text"] is not None:
                counts[int(place)] = negations(surface_tokens(tried["text"]))
        rewritten = sum(tried["text"] is not None for tried in one["tried"].values())
        about = {"selected": len(one["tried"]), "rewritten": rewritten}
        about |= {"gain": one["gain"]} if "gain" in one else {}
        rows.append({"round": one["round"], "objective": one["objective"], "negations": sum(counts), **about})
    return rows


def rejection_reasons(rounds: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Count the selected documents that were kept, by reason."""
    return Counter(tried["reason"] for one in rounds for tried in one["tried"].values() if tried["reason"])
