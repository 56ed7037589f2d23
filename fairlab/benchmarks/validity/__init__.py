"""Validity gate: checks of a model before its first measurement, to show whether its results are meaningful.

A broken model must never look fair: for example, a model that embeds all texts alike has no gap between groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.model_object import ModelObject
from fairlab.benchmarks.validity.embeddings import check_embeddings, check_words
from fairlab.benchmarks.validity.finding import Finding, Weight, not_judged
from fairlab.benchmarks.validity.language import check_language, check_scorer
from fairlab.benchmarks.validity.senses import check_senses
from fairlab.benchmarks.validity.tokens import check_tokens
from fairlab.benchmarks.validity.weights import check_weights
from fairlab.record import SAYS_NOTHING, Note
from fairlab.types import EMBEDDINGS, FairlabError

SHORTEST = 24  # largest number of tokens of any text in the checks


@dataclass(frozen=True)
class Validity:
    """Result of the checks of a model.

    Attributes:
        reason: Reason why the model must not be measured; empty if it may be measured.
        failures: Reasons why the results do not show bias; empty if the model passes all checks.
        not_judged: Checks that cannot distinguish a sound model of this kind from a damaged one.
    """

    reason: str = ""
    failures: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Validity:
        """Restore the result that a record stores as plain containers."""
        return cls(kept["reason"], tuple(kept["failures"]), tuple(kept["not_judged"]))

    def notes(self, about: str, phase: str = "") -> list[Note]:
        """Return the warnings to show with the numbers of the model.

        Args:
            about: Name of the benchmark that the numbers belong to, or ``training``.
            phase: Label of the model; empty if the caller adds it.
        """
        failed = f"these numbers say nothing about bias: {'; '.join(self.failures)}"
        left_open = f"it is unknown whether the model is sound: {'; '.join(self.not_judged)}"
        return [Note(about, failed, phase=phase, mark=SAYS_NOTHING)] * bool(self.failures) + [
            Note(about, left_open, phase=phase)
        ] * bool(self.not_judged)


def refuse_failed(found: Validity, name: str) -> None:
    """Raise FairlabError if the model failed a check."""
    if said := found.reason or "; ".join(found.failures):
        raise FairlabError(f"{name} was refused by strict=true: {said}; use a sound copy, or leave strict out")


def warn_if_failed(backbone: Backbone | ModelObject) -> None:
    """Check a model, and warn if its embeddings are uninformative about bias."""
    found = validity(backbone)
    if said := found.reason or "; ".join(found.failures):
        warnings.warn(f"the embeddings of this model say nothing about bias: {said}", stacklevel=3)


def validity(backbone: Backbone | ModelObject) -> Validity:
    """Check weights, tokenizer, embeddings, and the language model if there is one, in this order.

    A model is not measured if its weights or embeddings are not finite, if its tokenizer belongs to another model, or
    if it cannot distinguish texts. All other findings become notes on the results, because a random model may serve as
    a baseline, and a model that is pretrained from random weights is measured before and after. For a model object,
    only the outputs are checked.
    """
    found = _checked(backbone)
    said = found.reason or "; ".join(found.failures)
    backbone.gate = f"failed: {said}" if said else "; ".join(["passed", *found.not_judged])
    return found


def _checked(backbone: Backbone | ModelObject) -> Validity:
    backbone.on_first_embedding = None
    failures: list[str] = []
    open_: list[str] = []
    with backbone.remembering():
        for finding in _findings(backbone):
            if finding.weight is Weight.REFUSED:
                return Validity(finding.text)
            (failures if finding.weight is Weight.FAILED else open_).append(finding.text)
    return Validity(failures=tuple(failures), not_judged=tuple(open_))


def _findings(backbone: Backbone | ModelObject) -> Iterator[Finding]:
    if isinstance(backbone, ModelObject):
        if EMBEDDINGS in backbone.offers:
            yield from check_embeddings(backbone)
        if backbone.scorer is not None:
            yield from check_scorer(backbone.scorer, None)
        yield not_judged("its weights and tokenizer are not available, so they cannot be checked")
        return
    yield from check_weights(backbone)
    yield from check_tokens(backbone)
    rewrites = backbone.model.config.is_encoder_decoder and backbone.published is None  # it was not trained to embed
    if backbone.max_length < SHORTEST:
        yield not_judged(f"it reads only {backbone.max_length} tokens, too few for the sentences of the check")
        return
    yield from check_words(backbone)
    if not rewrites:
        yield from check_embeddings(backbone)
        yield from check_senses(backbone)
    yield from check_language(backbone)
