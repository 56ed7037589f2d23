"""Tables of the page on a small language model's versions."""

from __future__ import annotations

import csv
import json
import operator
from pathlib import Path

from experiments.rendering import interval, markdown
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"
FORMS = {
    "form_texts": "`counterfactual_group`: whole versions",
    "form_words": "`counterfactual_words`: the words that change",
    "form_marked": "`counterfactual_marked`: what stands for marked words",
}
UNION = "polarity/rewrites/union_accuracy"


def loaded(name: str) -> Record:
    """A committed record of ``fairlab.augment``."""
    return Record.load(RECORDS / name)


def spent(record: Record) -> list[str]:
    """Calls, and tokens read and written a call; seconds a call, of calls side by side."""
    (stage,) = record.provenance["ledger"].values()
    per_call = (stage[key] / stage["calls"] for key in ("prompt_tokens", "completion_tokens", "seconds"))
    return [str(stage["calls"]), *(f"{value:.1f}" for value in per_call)]


def union(record: Record) -> str:
    """Union polarity accuracy with its 95 % interval."""
    (reading,) = (one for one in record.readings if one.key == UNION)
    return interval(reading, 1)


def forms() -> str:
    """The three forms of an answer on the same texts."""
    header = ["prompt", "union polarity accuracy, %", "calls", "tokens read", "tokens written", "seconds"]
    rows = [[label, union(loaded(name)), *spent(loaded(name))] for name, label in FORMS.items()]
    return markdown(header, rows)


def rounds(name: str) -> str:
    """Share of right versions of the texts that are searched on, round by round."""
    rows = [[f"{row['round']:.0f}", f"{row['examples']:.0f}", f"{row['accuracy']:.1f}"] for row in loaded(name).history]
    return markdown(["round", "examples", "right, %"], rows)


def compared(name: str, first: str, second: str) -> str:
    """Two ways on the same texts, by one verifier and by two."""
    found = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    named = {"polarity": "polarity (the paper's)", "polarity and kinds": "polarity, and pronouns of the right case"}
    rows = []
    for verifiers, label in named.items():
        one = found[verifiers]
        shares = [share(one["both"] + one[alone], one["texts"]) for alone in ("first_alone", "second_alone")]
        rows.append([label, *shares, str(one["second_alone"]), str(one["first_alone"]), f"{one['p']:.1g}"])
    return markdown(["right by", f"{first}, %", f"{second}, %", "better", "worse", "p (exact McNemar)"], rows)


def share(count: int, n: int) -> str:
    """A share in per cent with its 95 % interval."""
    low, high = wilson_interval(count, n)
    return f"{100 * count / n:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def human() -> str:
    """How many versions equal what people wrote."""
    found = json.loads((RECORDS / "human.json").read_text(encoding="utf-8"))
    named = {"human_rules": "rules, %", "human_found": "the model, %"}
    rows = [[key, *(share(*found[folder][key]) for folder in named)] for key in found["human_rules"]]
    return markdown(["set: made", *named.values()], rows)


def read(name: str) -> str:
    """What two verifiers say of outputs that were read."""
    with (RECORDS.parent / name).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    right = [row["right"] == "yes" for row in rows]
    by = {
        "polarity": [row["polarity"] == "yes" for row in rows],
        "polarity and kinds": [row["polarity"] == row["kinds"] == "yes" for row in rows],
    }
    cells = [[name, str(sum(said)), str(sum(map(operator.eq, said, right)))] for name, said in by.items()]
    header = [f"of {len(rows)} outputs", "right", "as the reading"]
    return markdown(header, [["by reading", str(sum(right)), ""], *cells])


def hundred() -> str:
    """What became of a hundred sentences, by polarity, and by the case of pronouns as well."""
    record, more = loaded("hundred"), loaded("kinds_hundred")
    (groups,) = (note.text for note in more.notes if "rows written" in note.text)
    calls, asked, answered, seconds = spent(record)
    rows = [
        ["union polarity accuracy, %", union(record)],
        ["with polarity and kinds as verifiers", groups],
        ["calls", calls],
        ["tokens read and written a call", f"{asked} and {answered}"],
        ["seconds a call, of two side by side on one thread of a busy machine", seconds],
    ]
    return markdown(["a hundred sentences", ""], rows)


PAGES = {
    "experiments/llm/README.md": {"forms": forms, "rounds": rounds, "unseen": unseen, "read": read, "hundred": hundred}
}
