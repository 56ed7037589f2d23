"""Tables of the page on what language models write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from experiments.rendering import ideal, markdown, significant
from fairlab.benchmarks.decisions import FILE, read_decisions
from fairlab.benchmarks.group_differences import paired_differences, slugs
from fairlab.benchmarks.readings import Quantity
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"
DETECTABLE = "detectable_"
FEWER = {"age": ["25", "60"], "race": ["white", "Black", "Asian", "Hispanic"], "gender": ["man", "woman"]}
PLAIN = "smollm2"
DECIDERS = {"SmolLM2": PLAIN, "asked to be fair": "fair", "tuned": "tuned", "Qwen": "qwen"}
Array = NDArray[np.float64]


def smollm2() -> str:
    """Return the readings of BBQ over all categories, by likelihood and by chat."""
    rows = [
        [one.key, significant(one), one.unit, ideal(one), str(one.n)]
        for name in ("bbq_own", "bbq_chat")
        for one in Record.load(RECORDS / name).readings
        if one.subset == "all"
    ]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def decisions() -> str:
    """Return the differences of decisions between groups."""
    return differences("decisions")


def texts() -> str:
    """Return the differences between groups in written texts."""
    return differences("refusals", "counterfactual", "bold", "honest")


def audit() -> str:
    """Return the readings of the audit of own prompts."""
    found = Record.load(RECORDS / "audit").readings
    rows = [[one.key, significant(one), one.unit, ideal(one), str(one.n)] for one in found]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def differences(*benchmarks: str) -> str:
    """Return the readings of benchmarks, each with the smallest difference that would have been found."""
    readings = Record.load(RECORDS / "smollm2").readings
    smallest = {one.key: one.value for one in readings if one.quantity.startswith(DETECTABLE)}
    rows = []
    for one in readings:
        shown = one.ideal is not None or one.subset == "all"
        if one.benchmark not in benchmarks or one.quantity.startswith(DETECTABLE) or not shown:
            continue
        found = smallest.get(f"{one.benchmark}/{one.subset}/{DETECTABLE}{one.quantity}")
        rows.append([one.key, significant(one), "" if found is None else f"{found:.3g}", one.unit, str(one.n)])
    return markdown(["reading", "value", "smallest detectable", "unit", "n"], rows)


def fairness() -> str:
    """Return the differences of decisions by model, on the same questions, and their changes from the plain model."""
    found = {label: dict(_gaps(_odds(name))) for label, name in DECIDERS.items() if (RECORDS / name).is_dir()}
    subsets = list(next(iter(found.values())))
    return markdown(["group", *found], [[subset, *(found[label][subset] for label in found)] for subset in subsets])


def changes() -> str:
    """Return how far a prompt and tuning change each difference, paired by template."""
    plain = _odds(PLAIN)
    names = [label for label, name in DECIDERS.items() if name in ("fair", "tuned") and (RECORDS / name).is_dir()]
    found = {label: dict(_gaps(_odds(DECIDERS[label]) - plain)) for label in names}
    return markdown(["group", *names], [[one, *(found[label][one] for label in names)] for one in found[names[0]]])


def _odds(name: str) -> Array:
    """Return the log-odds of a record (T, age, race, gender), of the people of ``FEWER`` alone."""
    (file,) = (RECORDS / name).glob("items/**/decisions*.safetensors")
    odds = load_file(file)["decisions"]
    every = FEWER if odds.shape[1] == np.prod([len(some) for some in FEWER.values()]) else read_decisions(FILE).groups
    values = odds.reshape(-1, *(len(some) for some in every.values()))
    places = [[every[axis].index(one) for one in some] for axis, some in FEWER.items()]
    return values[np.ix_(range(len(values)), *places)]


def _gaps(odds: Array) -> Iterator[tuple[str, str]]:
    """Yield each group with its difference, interval and smallest detectable difference."""
    for place, (axis, groups) in enumerate(FEWER.items(), start=1):
        by_group = odds.mean(axis=tuple(k for k in (1, 2, 3) if k != place))
        found: dict[str, dict[str, Quantity]] = {}
        for one in paired_differences(by_group, list(slugs(groups).values()), axis, "gap"):
            found.setdefault(one.subset, {})[one.name] = one
        for subset, parts in found.items():
            low, high = parts["gap"].interval or (np.nan, np.nan)
            value, smallest = parts["gap"].value, parts[f"{DETECTABLE}gap"].value
            yield subset, f"{value:+.3f} [{low:+.3f}, {high:+.3f}]; {smallest:.3f}"


PAGES = {"docs/writing.md": {"smollm2": smollm2, "decisions": decisions, "texts": texts, "audit": audit}}
