"""Tables of the page on what language models write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from experiments.rendering import ideal, markdown, significant
from fairlab.benchmarks.decisions import FILE, read_decisions
from fairlab.benchmarks.group_differences import paired_differences, slugs
from fairlab.benchmarks.readings import Quantity
from fairlab.judge.paired import sign_flip_p
from fairlab.metrics.significance import holm
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"
DETECTABLE = "detectable_"
FEWER = {"age": ["25", "60"], "race": ["white", "Black", "Asian", "Hispanic"], "gender": ["man", "woman"]}
PLAIN = "smollm2"
FAIR, OTHER = "fair_prompt", "other_prompt"
COLUMNS = ["reading", "value", "smallest detectable", "unit", "n"]
KINDS = {"token_log_probabilities": "log-probabilities of a prompt", "written": "written text"}
Array = NDArray[np.float64]


def smollm2() -> str:
    """Return the readings of BBQ over all categories, by likelihood and by chat."""
    return over_all("bbq_own", "bbq_chat")


def qwen_bbq() -> str:
    """Return the readings of BBQ over all categories, by Qwen's chat answers."""
    return over_all("qwen_bbq_chat")


def qwen_refusals() -> str:
    """Return the differences between groups in Qwen's refusals."""
    return markdown(COLUMNS, list(_differences("qwen_refusals", "refusals")))


def over_all(*names: str) -> str:
    """Return the readings of records over all categories."""
    rows = [
        [one.key, significant(one), one.unit, ideal(one), str(one.n)]
        for name in names
        for one in Record.load(RECORDS / name).readings
        if one.subset == "all"
    ]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def decisions() -> str:
    """Return the differences of decisions between groups, with p-values."""
    groups = read_decisions(FILE).groups
    tested = p_values(_every_odds(PLAIN), groups)
    rows = [
        [*row, f"{tested[subset]:.2g}" if (subset := row[0].split("/")[1]) in tested else ""]
        for row in _differences(PLAIN, "decisions")
    ]
    return markdown([*COLUMNS, "p (Holm)"], rows)


def texts() -> str:
    """Return the differences between groups in written texts."""
    return differences("refusals", "counterfactual", "bold", "honest")


def qwen_texts() -> str:
    """Return the differences between groups in Qwen's texts."""
    return markdown(COLUMNS, list(_differences("qwen_texts", "counterfactual", "honest", "bold")))


def audit() -> str:
    """Return the readings of the audit of own prompts by SmolLM2."""
    return _audited("audit")


def qwen_audit() -> str:
    """Return the readings of the audit of own prompts by Qwen."""
    return _audited("qwen_audit")


def _audited(name: str) -> str:
    found = Record.load(RECORDS / name).readings
    rows = [[one.key, significant(one), one.unit, ideal(one), str(one.n)] for one in found]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def differences(*benchmarks: str) -> str:
    """Return the readings of benchmarks, each with the smallest difference that would have been found."""
    return markdown(COLUMNS, list(_differences(PLAIN, *benchmarks)))


def _differences(name: str, *benchmarks: str) -> Iterator[list[str]]:
    readings = Record.load(RECORDS / name).readings
    smallest = {one.key: one.value for one in readings if one.quantity.startswith(DETECTABLE)}
    for one in readings:
        shown = one.ideal is not None or one.subset == "all"
        if one.benchmark not in benchmarks or one.quantity.startswith(DETECTABLE) or not shown:
            continue
        found = smallest.get(f"{one.benchmark}/{one.subset}/{DETECTABLE}{one.quantity}")
        yield [one.key, significant(one), "" if found is None else f"{found:.3g}", one.unit, str(one.n)]


def models() -> str:
    """Return the differences of decisions of two models on the same questions."""
    return gaps({"SmolLM2": _odds(PLAIN), "Qwen": _odds("qwen_decisions")})


def asked() -> str:
    """Return the differences of decisions without a prompt before the questions, with one, and with another."""
    return gaps({"no prompt": _odds(PLAIN), "asked to be fair": _odds(FAIR), "another prompt": _odds(OTHER)})


def changed() -> str:
    """Return how far a prompt changes each difference, paired by template."""
    plain, fair, other = map(_odds, (PLAIN, FAIR, OTHER))
    return gaps({"fair less none": fair - plain, "other less none": other - plain, "fair less other": fair - other})


def gaps(odds: Mapping[str, Array]) -> str:
    """Return a table of differences between groups, a column for each array of log-odds."""
    found = {label: dict(_gaps(values)) for label, values in odds.items()}
    groups = next(iter(found.values()))
    return markdown(["group", *found], [[group, *(found[label][group] for label in found)] for group in groups])


def fair_texts() -> str:
    """Return the readings of counterfactual texts without and with a prompt that asks for fairness."""
    rows = []
    for label, name in (("no prompt", PLAIN), ("asked to be fair", FAIR)):
        rows += [[label, *row] for row in _differences(name, "counterfactual", "counterfactual@system")]
    return markdown(["prompt", *COLUMNS], rows)


def spent() -> str:
    """Return what Qwen wrote and scored, on its server by kind of question, and in batches by benchmark."""
    found = json.loads((RECORDS / "qwen_spent.json").read_text(encoding="utf-8"))
    rows = [
        [
            by,
            KINDS.get(kind, f"texts of `{kind}`"),
            f"{one['calls']:,}",
            f"{one['prompt_tokens']:,}",
            f"{one['completion_tokens']:,}",
            f"{one['seconds'] / 3600:.2f}",
        ]
        for by, part in (("llama.cpp", "stages"), ("batches", "in_batches"))
        for kind, one in found[part].items()
    ]
    return markdown(["by", "kind of request", "requests", "tokens of prompts", "tokens written", "hours"], rows)


def _odds(name: str) -> Array:
    """Return the log-odds of a record (T, age, race, gender), of the people of ``FEWER`` alone."""
    values = _every_odds(name)
    every = FEWER if values[0].size == np.prod([len(some) for some in FEWER.values()]) else read_decisions(FILE).groups
    places = [[every[axis].index(one) for one in some] for axis, some in FEWER.items()]
    return values.reshape(len(values), *map(len, every.values()))[np.ix_(range(len(values)), *places)]


def _every_odds(name: str) -> Array:
    """Return the log-odds of a record for each template and person, (T, P)."""
    (file,) = (RECORDS / name).glob("items/**/decisions*.safetensors")
    return np.asarray(load_file(file)["decisions"], dtype=np.float64)


def p_values(odds: Array, groups: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the p-value of each group's difference by random signs of the templates, after Holm over all groups.

    Args:
        odds: Log-odds of each template and person, in the order of the product of the groups; the first axis is T.
        groups: Groups of each axis.
    """
    values = odds.reshape(len(odds), *map(len, groups.values()))
    found = {}
    for place, (axis, names) in enumerate(groups.items(), start=1):
        by_group = values.mean(axis=tuple(k for k in range(1, values.ndim) if k != place))
        shown = list(slugs(names).values())
        for k, name in enumerate(shown[:1] if len(shown) == 2 else shown):
            found[f"{axis}_{name}"] = sign_flip_p(by_group[:, k] - np.delete(by_group, k, axis=1).mean(axis=1))
    return dict(zip(found, holm(list(found.values())).tolist(), strict=True))


def _gaps(odds: Array) -> Iterator[tuple[str, str]]:
    """Yield each group with its difference, interval, smallest detectable difference and p-value after Holm."""
    tested = p_values(odds, FEWER)
    for place, (axis, groups) in enumerate(FEWER.items(), start=1):
        by_group = odds.mean(axis=tuple(k for k in (1, 2, 3) if k != place))
        found: dict[str, dict[str, Quantity]] = {}
        for one in paired_differences(by_group, list(slugs(groups).values()), axis, "gap"):
            found.setdefault(one.subset, {})[one.name] = one
        for subset, parts in found.items():
            low, high = parts["gap"].interval or (np.nan, np.nan)
            value, smallest = parts["gap"].value, parts[f"{DETECTABLE}gap"].value
            yield subset, f"{value:+.3f} [{low:+.3f}, {high:+.3f}]; {smallest:.3f}; {tested[subset]:.2g}"


PAGES = {
    "docs/writing.md": {
        "smollm2": smollm2,
        "decisions": decisions,
        "texts": texts,
        "audit": audit,
        "asked": asked,
        "changed": changed,
        "fair_texts": fair_texts,
        "spent": spent,
        "models": models,
        "qwen_bbq": qwen_bbq,
        "qwen_refusals": qwen_refusals,
        "qwen_texts": qwen_texts,
        "qwen_audit": qwen_audit,
    }
}
