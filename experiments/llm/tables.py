"""Tables of the page on a small language model's versions."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.rendering import interval, markdown
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


def rounds() -> str:
    """Accuracy on the texts that are searched on, round by round."""
    history = loaded("search").history
    rows = [[f"{row['round']:.0f}", f"{row['examples']:.0f}", f"{row['accuracy']:.1f}"] for row in history]
    return markdown(["round", "examples", "union polarity accuracy, %"], rows)


def unseen() -> str:
    """The first and the last round's prompt on texts that the search never saw."""
    found = json.loads((RECORDS / "unseen.json").read_text(encoding="utf-8"))
    rows = [
        ["without examples", union(loaded("test_prompt_01"))],
        ["with those found", union(loaded("test_prompt_04"))],
    ]
    counts = (
        f"Of {found['texts']} texts {found['both']} are right with both, {found['second_alone']} with the found "
        f"examples alone, {found['first_alone']} without examples alone, {found['neither']} with neither; exact "
        f"McNemar p = {found['p']:.2g}."
    )
    return f"{markdown(['prompt', 'union polarity accuracy, %'], rows)}\n\n{counts}"


def hundred() -> str:
    """What became of a hundred sentences."""
    record = loaded("hundred")
    notes = [[note.text] for note in record.notes]
    return markdown(["of 100 sentences"], [["union polarity accuracy " + union(record) + " %"], *notes])


PAGES = {"experiments/llm/README.md": {"forms": forms, "rounds": rounds, "unseen": unseen, "hundred": hundred}}
