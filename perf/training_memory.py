"""Memory of a training step as predicted by the plan's formula, compared with the memory of processes on a CPU.

A masked language model with random weights is trained on blocks of text with ``MLM`` and Lightning's trainer: in one
process, in two processes with whole models (DDP), and in two processes with sharded models (FSDP). The comparison
excludes the weights: it uses the peak resident memory during the steps, minus the resident memory before the first
step.

    python perf/training_memory.py [--layers 8] [--width 512] [--write]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from transformers import BertConfig, BertForMaskedLM

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.stages import _forget_peaks
from fairlab.data.packed import PackedText
from fairlab.data.published.download import locate
from fairlab.distributed import rank, ranks
from fairlab.methods.mlm import MLM
from fairlab.run.acceleration import Acceleration
from fairlab.run.launch.processes import run_in_processes
from fairlab.run.planning.memory import training_memory
from fairlab.run.planning.sizes import ModelSize
from fairlab.run.trainer import our_strategy
from harness import machine, peak_memory, results
from likelihoods import load
from mlm_pretraining import NOVEL, VALUES

RESULTS = results("training_memory")
BLOCK, BATCH, STEPS = 128, 16, 3
WHAT = ("none", "full")
# Return freed memory to the system at once, because it would otherwise count as used.
FREED = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
WAYS = {"one process": (1, "auto"), "DDP, two processes": (2, "ddp"), "FSDP, two processes": (2, "fsdp")}


class Resident(Callback):
    """Callback that measures the resident memory before the first step, and its peak during training."""

    def on_train_start(self, *_: Any) -> None:
        """Release freed memory, and start the measurement."""
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        _forget_peaks()
        self.before = peak_memory()

    def on_train_end(self, *_: Any) -> None:
        """Read the peak memory."""
        self.taken = peak_memory() - self.before


def model(layers: int, width: int) -> Backbone:
    """Create a masked language model with random weights and MiniLM's tokenizer, without dropout."""
    torch.manual_seed(0)
    heads = width // 64
    config = BertConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=BLOCK,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Backbone(BertForMaskedLM(config), load().tokenizer, pooling="mean", max_length=BLOCK, normalize=False)


def warm_up() -> None:
    """Train a small model for one step, so that the libraries' one-time allocations are not counted."""
    small = model(1, 64).model
    optimizer = torch.optim.AdamW(small.parameters(), fused=True)
    ids = torch.zeros((2, 8), dtype=torch.long)
    small(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()


def train(folder: Path, layers: int, width: int, strategy: str, recompute: str) -> None:
    """Train for a few steps, and write the memory of rank 0 to a file."""
    warm_up()
    backbone = model(layers, width)
    data = PackedText(
        paths=[str(locate(NOVEL))],
        field="text",
        original="source_text",
        twin="original",
        passage=256,
        block=BLOCK,
        validation=0.05,
        batch_size=BATCH,
        limit_characters=400_000,
        encoder=backbone,
        epochs=1,
        seed=0,
        prepared=str(folder / "prepared"),
    )
    resident = Resident()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=ranks(),
        strategy=our_strategy(strategy) or strategy,
        max_steps=STEPS,
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        callbacks=[resident, Acceleration(backbone, "sdpa", recompute, compiled=False)],
        default_root_dir=folder,
    )
    trainer.fit(MLM(backbone, **VALUES), data)
    if rank() == 0:
        (folder / "taken").write_text(str(resident.taken))


def planned(layers: int, width: int, processes: int, strategy: str, recompute: str) -> int:
    """Return the predicted memory in addition to the weights, in bytes."""
    backbone = model(layers, width)
    embeddings = backbone.model.get_input_embeddings().weight.numel() + width * (BLOCK + 2)
    count = sum(one.numel() for one in backbone.model.parameters())
    vocabulary = backbone.model.config.vocab_size
    size = ModelSize("", count, embeddings, layers, width, width // 64, 4 * width, vocabulary, 0, None, "")
    found = training_memory(
        size,
        texts=BATCH // processes,
        length=BLOCK,
        trained=count,
        dropout=False,
        logits=VALUES["mask_share"],
        recompute=recompute,  # type: ignore[arg-type]
        shards=processes if strategy == "fsdp" else 1,
    )
    return found.total - found.weights


def measure(layers: int, width: int) -> dict[str, Any]:
    """Measure and return all figures of the script."""
    found = []
    for name, (processes, strategy) in WAYS.items():
        for recompute in WHAT:
            with tempfile.TemporaryDirectory() as folder:
                run_in_processes(processes, train, Path(folder), layers, width, strategy, recompute)
                taken = int((Path(folder) / "taken").read_text())
            plan = planned(layers, width, processes, strategy, recompute)
            found.append({"way": name, "recompute": recompute, "taken": taken, "planned": plan})
            print(f"{name}, {recompute}: {taken / 1e6:.0f} MB for {plan / 1e6:.0f}", flush=True)
    return {"machine": machine(), "settings": {"layers": layers, "width": width}, "runs": found}


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings = result["settings"]
    rows = [
        f"| {one['way']} | {one['recompute']} | {one['planned'] / 1e6:.0f} | {one['taken'] / 1e6:.0f} | "
        f"{one['taken'] / one['planned']:.2f} |"
        for one in result["runs"]
    ]
    return "\n".join(
        [
            f"A masked LM with {settings['layers']} layers of width {settings['width']} is trained in float32 on a CPU "
            f"(torch {result['machine']['torch']}), with {BATCH} blocks of {BLOCK} tokens per step.",
            "",
            "| training | recomputed layers | planned, MB | measured, MB | measured / planned |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    if not FREED.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | FREED)
    result = measure(arguments.layers, arguments.width)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
