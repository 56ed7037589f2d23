"""Shortcut score gamma, compared with a loop over all pairs, and measured on a million documents.

The plain loop computes the cosine of each pair of documents with different labels from precomputed vectors. It runs on
a part of the documents, and its time is scaled up. fairlab (*ours*) computes the sums of vectors by label, and the
scores. In addition, gamma is computed once for a million documents of 20 tokens, from texts to scores, to measure time
and memory.

    python perf/shortcut.py [--repeats 5] [--million 1000000] [--write]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np

from fairlab.metrics.shortcuts import TokenSpace
from harness import interleaved_seconds, machine, main_of_a_million, peak_memory, results

RESULTS = results("shortcut")
DOCUMENTS, TOKENS, WORDS, LABELS = 2_000, 20, 50_000, 2
PART = 10  # the plain loop runs on every PART-th document, and its time is multiplied


def texts(n: int, seed: int = 0) -> Iterator[str]:
    """Yield documents of 20 words, sampled by Zipf's law."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, 10_000):
        ranks = np.minimum(rng.zipf(1.2, size=(min(10_000, n - start), TOKENS)), WORDS)
        for row in ranks.tolist():
            yield " ".join([f"w{rank}" for rank in row])


def quadratic(vectors: np.ndarray, labels: np.ndarray, documents: range) -> np.ndarray:
    """Compute gamma by equation 12 of the RAZOR paper, with one cosine per document of another label.

    Args:
        vectors: Vectors (N, D) of all documents.
        labels: Label of each document, (N,).
        documents: Indices of the documents to score.
    """
    found = []
    for i in documents:
        one, total, count = vectors[i], 0.0, 0
        for j in range(len(vectors)):
            if labels[j] != labels[i]:
                other = vectors[j]
                norms = float(np.sqrt(one @ one) * np.sqrt(other @ other))
                total += float(one @ other) / norms if norms else 0.0
                count += 1
        found.append(1 - total / count)
    return np.array(found)


def measure(repeats: int, documents: int = DOCUMENTS, part: int = PART) -> dict[str, object]:
    """Measure how many times faster ``TokenSpace.gamma`` is than the loop. Both get precomputed vectors."""
    labels = np.random.default_rng(1).integers(0, LABELS, documents)
    space = TokenSpace(texts(documents), labels.tolist())
    vectors = space.vectors(np.arange(documents))
    some = range(0, documents, part)

    def ours() -> np.ndarray:
        space.sums = space._sums(np.arange(documents))
        return space.gamma()

    difference = float(np.abs(quadratic(vectors, labels, some) - ours()[list(some)]).max())
    seconds = interleaved_seconds({"quadratic": lambda: quadratic(vectors, labels, some), "ours": ours}, repeats)
    seconds["quadratic"] = [taken * part for taken in seconds["quadratic"]]
    ratios = [a / b for a, b in zip(seconds["quadratic"], seconds["ours"], strict=True)]
    return {
        "machine": machine(),
        "settings": {"documents": documents, "tokens": TOKENS, "part": part, "repeats": repeats},
        "difference": difference,
        "seconds": {name: statistics.median(taken) for name, taken in seconds.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def large(n: int) -> dict[str, float]:
    """Measure gamma for n documents: time from texts to scores, time for one replacement, and memory.

    The memory is the peak minus the earlier peak for a tenth of the documents.
    """
    seconds, cpu_seconds = {}, {}
    for size in (n // 10, n):
        labels = np.random.default_rng(1).integers(0, LABELS, size)
        before = peak_memory()
        started, cpu_started = time.perf_counter(), time.process_time()
        space = TokenSpace(texts(size), labels)
        space.gamma()
        seconds[size], cpu_seconds[size] = time.perf_counter() - started, time.process_time() - cpu_started
    peak = peak_memory()
    started = time.perf_counter()
    space.replace(0, "w1 w2 w3 w40 w5000")
    return {
        "documents": n,
        "seconds": seconds[n],
        "cpu_seconds": cpu_seconds[n],
        "replace_seconds": time.perf_counter() - started,
        "mib_above_tenth": (peak - before) / 2**20,
        "mib_of_ids": space.tokens.ids.nbytes / 2**20,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, machine_, seconds = result["settings"], result["machine"], result["seconds"]
    lines = [
        f"{machine_['processor']}, threads: {machine_['threads']}; {settings['documents']:,} documents of "
        f"{settings['tokens']} tokens, medians of {settings['repeats']} interleaved repeats; scores differ by at most "
        f"{result['difference']:.1e}.",
        "",
        "| implementation | seconds | speedup |",
        "|---|---|---|",
        f"| quadratic form | {seconds['quadratic']:.1f} | 1 |",
        f"| ours | {seconds['ours']:.4f} | {result['ratio']:.0f} ({min(result['ratios']):.0f} to "
        f"{max(result['ratios']):.0f}) |",
    ]
    if big := result.get("large"):
        lines += [
            "",
            f"{big['documents']:,} documents: {big['seconds']:.0f} s from texts to scores "
            f"({big['cpu_seconds']:.0f} s of one core), "
            f"{big['mib_above_tenth']:.0f} MiB more than for a tenth of them "
            f"({big['mib_of_ids']:.0f} MiB are token ids); {big['replace_seconds']:.1f} s to replace one document.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main_of_a_million(__doc__, RESULTS, measure, large, table)
