"""Sequence classifiers: backbones with a head that maps a text, or a pair of texts, to one label or one score."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES

from fairlab.backbones.backbone import TOKENS_PER_BATCH, Backbone
from fairlab.backbones.scoring import batches_of_one_length
from fairlab.checks.progress import with_progress
from fairlab.types import CannotScore, FairlabError

SCORE = ("score",)  # the only output of a regression or of a choice between texts
Pair = tuple[str, str | None]


@dataclass(frozen=True)
class Encoded:
    """Token ids of texts or pairs of texts.

    Attributes:
        token_ids: Token ids of each text or pair, including special tokens, truncated to the backbone's ``max_length``
            (for a pair, the longer text is truncated first).
        segments: Segment of every token: 0 in the first text and 1 in the second, or None if the model has no segments.
        cut: Number of texts or pairs that were truncated.
    """

    token_ids: list[list[int]]
    segments: list[list[int]] | None
    cut: int

    def batches(
        self, budget: int, progress: str, device: torch.device
    ) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
        """Yield batches of texts of one length: their positions, and the inputs of a model, on a device."""
        lengths = [len(ids) for ids in self.token_ids]
        for batch in with_progress(batches_of_one_length(lengths, budget), progress):
            input_ids = torch.tensor([self.token_ids[row] for row in batch], device=device)
            inputs = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
            if self.segments is not None:
                inputs["token_type_ids"] = torch.tensor([self.segments[row] for row in batch], device=device)
            yield batch, inputs


def encode(backbone: Backbone, pairs: Sequence[Pair]) -> Encoded:
    """Tokenize single texts (pairs without a second text) or pairs, joined as the tokenizer joins two texts.

    If the tokenizer would join them without a separator, as with most causal LMs, a line break is inserted. A text
    without any token is read as one start token.
    """
    tokenizer = backbone.tokenizer
    columns = [[first for first, _ in pairs]]
    if pairs[0][1] is not None:
        joined = tokenizer.num_special_tokens_to_add(pair=True) == tokenizer.num_special_tokens_to_add(pair=False)
        columns.append([f"\n{second}" if joined else str(second) for _, second in pairs])
    segmented = (getattr(backbone.model.config, "type_vocab_size", None) or 0) > 1
    encoded = tokenizer(
        *columns, truncation=True, max_length=backbone.max_length, return_token_type_ids=segmented, verbose=False
    )
    token_ids = [ids or [backbone.empty_id] for ids in encoded["input_ids"]]
    segments = [found or [0] for found in encoded["token_type_ids"]] if segmented else None
    return Encoded(token_ids, segments, sum(backbone.is_cut(token_ids, *columns)))


def outputs(model: PreTrainedModel, input_ids: Tensor, attention_mask: Tensor, segments: Tensor | None) -> Tensor:
    """Return the head's outputs (N, L), float32, for token ids (N, T) with a mask that is 0 at padding."""
    more = {} if segments is None else {"token_type_ids": segments}
    return model(input_ids=input_ids, attention_mask=attention_mask, **more).logits.float()


def with_classifier(backbone: Backbone, labels: Sequence[str]) -> PreTrainedModel:
    """Return the backbone's encoder with a new, untrained head that has one output per label.

    The model is the sequence classifier that transformers provides for the architecture; any other head is dropped. A
    pooler that the head needs and the encoder lacks is also new.

    Raises:
        FairlabError: If transformers has no sequence classifier for this architecture, or if the encoder's embeddings
            are multiplied by a matrix, which would be lost.
    """
    model = backbone.model
    refuse_projection(backbone)
    if type(model.config) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
        raise FairlabError(
            f"there is no sequence classifier of the architecture {model.config.model_type}; choose another backbone"
        )
    config: Any = copy.deepcopy(model.config)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}
    config.problem_type = None if len(labels) > 1 else "regression"
    if config.pad_token_id is None:  # lets a causal LM's head find the last token of a padded text
        config.pad_token_id = backbone.padding_id
    classifier = AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    classifier.base_model.load_state_dict(model.base_model.state_dict(), strict=False)  # strict except for the pooler
    return classifier.to(model.device, model.dtype).train(model.training)


def refuse_projection(backbone: Backbone) -> None:
    """Raise if the encoder is debiased by a matrix applied to its hidden states, which a new head would ignore."""
    if backbone.projection is not None:
        raise FairlabError(
            "a classifier starts from hidden states, but this encoder is debiased by a projection or linear map after "
            "them, which the classifier would lose, so it would be the original encoder's; give an encoder whose own "
            "weights were trained"
        )


class Classifier:
    """Sequence classifier whose outputs follow the requested order of labels.

    Args:
        backbone: Sequence classifier with its tokenizer.
        labels: Names of the labels of a task, or ``SCORE`` for scores.
        budget: Number of tokens per forward pass.

    Attributes:
        cut: Number of pairs so far that were longer than ``max_length``.

    Raises:
        CannotScore: If the model has no classification head, or if its labels differ from the task's labels.
    """

    def __init__(self, backbone: Backbone, labels: Sequence[str], *, budget: int = TOKENS_PER_BATCH) -> None:
        name = type(backbone.model).__name__
        if name not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.values():
            raise CannotScore(f"{name} has no classification head; python -m fairlab.train +experiment=glue trains one")
        self.backbone = backbone
        self.budget = budget
        self.cut = 0
        config: Any = backbone.model.config
        own = [str(label).lower() for _, label in sorted(config.id2label.items())]
        wanted = [label.lower() for label in labels]
        if sorted(own) != sorted(wanted):
            raise CannotScore(
                f"the classifier's labels are {', '.join(own)}, not {', '.join(wanted)}; give a model trained for the "
                "task, or rename its labels in its config.json (id2label)"
            )
        self.order = [own.index(label) for label in wanted]

    def outputs(self, pairs: Sequence[Pair], *, progress: str = "") -> NDArray[np.float32]:
        """Return the outputs (N, L) for texts or pairs, in input order.

        The outputs are float32, computed without dropout, and independent of the batch.

        Args:
            pairs: One or more pairs of texts; either all or no pairs have a second text.
            progress: Title of a progress bar, shown on a terminal only.
        """
        found = self._outputs(self.backbone.model, pairs, progress)
        subtraction = self.backbone.subtraction
        if subtraction is None:
            return found
        alone = self._outputs(subtraction.model, [(second or first, None) for first, second in pairs], progress)
        return subtraction(torch.from_numpy(found), torch.from_numpy(alone)).numpy()

    def _outputs(self, model: PreTrainedModel, pairs: Sequence[Pair], progress: str) -> NDArray[np.float32]:
        """Return the outputs (N, L) of a model for texts or pairs."""
        backbone = self.backbone
        encoded = encode(backbone, pairs)
        self.cut += encoded.cut
        found = np.empty((len(pairs), len(self.order)), dtype=np.float32)
        with backbone.measuring():
            for batch, inputs in encoded.batches(self.budget, progress, backbone.device):
                found[batch] = model(**inputs).logits.float()[:, self.order].cpu().numpy()
        return found
