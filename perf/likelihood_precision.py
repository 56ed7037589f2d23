"""Effect of bfloat16 on the scores and the speed of CrowS-Pairs and StereoSet.

Each model is loaded twice, with ``dtype=float32`` and ``dtype=bfloat16`` as in ``fairlab.evaluate``, and scores the
same items. Scores are the benchmarks' log-likelihoods before any rounding. A verdict states which of two sentences or
words is more likely. Time is CPU time.

    python perf/likelihood_precision.py [--pairs 300] [--examples 600] [--models minilm_mlm smollm2] [--write]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import fairlab
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.benchmarks.stereoset import sentence_probabilities, word_probabilities
from fairlab.data.published.crows_pairs import CrowsPair
from fairlab.data.published.stereoset import StereoSetItem
from harness import machine, results
from likelihoods import TASKS, drawn_examples, drawn_pairs, our_sentences

RESULTS = results("likelihood_precision")
DTYPES = ("float32", "bfloat16")


def sentences(scorer: MaskedLM | CausalLM, pairs: list[CrowsPair]) -> np.ndarray:
    """Return the log-likelihoods (N, 2) of the sentences of each pair, with the more stereotyping one first."""
    if isinstance(scorer, MaskedLM):
        return np.reshape(our_sentences(scorer, pairs), (-1, 2))
    return scorer.log_likelihoods([text for pair in pairs for text in (pair.more, pair.less)]).sums.reshape(-1, 2)


def candidates(scorer: MaskedLM | CausalLM, examples: list[StereoSetItem]) -> np.ndarray:
    """Return the log-probabilities (N, 3) of each example's candidates: stereotype, anti-stereotype, unrelated."""
    if isinstance(scorer, MaskedLM):
        return np.log(word_probabilities(scorer, examples, blank=False))
    return np.log(sentence_probabilities(scorer, examples))


def measure(models: list[str], pairs: int, examples: int) -> dict[str, object]:
    """Measure and return all figures of the script."""
    chosen = {"crows_pairs": drawn_pairs(pairs), "stereoset": drawn_examples(examples)}
    found: dict[str, object] = {}
    for name in models:
        scores, seconds = {}, {}
        for dtype in DTYPES:
            scorer = likelihood(fairlab.load(name, dtype=dtype))
            for task, score in (("crows_pairs", sentences), ("stereoset", candidates)):
                score(scorer, chosen[task][:2])  # warm-up
                started = time.process_time()
                scores[task, dtype] = score(scorer, chosen[task])
                seconds[task, dtype] = time.process_time() - started
        found[name] = {
            task: apart(*(scores[task, dtype] for dtype in DTYPES))
            | {"ratio": seconds[task, "float32"] / seconds[task, "bfloat16"]}
            for task in chosen
        }
    return {"machine": machine(), "models": found}


def apart(exact: np.ndarray, rounded: np.ndarray) -> dict[str, float]:
    """Compare exact and rounded scores (N, K).

    Returns:
        Largest and mean difference in nats, mean difference between the first two exact scores, and proportion of items
        for which the order of these two scores changes.
    """
    differences = np.abs(exact - rounded)
    changed = np.sign(exact[:, 0] - exact[:, 1]) != np.sign(rounded[:, 0] - rounded[:, 1])
    return {
        "items": len(exact),
        "largest": float(differences.max()),
        "mean": float(differences.mean()),
        "between": float(np.abs(exact[:, 0] - exact[:, 1]).mean()),
        "changed": float(changed.mean()),
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_ = result["machine"]
    lines = [
        f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}; differences in nats.",
        "",
        "| model | benchmark | items | mean difference | largest difference | mean distance of the compared scores "
        "| changed verdicts | speedup |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, tasks in result["models"].items():
        for task, row in tasks.items():
            lines.append(
                f"| {name} | {TASKS[task]} | {row['items']} | {row['mean']:.3f} | {row['largest']:.2f} | "
                f"{row['between']:.2f} | {100 * row['changed']:.1f}% | {row['ratio']:.1f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--examples", type=int, default=600)
    parser.add_argument("--models", nargs="+", default=["minilm_mlm", "smollm2"])
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(arguments.models, arguments.pairs, arguments.examples)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
