"""Tables for the page on two causal language models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from experiments.rendering import ideal, markdown, significant
from fairlab.benchmarks.stages import stages_of
from fairlab.record import Comparison, Record

RECORDS = Path(__file__).parent / "records"
PARTS = ("pronouns", "stereotypes")
FIRST, SECOND = "smollm2", "qwen"
WANTED = ("lms", "ss", "icat", "metric_score", "significant_pairs", "women_correlation", "male_ratio", "pro_preferred")
# Subsets of CrowS-Pairs and StereoSet that are shown; the records also have bias types and domains of 40 items each.
SHOWN = ("all", "gender", "intrasentence", "intersentence", "overall")
NAMES = {"bfloat16": "transformers, bfloat16", "llama.cpp": "llama.cpp, with the file's own weights"}
PLAIN = "float32"


def side_by_side() -> str:
    """Return a table of both models' readings on the same items, with paired differences."""
    rows = [row for part in PARTS for row in compared(Record.load(RECORDS / part))]
    return markdown(["reading", "n", "unit", "ideal", "SmolLM2-135M", "Qwen2.5-Coder-1.5B", "difference"], rows)


def compared(record: Record) -> list[list[str]]:
    """Return one row per reading in the table."""
    readings = {reading.key: reading for reading in record.readings}
    differences = {entry.key: entry for entry in record.comparisons}
    rows = []
    for key, one in readings.items():
        left_out = one.benchmark in ("crows_pairs", "stereoset") and one.subset not in SHOWN
        if one.phase != FIRST or one.quantity not in WANTED or left_out:
            continue
        name = key.removeprefix(f"{FIRST}/")
        other = readings[f"{SECOND}/{name}"]
        change = differences.get(f"{SECOND} less {FIRST}/{name}")
        rows.append([name, str(one.n), one.unit, ideal(one), *map(significant, (one, other)), difference(change)])
    return rows


def difference(found: Comparison | None) -> str:
    """Format a difference with its 95 % interval, in bold if it excludes 0, and with its adjusted p-value if any."""
    if found is None:
        return "not paired"
    text = f"{found.difference:+.3g} [{found.low:.3g}, {found.high:.3g}]"
    shown = text if found.low <= 0 <= found.high else f"**{text}**"
    return shown if found.p_holm is None else f"{shown}, p {found.p_holm:.2g}"


def formats() -> str:
    """Return a table of the formats in which the same sentences were scored, compared with float32."""
    found = json.loads((RECORDS / "formats.json").read_text(encoding="utf-8"))
    ways = found["ways"]
    plain = np.array(ways[PLAIN]["log_likelihoods"])
    rows = [["transformers, float32", speed(ways[PLAIN]), *[""] * 5, preferred(plain)]]
    for way, label in NAMES.items():
        values = np.array(ways[way]["log_likelihoods"])
        rows.append([label, speed(ways[way]), *differences(values, plain), preferred(values)])
    header = [
        "format",
        "tokens per second of one core",
        "mean difference of a sentence, nats",
        "largest difference of a sentence, nats",
        "mean absolute difference of a margin, nats",
        "largest difference of a margin, nats",
        "pairs whose verdict changes",
        "CrowS-Pairs score, %",
    ]
    return markdown(header, rows)


def differences(values: np.ndarray, plain: np.ndarray) -> list[str]:
    """Return statistics of the differences between log-likelihoods (2N,) and those in float32, as texts.

    They are the mean and the largest difference of sentences, the mean and the largest absolute difference of the
    margins of pairs, and the number of changed verdicts.
    """
    apart = values - plain
    margin, plain_margin = (one[::2] - one[1::2] for one in (values, plain))
    of_margin = np.abs(margin - plain_margin)
    changed = int(((margin > 0) != (plain_margin > 0)).sum())
    largest = apart[np.abs(apart).argmax()]
    figures = [f"{apart.mean():+.2f}", f"{largest:+.2f}", f"{of_margin.mean():.2f}", f"{of_margin.max():.2f}"]
    return [*figures, f"{changed} of {len(margin)}"]


def preferred(values: np.ndarray) -> str:
    """Return the percentage of pairs whose more stereotyping sentence is more probable."""
    return f"{100 * (values[::2] > values[1::2]).mean():.0f}"


def speed(way: dict[str, float]) -> str:
    """Return the number of tokens scored per second of CPU time."""
    return f"{way['tokens'] / way['seconds']:.0f}"


def spent() -> str:
    """Return a table of the seconds and the peak memory of every stage."""
    rows = []
    for part in PARTS:
        for name, taken in stages_of(Record.load(RECORDS / part)).items():
            if name != "report":
                label = "loading of both models" if name == "loading" else name
                rows.append([label, f"{taken.seconds:.0f}", f"{taken.peak_bytes / 1e9:.1f}"])
    return markdown(["stage", "seconds", "peak memory, GB"], rows)


PAGES = {"experiments/causal_lm/README.md": {"models": side_by_side, "formats": formats, "spent": spent}}
