"""Tables of the second study of fairtuning."""

from __future__ import annotations

import json
from functools import cache
from statistics import stdev
from typing import Any

from experiments.over_seeds import p_over_seeds, t_interval
from experiments.perturbation.tables import FOLDER, TASKS
from experiments.perturbation.whole_pairs import ARMS
from experiments.rendering import interval, markdown
from experiments.shared.power import detectable_mean
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Comparison, Record

NAMES = {
    "finetuned": "finetuned",
    "published": "fairtuned, as published",
    "whole": "fairtuned, whole pairs",
    "chance": "chance (colours)",
    "finetuned_float32": "finetuned, trained in float32 (seed 42)",
}
MAIN = {"both": "fairscore, whole copies", "hypothesis": "sensitivity", "accuracy": "accuracy"}
MORE = {
    "one": "one text rewritten, the other has no word of the axis",
    "half": "one text rewritten, the other keeps a word of the axis",
    "57_pairs": "gendered words of both texts, from another list",
    "colours": "colours",
}


@cache
def record() -> Record:
    """Load the record of the second study."""
    return Record.load(FOLDER / "records" / "whole_pairs")


def facts(task: str) -> dict[str, Any]:
    """Return what the record holds about the runs of a task."""
    found: dict[str, Any] = record().provenance["tasks"][task]
    return found


def differences(change: Comparison) -> list[float]:
    """Return the difference of each seed."""
    found: list[float] = facts(change.benchmark)["differences"][change.key]
    return found


def arms() -> str:
    """Return the number of changed training examples, the training losses, and the results of each arm."""
    value = {(one.benchmark, one.phase, one.subset): one for one in record().readings}
    rows = []
    for task in record().provenance["tasks"]:
        about = facts(task)
        for arm, seeds in about["seeds"].items():
            counts = about["changed"][arm]
            changed = sum(count for name, count in counts.items() if name.startswith("perturbed/"))
            losses = " to ".join(f"{loss:.2f}" for loss in about["losses"][arm])
            found = [interval(value[task, arm, kind], 2) for kind in MAIN]
            rows.append([TASKS[task], NAMES[arm], str(len(seeds)), f"{changed:,}", losses, *found])
    head = ["task", "arm", "seeds", "changed training pairs", "loss, first to last 50 steps"]
    return markdown([*head, *(f"{name}, %" for name in MAIN.values())], rows)


def compared() -> str:
    """Return the differences between arms in the main measures, with both intervals."""
    return _compared(MAIN)


def diagnostics() -> str:
    """Return the differences between arms on half-changed copies and on the controls, with both intervals."""
    return _compared(MORE)


def _compared(kinds: dict[str, str]) -> str:
    rows = []
    for kind, name in kinds.items():
        for change in (one for one in record().comparisons if one.subset == kind):
            one, other = change.phase.split(" less ")
            each = differences(change)
            tested = ["one seed", "", ""]
            if len(each) > 1:
                low, high = t_interval(each)
                power = f"{detectable_mean(stdev(each), len(each)):.2f}" if len(each) > 2 else ""
                tested = [f"[{low:+.2f}, {high:+.2f}]", f"{p_over_seeds(each):.3f}", power]
            rows.append(
                [
                    TASKS[change.benchmark],
                    name,
                    f"{NAMES[one]} minus {NAMES[other]}",
                    f"{change.n:,}",
                    str(len(each)),
                    f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]",
                    f"{change.p:.3f}",
                    *tested,
                ]
            )
    head = ["task", "measure", "arms", "n", "seeds", "difference, points (bootstrap)", "p", "t-interval over seeds"]
    return markdown([*head, "p (t-test)", "detectable by the t-test"], rows)


def diagnostic_values() -> str:
    """Return the percentage of changed labels of each arm on half-changed copies and on the controls."""
    value = {(one.benchmark, one.phase, one.subset): one for one in record().readings}
    rows = [
        [TASKS[task], name, f"{value[task, 'finetuned', kind].n:,}"]
        + [interval(value[task, arm, kind], 2) if arm in facts(task)["seeds"] else "not run" for arm in ARMS]
        for task in record().provenance["tasks"]
        for kind, name in MORE.items()
    ]
    return markdown(["task", "changed labels", "n", *(f"{NAMES[arm]}, %" for arm in ARMS)], rows)


def reading() -> str:
    """Return the rates of wrong rewrites and of changed labels among the rewrites that were read."""
    rows = []
    for task, kinds in json.loads((FOLDER / "audits" / "whole_pairs.json").read_text(encoding="utf-8")).items():
        for kind, found in kinds.items():
            shares = []
            for name in ("wrong", "other_label"):
                low, high = (100 * bound for bound in wilson_interval(len(found[name]), found["read"]))
                shares.append(f"{len(found[name])} [{low:.0f} %, {high:.0f} %]")
            rows.append(
                [TASKS[task], {"both": MAIN["both"]}.get(kind, MORE.get(kind, "")), str(found["read"]), *shares]
            )
    return markdown(["task", "kind of copy", "read", "wrong rewrites", "pairs with another label"], rows)


PAGES = {
    "experiments/perturbation/second_study.md": {
        "reading": reading,
        "arms": arms,
        "compared": compared,
        "diagnostic_values": diagnostic_values,
        "diagnostics": diagnostics,
    },
    "experiments/perturbation/README.md": {"second_arms": arms},
}
