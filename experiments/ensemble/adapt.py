"""Training of a sentence encoder's upper layers on hate labels, with low-rank adapters and a linear head per label.

Shape letters: N texts, D vector components, L kinds of labels.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from fairlab.backbones.adapters import LoRA, add_adapters, save_adapters
from fairlab.backbones.backbone import Backbone, batches_by_tokens, pad
from fairlab.data.safety_texts import SafetyText

RANK, LOWEST, LAYERS = 8, 3, ("attention.self.query", "attention.self.value", "attention.output.dense")
BATCH, EPOCHS, WARM_UP = 32, 1, 50
RATE, RATE_OF_HEADS, SCALE = 2e-3, 1e-2, 8.0
TOKENS = 48  # maximum number of tokens per text; all sentences and most tweets are shorter
# Kinds of labels with their weight in the loss: hate in any text, and each label of each dataset.
HEADS = {
    "hate": 0.5,
    "sentences/hate": 1,
    "hate_speech_offensive/hate": 1,
    "hate_speech_offensive/toxicity": 0.5,
    "olid_training/toxicity": 0.5,
    "olid_training/hate": 1,
}


@dataclass(frozen=True)
class Encoded:
    """Training texts, as hidden states of the frozen lower layers.

    Attributes:
        hidden: Hidden states of each text, (tokens, D).
        labels: Labels (N, L), -1 if a text has no label.
    """

    hidden: Sequence[Tensor]
    labels: Tensor


def adapt(backbone: Backbone, texts: dict[str, Sequence[SafetyText]], rng: random.Random, file: Path) -> None:
    """Train adapters in the layers from :data:`LOWEST` upwards, and write them to a file.

    Args:
        backbone: BERT encoder, which is changed in place.
        texts: Training texts, by the names of their datasets.
        rng: Random generator for the order of batches.
        file: New file for the adapters.
    """
    layers = backbone.model.base_model.encoder.layer
    names = [f"layer.{k}.{name}" for k in range(LOWEST, len(layers)) for name in LAYERS]
    backbone.eval()
    add_adapters(backbone.model, LoRA(rank=RANK, alpha=2 * RANK, targets=names))
    heads, scale = nn.Linear(backbone.width, len(HEADS)), nn.Parameter(torch.tensor(SCALE))
    for name, parameter in backbone.model.named_parameters():
        if "pooler" in name:  # does not affect the vectors
            parameter.requires_grad_(False)
    trained = [parameter for parameter in backbone.model.parameters() if parameter.requires_grad]
    groups = [{"params": trained, "lr": RATE}, {"params": [*heads.parameters(), scale], "lr": RATE_OF_HEADS}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    encoded, weights = _encode(backbone, texts), torch.tensor(list(HEADS.values()))
    steps, step = EPOCHS * (len(encoded.hidden) // BATCH + 1), 0
    for _ in range(EPOCHS):
        for batch in _batches(encoded.hidden, rng):
            for group, rate in zip(optimizer.param_groups, (RATE, RATE_OF_HEADS), strict=True):
                group["lr"] = rate * min(1, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps)
            logits = heads(_vectors(layers[LOWEST:], [encoded.hidden[k] for k in batch]) * scale)
            truth = encoded.labels[batch]
            losses = nn.functional.binary_cross_entropy_with_logits(logits, truth.clamp(min=0), reduction="none")
            optimizer.zero_grad()
            ((losses * (truth >= 0) * weights).sum() / len(batch)).backward()
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            step += 1
    save_adapters(backbone.model, file)


@torch.no_grad()
def _encode(backbone: Backbone, texts: dict[str, Sequence[SafetyText]]) -> Encoded:
    """Compute the hidden states of the texts after the frozen layers."""
    backbone.max_length = TOKENS
    rows = [(text, name) for name, some in texts.items() for text in some]
    token_ids = backbone.tokenize([text.text for text, _ in rows])
    body, hidden = backbone.model.base_model, [torch.empty(0)] * len(rows)
    for batch in batches_by_tokens([len(ids) for ids in token_ids], 4096):
        input_ids, mask = pad([token_ids[k] for k in batch], backbone.padding_id)
        states, hiding = body.embeddings(input_ids=input_ids), (1 - mask)[:, None, None, :] * -1e4
        for layer in body.encoder.layer[:LOWEST]:
            states = _first(layer(states, hiding.float()))
        for row, k in enumerate(batch):
            hidden[k] = states[row, : len(token_ids[k])].clone()
    labels = [[_label(text, name, head) for head in HEADS] for text, name in rows]
    return Encoded(hidden, torch.tensor(labels, dtype=torch.float32))


def _label(text: SafetyText, dataset: str, head: str) -> int:
    """Return the label that a head learns from a text, or -1 if it learns none."""
    of, _, name = head.rpartition("/")
    return text.labels[name] if of in ("", dataset) else -1


def _batches(hidden: Sequence[Tensor], rng: random.Random) -> Iterator[list[int]]:
    """Yield batches of texts with the same number of tokens, which need no padding, in a random order."""
    order = list(range(len(hidden)))
    rng.shuffle(order)
    by_length: dict[int, list[int]] = {}
    for k in order:
        by_length.setdefault(len(hidden[k]), []).append(k)
    batches = [some[k : k + BATCH] for some in by_length.values() for k in range(0, len(some), BATCH)]
    rng.shuffle(batches)
    yield from batches


def _vectors(layers: Sequence[nn.Module], hidden: Sequence[Tensor]) -> Tensor:
    """Compute sentence vectors (N, D) of unit length from the hidden states below the given layers."""
    states = torch.stack(list(hidden))
    for layer in layers:
        states = _first(layer(states))
    return nn.functional.normalize(states.mean(dim=1), dim=-1)


def _first(output: Tensor | tuple[Tensor, ...]) -> Tensor:
    return output[0] if isinstance(output, tuple) else output
