"""A sequence classifier as the check of labelled rewrites: a model of inference, or one of the task itself.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR", equation 13; its released code asks a model of inference beside the
language model, with contradiction for REFUTES and entailment for SUPPORTS.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import Classifier, Pair
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.types import FairlabError

# What labels of other tasks are called by a model of inference.
INFERENCE = {
    "supports": {"entailment"},
    "refutes": {"contradiction"},
    "not enough info": {"neutral"},
    "non-entailment": {"contradiction", "neutral"},
}


class ClassifierCheck:
    """The classifier's likeliest label of a rewrite, read after its context, must be the one it should have.

    Args:
        backbone: a sequence classifier with its tokenizer.
        labels: labels of the data; each must be one of the classifier's, or one that :data:`INFERENCE` translates.

    Raises:
        CannotScore: the model has no such head.
        FairlabError: it knows no label for one of the data's.
    """

    name = "classifier"

    def __init__(self, backbone: Backbone, labels: Sequence[str]) -> None:
        found = getattr(backbone.model.config, "id2label", None) or {}
        self.own = [str(name).lower() for _, name in sorted(found.items())]
        self.classifier = Classifier(backbone, self.own)
        self.accepted: dict[str, set[str]] = {}
        for label in labels:
            known = {label.lower()} & set(self.own) or INFERENCE.get(label.lower(), set()) & set(self.own)
            if not known:
                raise FairlabError(
                    f"the classifier of augmentation.verify knows {', '.join(self.own)} and nothing for '{label}'; "
                    "give a model of inference or one that was trained on these labels"
                )
            self.accepted[label] = known

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """See :class:`fairlab.rewriting.labelled.label_keeping.LabelCheck`."""
        both = zip(items, made, strict=True)
        pairs: list[Pair] = [(item.context, text) if item.context else (text, None) for item, text in both]
        said = [self.own[place] for place in self.classifier.outputs(pairs).argmax(axis=1)]
        return [
            None if label in self.accepted[item.label] else f"reads as {label}"
            for item, label in zip(items, said, strict=True)
        ]
