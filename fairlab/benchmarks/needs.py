"""Check, before anything is measured, whether a model has the abilities that a benchmark needs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fairlab.backbones.heads import CAUSAL_LM, CLASSIFIER, MASKED_LM, SEQ2SEQ, head_class
from fairlab.protocols import DataBenchmark
from fairlab.types import EMBEDDINGS, LIKELIHOODS, TEXTS

if TYPE_CHECKING:
    from fairlab.protocols import Benchmark

OPTIONS, LABELS = "option_scores", "labels"
HARMS = "harm_scores"
OFFERED_BY = {  # endings of transformers' class names, and the abilities of such models
    (MASKED_LM, "BertForPreTraining"): {LIKELIHOODS, OPTIONS},
    CAUSAL_LM: {LIKELIHOODS, OPTIONS, TEXTS},
    SEQ2SEQ: {TEXTS},
    (CLASSIFIER,): {LABELS},
}
LACKING = {  # message for a model that lacks an ability
    EMBEDDINGS: "embeds no texts; give an encoder",
    LIKELIHOODS: "has no language-modelling head; take a checkpoint saved with one",
    OPTIONS: "scores no options; take a checkpoint saved with a language-modelling head",
    TEXTS: "writes no texts; take a causal LM (...ForCausalLM) or an encoder-decoder (...ForConditionalGeneration)",
    LABELS: "has no classification head; python -m fairlab.train +experiment=glue trains one",
    HARMS: "scores no harms; train an ensemble with +experiment=safety_ensemble",
}
OF_AN_ENCODER_DECODER = "scores a text only as a reply to another text; take a masked or a causal LM"


def offered_by(kind: str) -> frozenset[str]:
    """Return the abilities of a transformers model, given the name of its class, such as ``BertForMaskedLM``."""
    found = (offered for ends, offered in OFFERED_BY.items() if kind.endswith(ends))
    return frozenset({EMBEDDINGS}.union(*found))


def why_lacking(name: str, offered: Collection[str], needs: Collection[str]) -> str:
    """Return a sentence on the first need that a model does not meet.

    ``name`` is the name of the class of the model.

    Returns:
        Sentence, which is empty if the model meets all needs.
    """
    need = next((need for need in needs if need not in offered), "")
    if need in (LIKELIHOODS, OPTIONS) and name.endswith(SEQ2SEQ):
        return f"{name} {OF_AN_ENCODER_DECODER}"
    return f"{name} {LACKING[need]}" if need else ""


def why_not_measured(benchmark: Benchmark, model: object) -> str:
    """Return a sentence on why a benchmark cannot measure a model.

    Args:
        benchmark: Benchmark that lists its needs.
        model: Backbone, or object whose attribute ``offers`` lists its abilities. Without this attribute, an object
            with the method ``embed`` is assumed to offer embeddings.

    Returns:
        Sentence, which is empty if the benchmark can measure the model.
    """
    from fairlab.backbones.backbone import Backbone

    if isinstance(benchmark, DataBenchmark):
        return "it measures a dataset, not a model; give dataset=FILE instead of model="
    if isinstance(model, Backbone):
        name = type(model.model).__name__
        return why_lacking(name, offered_by(head_class(model.model)), benchmark.description.needs)
    offered = getattr(model, "offers", {EMBEDDINGS} if hasattr(model, "embed") else set())
    name = getattr(model, "name", type(model).__name__)
    lacking = next((need for need in benchmark.description.needs if need not in offered), "")
    own = getattr(model, "lacks", {}).get(lacking)
    return f"{name} {own}" if own else why_lacking(name, offered, benchmark.description.needs)
