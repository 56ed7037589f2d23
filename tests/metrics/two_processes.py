"""Metrics that two processes fill with different halves; a module of its own, as every process imports it."""

import json
from pathlib import Path

import torch
from torch import distributed

from fairlab.metrics.acv import CounterfactualVariance
from fairlab.metrics.crows_pairs import CrowsPairsScore
from fairlab.metrics.fairscore import FairscoreMetric
from fairlab.metrics.stereoset import ICAT
from fairlab.metrics.weat import EffectSize


def batches():
    """Each metric with its batches; those at even places are the first process's."""
    draw = torch.Generator().manual_seed(0)

    def rand(*shape):
        return torch.rand(*shape, generator=draw)

    sets = [torch.tensor([0, 0, 1, 2, 3]), torch.tensor([1, 1, 1, 2, -1]), torch.tensor([0, 3, 3, 2, 1])]
    return {
        "effect size": (EffectSize(), [(rand(5, 4) - 0.5, one) for one in sets]),
        "icat": (ICAT(3), [(rand(4, 3), torch.tensor([0, 0, term, term])) for term in (0, 1, 2)]),
        "counterfactual variance": (
            CounterfactualVariance(),
            [(rand(4), torch.tensor([0, 1, 2, -1])) for _ in range(3)],
        ),
        "crows pairs": (CrowsPairsScore(), [(rand(size, 2).round(decimals=1),) for size in (7, 5, 3)]),
        "fairscore": (FairscoreMetric(), [(rand(size) > 0.5, rand(size) > 0.5) for size in (4, 6, 5)]),
    }


def values(first=0, step=1):
    """Values of the metrics over every ``step``-th batch from the ``first``."""
    found = {}
    for name, (metric, parts) in batches().items():
        for part in parts[first::step]:
            metric.update(*part)
        found[name] = metric.compute().item()
    return found


def one_of_two(rank, folder):
    """What one of the processes runs; it writes the values that it sees."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    (Path(folder) / f"{rank}.json").write_text(json.dumps(values(rank, 2)))
    distributed.destroy_process_group()
