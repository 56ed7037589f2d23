"""Scoring texts with a safety ensemble in one process and in two, and fitting its forest.

Plain: one process. Ours: ``score_stream`` with two, one thread each. Starting and ending the processes is left out: the
time is that from the arrival of the first quarter of the scores, when all processes have long been at work, to that of
the last. Apart from that, once: a forest on 100,000 x 34 scores.

    python perf/safety_scoring.py [--texts 100000] [--rows 100000] [--repeats 3] [--write]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from fairlab.ensemble.scoring import score_stream
from fairlab.ensemble.sources import Profanity, Sentiment, Sources
from harness import machine

RESULTS = Path(__file__).parent / "results" / "safety_scoring.json"
WORDS = "the a gardener writes of long walks by an old river where birds and boats pass every bright morning".split()


def texts_of(count: int) -> list[str]:
    """Different harmless texts of about twenty words."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=20)) + f" {k}" for k in range(count)]


def load() -> Callable[[list[str]], list[dict[str, float]]]:
    """Sources and a small forest on them, as an exported ensemble has."""
    from sklearn.ensemble import RandomForestClassifier

    sources = Sources([Profanity(), Sentiment()])
    rng = np.random.default_rng(0)
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    forest.fit(rng.random((2_000, len(sources.features))), rng.integers(0, 2, 2_000))

    def scores(texts: list[str]) -> list[dict[str, float]]:
        return [{"harm": float(value)} for value in forest.predict_proba(sources.score(texts))[:, 1]]

    return scores


def seconds(texts: list[str], num_proc: int) -> tuple[float, int]:
    """Seconds from the arrival of the first quarter of the scores to the last, and the number of the others."""
    first = len(texts) // 4
    scored = score_stream(texts, str, load, num_proc=num_proc)
    deque(islice(scored, first), maxlen=0)
    started = ended = time.perf_counter()
    for _ in scored:
        ended = time.perf_counter()
    return ended - started, len(texts) - first


def fit_seconds(rows: int) -> float:
    """Seconds of fitting a forest of 100 trees on rows x 34 scores, in one thread."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    features = rng.random((rows, 34))
    truth = (features[:, 0] + rng.random(rows) > 1.2).astype(int)
    started = time.perf_counter()
    RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1).fit(features, truth)
    return time.perf_counter() - started


def measure(texts: int, rows: int, repeats: int) -> dict[str, object]:
    """Texts a second of both ways, their ratio, and the time of a fit."""
    torch.set_num_threads(1)
    made = texts_of(texts)
    rates: dict[str, list[float]] = {"one": [], "two": []}
    for _ in range(repeats):
        for name, num_proc in (("one", 1), ("two", 2)):
            taken, count = seconds(made, num_proc)
            rates[name].append(count / taken)
    ratios = [two / one for one, two in zip(rates["one"], rates["two"], strict=True)]
    return {
        "machine": machine(),
        "settings": {"texts": texts, "rows": rows, "repeats": repeats},
        "texts_per_second": {name: statistics.median(found) for name, found in rates.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "fit_seconds": fit_seconds(rows),
    }


def table(result: dict) -> str:
    """The figures as Markdown."""
    settings, rate = result["settings"], result["texts_per_second"]
    return "\n".join(
        [
            f"{result['machine']['processor']}; {settings['texts']:,} texts, medians of {settings['repeats']} repeats, "
            "starting and ending processes left out.",
            "",
            "| way | texts a second | times one |",
            "|---|---|---|",
            f"| one process | {rate['one']:,.0f} | 1 |",
            f"| two processes | {rate['two']:,.0f} | {result['ratio']:.2f} ({min(result['ratios']):.2f} to "
            f"{max(result['ratios']):.2f}) |",
            "",
            f"A forest of 100 trees on {settings['rows']:,} x 34 scores: {result['fit_seconds']:.0f} s in one thread.",
        ]
    )


def main() -> None:
    """Measure, print, and keep the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.texts, arguments.rows, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
