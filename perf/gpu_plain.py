"""Baseline of the GPU check: CCD as a plain loop over transformers, without fairlab's trainer and data loading.

Each step tokenizes its groups in random order and pads them to the longest text. Each version has a separate forward
pass, and the neutral texts have another one in a frozen copy of the model. Autocast uses bfloat16, as in fairlab's run.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer

import gpu_parts
from harness import wait_for

WARM_UP = 5  # steps before the clock starts


def main() -> None:
    """Time the loop on texts of full and of mixed length, and write the tokens per second to ``plain.json``."""
    folder, device = Path(sys.argv[1]), sys.argv[2]
    how = gpu_parts.TINY if sys.argv[3] == "tiny" else gpu_parts.FULL
    made = folder / "made"
    found = {
        name: tokens_per_second(made / "bert_large", made / f"{texts}.jsonl", device, how)
        for name, texts in (("ccd", "long"), ("ccd_mixed", "mixed"))
    }
    (folder / "plain.json").write_text(json.dumps(found), encoding="utf-8")


def tokens_per_second(model_folder: Path, texts: Path, device: str, how: gpu_parts.Setting) -> float:
    """Return how many tokens per second the loop trains on, without padding."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModel.from_pretrained(model_folder, add_pooling_layer=False).to(device).eval()
    frozen = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    groups = [json.loads(line)["versions"] for line in texts.read_text(encoding="utf-8").splitlines()]
    random.Random(0).shuffle(groups)
    tokens, started = 0, 0.0
    for step in range(WARM_UP + max(3, how.steps // 3)):
        if step == WARM_UP:
            wait_for(device)
            tokens, started = 0, time.perf_counter()
        drawn = [groups[(step * how.groups + k) % len(groups)] for k in range(how.groups)]
        loss, count = loss_of(drawn, model, frozen, tokenizer, device, how.length)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tokens += count
    wait_for(device)
    return tokens / (time.perf_counter() - started)


def loss_of(groups: list[Any], model: Any, frozen: Any, tokenizer: Any, device: str, length: int) -> tuple[Any, int]:
    """Return the mean CCD loss of groups, and the number of their tokens."""
    count = 0

    def embed(encoder: Any, texts: list[str]) -> Any:
        nonlocal count
        tokens = tokenizer(texts, padding=True, truncation=True, max_length=length, return_tensors="pt").to(device)
        count += int(tokens["attention_mask"].sum()) if encoder is model else 0
        with torch.autocast(device, torch.bfloat16):
            states = encoder(**tokens).last_hidden_state.float()
        mask = tokens["attention_mask"].unsqueeze(-1)
        return (states * mask).sum(1) / mask.sum(1)

    neutral = embed(model, [one["neutral"] for one in groups])
    with torch.no_grad():
        original = embed(frozen, [one["neutral"] for one in groups])
    near = [
        torch.exp(-((embed(model, [one[name] for one in groups]) - neutral) ** 2).sum(-1) / 2)
        for name in ("man", "woman")
    ]
    return ((near[0] - near[1]).abs() + (neutral - original).norm(dim=-1)).mean(), count


if __name__ == "__main__":
    main()
