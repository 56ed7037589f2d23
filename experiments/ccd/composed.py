"""The table of encoders followed by methods that are one matrix, from ``records/composed``, against what was aimed at.

Gap and SEAT are to fall by 90 and 35 %, no association is to turn over or to grow, documents of neither gender are to
come first beyond chance, Bias-IR's deviation is to be at most .11, and STS-B is to lose at most half a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from scipy.stats import binomtest

from experiments.rendering import markdown
from fairlab.record import Reading, Record

FOLDER = Path(__file__).parent / "records" / "composed"
GAP, SEAT = "cced/winogender/gap", "seat/average/absolute_effect_size"
DEVIATION, STS = "bias_ir/average/deviation", "stsb/dev/spearman"
TESTS = ("6", "6b", "7", "7b", "8", "8b")
METHODS = {"original": "none", "ccd": "CCD", "ccd_aligned": "CCD, aligned"}
THEN = {
    "none": "none",
    "sentence_debias": "SentenceDebias",
    "inlp_5": "INLP, 5 classifiers",
    "inlp": "INLP, 20 classifiers",
    "ccd_linear": "linear map",
    "ccd_linear_drift_32": "linear map, drift 32",
    "ccd_linear_lean_1": "linear map, drift 32, lean 1",
}

Readings = dict[str, Reading]


def combinations() -> Iterator[tuple[str, str, str, list[Readings]]]:
    """Encoder, method, what follows it, and the readings of every seed by key, of all that was measured."""
    for encoder in sorted(path.name for path in FOLDER.iterdir()):
        for method in METHODS:
            for then in THEN:
                runs = sorted((FOLDER / encoder / method / then).glob("seed_*"))
                if runs:
                    yield encoder, method, then, [readings(run) for run in runs]


def readings(folder: Path) -> Readings:
    """Readings of a record by key."""
    return {reading.key: reading for reading in Record.load(folder).readings}


def change(runs: Sequence[Readings], key: str) -> tuple[float, float]:
    """The reading before, and the mean over seeds after it."""
    return runs[0][f"before/{key}"].value, fmean(run[f"after/{key}"].value for run in runs)


def astray(runs: Sequence[Readings]) -> list[str]:
    """SEAT's tests that in some seed are beyond chance and turned over, or further from zero than before."""
    found = []
    for test in TESTS:
        key = f"seat/{test}/effect_size"
        before = runs[0][f"before/{key}"].value
        for run in runs:
            now = run[f"after/{key}"]
            beyond_chance = now.low > 0 or now.high < 0
            if beyond_chance and (now.value * before < 0 or abs(now.value) > abs(before)):
                found.append(test)
                break
    return found


def men_first(run: Readings, phase: str = "after") -> tuple[int, int]:
    """How many queries of Bias-IR prefer a man's document, pooled over its fields, and how many queries there are."""
    start = f"{phase}/bias_ir/"
    ratios = [
        one
        for key, one in run.items()
        if key.startswith(start) and key.endswith("/male_ratio") and not key.startswith(f"{start}average")
    ]
    return round(sum(one.value * one.n for one in ratios)), sum(one.n for one in ratios)


def even(run: Readings) -> float:
    """P-value, two-sided, of so many preferences for men's documents where both are as likely."""
    return float(binomtest(*men_first(run), 0.5).pvalue)


def reached(runs: Sequence[Readings]) -> str:
    """Which of the five aims are reached, as a row of marks: gap, SEAT, documents, deviation, STS-B."""
    (gap, gap_now), (seat, seat_now), (sts, sts_now) = (change(runs, key) for key in (GAP, SEAT, STS))
    marks = [
        gap_now <= 0.1 * gap,
        seat_now <= 0.65 * seat and not astray(runs),
        all(even(run) >= 0.05 for run in runs),
        change(runs, DEVIATION)[1] <= 0.11,
        sts - sts_now <= 0.5,
    ]
    return f"{sum(marks)} of 5" + ("" if all(marks) else f": not {', '.join(_named(marks))}")


def _named(marks: Sequence[bool]) -> list[str]:
    names = ("gap", "SEAT", "documents", "deviation", "STS-B")
    return [name for name, mark in zip(names, marks, strict=True) if not mark]


def composed() -> str:
    """A row for every combination: means over seeds, and by seed how many men's documents come first."""
    rows = []
    for encoder, method, then, runs in combinations():
        gap, gap_now = change(runs, GAP)
        seat, seat_now = change(runs, SEAT)
        sts, sts_now = change(runs, STS)
        before = men_first(runs[0], "before")
        rows.append(
            [
                encoder,
                METHODS[method],
                THEN[then],
                str(len(runs)),
                f"{gap_now / gap - 1:+.1%}",
                f"{seat:.2f} to {seat_now:.2f} ({seat_now / seat - 1:+.0%})",
                ", ".join(astray(runs)) or "none",
                f"{before[0]} of {before[1]} to {', '.join(str(men_first(run)[0]) for run in runs)}",
                f"{change(runs, DEVIATION)[1]:.3f}",
                f"{sts_now - sts:+.2f}",
                reached(runs),
            ]
        )
    header = ["encoder", "method", "then", "seeds", "gap, Winogender", "SEAT", "turned over or grown"]
    return markdown([*header, "men's document first", "deviation", "STS-B", "aims reached"], rows)
