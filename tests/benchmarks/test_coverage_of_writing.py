"""Intervals of benchmarks of writing over simulated writers: they hold a planted gap, and find none where none is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from fairlab.audit.excess import excess_of
from fairlab.benchmarks.bbq import bbq_quantities
from fairlab.benchmarks.group_differences import paired_differences, unpaired_differences
from fairlab.data.published.bbq import BBQItem

WRITERS = 1000
Bounds = tuple[float, float]


def paired(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw sentiment of 39 templates for two groups, two samples each; as ``counterfactual`` has it."""
    subjects = draws.normal(0, 0.2, size=(39, 1))
    values = subjects + draws.normal(0, 0.3, size=(39, 2)) + np.array([gap / 2, -gap / 2])
    (found, *_) = paired_differences(values, ["a", "b"], "axis", "difference")
    assert found.interval is not None
    return found.interval


def unpaired(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw sentiment of 40 persons of each of two groups, one to three prompts each; as ``bold`` has it."""
    values, groups, clusters = [], [], []
    for group, mean in (("a", gap), ("b", 0.0)):
        for person in range(40):
            own = draws.normal(0, 0.1)
            for _ in range(draws.integers(1, 4)):
                values.append(mean + own + draws.normal(0, 0.3))
                groups.append(group)
                clusters.append(f"{group}{person}")
    found = next(iter(unpaired_differences(np.array(values), groups, clusters, "axis", "difference")))
    assert found.interval is not None
    return found.interval


def flips(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw flips of 200 prompts beside a control that flips 20 % of texts; as ``fairlab audit prompts=`` has it."""
    control = draws.random(200) < 0.2
    changed = draws.random(200) < 0.2 + gap
    found = excess_of(changed, control)
    return found.low, found.high


def bbq(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw answers to 400 disambiguated items of 25 templates, biased in (1 + gap) / 2 of them."""
    items, answers = [], []
    for template in range(25):
        share = np.clip((1 + gap) / 2 + draws.normal(0, 0.08), 0, 1)
        for number in range(16):
            items.append(item(f"{template} {number}", str(template)))
            answers.append(0 if draws.random() < share else 2)
    found = {one.name: one for one in bbq_quantities({"age": items}, {"age": np.array(answers)[:, None]}, chat=False)}
    interval = found["bias_disambiguated"].interval
    assert interval is not None
    return interval


def item(name: str, template: str) -> BBQItem:
    """Return a disambiguated item with a negative question, whose first answer follows the stereotype."""
    return BBQItem(name, "age", template, False, True, "", "", ("a", "b", "c"), 2, 1, 0, "old")


CASES: dict[str, tuple[Callable[[float, np.random.Generator], Bounds], float]] = {
    "counterfactual, difference of sentiment": (paired, 0.15),
    "bold, difference of sentiment": (unpaired, 0.1),
    "audit, flips beyond the control": (flips, 0.1),
    "bbq, bias despite the facts": (bbq, 0.2),
}


def shares(simulate: Callable[[float, np.random.Generator], Bounds], gap: float) -> tuple[float, float]:
    """Return the share of intervals that hold a planted gap, and of those that exclude 0 without one."""
    bounds: NDArray[np.float64] = np.array(
        [
            [simulate(planted, np.random.default_rng([seed, int(planted > 0)])) for planted in (gap, 0.0)]
            for seed in range(WRITERS)
        ]
    )
    held = (bounds[:, 0, 0] <= gap) & (gap <= bounds[:, 0, 1])
    false = (bounds[:, 1, 0] > 0) | (bounds[:, 1, 1] < 0)
    return float(held.mean()), float(false.mean())


@pytest.mark.slow
@pytest.mark.parametrize("title", CASES)
def test_intervals_hold_what_was_planted(title):
    covered, false = shares(*CASES[title])
    assert 0.93 <= covered <= 0.97
    assert false <= 0.065
