"""Throughput of masked-language-model pretraining, compared with a plain loop over padded batches.

The plain loop has random batches of sentences, padded to the longest sentence, and computes logits at all positions, in
the same precision. fairlab (*ours*) trains as with ``+experiment=fairberta``: on blocks without padding, with logits
only at masked positions. Both train on the same number of text tokens per step from the same text, not counting padding
and special tokens. Forward pass, backward pass and AdamW are included. The model is the bundled masked language model.

    python perf/mlm_pretraining.py [--tokens 1500] [--steps 3] [--repeats 3] [--write]
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
from pathlib import Path

import torch
from torch import nn

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.corpus import TextBatch
from fairlab.data.packed import PackedText
from fairlab.data.preparing import stream_paragraphs
from fairlab.data.published.download import locate
from fairlab.data.text import SENTENCE_END
from fairlab.methods.mlm import MLM, mask_tokens
from harness import interleaved_seconds, machine, results
from likelihoods import load

RESULTS = results("mlm_pretraining")
NOVEL = "corpora/novels/Jane-Eyre_1260.txt"
VALUES = {
    "rank": None,
    "lr": 1e-5,
    "warmup": 0.0,
    "weight_decay": 0.01,
    "betas": (0.9, 0.98),
    "clip": 1.0,
    "mask_share": 0.15,
    "whole_words": False,
    "preserve": 0.0,
    "dropout": None,
    "epochs": 1,
    "steps": None,
    "validate_every": 1,
    "seed": 0,
}


def sentence_batches(backbone: Backbone, tokens: int, steps: int, path: Path) -> list[TextBatch]:
    """Return batches of random sentences with at least ``tokens`` tokens each."""
    sentences = [sentence for text in stream_paragraphs(path) for sentence in SENTENCE_END.split(text)]
    random.Random(0).shuffle(sentences)
    rows = iter(backbone.tokenize(sentences[: 40 * steps * tokens // 100]))
    batches = []
    for _ in range(steps):
        batch: list[list[int]] = []
        while sum(len(ids) - 2 for ids in batch) < tokens:
            batch.append(next(rows))
        batches.append(TextBatch(*pad(batch, backbone.padding_id), torch.zeros(len(batch))))
    return batches


def block_batches(backbone: Backbone, tokens: int, steps: int, path: Path) -> list[TextBatch]:
    """Return batches of blocks of the same text with about ``tokens`` tokens each."""
    data = PackedText(
        paths=[str(path)],
        field="text",
        original="source_text",
        twin="original",
        passage=256,
        block=None,
        validation=0.05,
        batch_size=max(1, round(tokens / (backbone.max_length - 2))),
        limit_characters=max(200_000, 60 * steps * tokens),  # enough text to hold some out for validation
        encoder=backbone,
        epochs=1,
        seed=0,
    )
    found = iter(data.train_dataloader())
    return [next(found) for _ in range(steps)]


def text_tokens(batches: list[TextBatch]) -> int:
    """Return the number of text tokens in batches."""
    return sum(int(batch.attention_mask.sum()) - 2 * len(batch.input_ids) for batch in batches)


def plain(model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[TextBatch], backbone: Backbone) -> None:
    """Train with the plain loop."""
    tokenizer = backbone.tokenizer
    for number, batch in enumerate(batches):
        shown, chosen = mask_tokens(
            batch.input_ids,
            torch.isin(batch.input_ids, torch.tensor(tokenizer.all_special_ids)),
            share=VALUES["mask_share"],
            as_mask=0.8,
            as_random=0.1,
            mask_id=tokenizer.mask_token_id,
            vocabulary=len(tokenizer),
            generator=torch.Generator().manual_seed(number),
        )
        labels = batch.input_ids.masked_fill(~chosen, -100)
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=shown, attention_mask=batch.attention_mask, labels=labels).loss
        step(loss, model, optimizer)


def ours(method: MLM, optimizer: torch.optim.Optimizer, batches: list[TextBatch]) -> None:
    """Train with fairlab's method."""
    for number, batch in enumerate(batches):
        with torch.autocast("cpu", torch.bfloat16):
            parts, _ = method.losses(method.masked(batch, "train", number), "train")
        step(parts["loss"], method.encoder.model, optimizer)


def step(loss: torch.Tensor, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Run the backward pass and update the weights."""
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), VALUES["clip"])
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def measure(backbone: Backbone, tokens: int, steps: int, repeats: int, path: Path) -> dict[str, object]:
    """Measure and return all figures of the script."""
    model = copy.deepcopy(backbone.model).train()
    backbone.model.set_attn_implementation("eager")  # as the method does on a CPU
    method = MLM(backbone, **VALUES)
    optimizers = [torch.optim.AdamW(each.parameters(), lr=VALUES["lr"]) for each in (model, backbone.model)]
    batches = {make.__name__: make(backbone, tokens, steps, path) for make in (sentence_batches, block_batches)}
    seconds = interleaved_seconds(
        {
            "plain": lambda: plain(model, optimizers[0], batches["sentence_batches"], backbone),
            "ours": lambda: ours(method, optimizers[1], batches["block_batches"]),
        },
        repeats,
    )
    counts = {"plain": text_tokens(batches["sentence_batches"]), "ours": text_tokens(batches["block_batches"])}
    rates = {name: [counts[name] / taken for taken in found] for name, found in seconds.items()}
    ratios = [b / a for a, b in zip(rates["plain"], rates["ours"], strict=True)]
    padded = batches["sentence_batches"]
    return {
        "machine": machine(),
        "settings": {"tokens": tokens, "steps": steps, "repeats": repeats},
        "padding": 1 - sum(int(b.attention_mask.sum()) for b in padded) / sum(b.input_ids.numel() for b in padded),
        **{f"{name}_tokens_per_second": statistics.median(found) for name, found in rates.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_, settings = result["machine"], result["settings"]
    return "\n".join(
        [
            f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}; `minilm_mlm`, "
            f"bfloat16 autocast, about {settings['tokens']} tokens per step, medians of {settings['repeats']} "
            f"interleaved repeats of {settings['steps']} steps.",
            "",
            "| plain, tokens/s | padding of plain | ours, tokens/s | speedup |",
            "|---|---|---|---|",
            f"| {result['plain_tokens_per_second']:.0f} | {result['padding']:.0%} | "
            f"{result['ours_tokens_per_second']:.0f} | {result['ratio']:.1f} ({min(result['ratios']):.1f} to "
            f"{max(result['ratios']):.1f}) |",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1500)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(load(), arguments.tokens, arguments.steps, arguments.repeats, locate(NOVEL))
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
