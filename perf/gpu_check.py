"""What could not be tried without a GPU: results equal to the CPU's, throughput, share of the peak, memory, GPU tests.

    python perf/gpu_check.py [--device cuda] [--layers 12] [--batch 64] [--steps 20] [--write]

Equality: embeddings, and losses of CCD with their gradients, of the embedded encoder in float32. Training: steps of an
encoder of BERT-base's shape with random weights on texts of 128 tokens, in bfloat16 autocast. With ``--write`` the
figures are kept in ``perf/results/gpu_check.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from fairlab.backbones.embedded_encoder import embedded_encoder
from fairlab.data.groups import read_groups
from fairlab.losses.ccd import bias_loss
from fairlab.run.planning.work import training_flops
from harness import machine, matmul_peak, results, wait_for

RESULTS = results("gpu_check")
GROUPS, LENGTH = 32, 128
TOLERANCE = {"embeddings": 1e-4, "losses": 1e-4, "gradients": 1e-3}  # float32, unit length; gradients by the largest


def equality(device: str) -> dict[str, float]:
    """Largest difference between the CPU and a device, of embeddings, losses and gradients."""
    texts = [text for group in read_groups("embedded/people")[:GROUPS] for text in group.texts]
    on_cpu, on_device = (outcome(texts, one) for one in ("cpu", device))
    differences = {name: (on_cpu[name] - on_device[name]).abs().max().item() for name in on_cpu}
    return differences | {"gradients": differences["gradients"] / on_cpu["gradients"].abs().max().item()}


def outcome(texts: list[str], device: str) -> dict[str, torch.Tensor]:
    """Embeddings of texts, the bias loss of each group of three, and the gradient of its mean, on a device."""
    encoder = embedded_encoder().to(device)
    tokens = encoder.tokenizer(texts, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt")
    embeddings = encoder(tokens["input_ids"].to(device), tokens["attention_mask"].to(device)).float()
    versions = embeddings.unflatten(0, (-1, 3))
    losses = bias_loss(versions[:, 1:], versions[:, 0], 0.3)
    losses.mean().backward()
    gradients = [one.grad.flatten() for one in encoder.parameters() if one.grad is not None]
    found = {"embeddings": embeddings, "losses": losses, "gradients": torch.cat(gradients)}
    return {name: value.detach().cpu() for name, value in found.items()}


def training(device: str, layers: int, batch: int, steps: int) -> dict[str, float]:
    """Tokens a second, share of the measured matmul peak and highest memory of training steps in bfloat16 autocast."""
    torch.manual_seed(0)
    model = BertModel(BertConfig(num_hidden_layers=layers), add_pooling_layer=False).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    token_ids = torch.randint(1000, 20000, (batch, LENGTH), device=device)
    kind = torch.device(device).type
    seconds = []
    for _ in range(steps + 1):
        started = time.perf_counter()
        with torch.autocast(kind, torch.bfloat16):
            loss = model(token_ids).last_hidden_state.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        wait_for(device)
        seconds.append(time.perf_counter() - started)
    rate = batch * LENGTH / statistics.median(seconds[1:])  # the first step compiles and allocates
    multiplied = sum(one.numel() for one in model.encoder.parameters())
    peak = matmul_peak(torch.bfloat16, device=device)
    memory = torch.cuda.max_memory_allocated() if kind == "cuda" else 0
    return {
        "parameters": sum(one.numel() for one in model.parameters()),
        "tokens_per_second": rate,
        "matmul_peak_tflops": peak / 1e12,
        "share_of_peak": training_flops(multiplied, rate, adapters=False) / peak,
        "highest_memory_gb": memory / 1e9,
    }


def tests() -> dict[str, Any]:
    """The tests that are marked ``gpu``: exit code and last line."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-n0"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    return {"exit_code": done.returncode, "last_line": (done.stdout.strip().splitlines() or [""])[-1]}


def measure(device: str, layers: int, batch: int, steps: int) -> dict[str, Any]:
    """All but the tests."""
    return {
        "machine": machine(),
        "device": torch.cuda.get_device_name() if torch.device(device).type == "cuda" else device,
        "settings": {"layers": layers, "batch": batch, "steps": steps, "length": LENGTH},
        "differences": equality(device),
        "training": training(device, layers, batch, steps),
    }


def unequal(differences: dict[str, float]) -> list[str]:
    """What differs from the CPU by more than float32 explains."""
    return [name for name, allowed in TOLERANCE.items() if not differences[name] <= allowed]


def table(result: dict[str, Any]) -> str:
    """The figures as Markdown."""
    found, settings = result["training"], result["settings"]
    rows = {
        **{f"{name}, largest difference to the CPU": f"{value:.1e}" for name, value in result["differences"].items()},
        "tokens trained a second, bfloat16": f"{found['tokens_per_second']:,.0f}",
        "matmul peak, TFLOP/s": f"{found['matmul_peak_tflops']:.1f}",
        "share of that peak": f"{found['share_of_peak']:.0%}",
        "highest memory, GB": f"{found['highest_memory_gb']:.1f}",
        **({"tests marked gpu": result["tests"]["last_line"]} if "tests" in result else {}),
    }
    lines = [
        f"{result['device']}, {settings['layers']} layers, {settings['batch']} texts of {settings['length']} tokens"
    ]
    return "\n".join([*lines, "", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name}")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit(
            "there is no GPU here: run it where there is one, or try the script itself with --device cpu --layers 1"
        )
    result = measure(arguments.device, arguments.layers, arguments.batch, arguments.steps) | {"tests": tests()}
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if wrong := unequal(result["differences"]):
        sys.exit(f"not as on the CPU: {', '.join(wrong)}")
    sys.exit(result["tests"]["exit_code"])
