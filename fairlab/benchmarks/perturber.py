"""Accuracy of a perturber on unseen rewrites, compared with rewriters based on word lists.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 4 and table 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone, batches_by_tokens, pad
from fairlab.benchmarks.readings import Items, Quantity, items_outcome, quantity
from fairlab.benchmarks.scales import percent
from fairlab.data.perturbation_pairs import EncodedPair, PerturbationPair, axis_of, encode_pairs, find_pairs, part_of
from fairlab.lexicons import load_lexicon
from fairlab.metrics.bootstrap import mean
from fairlab.metrics.perplexity import perplexity
from fairlab.metrics.rewriting import bleu, bleu_counts, rouge_2, word_levenshtein
from fairlab.protocols import Benchmark
from fairlab.record import Note, Outcome
from fairlab.rewriting.decoding import IGNORED, target_logits
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.rewriting.perturber import TOKENS_AT_ONCE, Perturber
from fairlab.text.papers import QIAN_2022
from fairlab.types import KEPT, NEUTRAL, Description, FairlabError, QuantityInfo, need_extra

Array = NDArray[np.float64]


class PerturberQuality(Benchmark):
    """Agreement of rewrites with their references, as in table 2, and the likelihood of the references.

    The rewriters are the model (``perturber``), no change (``original``), an exchange of listed words (``word_swap``),
    and the rule rewriter on the selected person (``rules``), unless this rewriter made the references. Quantities of
    each rewriter, which is the subset:

    - ``bleu``: Corpus BLEU, 0 to 100.
    - ``rouge_2``: Mean F-score, in per cent.
    - ``levenshtein``: Mean edit distance in words.
    - ``exact``: Percentage of rewrites that equal the reference.

    Further quantities of the perturber:

    - ``bleu_to_original``: BLEU with the original text as the reference.
    - ``perplexity`` and ``perplexity_changed``: Perplexity per token of the references, over all tokens and over the
      tokens that the original lacks. Ideal: 1.

    Intervals resample pairs.

    Args:
        path: File of pairs with PANDA's columns, see :func:`fairlab.data.perturbation_pairs.read_pairs`; None makes
            silver pairs from ``paths``.
        paths: Plain text files whose sentences are made into silver pairs; ignored if ``path`` is given.
        axes: Axes on which silver pairs are made, such as ``gender``.
        limit: Number of pairs to measure, sampled with ``seed``, at least 2; None for all.
        format: Format of the model's input, one of :data:`fairlab.rewriting.perturber.FORMATS`; None for the format
            used in training.
        seed: Random seed.
        test_of: Pairs in the form of ``path``, whose held-out part is measured if there is no ``path`` and ``test`` is
            above 0.
        test: Fraction of the original texts of ``test_of`` that is held out in training (``data.test``).

    Raises:
        FairlabError: Neither ``path`` nor ``paths`` nor ``test_of`` with a fraction is given, or a package is not
            installed.
    """

    version: ClassVar[int] = 1
    description = Description(
        "perturber",
        "Perturber",
        "How well does a perturber reproduce rewrites that it has not seen?",
        {
            "bleu": QuantityInfo(
                "BLEU", "agreement of the rewrite with its reference (100 is best)", "BLEU", 100.0, 0.0, 100.0
            ),
            "rouge_2": percent("ROUGE-2", "word pairs shared with the reference (100 is best)", ideal=100.0),
            "levenshtein": QuantityInfo(
                "edit distance", "words in which a rewrite and its reference differ (0 is best)", "words", 0.0, 0.0
            ),
            "exact": percent("exact", "rewrites that equal their reference (100 is best)", ideal=100.0),
            "bleu_to_original": QuantityInfo(
                "BLEU to the original", "agreement of the rewrite with the original text", "BLEU", low=0.0, high=100.0
            ),
            "perplexity": QuantityInfo(
                "perplexity", "how unlikely the references are to the model (1 is best)", "perplexity", 1.0, low=1.0
            ),
            "perplexity_changed": QuantityInfo(
                "perplexity of changed words",
                "how unlikely the words of the references that the original lacks are to the model (1 is best)",
                "perplexity",
                1.0,
                low=1.0,
            ),
        },
        topic=KEPT,
        citation=QIAN_2022,
        needs=("texts",),
    )

    def __init__(
        self,
        path: str | None,
        paths: Sequence[str] | None,
        axes: Sequence[str],
        limit: int | None,
        format: str | None,
        seed: int = 0,
        test_of: str | None = None,
        test: float = 0.0,
    ) -> None:
        if limit is not None and limit < 2:
            raise FairlabError(f"benchmark.perturber.limit must be at least 2, not {limit}")
        self.test = test if path is None and test_of is not None else 0.0
        path = test_of if self.test else path
        if path is None and paths is None:
            raise FairlabError("give benchmark.perturber.path (pairs) or benchmark.perturber.paths (plain text)")
        need_extra("metrics", "benchmark=perturber", "sacrebleu", "rouge_score")
        self.path = path
        self.paths = paths
        self.axes = list(axes)
        self.limit = limit
        self.format = format
        self.seed = seed

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure the model. ``before`` holds the ``items`` of an earlier measurement."""
        perturber = Perturber(backbone, format=self.format)  # done first, to refuse other models at once
        pairs, _ = find_pairs(self.path, self.paths, self.axes, self.seed, self.limit)
        if self.test:
            pairs = [pair for pair in pairs if part_of(pair.original, 0.0, self.test) == "test"]
        if self.limit is not None and self.limit < len(pairs):
            chosen = sorted(Random(self.seed).sample(range(len(pairs)), self.limit))
            pairs = [pairs[k] for k in chosen]
        if len(pairs) < 2:
            raise FairlabError(f"{self.path or self.paths} yield {len(pairs)} pairs; give data for at least 2")
        originals = [pair.original for pair in pairs]
        words, targets = [pair.word for pair in pairs], [pair.target for pair in pairs]
        made = {
            "perturber": perturber.rewrite(originals, words, targets, progress=self.name),
            "original": originals,
            "word_swap": by_word_swap(pairs),
        }
        if self.path is not None:
            made["rules"] = by_rules(pairs)
        references = [pair.perturbed for pair in pairs]
        items: dict[str, NDArray[np.floating]] = {}
        for rewriter, texts in made.items():
            items[f"{rewriter}_bleu"] = bleu_counts(texts, references)
            items[f"{rewriter}_rouge_2"] = rouge_2(texts, references)
            items[f"{rewriter}_levenshtein"] = word_levenshtein(texts, references)
            items[f"{rewriter}_exact"] = np.array(texts) == np.array(references)
        items["perturber_bleu_to_original"] = bleu_counts(made["perturber"], originals)
        items |= likelihoods(perturber, pairs)
        items = {name: np.asarray(values, dtype=np.float32) for name, values in items.items()}
        notes = [Note(self.name, examples(pairs, made["perturber"]))]
        if self.path is None:
            notes.append(
                Note(self.name, "the references are from the rule rewriter, so agreement with them includes its errors")
            )
        if perturber.cut:
            notes.append(Note(self.name, f"{perturber.cut} texts were too long for the model and stayed unchanged"))
        return items_outcome(self.description, _quantities, items, before, notes=notes)


def by_word_swap(pairs: Sequence[PerturbationPair]) -> list[str]:
    """Swap all listed words of the target's axis in every text, regardless of the person they describe."""
    swaps = {axis: WordSwap(load_lexicon(axis)) for axis in {axis_of(pair.target) for pair in pairs}}
    return [swaps[axis_of(pair.target)](pair.original, lexicon_name(pair.target)) for pair in pairs]


def by_rules(pairs: Sequence[PerturbationPair]) -> list[str]:
    """Rewrite every text with the rule rewriter, except texts without the selected word."""
    rewritten = [pair.original for pair in pairs]
    for axis in {axis_of(pair.target) for pair in pairs}:
        rewriter = RuleRewriter(load_lexicon(axis))
        places = [k for k, pair in enumerate(pairs) if axis_of(pair.target) == axis and offset(pair) >= 0]
        selections = [[(offset(pairs[k]), lexicon_name(pairs[k].target))] for k in places]
        made = rewriter.rewrite_entities([pairs[k].original for k in places], selections)
        for place, text in zip(places, made, strict=True):
            rewritten[place] = text
    return rewritten


def offset(pair: PerturbationPair) -> int:
    """Return the position of the selected word as a whole word, preferably in the same case.

    Returns:
        Position, or -1 if the text does not contain the word.
    """
    for flags in (0, re.IGNORECASE):
        if found := re.search(rf"(?<!\w){re.escape(pair.word)}(?!\w)", pair.original, flags):
            return found.start()
    return -1


def lexicon_name(target: str) -> str:
    """Return the name that the lexicons use for a PANDA attribute."""
    return NEUTRAL if target == "non-binary" else target


def likelihoods(perturber: Perturber, pairs: Sequence[PerturbationPair]) -> dict[str, Array]:
    """Return each reference's summed log-probability and token count, over all and over changed tokens, (N,) each."""
    backbone = perturber.backbone
    encoded = encode_pairs(backbone, pairs, perturber.format)
    sums, counts = np.zeros((2, len(ENDS), len(pairs)))
    with backbone.measuring():
        for batch in batches_by_tokens([one.length for one in encoded], TOKENS_AT_ONCE // 4):
            found_NT, changed_NT = _log_probabilities(backbone, [encoded[k] for k in batch])
            for row, kept in enumerate((~found_NT.isnan(), changed_NT)):
                sums[row, batch] = torch.where(kept, found_NT, 0).sum(dim=1).double().numpy()
                counts[row, batch] = kept.sum(dim=1).numpy()
    names = ("log_likelihoods", "tokens")
    return {
        f"{name}{end}": values[row] for name, values in zip(names, (sums, counts), strict=True) for row, end in ENDS
    }


ENDS = ((0, ""), (1, "_changed"))


def _log_probabilities(backbone: Backbone, rows: Sequence[EncodedPair]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the log-probabilities of target tokens given the preceding ones, and a mask of changed tokens.

    The log-probabilities are nan at padding.
    """
    input_ids, mask = pad([row.source for row in rows], backbone.padding_id)
    targets, given = pad([row.target for row in rows], IGNORED)
    changed, _ = pad([row.changed for row in rows], 0)
    inputs = (input_ids.to(backbone.device), mask.to(backbone.device), targets.to(backbone.device))
    logits = target_logits(backbone, *inputs).float().cpu()
    found = torch.full(targets.shape, float("nan"))
    found[given == 1] = logits.log_softmax(dim=1).gather(1, targets[given == 1][:, None])[:, 0]
    return found, changed.bool()


def _quantities(items: Items) -> list[Quantity]:
    """Return all quantities of a measurement, computed from its items."""
    found = []
    for rewriter in ("perturber", "original", "word_swap", "rules"):
        if f"{rewriter}_bleu" not in items:
            continue
        own = rewriter == "perturber"
        found += [
            _bleu(items[f"{rewriter}_bleu"], rewriter, "bleu", headline=own),
            quantity(_percent, items[f"{rewriter}_rouge_2"], subset=rewriter, name="rouge_2"),
            quantity(mean, items[f"{rewriter}_levenshtein"], subset=rewriter, name="levenshtein"),
            quantity(_percent, items[f"{rewriter}_exact"], subset=rewriter, name="exact"),
        ]
    found.append(_bleu(items["perturber_bleu_to_original"], "perturber", "bleu_to_original"))
    for _, end in ENDS:
        samples = (items[f"log_likelihoods{end}"], items[f"tokens{end}"])
        name = f"perplexity{end}"
        tokens = int(items[f"tokens{end}"].sum())
        found.append(quantity(perplexity, *samples, subset="perturber", name=name, n=tokens))
    return found


def _bleu(counts: NDArray[np.floating], subset: str, name: str, **more: bool) -> Quantity:
    return quantity(bleu, *counts, subset=subset, name=name, **more)


def _percent(values: NDArray[np.floating], axis: int) -> NDArray[np.floating]:
    return 100 * mean(values, axis=axis)


def examples(pairs: Sequence[PerturbationPair], made: Sequence[str]) -> str:
    """Return a sentence that shows the first rewrite that equals its reference and the first that differs."""
    parts = []
    for same, name in ((True, "as the reference"), (False, "not as the reference")):
        found = next(((p, m) for p, m in zip(pairs, made, strict=True) if (m == p.perturbed) == same), None)
        if found is not None:
            parts.append(f"{name}: '{found[0].original}' ({found[0].word}, {found[0].target}) became '{found[1]}'")
    return "; ".join(parts)
