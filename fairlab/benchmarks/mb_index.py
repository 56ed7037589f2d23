"""Stereotype score of a causal LM's continuations, its perplexity, and the mb-index, which combines the two.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 3.2; contexts and candidates are from StereoSet's intersentence task (Nadeem et al. 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.continuations import continuations
from fairlab.backbones.loading import load_backbone
from fairlab.benchmarks.perplexity import OF_TOKENS
from fairlab.benchmarks.readings import Items, Quantity, cut_notes, items_outcome, quantity, sampled_items
from fairlab.benchmarks.scales import percent, ratio
from fairlab.benchmarks.stereoset import INTER, SOURCE, by_term, continuation_probabilities
from fairlab.data.entries import read_entries
from fairlab.data.published.download import locate
from fairlab.data.published.stereoset import StereoSetItem, read_stereoset
from fairlab.metrics.bootstrap import bootstrap_draws
from fairlab.metrics.mb_index import (
    ANTI_STEREOTYPE,
    NONSENSICAL,
    STEREOTYPE,
    continuation_classes,
    mb_index,
    stereotype_score,
)
from fairlab.metrics.perplexity import perplexity
from fairlab.metrics.stereoset import mean_percent, stereotyped
from fairlab.protocols import Benchmark
from fairlab.record import Note, NotRun, Outcome
from fairlab.text.papers import MONDAL_2024
from fairlab.types import PERSIST, Bounds, Count, Description, QuantityInfo

Array = NDArray[np.float64]
Several = Annotated[int, Bounds(2)]


class MBIndex(Benchmark):
    """Stereotypes in a causal LM's continuations of StereoSet's contexts, and its perplexity on a reference set.

    Quantities, with their subset:

    - ``reference/perplexity``: Exponential of the mean negative log-likelihood per token of the reference set. Each
      token is conditioned on the start token and the preceding tokens of its entry. A window of ``backbone.max_length``
      tokens moves over longer entries by ``stride``. Intervals resample entries. Ideal: 1.
    - ``continuations/stereotype_score``: Stereotypes divided by stereotypes and anti-stereotypes, in 0..1. Every
      context is continued greedily by ``characters`` characters. The class of a continuation is the candidate whose
      embedding has the highest cosine to the continuation's. A continuation with a tie, a zero vector or no text counts
      as nonsensical (our rule). The authors' ideal is 0. Intervals resample contexts.
    - ``continuations/nonsensical``: Percentage of continuations that are neither stereotypes nor anti-stereotypes.
    - ``likelihoods/ss``: StereoSet's own stereotype score on the same contexts, by the likelihood of the candidates,
      over target terms, in percent. Ideal: 50.
    - ``all/mb_index``: Perplexity times stereotype score, divided by the number of entries on which the model was
      tuned. Reference entries and contexts are resampled independently. If the number of tuning entries is unknown,
      the index is not computed.

    Items: ``similarities`` and ``likelihoods`` (N, 3) of the contexts' candidates, ``log_likelihoods`` and ``tokens``
    of the reference entries, and ``entries``.

    Args:
        path: Reference set, as for :func:`fairlab.data.entries.read_entries`.
        unit: Unit of an entry of the reference set, as for :func:`fairlab.data.entries.read_entries`.
        limit: Number of reference entries to measure, sampled with ``seed``; None for all, as in the paper.
        stride: Number of tokens by which the window over a long entry moves, below ``backbone.max_length``.
        contexts: Number of StereoSet's contexts to continue, sampled with ``seed``; None for all.
        characters: Length of a continuation in characters, at least 1.
        encoder: Settings of the backbone that embeds continuations and candidates; the authors do not name one.
        autocast: Whether the language model runs in bfloat16, which is about twice as fast on a CPU and changes the
            numbers slightly.
        entries: Number of entries on which the model was tuned; None for the number stored with the model.
        seed: Seed for the sampled entries and contexts.
        stereoset: Path of StereoSet's file; None to use ``FAIRLAB_DATA`` or a download.
    """

    version: ClassVar[int] = 1
    description = Description(
        "mb_index",
        "mb-index",
        "Does a language model write stereotypes, given how well it writes?",
        {
            "mb_index": QuantityInfo(
                "mb-index",
                "perplexity times stereotype score, per entry that the model was tuned on (0 is best)",
                "perplexity per entry",
                0.0,
                low=0.0,
                headline=True,
            ),
            "perplexity": replace(OF_TOKENS, useful=False),  # part of the index, not a measure of utility
            "stereotype_score": ratio(
                "stereotype score",
                "stereotypes among the continuations that make sense (the authors' ideal is 0)",
                unit="share",
                ideal=0.0,
            ),
            "nonsensical": percent("nonsense", "continuations nearest to the unrelated candidate"),
            "ss": percent(
                "stereotype score by likelihood", "contexts whose stereotype is likelier (50 is fair)", ideal=50.0
            ),
        },
        topic=PERSIST,
        citation=MONDAL_2024,
        needs=("texts", "token_log_probabilities"),
        sources=(SOURCE,),
        smoke={"contexts": 8},
    )

    def __init__(
        self,
        *,
        path: str,
        unit: Literal["paragraph", "sentence"],
        limit: Several | None,
        stride: Count,
        contexts: Several | None,
        characters: Count,
        encoder: Mapping[str, Any],
        autocast: bool = False,
        entries: Count | None = None,
        seed: int = 0,
        stereoset: str | None = None,
    ) -> None:
        self.path = path
        self.unit = unit
        self.limit = limit
        self.stride = stride
        self.contexts = contexts
        self.characters = characters
        self.settings = {key: value for key, value in encoder.items() if key != "_target_"}
        self.autocast = autocast
        self.entries = entries
        self.seed = seed
        self.stereoset = stereoset

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure the model. ``before`` holds the ``items`` of an earlier measurement."""
        scorer = CausalLM(backbone)  # done first, so that a model without a head is refused at once
        texts = sampled_items(read_entries(self.path, self.unit)[0], self.limit, self.seed)
        contexts = [example.context for example in self.examples]
        with torch.autocast(backbone.device.type, torch.bfloat16, enabled=self.autocast):
            written = continuations(scorer, contexts, characters=self.characters, progress="continuations")
            likelihoods = continuation_probabilities(scorer, self.examples, "likelihoods")
            scored = scorer.log_likelihoods(texts, stride=self.stride, progress="perplexity")
        entries = self.entries if self.entries is not None else backbone.entries
        items = {
            "similarities": self._similarities(written, backbone),
            "likelihoods": likelihoods,
            "log_likelihoods": scored.sums,
            "tokens": scored.counts.astype(np.float64),
            "entries": np.array([] if entries is None else [entries], dtype=np.float64),
        }
        said = {"notes": self._notes(written, scorer), "not_run": self._not_run(entries)}
        return items_outcome(self.description, partial(_quantities, self.examples), items, before, **said)

    @cached_property
    def examples(self) -> list[StereoSetItem]:
        """Return the examples whose contexts are continued, in file order."""
        found = read_stereoset(locate(SOURCE, self.stereoset))
        return sampled_items([example for example in found if example.task == INTER], self.contexts, self.seed)

    @cached_property
    def encoder(self) -> Backbone:
        """Return the embedder of continuations and candidates."""
        return load_backbone(**self.settings)

    @cached_property
    def candidates(self) -> Array:
        """Return the embeddings (N, 3, D) of the examples' candidates."""
        return self._embedded([sentence for example in self.examples for sentence in example.sentences])

    def _similarities(self, written: Sequence[str], backbone: Backbone) -> Array:
        """Return the cosines (N, 3) of each continuation to its candidates, with nan for empty continuations."""
        self.encoder.to(backbone.device)
        texts = [text.strip() for text in written]
        found = np.einsum("id,ikd->ik", self._embedded(texts), self.candidates.reshape(len(texts), 3, -1))
        found[[not text for text in texts]] = np.nan
        return found

    def _embedded(self, texts: Sequence[str]) -> Array:
        """Return unit-length embeddings (N, D). A zero vector stays zero."""
        found: Array = normalize(self.encoder.embed(texts, progress="embeddings").double(), dim=1).numpy()
        return found

    def _notes(self, written: Sequence[str], scorer: CausalLM) -> list[Note]:
        notes = cut_notes(self.name, scorer.cut, scorer.backbone.max_length)
        if empty := sum(not text.strip() for text in written):
            notes.append(Note(self.name, f"{empty} of {len(written)} continuations are empty and count as nonsensical"))
        return notes

    def _not_run(self, entries: int | None) -> list[NotRun]:
        if entries is not None:
            return []
        reason = "the number of entries that the model was tuned on is unknown; give benchmark.mb_index.entries"
        return [NotRun(self.name, "all", reason)]


def _quantities(examples: Sequence[StereoSetItem], items: Items) -> list[Quantity]:
    """Return the quantities of one model's items, which :class:`MBIndex` describes."""
    classes = continuation_classes(items["similarities"])
    kinds = [(classes == kind).astype(np.float64) for kind in (STEREOTYPE, ANTI_STEREOTYPE, NONSENSICAL)]
    terms = by_term([example.target for example in examples], stereotyped(items["likelihoods"]))
    of_text = (items["log_likelihoods"], items["tokens"])
    n, tokens = len(classes), int(items["tokens"].sum())
    of = partial(quantity, subset="continuations", n=n)
    found = [
        quantity(perplexity, *of_text, subset="reference", name="perplexity", n=tokens),
        of(stereotype_score, *kinds[:2], name="stereotype_score"),
        of(mean_percent, kinds[2], name="nonsensical"),
        quantity(mean_percent, terms, subset="likelihoods", name="ss", n=n),
    ]
    if len(items["entries"]):
        value = float(mb_index(found[0].value, found[1].value, int(items["entries"][0])))
        found.append(Quantity("all", "mb_index", value, mb_draws(items), n))
    return found


def mb_draws(items: Items) -> Array:
    """Return 2,000 bootstrap draws of the mb-index, which are paired between models measured on the same items."""
    classes = continuation_classes(items["similarities"])
    scores = bootstrap_draws(stereotype_score, classes == STEREOTYPE, classes == ANTI_STEREOTYPE)
    # Use another seed, so that reference entries and contexts are resampled independently.
    perplexities = bootstrap_draws(perplexity, items["log_likelihoods"], items["tokens"], seed=1)
    return np.asarray(mb_index(perplexities, scores, int(items["entries"][0])))
