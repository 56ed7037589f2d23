"""Comparison of a model with the first model of an audit: significant differences, and loss of accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.audit.answer import ALPHA, GAP
from fairlab.metrics.bootstrap import FEWEST_ITEMS
from fairlab.record import Comparison

USEFUL = "model_accuracy"
SHOWN = 3  # changes that the sentence names


def beside_first(changes: Sequence[Comparison], first: str, keep: float, broken: Sequence[str] = ()) -> str:
    """Return a sentence that states the significant differences from the first model and whether accuracy is kept.

    Accuracy is kept if the 95 % interval of the paired difference is above ``-keep`` points, as in a non-inferiority
    test. An interval that includes 0 is not sufficient. ``broken`` are labels of those of the two models whose numbers
    say nothing about bias.
    """
    if broken:
        said = f"no change shows anything about bias, because nothing can be told about {' and '.join(broken)}"
        return f"Compared with {first}: {said}.{_kept(changes, keep)}"
    tested = [one for one in changes if one.headline and one.p_holm is not None and one.n >= FEWEST_ITEMS]
    found = [one for one in tested if one.p_holm is not None and one.p_holm < ALPHA]
    found.sort(key=lambda one: -abs(one.difference))
    words = [f"{_named(one)} {_numbers(one)} (p {one.p_holm:.2g} after Holm)" for one in found[:SHOWN]]
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    said = "; ".join(words) + more if words else "no headline number differs beyond chance"
    return f"Compared with {first}: {said}.{_kept(changes, keep)}"


def _kept(changes: Sequence[Comparison], keep: float) -> str:
    of_accuracy = next((one for one in changes if one.quantity == USEFUL), None)
    if of_accuracy is None:
        return ""
    if of_accuracy.n < FEWEST_ITEMS:
        return f" Whether accuracy is kept cannot be tested: {of_accuracy.n} rows are too few."
    if of_accuracy.low >= -keep:
        return f" Accuracy is kept within {keep:g} points: {_numbers(of_accuracy)}."
    return f" Accuracy is not shown to be kept within {keep:g} points: {_numbers(of_accuracy)}."


def _named(one: Comparison) -> str:
    place = one.subset.replace("_", " ")
    if one.quantity.endswith(GAP) or one.quantity == "equalized_odds":
        return f"the gap in {one.quantity.removesuffix(GAP).replace('_', ' ')} between groups of {place}"
    return f"{one.quantity.replace('_', ' ')} with {place}"


def _numbers(one: Comparison) -> str:
    unit = "points" if one.unit in ("%", "points") else one.unit
    return f"{one.difference:+.1f} {unit} [{one.low:+.1f}, {one.high:+.1f}]"
