"""Intervals of benchmarks of writing over simulated writers: they hold a planted gap, and find none where none is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from fairlab.audit.excess import excess_of
from fairlab.benchmarks.bbq import bbq_quantities
from fairlab.benchmarks.bold import BoldPrompt, bold_quantities
from fairlab.benchmarks.counterfactual import counterfactual_quantities
from fairlab.benchmarks.decisions import decision_quantities
from fairlab.benchmarks.group_differences import paired_differences, unpaired_differences
from fairlab.benchmarks.honest import honest_quantities
from fairlab.benchmarks.readings import Quantity
from fairlab.benchmarks.refusals import refusal_quantities
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


def excess(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw sentiment of 39 templates, two groups and two samples; ``gap`` is the mean excess of the groups."""
    chance = 0.3
    group = math.sqrt((gap * math.sqrt(math.pi) / 2 + chance) ** 2 - chance**2)  # with that mean excess
    sentiment = draws.normal(0, 0.2, size=(39, 1, 1)) + draws.normal(0, group, size=(39, 2, 1))
    sentiment = sentiment + draws.normal(0, chance, size=(39, 2, 2))
    items = {"axis": np.concatenate([sentiment.reshape(39, -1), np.zeros((39, 2))], axis=1)}
    return bounds(counterfactual_quantities({"axis": ["a", "b"]}, 2, items), "axis", "excess_sentiment_change")


def odds(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw log-odds of 18 templates and 48 people, with taste of each template for each group; as ``decisions``."""
    groups = {"age": ["25", "40", "60", "80"], "race": ["a", "b", "c", "d"], "gender": ["man", "woman", "other"]}
    values = draws.normal(0, 1, (18, 1, 1, 1)) + draws.normal(0, 0.1, (18, 4, 4, 3))
    values = values + draws.normal(0, 0.1, (18, 4, 1, 1)) + draws.normal(0, 0.15, (18, 1, 1, 3))
    values[..., 1] += gap
    return bounds(decision_quantities(groups, values.reshape(18, -1)), "gender_woman", "log_odds_difference")


def refused(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw refusals of 14 requests about four groups, some requests refused more often; ``gap`` in points."""
    share = 0.1 + 0.6 * draws.beta(1.5, 1.5, size=(14, 1))
    shares = np.concatenate([share + gap / 100, share, share, share], axis=1)
    items = {"axis": (draws.random((14, 4)) < shares).astype(np.float64)}
    return bounds(refusal_quantities({"axis": ["a", "b", "c", "d"]}, items), "axis_a", "refused_difference")


def hurtful(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw completions of 20 identities of each of two groups, 8 templates and 5 samples each; as ``honest``."""
    asked, values = [], []
    for group, more in (("a", gap / 100), ("b", 0.0)):
        for identity in range(20):
            own = 0.2 + draws.uniform(-0.1, 0.1) + more
            asked += [(group, f"{identity}", "")] * 8
            values.append(draws.random((8, 5)) < own)
    items = {"set": np.concatenate(values).astype(np.float64)}
    return bounds(honest_quantities({"set": asked}, items), "set_a", "hurtful_difference")


def toxic(gap: float, draws: np.random.Generator) -> Bounds:
    """Draw toxic continuations about 60 persons of each of two groups, one to three prompts each; as ``bold``."""
    asked, values = [], []
    for group, share in (("a", 0.1 + gap / 100), ("b", 0.1)):
        for person in range(60):
            for _ in range(draws.integers(1, 4)):
                asked.append(BoldPrompt("axis", group, f"{group}{person}", ""))
                values.append([0.0, float(draws.random() < share)])
    return bounds(bold_quantities({"axis": asked}, {"axis": np.array(values)}), "axis_a", "toxic_difference")


def bounds(quantities: Iterable[Quantity], subset: str, name: str) -> Bounds:
    """Return the interval of a quantity."""
    interval = next(one.interval for one in quantities if (one.subset, one.name) == (subset, name))
    assert interval is not None
    return interval


CASES: dict[str, tuple[Callable[[float, np.random.Generator], Bounds], float]] = {
    "counterfactual, difference of sentiment": (paired, 0.15),
    "bold, difference of sentiment": (unpaired, 0.1),
    "audit, flips beyond the control": (flips, 0.1),
    "bbq, bias despite the facts": (bbq, 0.2),
    "counterfactual, change of sentiment beyond the control": (excess, 0.1),
    "decisions, difference of log-odds": (odds, 0.3),
    "refusals, difference of refusals": (refused, 25.0),
    "honest, difference of hurtful completions": (hurtful, 6.0),
    "bold, difference of toxic continuations": (toxic, 15.0),
}


def shares(simulate: Callable[[float, np.random.Generator], Bounds], gap: float) -> tuple[float, float]:
    """Return the share of intervals that hold a planted gap, and of those that exclude 0 without one."""
    found: NDArray[np.float64] = np.array(
        [
            [simulate(planted, np.random.default_rng([seed, int(planted > 0)])) for planted in (gap, 0.0)]
            for seed in range(WRITERS)
        ]
    )
    held = (found[:, 0, 0] <= gap) & (gap <= found[:, 0, 1])
    false = (found[:, 1, 0] > 0) | (found[:, 1, 1] < 0)
    return float(held.mean()), float(false.mean())


@pytest.mark.slow
@pytest.mark.parametrize("title", CASES)
def test_intervals_hold_what_was_planted(title):
    covered, false = shares(*CASES[title])
    assert 0.93 <= covered <= 0.97
    assert false <= 0.065
