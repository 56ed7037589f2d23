"""Tables of the ensemble page."""

from __future__ import annotations

from pathlib import Path

import yaml

from experiments.rendering import interval, markdown
from fairlab.record import Record
from fairlab.reporting.report import PUBLISHED
from fairlab.reporting.reweighting import compare_strengths, strength_lines, strength_verdict

RECORDS = Path(__file__).parent / "records"


def strengths(harm: str) -> str:
    """The sweep over strengths of reweighting on validation, and what is chosen of it."""
    records = [Record.load(file.parent) for file in (RECORDS / "sweep").glob("*/record.json")]
    records.sort(key=lambda record: list(record.config["method"]["reweighting"][harm].values()))
    return (
        markdown(*strength_lines(records, harm)) + f"\n\nChosen: {strength_verdict(compare_strengths(records)[harm])}."
    )


def safety_changes() -> str:
    """Table 3 and what stands beside it, per cent of the baseline, from the committed run on the test folds."""
    record = Record.load(RECORDS / "four_sources")
    after = {f"{r.benchmark}/{r.subset}/{r.quantity}": r for r in record.readings if r.phase == "after"}
    quantities = {
        "AU-PRC, seeds": "average_precision_change",
        "AU-PRC, counterfactual": "average_precision_counterfactual_change",
        "ACV": "acv_change",
        "ACV, safe": "acv_safe_change",
        "ACV, unsafe": "acv_unsafe_change",
        "above the best source": "gain_over_best_source",
    }
    places = {
        "hate": "safety/hate",
        "violence": "safety/violence",
        "hate on HateCheck": "safety_hatecheck/hate",
        "hate on the madlibs": "safety_bias_madlibs/hate",
        "violence on HateCheck": "safety_hatecheck/violence",
        "violence on the madlibs": "safety_bias_madlibs/violence",
    }
    table = yaml.safe_load((PUBLISHED / "ensemble.yaml").read_text(encoding="utf-8"))
    printed = {}
    for name in ("table_3", "table_6"):
        printed |= dict(zip(table[name]["columns"], table[name]["rows"]["remediated"], strict=True))
    rows = []
    for label, place in places.items():
        keys = [f"{place}/{quantity}" for quantity in quantities.values()]
        rows.append([label, *(interval(after[key], 1) if key in after else "" for key in keys)])
        if any(key in printed for key in keys):
            rows.append([f"{label}, printed", *(f"{printed[key]:.1f}" if key in printed else "" for key in keys)])
    facts = record.provenance
    note = (
        f"Revision `{facts['revision'][:12]}`, {facts['hardware']['cores']} cores; {facts['wall_seconds']:.0f} s, on a "
        "machine busy with other work."
    )
    return markdown(["", *quantities], rows) + f"\n\n{note}"


PAGES = {
    "experiments/ensemble/README.md": {
        "changes": safety_changes,
        "hate": lambda: strengths("hate"),
        "violence": lambda: strengths("violence"),
    },
}
