"""The plain way to read likelihoods: one text at a time, logits of the whole model at all positions."""

import torch

from fairlab.backbones.backbone import Backbone


def livened(backbone: Backbone) -> Backbone:
    """Random weights far enough from zero that a tiny model prefers some tokens to others."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in backbone.model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return backbone


def all_log_probabilities(backbone: Backbone, token_ids: list[int]) -> torch.Tensor:
    """Of every token (V) at every position (T) of one text."""
    with torch.no_grad():
        output = backbone.model.eval()(input_ids=torch.tensor([token_ids]))
    logits = output.prediction_logits if hasattr(output, "prediction_logits") else output.logits
    return torch.log_softmax(logits[0].double(), dim=-1)


def masked_log_probability(backbone: Backbone, token_ids: list[int], position: int, target: int) -> float:
    """Of one token at one position."""
    return all_log_probabilities(backbone, token_ids)[position, target].item()
