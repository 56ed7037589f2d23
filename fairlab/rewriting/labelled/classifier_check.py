"""Check of labelled rewrites with a sequence classifier, trained on natural language inference or on the task itself.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR", equation 13. The paper's released code uses an inference model in
addition to the language model, with contradiction for REFUTES and entailment for SUPPORTS.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import Classifier, Pair
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.types import FairlabError

# Labels of other tasks, with the corresponding labels of inference models.
INFERENCE = {
    "supports": {"entailment"},
    "refutes": {"contradiction"},
    "not enough info": {"neutral"},
    "non-entailment": {"contradiction", "neutral"},
}


class ClassifierCheck:
    """Check by a classifier: its highest-scoring label for a rewrite must be the required one.

    The classifier reads the rewrite after its context.

    Args:
        backbone: Sequence classifier with its tokenizer.
        labels: Labels of the data; each must be one of the classifier's, or one that :data:`INFERENCE` translates.

    Raises:
        CannotScore: The model has no classification head.
        FairlabError: The classifier has no label for one of the data's labels.
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
                    f"the classifier of augmentation.verify knows {', '.join(self.own)}, but no equivalent of "
                    f"'{label}'; give an inference model or a model that was trained on these labels"
                )
            self.accepted[label] = known

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return the fault of each rewrite; see :class:`fairlab.rewriting.labelled.label_keeping.LabelCheck`."""
        both = zip(items, made, strict=True)
        pairs: list[Pair] = [(item.context, text) if item.context else (text, None) for item, text in both]
        said = [self.own[place] for place in self.classifier.outputs(pairs).argmax(axis=1)]
        return [
            None if label in self.accepted[item.label] else f"reads as {label}"
            for item, label in zip(items, said, strict=True)
        ]
