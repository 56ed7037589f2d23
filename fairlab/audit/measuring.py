"""Audit of a classifier: predictions that change if people are rewritten, compared with a control, and rates per group.

Shapes: N is the number of rows, P the number of pairs, L the number of labels, V the number of values per pair.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.data import LabelledRows
from fairlab.audit.described import AUDIT, DESCRIPTION, slugs
from fairlab.audit.excess import POWER_Z, Corrections, excess_of
from fairlab.audit.outputs import cuts_of, decided, outputs_of
from fairlab.audit.pairs import Pair, Pairs
from fairlab.audit.rates_by_group import group_quantities
from fairlab.benchmarks.group_differences import fixed
from fairlab.benchmarks.readings import Quantity, outcome, quantity
from fairlab.judge.paired import sign_flip_p
from fairlab.metrics.bootstrap import mean, mean_draws
from fairlab.metrics.significance import adjust_tested, agreement_p, association_p, wilson_interval
from fairlab.protocols import Benchmark
from fairlab.record import SAYS_NOTHING, Note, Outcome
from fairlab.types import NEUTRAL, FairlabError, ItemTexts

Array = NDArray[np.float64]
FEWEST = 10  # minimum number of pairs of a part, such as one direction of change, that is reported separately
GUESSING = "not shown to be better than guessing"
WARNED = "and guesses treat all people alike; check the model, and the order of labels=[...]"
VALUES = ["changed", "changed in control", "change of score", "change in control", "before", "after", "control"]


@dataclass(frozen=True)
class PairOutputs:
    """Outputs of the model for the pairs of one axis.

    Attributes:
        before, after, control: Predictions for the three texts of each pair.
        outputs: Probabilities or scores of the three texts, each (P, L).
    """

    before: Array
    after: Array
    control: Array
    outputs: tuple[Array, Array, Array]

    @property
    def changed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return whether each prediction changes in the rewritten text and in the control, as two arrays (P,)."""
        return _differs(self.before, self.after), _differs(self.before, self.control)

    def moved(self, score: bool) -> tuple[Array, Array]:
        """Return the distances between each text's outputs and those for the rewritten text (P,) and the control (P,).

        For exclusive labels, the distance is half the sum of the absolute differences of the probabilities; with two
        labels, this is the change in either probability. For several labels per text, it is the mean of the absolute
        differences. For scores, it is the absolute change.
        """
        first, *others = self.outputs
        exclusive = first.shape[1] > 1 and np.allclose(first.sum(axis=1), 1, atol=0.02)
        scale = 1.0 if score else 0.5 * first.shape[1] if exclusive else 1.0
        distances = [scale * np.abs(other - first).mean(axis=1) for other in others]
        return distances[0], distances[1]


@dataclass
class Audit(Benchmark):
    """Measurement of a classifier on a user's own labelled rows.

    Args:
        data: Rows with labels and groups.
        pairs: Pairs of each axis.
        threshold: Minimum probability for predicting a label, unless the model has a threshold of its own.
        sheet: Pairs that a person has checked, each with the fields of the right rewrite, or None if it is unknown.
    """

    data: LabelledRows
    pairs: Sequence[Pairs]
    threshold: float = 0.5
    sheet: Sequence[tuple[Pair, list[str] | None]] = ()
    # pairs in display order: pairs whose prediction by the first model changes come first
    order: dict[str, list[int]] = field(default_factory=dict)
    first: list[Quantity] = field(default_factory=list)  # quantities of the first model, to compare later ones with

    version: ClassVar[int] = 2
    description = DESCRIPTION

    @property
    def items_sha256(self) -> dict[str, str]:
        """Return hashes of the rows, the groups and the pairs, by the beginning of the subsets that they determine."""
        parts: dict[str, Any] = {"": [self.data.fields, self.data.truth.tolist()], **self.data.groups}
        for one in self.pairs:
            parts[one.axis] = [parts.get(one.axis), [(pair.row, pair.after, pair.control) for pair in one.pairs]]
        return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}

    def measure(self, backbone: Any, before: Any = None) -> Outcome:
        """Classify all texts, and compare the predictions."""
        model: AnyClassifier = backbone.model
        data = self.data
        texts = self.texts_to_classify(model)
        outputs = outputs_of(model, texts, data.kind, data.labels)
        labels = decided(model, texts, outputs, data.kind, cuts_of(model, data.labels, self.threshold))
        n, p = len(data.fields), sum(map(len, self.pairs))
        parts = [slice(n + k * p, n + (k + 1) * p) for k in range(3)]
        right = iter(labels[n + 3 * p :])
        read = [(pair, None if fixed is None else next(right)) for pair, fixed in self.sheet]
        quantities = [] if data.kind == "score" else [_accuracy(labels[:n], data)]
        items: dict[str, NDArray[np.floating]] = {}
        notes = []
        start = 0
        for one in self.pairs:
            cut = slice(start, start + len(one))
            start += len(one)
            first, second, third = ((labels[part][cut], outputs[part][cut]) for part in parts)
            answers = PairOutputs(first[0], second[0], third[0], (first[1], second[1], third[1]))
            quantities += self._of_axis(one, answers, read)
            notes += _notes(one, [pair for pair, _ in read if pair.axis == one.axis])
            if len(one):
                items[one.axis] = self._items(one.axis, answers)
        found, said = group_quantities(data, labels[:n], outputs[:n])
        notes += [Note(AUDIT, text) for text in [*_copies(data), *said]]
        notes += _constant(labels[:n], data) or _guessing(labels[:n], data)
        measured = adjust_p_values([*quantities, *found])
        self.first = self.first or measured
        return outcome(self.description, measured, self.first if before else (), items=items, notes=notes)

    def texts(self) -> list[ItemTexts]:
        """Return the pairs with their three texts: before, after and control."""
        found = []
        for one in self.pairs:
            pairs = [one.pairs[k] for k in self.order.get(one.axis, range(len(one)))]
            if pairs:
                ids = [f"{self.data.ids[pair.row]} {pair.source} to {pair.target}" for pair in pairs]
                texts = [[" | ".join(some) for some in (pair.before, pair.after, pair.control)] for pair in pairs]
                gold = [self.data.named_truth(pair.row) for pair in pairs]
                found.append(ItemTexts(one.axis, VALUES, ids, texts, part=one.axis, groups=gold))
        return found

    def texts_to_classify(self, model: AnyClassifier) -> list[list[str]]:
        """Return all texts to classify: the rows, the three texts of each pair, and a person's corrected texts.

        If the model reads the group of each text, the group is added as the last field.

        Raises:
            FairlabError: The model reads a column that is not among the groups.
        """
        pairs = [pair for one in self.pairs for pair in one.pairs]
        placed = list(enumerate(self.data.fields))
        placed += [(pair.row, getattr(pair, side)) for side in ("before", "after", "control") for pair in pairs]
        placed += [(pair.row, right) for pair, right in self.sheet if right is not None]
        if not model.column:
            return [fields for _, fields in placed]
        if model.column not in self.data.groups:
            raise FairlabError(f"{model.name} reads the group of each text; give group={model.column}")
        groups = self.data.groups[model.column]
        return [[*fields, groups[row]] for row, fields in placed]

    def _items(self, axis: str, answers: PairOutputs) -> NDArray[np.float32]:
        """Return the values of each pair (P, V), in which pairs with changed predictions come first."""
        changed, control = answers.changed
        moved, control_moved = answers.moved(self.data.kind == "score")
        order = self.order.setdefault(axis, np.lexsort((-moved, control, ~changed)).tolist())
        # the label's position, the score, or the number of predicted labels
        predictions = (answers.before, answers.after, answers.control)
        sides = [side if side.ndim == 1 else side.sum(axis=1) for side in predictions]
        return np.stack([changed, control, moved, control_moved, *sides], axis=1)[order].astype(np.float32)

    def _of_axis(self, one: Pairs, answers: PairOutputs, read: Sequence[tuple[Pair, Any]]) -> Iterator[Quantity]:
        """Yield the quantities of an axis, and of its pairs by direction of change and by true label."""
        share = np.zeros(one.rows)
        share[: one.people] = 100.0
        yield quantity(mean, share, subset=one.axis, name="people")
        if not len(one):
            return
        of_axis = [(pair, right) for pair, right in read if pair.axis == one.axis]
        if of_axis:
            yield self._error(one)
        score = self.data.kind == "score"
        yield from _changes(one.axis, answers, np.ones(len(one), dtype=bool), score, tested=True)
        if not score:
            sheet = _corrections(one, answers, of_axis) if of_axis else None
            yield from excess_quantities(one.axis, *answers.changed, sheet)
        if score or (self.data.kind == "one" and len(self.data.labels) == 2):
            yield from _shifts(one, answers, 1.0 if score else 100.0)
        parts = [f"{one.axis}_{pair.source}_{pair.target}" for pair in one.pairs]
        gold = [f"{one.axis}_label_{self.data.named_truth(pair.row)}" for pair in one.pairs]
        for names in (parts, gold if not score else []):
            for name, form in slugs(sorted(set(names))).items():
                chosen = np.array([other == name for other in names])
                if chosen.sum() >= FEWEST:
                    yield from _changes(form, answers, chosen, score, tested=False)

    def _error(self, one: Pairs) -> Quantity:
        """Return the proportion of checked rewrites that a person marked as wrong."""
        wrong = np.array([right != pair.after for pair, right in self.sheet if pair.axis == one.axis])
        interval = tuple(100 * bound for bound in wilson_interval(wrong.sum(), len(wrong)))
        return quantity(mean, 100.0 * wrong, subset=one.axis, name="rewriter_error", interval=interval)


def _differs(first: Array, second: Array) -> NDArray[np.bool_]:
    """Return whether two predictions for each text differ (P,).

    With several labels per text, one differing label is enough.
    """
    different = first != second
    return different if different.ndim == 1 else different.any(axis=1)


def _accuracy(labels: Array, data: LabelledRows) -> Quantity:
    return quantity(mean, 100.0 * ~_differs(labels, data.truth), subset="all", name="model_accuracy")


def _changes(
    subset: str, answers: PairOutputs, chosen: NDArray[np.bool_], score: bool, *, tested: bool
) -> Iterator[Quantity]:
    """Yield the proportions of changed predictions and the changes in scores over the selected pairs."""
    moved, control_moved = (side[chosen] for side in answers.moved(score))
    if not score:
        changed, control = (100.0 * side[chosen] for side in answers.changed)
        for name, values in (("flips", changed), ("control_flips", control)):
            interval = tuple(100 * bound for bound in wilson_interval(values.sum() / 100, len(values)))
            yield quantity(mean, values, subset=subset, name=name, interval=interval)
        if not tested:
            found = excess_of(changed, control)
            interval = (100 * found.low, 100 * found.high)
            yield quantity(
                mean, changed - control, subset=subset, name="excess_flips", interval=interval, headline=False
            )
    kind, scale = ("mean_change", 1.0) if score else ("score_change", 100.0)
    yield quantity(mean, scale * moved, subset=subset, name=kind)
    yield quantity(mean, scale * control_moved, subset=subset, name=f"control_{kind}")
    p = sign_flip_p(moved - control_moved) if score and tested else None
    more = {} if tested else {"headline": False}
    yield quantity(mean, scale * (moved - control_moved), subset=subset, name=f"excess_{kind}", p=p, **more)
    if p is not None:
        yield fixed(subset, f"detectable_{kind}", _smallest(moved - control_moved), len(moved))


def _shifts(one: Pairs, answers: PairOutputs, scale: float) -> Iterator[Quantity]:
    """Yield, for any two attributes, the mean shift of the last output from the first to the second.

    The shift in the control is subtracted, and changes from the second attribute to the first count with the opposite
    sign. A shift is significant only if the outputs of rewritten texts shift and their shift differs from the
    control's. Otherwise, a control that always shifts in one direction, for example because the classifier does not
    know a synonym, would be mistaken for an effect of people.
    """
    order = (NEUTRAL, *one.attributes)
    first, after, control = (side[:, -1] for side in answers.outputs)
    for low, high in combinations(order, 2):
        signs = np.array([{(low, high): 1, (high, low): -1}.get((pair.source, pair.target), 0) for pair in one.pairs])
        chosen = signs != 0
        if chosen.sum() < FEWEST:
            continue
        turned, moved = (scale * (signs * (after - other))[chosen] for other in (first, control))
        kind = "score_shift" if scale == 1 else "shift"
        yield quantity(mean, moved, subset=f"{one.axis}_{low}_to_{high}", name=kind, p=_both_p(turned, moved))
        yield fixed(f"{one.axis}_{low}_to_{high}", f"detectable_{kind}", _smallest(moved), len(moved))


def _smallest(values: Array) -> float:
    """Return the smallest true mean that the test detects with a power of 80 %."""
    return float(POWER_Z * values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def _both_p(turned: Array, moved: Array) -> float:
    """Return the larger p-value of the shifts in two samples, or 1 if the shifts have different directions."""
    alike = np.sign(turned.mean()) == np.sign(moved.mean())
    return max(sign_flip_p(turned), sign_flip_p(moved)) if alike else 1.0


def excess_quantities(
    subset: str, changed: NDArray[np.bool_], control: NDArray[np.bool_], sheet: Corrections | None = None
) -> Iterator[Quantity]:
    """Yield the excess over the control (both (P,)), corrected by the sheet, and the smallest detectable excess."""
    found = excess_of(changed, control, sheet)
    difference = changed.astype(np.float64) - control
    draws = 100 * (mean_draws(difference) + found.value - difference.mean())
    interval = (100 * found.low, 100 * found.high)
    yield Quantity(subset, "excess_flips", 100 * found.value, draws, len(changed), interval=interval, p=found.p)
    yield fixed(subset, "detectable_flips", 100 * found.detectable, len(changed))


def _corrections(one: Pairs, answers: PairOutputs, read: Sequence[tuple[Pair, Any]]) -> Corrections:
    """Compare the changed predictions in the rewriter's text and in the person's text, for all checked pairs."""
    place = {pair.row: k for k, pair in enumerate(one.pairs)}
    changed = answers.changed[0]
    counts = {"missed": 0, "spurious": 0, "unknown_steady": 0, "unknown_changed": 0}
    for pair, right in read:
        k = place[pair.row]
        if right is None:
            counts["unknown_changed" if changed[k] else "unknown_steady"] += 1
            continue
        truly = bool(np.any(right != answers.before[k]))
        counts["missed"] += truly and not changed[k]
        counts["spurious"] += bool(changed[k]) and not truly
    return Corrections(len(read), **counts)


def _notes(one: Pairs, read: Sequence[Pair]) -> list[Note]:
    found = []
    if not one.pairs:
        found.append(f"{one.axis}: no text names people whose {one.axis} the rules can change, so it is not audited")
    elif not read:
        found.append(
            f"{one.axis}: nobody has checked the rewriter's error on these texts ({one.read} on other texts); "
            "sheet=100 writes a sheet to fill in"
        )
    if one.faults:
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(one.faults.items()))
        found.append(f"{one.axis}: rewrites left out: {counts}")
    if one.pairs:
        words = np.mean([[pair.words, pair.control_words] for pair in one.pairs], axis=0)
        found.append(f"{one.axis}: rewrites change {words[0]:.1f} words on average, controls {words[1]:.1f}")
    return [Note(AUDIT, text) for text in found]


def _copies(data: LabelledRows) -> list[str]:
    """Return a note if rows repeat a text, because intervals and tests treat all rows as independent."""
    n = len(data.fields)
    repeated = n - len(set(map(tuple, data.fields)))
    said = f"{repeated} of {n} rows repeat the text of another row; if these are copies, remove them: intervals and "
    return [f"{said}tests count each one, and would be overconfident"] if repeated else []


def _constant(labels: Array, data: LabelledRows) -> list[Note]:
    """Return a note if the model predicts the same for every row although the true labels or scores differ.

    Such a model treats all people alike by construction, so equal treatment is no evidence of fairness. Scores that
    differ only by rounding are the same.
    """
    if not (data.truth != data.truth[0]).any() or not np.allclose(labels, labels[0], rtol=1e-6, atol=0.0):
        return []
    text = "the model predicts the same for every row, so no prediction can change and no gap can occur"
    return [Note(AUDIT, text, mark=SAYS_NOTHING)]


def _guessing(labels: Array, data: LabelledRows) -> list[Note]:
    """Return a note if the predictions agree with the true labels no more often than permuted predictions would.

    Scores agree if their ranks correlate. A model that guesses may treat all people alike because it does not read the
    texts, or its labels may be in another order.
    """
    said = f"{100 * (labels == data.truth).mean():.1f} % of {labels.size} predictions are right"
    if data.kind == "one":
        p = agreement_p(labels, data.truth)
    elif data.kind == "several":
        p = association_p(labels, data.truth)
    else:
        p = association_p(rankdata(labels)[:, None], rankdata(data.truth)[:, None])
        said = f"its {labels.size} scores do not correlate with those of the data"
    if p < 0.05:
        return []
    return [Note(AUDIT, f"the model was not shown to be better than guessing ({said}), {WARNED}", mark=GUESSING)]


def adjust_p_values(quantities: Sequence[Quantity]) -> list[Quantity]:
    """Adjust the p-values for all tests of the audit by Holm's method."""
    adjusted = adjust_tested({k: one.p for k, one in enumerate(quantities)})
    return [replace(one, p_holm=adjusted.get(k)) for k, one in enumerate(quantities)]
