"""Tables of encoders followed by single-matrix methods, from ``records/composed``, compared with five goals.

The gap should fall by 90 % and SEAT by 35 %, and no association should reverse its sign or grow. Documents about men
and women should rank first equally often, Bias-IR's deviation should be at most .11, and STS-B should lose at most half
a point. Documents are shown to rank equally if the 95 % interval of the share of men's documents is within Bias-IR's
margin around one half; a share that is only compatible with chance is not shown to be even.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from scipy.stats import binomtest

from experiments.rendering import interval, markdown
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import judging_rules

FOLDER = Path(__file__).parent / "records" / "composed"
GAP, SEAT = "cced/winogender/gap", "seat/average/absolute_effect_size"
DEVIATION, STS = "bias_ir/average/deviation", "stsb/dev/spearman"
TESTS = ("6", "6b", "7", "7b", "8", "8b")
METHODS = {
    "original": "none",
    "dropout": "Dropout",
    "dpce": "DPCE",
    "dpce_groups": "DPCE on the groups of CCD",
    "dpce_3_epochs": "DPCE, 3 epochs",
    "dpce_fixed": "DPCE, fixed",
    "adept_scaled": "ADEPT-F, rho scaled",
    "adept_10_epochs": "ADEPT-F, 10 epochs",
    "adept_fixed": "ADEPT-F, fixed",
    "ccd": "CCD",
    "ccd_aligned": "CCD, aligned",
    "dpce_fixed_ccd_aligned": "DPCE, fixed, and CCD, aligned",
}
THEN = {
    "none": "none",
    "sentence_debias": "SentenceDebias",
    "inlp_5": "INLP, 5 classifiers",
    "inlp": "INLP, 20 classifiers",
    "ccd_linear": "linear map",
    "ccd_linear_drift_32": "linear map, drift 32",
    "ccd_linear_lean_1": "linear map, drift 32, lean 1",
}

COMPARED = [
    ("original", "ccd_linear"),
    ("ccd_aligned", "none"),
    ("ccd_aligned", "ccd_linear_drift_32"),
    ("dpce_fixed_ccd_aligned", "none"),
]
DOCUMENTS = "documents"
MARGIN = "change/bias_ir/average/margin"

Readings = dict[str, Reading]


def combinations() -> Iterator[tuple[str, str, str, list[Readings]]]:
    """Yield every measured combination: encoder, method, following method, and each seed's readings by key."""
    for encoder in sorted(path.name for path in FOLDER.iterdir()):
        for method in METHODS:
            for then in THEN:
                if runs := folders_of(encoder, method, then):
                    yield encoder, method, then, [readings(run) for run in runs]


def folders_of(encoder: str, method: str, then: str) -> list[Path]:
    """Return the folders of a combination's records, in the order of their seeds."""
    return sorted((FOLDER / encoder / method / then).glob("seed_*"))


def in_bfloat16(encoder: str, method: str, then: str) -> bool:
    """Return whether a combination's encoders were trained with matrix products in bfloat16."""
    facts = [Record.load(folder).provenance.get("training", {}) for folder in folders_of(encoder, method, then)]
    return any("bf16" in one.get("precision", "") for one in facts)


def compared() -> Iterator[tuple[str, str, str, list[Readings]]]:
    """Return the combinations for which the pages show single tests and searches."""
    return (one for one in combinations() if one[1:3] in COMPARED)


def called(method: str, then: str) -> str:
    """Return the name of a combination in words."""
    if method == "original":
        return THEN[then]
    return METHODS[method] if then == "none" else f"{METHODS[method]}, then {THEN[then]}"


def readings(folder: Path) -> Readings:
    """Return the readings of a record, by key."""
    return {reading.key: reading for reading in Record.load(folder).readings}


def change(runs: Sequence[Readings], key: str) -> tuple[float, float]:
    """Return a reading before debiasing, and its mean over seeds after debiasing."""
    return runs[0][f"before/{key}"].value, fmean(run[f"after/{key}"].value for run in runs)


def astray(runs: Sequence[Readings]) -> list[str]:
    """Return the SEAT tests with an effect that, in some seed, is significant and reversed its sign or grew."""
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
    """Return how many Bias-IR queries prefer a man's document, over all fields, and how many queries there are."""
    start = f"{phase}/bias_ir/"
    ratios = [
        one
        for key, one in run.items()
        if key.startswith(start) and key.endswith("/male_ratio") and not key.startswith(f"{start}average")
    ]
    return round(sum(one.value * one.n for one in ratios)), sum(one.n for one in ratios)


def even(*runs: Readings) -> float:
    """Return the two-sided p-value of the preferences for men's documents under equal probabilities."""
    counts, queries = zip(*map(men_first, runs), strict=True)
    return float(binomtest(round(fmean(counts)), queries[0], 0.5).pvalue)


def evenness(runs: Sequence[Readings]) -> str:
    """Classify the mean share of men's documents as ``even`` (within the margin) or ``off`` (significant).

    The text is empty if neither applies.
    """
    counts, queries = zip(*map(men_first, runs), strict=True)
    low, high = wilson_interval(fmean(counts), queries[0])
    info = judging_rules(runs[0]["after/bias_ir/average/male_ratio"])
    if info is not None and info.margin is not None and max(0.5 - low, high - 0.5) < info.margin:
        return "even"
    return "off" if even(*runs) < 0.05 else ""


def reached(runs: Sequence[Readings]) -> str:
    """Return in words which of the five goals are reached: gap, SEAT, documents, deviation and STS-B."""
    (gap, gap_now), (seat, seat_now), (sts, sts_now) = (change(runs, key) for key in (GAP, SEAT, STS))
    marks = [
        gap_now <= 0.1 * gap,
        seat_now <= 0.65 * seat and not astray(runs),
        evenness(runs) == "even",
        change(runs, DEVIATION)[1] <= 0.11,
        sts - sts_now <= 0.5,
    ]
    missed = [name for name in _named(marks) if name != DOCUMENTS or evenness(runs) == "off"]
    said = [f"not {', '.join(missed)}"] if missed else []
    said += [f"{DOCUMENTS} not shown to be even"] if DOCUMENTS in _named(marks) and DOCUMENTS not in missed else []
    return f"{sum(marks)} of 5" + (f": {'; '.join(said)}" if said else "")


def _named(marks: Sequence[bool]) -> list[str]:
    names = ("gap", "SEAT", DOCUMENTS, "deviation", "STS-B")
    return [name for name, mark in zip(names, marks, strict=True) if not mark]


def composed() -> str:
    """Return a table of all combinations: means over seeds, and men's documents that rank first for each seed."""
    rows = []
    for encoder, method, then, runs in combinations():
        gap, gap_now = change(runs, GAP)
        seat, seat_now = change(runs, SEAT)
        sts, sts_now = change(runs, STS)
        before = men_first(runs[0], "before")
        rows.append(
            [
                encoder,
                METHODS[method] + (", bf16" if in_bfloat16(encoder, method, then) else ""),
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
    header = ["encoder", "method", "followed by", "seeds", "change in the gap, Winogender", "SEAT"]
    header += ["tests with a larger or reversed effect"]
    return markdown([*header, "men's document first", "deviation", "change on STS-B", "goals reached"], rows)


def by_test() -> str:
    """Return a table of SEAT effect sizes before debiasing, and after it with an interval for each seed."""
    rows = []
    for encoder, method, then, runs in compared():
        for test in TESTS:
            key = f"seat/{test}/effect_size"
            after = ", ".join(interval(run[f"after/{key}"], 2) for run in runs)
            rows.append([encoder, called(method, then), test, interval(runs[0][f"before/{key}"], 2), after])
    return markdown(["encoder", "method", "test", "before", "after, each seed"], rows)


def searches() -> str:
    """Return a table of Bias-IR queries that prefer a man's document, and of the margin's change, per seed."""
    rows = []
    for encoder, method, then, runs in compared():
        folders = folders_of(encoder, method, then)
        moved = [next(one for one in Record.load(folder).comparisons if one.key == MARGIN) for folder in folders]
        for folder, run, change_of_margin in zip(folders, runs, moved, strict=True):
            first = [f"{count} of {queries}" for count, queries in (men_first(run, "before"), men_first(run))]
            said = f"{change_of_margin.difference:+.4f} (p {change_of_margin.p:.3f})"
            seed = folder.name.removeprefix("seed_")
            rows.append([encoder, called(method, then), seed, *first, f"{even(run):.2f}", said])
    header = ["encoder", "method", "seed", "men's document first, before"]
    header += ["men's document first, after", "p of an even choice"]
    return markdown([*header, "change of the margin"], rows)


def turns() -> str:
    """Return a table of the gender direction's rotation and remaining length after each combination, per seed."""
    start = "after/cced/winogender"
    rows = []
    for encoder, method, then, runs in combinations():
        cells = [
            ", ".join(f"{run[f'{start}/{name}'].value:{form}}" for run in runs)
            for name, form in (("gap_kept", ".1%"), ("direction_cosine", ".2f"), ("direction_length_kept", ".0%"))
        ]
        rows.append([encoder, called(method, then), *cells])
    return markdown(
        ["encoder", "method", "gap left, Winogender", "cosine to the original direction", "length left"], rows
    )


def sizes() -> str:
    """Return a table of CCD training on more and more rule-based groups from real sentences.

    Every row is one seed and one epoch.
    """
    rows = []
    measured = (FOLDER / "minilm_mlm").glob("ccd_rules_*")
    for number in sorted(int(folder.name.removeprefix("ccd_rules_")) for folder in measured):
        folder = FOLDER / "minilm_mlm" / f"ccd_rules_{number}" / "none" / "seed_42"
        run = readings(folder)
        steps = Record.load(folder).provenance["training"]["losses"][-1]["step"]
        kept = [f"{run[f'after/cced/{name}/gap_kept'].value - 1:+.1%}" for name in ("winogender", "embedded")]
        seat, sts = run[f"after/{SEAT}"], run[f"after/{STS}"].value - run[f"before/{STS}"].value
        first = " of ".join(map(str, men_first(run)))
        number_format = " (bf16)" if in_bfloat16("minilm_mlm", f"ccd_rules_{number}", "none") else ""
        cells = [*kept, f"{seat.value:.2f}", first, f"{run[f'after/{DEVIATION}'].value:.3f}", f"{sts:+.2f}"]
        rows.append([f"{number:,}{number_format}", f"{steps:,}", *cells])
    header = ["groups", "steps", "change in the gap, Winogender", "change in the gap, embedded", "SEAT"]
    header += ["men's document first", "deviation"]
    return markdown([*header, "change on STS-B"], rows)
