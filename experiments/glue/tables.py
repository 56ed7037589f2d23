"""Tables for the page on tasks whose models were fully fine-tuned."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import interval, markdown
from experiments.shared.seeds import median_run
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import titled

RECORDS = Path(__file__).parent / "records"


def fine_tuned() -> str:
    """Return a table of the fine-tuned models' metrics: median and range over seeds, and the majority baseline."""
    found: dict[tuple[str, str], list[Reading]] = {}
    for folder in sorted(RECORDS.iterdir()):
        run = folder.name.rpartition("_")[0]  # without its seed
        for reading in Record.load(folder).readings:
            found.setdefault((run, reading.key.partition("/")[2]), []).append(reading)
    rows = []
    for (run, key), over_seeds in found.items():
        if "majority" in key:
            continue
        place, _, quantity = key.rpartition("/")
        baseline = found.get((run, f"{place}/majority" + ("" if quantity == "accuracy" else f"_{quantity}")))
        median, values = median_run(over_seeds), [reading.value for reading in over_seeds]
        rows.append(
            [
                run,
                titled(key),
                interval(median, 1),
                f"{min(values):.1f} to {max(values):.1f}" if len(values) > 1 else "",
                interval(baseline[0], 1) if baseline else "",
                str(median.n),
                str(len(values)),
            ]
        )
    return markdown(["run", "result", "median over seeds", "range over seeds", "commonest label", "n", "seeds"], rows)


def fine_tuning() -> str:
    """Return a table of the data and the duration of the fine-tuning runs."""
    rows = []
    for folder in sorted(RECORDS.iterdir()):
        record = Record.load(folder)
        facts, steps = record.provenance, [row for row in record.history if "validation/error" in row]
        best = min(steps, key=lambda row: row["validation/error"])
        labels = ", ".join(f"{label} {count:,}" for label, count in facts["data"]["train_labels"].items())
        rows.append(
            [
                folder.name,
                f"{facts['data']['train_examples']:,}" + (f" ({labels})" if labels else ""),
                f"{facts['data']['validation_examples']:,}",
                f"{best['step']:,.0f} of {steps[-1]['step']:,.0f}",
                f"{100 * (1 - best['validation/error']):.1f}",
                f"{facts['wall_seconds']:,.0f}",
                f"`{facts['revision'][:12]}`",
            ]
        )
    header = ["run", "training examples", "held-out examples", "selected step", "score on held-out examples", "seconds"]
    header += ["revision"]
    return markdown(header, rows)


PAGES = {"experiments/glue/README.md": {"fine_tuned": fine_tuned, "fine_tuning": fine_tuning}}
