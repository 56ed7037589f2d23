"""Log-likelihoods of Qwen2.5-Coder-1.5B in bfloat16 and in llama.cpp with 4-bit weights, compared with float32.

    python -m experiments.causal_lm.formats OUT.json [--llama LLAMA_SCORES] [--pairs 100]

The pairs are sampled from CrowS-Pairs. Only numbers are written, in nats per sentence. ``LLAMA_SCORES`` is the program
compiled from ``llama_scores.cpp`` in the same folder; it reads the same token ids. Everything runs in one thread, and
seconds are CPU time without loading.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from experiments.real_models.table import fetchable
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.published.crows_pairs import read_crows_pairs
from fairlab.data.published.download import locate
from fairlab.files import write_whole
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.build import build
from fairlab.run.config.composing import composing
from fairlab.run.environment import environment

SEED = 0
FORMATS = ("float32", "bfloat16")
BATCH = 512  # number of tokens per batch of llama.cpp


def drawn_texts(count: int) -> list[str]:
    """Return both sentences of each of ``count`` sampled pairs, the more stereotyping sentence first."""
    pairs = read_crows_pairs(locate("crows_pairs/crows_pairs_anonymized.csv"))
    return [text for pair in random.Random(SEED).sample(pairs, count) for text in (pair.more, pair.less)]


def by_transformers(dtype: str, texts: Sequence[str]) -> tuple[dict[str, Any], list[list[int]]]:
    """Score the texts as benchmarks do.

    Returns:
        Number of tokens, seconds and log-likelihoods; and the token ids that were scored.
    """
    with composing():
        backbone = build(backbone_node("qwen", {"dtype": dtype}))
    scorer = CausalLM(backbone)
    started = time.process_time()
    found = scorer.log_likelihoods(texts)
    seconds = time.process_time() - started
    ids = backbone.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    taken = {"tokens": int(found.counts.sum()), "seconds": seconds, "log_likelihoods": found.sums.round(6).tolist()}
    return taken, [[scorer.start_id, *of_text] for of_text in ids]


def by_llama(program: str, ids: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Score the token ids with llama.cpp and the original weights file.

    Returns:
        Number of tokens, seconds and log-likelihoods, as from :func:`by_transformers`.
    """
    model = fetchable("qwen")
    (file,) = model.files
    with tempfile.TemporaryFile("w+") as lines:
        lines.writelines(" ".join(map(str, of_text)) + "\n" for of_text in ids)
        lines.seek(0)
        command = [program, str(model.folder / file), str(BATCH)]
        done = subprocess.run(command, stdin=lines, capture_output=True, text=True, check=True)
    return {**json.loads(done.stderr), "log_likelihoods": [float(line) for line in done.stdout.split()]}


def main() -> None:
    """Score the same sentences in every format, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--llama")
    parser.add_argument("--pairs", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    texts = drawn_texts(arguments.pairs)
    ways: dict[str, Any] = {}
    ids: list[list[int]] = []
    for dtype in FORMATS:
        ways[dtype], ids = by_transformers(dtype, texts)
        gc.collect()
    if arguments.llama:
        ways["llama.cpp"] = by_llama(os.path.abspath(arguments.llama), ids)
    found = environment()
    kept = {key: found[key] for key in ("revision", "versions", "hardware")}
    result = {"benchmark": "crows_pairs", "pairs": arguments.pairs, "seed": SEED, "ways": ways, **kept}
    write_whole(arguments.out, json.dumps(result, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
