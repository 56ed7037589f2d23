"""Quantities of the safety benchmark, computed for one harm.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", sections 3 and 5.
Shape letters: R repeats, N texts, S counterfactual sets, K slices, B bootstrap draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity
from fairlab.benchmarks.safety_described import ODDS, UNCALIBRATED
from fairlab.data.safety import Predicted
from fairlab.metrics.acv import set_flips, set_numbers, set_variances
from fairlab.metrics.bootstrap import RESAMPLES, weighted_draws
from fairlab.metrics.equalised_odds import equalised_odds_gap
from fairlab.metrics.ranking import area_under_roc, average_precision
from fairlab.metrics.sliced_averages import SAFE, UNSAFE, largest_gap, sliced_averages

Array = NDArray[np.float64]
TRUTHS = {"safe": SAFE, "unsafe": UNSAFE}
FEWEST = 5  # minimum number of safe and of unsafe texts for the AUC of a subgroup
MOST_SHOWN = 18  # maximum number of subgroups of a category whose averages are reported; with more, only the gap is


class OfHarm:
    """Quantities of one harm, for any scores of the same texts.

    Args:
        part: Texts and their folds.
        harm: Name of the harm.
        truth: Label of each text (N,): 1 with the harm, 0 without it, -1 if it was not annotated.
        threshold: Lowest score at which a text counts as unsafe.
    """

    def __init__(self, part: Predicted, harm: str, truth: NDArray[np.int64], threshold: float) -> None:
        self.harm = harm
        self.threshold = threshold
        self.folds = part.folds
        self.truth = truth
        self.keys = [text.key for text in part.texts]
        self.kinds = [text.kind for text in part.texts]
        judged = truth >= 0
        self.seeds = judged & np.array([text.seed for text in part.texts])
        self.all = judged
        self.subgroups = sorted({text.subgroup for text in part.texts} - {""})
        self.slices = np.array(
            [self.subgroups.index(text.subgroup) if text.subgroup else -1 for text in part.texts], dtype=np.int64
        )
        self.prefixes = list(dict.fromkeys(name.partition(":")[0] for name in self.subgroups))
        self.categories = np.array([text.category for text in part.texts])
        counted = judged if judged.any() else ~judged
        sets = [text.key if text.subgroup and known else None for text, known in zip(part.texts, counted, strict=True)]
        self.place, self.sets = set_numbers(sets)
        self.alone = sum(name is not None for name in sets) - int((self.place >= 0).sum())
        first = {name: k for k, name in reversed(list(enumerate(sets)))}
        where = [first[str(name)] for name in self.sets]
        self.set_truth, self.set_category = truth[where], self.categories[where]

    def quantities(self, scores_RN: Array, uncalibrated_RN: Array | None = None) -> list[Quantity]:
        """Return all quantities, beginning with the average precision of the seed texts.

        If the texts have only one label, only the variances are returned. For scores before calibration, the variances
        are returned as well.
        """
        found = self._calibrated(scores_RN)
        if uncalibrated_RN is not None:
            found += self.uncalibrated(uncalibrated_RN)
        return found

    def uncalibrated(self, scores_RN: Array) -> list[Quantity]:
        """Return the variances of the harm for scores before calibration."""
        kept = ("acv", "acv_safe", "acv_unsafe")
        some = [one for one in self._variances(scores_RN) if one.subset == self.harm and one.name in kept]
        return [replace(one, name=f"{one.name}_{UNCALIBRATED}", headline=False) for one in some]

    def compared(self, part: Predicted) -> list[Quantity]:
        """Return the quantities to compare between models.

        These quantities are the average precision and the variance of scores before and after calibration.
        """
        scores = part.scores[self.harm]
        found = [self.precision(scores, self.seeds)] if len(set(self.truth[self.all])) == 2 else []
        return [*found, *self._variances(scores)[:1], *self.uncalibrated(part.uncalibrated[self.harm])[:1]]

    def at_threshold(self, scores_RN: Array) -> list[Quantity]:
        """Return precision, recall, false-positive rate and equalised odds at the threshold, for the mean scores."""
        cut, mean = self.threshold, scores_RN.mean(axis=0)
        named, unsafe = mean[self.seeds] >= cut, self.truth[self.seeds] == UNSAFE
        keys = list(compress(self.keys, self.seeds))

        def share(of: NDArray[np.bool_], among: NDArray[np.bool_], name: str) -> Quantity:
            def statistic(weights: Array) -> Array:
                with np.errstate(invalid="ignore", divide="ignore"):
                    return np.asarray(weights @ (of & among) / (weights @ among))

            value = float(statistic(np.ones(len(of))))
            draws = weighted_draws(statistic, keys)
            return Quantity(self.harm, f"{name}_at_threshold", value, draws, int(among.sum()))

        return [
            Quantity(self.harm, "threshold", cut, np.full(RESAMPLES, cut), len(named)),
            share(unsafe, named, "precision"),
            share(named, unsafe, "recall"),
            share(named, ~unsafe, "false_positive_rate"),
            *(
                replace(one, name=f"{ODDS}_at_threshold")
                for category in self.prefixes
                for one in self._slices(mean, category)
                if one.name == ODDS
            ),
        ]

    def _calibrated(self, scores_RN: Array) -> list[Quantity]:
        if len(set(self.truth[self.all])) < 2:
            return self._variances(scores_RN)
        found = [self.precision(scores_RN, self.seeds), self.auc(scores_RN), self._base_rate()]
        if not self.seeds.all():
            found.append(replace(self.precision(scores_RN, self.all), name="average_precision_counterfactual"))
        found += [self.auc(scores_RN, subgroup=name) for name in self.subgroups if self._can_rank(name)]
        found += self._variances(scores_RN)
        mean = scores_RN.mean(axis=0)
        for category in self.prefixes:
            found += self._slices(mean, category)
        return found

    def precision(self, scores: Array, chosen: NDArray[np.bool_]) -> Quantity:
        """Return the average precision over the chosen texts."""
        keys = list(compress(self.keys, chosen))
        draws = weighted_draws(lambda weights: self._ranked(average_precision, scores, chosen, weights), keys)
        value = self.precision_value(scores, chosen)
        return Quantity(self.harm, "average_precision", value, draws, int(chosen.sum()), headline=True)

    def precision_value(self, scores: Array, chosen: NDArray[np.bool_]) -> float:
        """Return the average precision over the chosen texts, without bootstrap draws."""
        return float(self._ranked(average_precision, scores, chosen, None))

    def auc(self, scores: Array, name: str = "auc", subgroup: str = "") -> Quantity:
        """Return the area under the ROC curve of the seed texts, or of one subgroup's seed texts."""
        chosen = self.seeds
        if subgroup:
            chosen = chosen & (self.slices == self.subgroups.index(subgroup))
        keys = list(compress(self.keys, chosen))
        draws = weighted_draws(lambda weights: self._ranked(area_under_roc, scores, chosen, weights), keys)
        value = float(self._ranked(area_under_roc, scores, chosen, None))
        return Quantity(self._subset(subgroup) if subgroup else self.harm, name, value, draws, int(chosen.sum()))

    def _base_rate(self) -> Quantity:
        truth = self.truth[self.seeds] == UNSAFE
        keys = list(compress(self.keys, self.seeds))
        draws = weighted_draws(lambda weights: weights @ truth / weights.sum(axis=1), keys)
        return Quantity(self.harm, "base_rate", float(truth.mean()), draws, len(truth))

    def accuracies(self, scores_RN: Array) -> list[Quantity]:
        """Return accuracies by kind of text and by subgroup, for data with named kinds of texts, such as HateCheck."""
        if not any(self.kinds):
            return []
        right = (scores_RN.mean(axis=0) >= self.threshold) == (self.truth == UNSAFE)
        kinds = {f"case_{name}": [kind == name for kind in self.kinds] for name in dict.fromkeys(self.kinds) if name}
        kinds |= {name: list(self.slices == k) for k, name in enumerate(self.subgroups)}
        found = []
        for name, inside in kinds.items():
            chosen = self.seeds & np.array(inside)
            if chosen.any():
                found.append(self._mean(right.astype(np.float64), chosen, self._subset(name), "accuracy"))
        return found

    def _ranked(
        self, metric: Callable[..., Array], scores: Array, chosen: NDArray[np.bool_], weights: Array | None
    ) -> Array:
        """Return the mean of a metric over repeats and folds, excluding folds in which it is undefined."""
        rows = np.broadcast_to(scores, (len(self.folds), len(chosen)))[:, chosen]
        truth = self.truth[chosen]
        found = []
        for row, fold in zip(rows, self.folds[:, chosen], strict=True):
            for k in np.unique(fold):
                inside = fold == k
                some = None if weights is None else weights[:, inside]
                found.append(metric(truth[inside], row[inside], some))
        return _mean_of_defined(np.stack(found))

    def _can_rank(self, subgroup: str) -> bool:
        """Return whether a subgroup has enough safe and unsafe seed texts for its own AUC."""
        truth = self.truth[self.seeds & (self.slices == self.subgroups.index(subgroup))]
        return bool(np.bincount(truth, minlength=2).min() >= FEWEST)

    def _variances(self, scores_RN: Array) -> list[Quantity]:
        if not self.sets:
            return []
        variances = np.mean([set_variances(row, self.place) for row in scores_RN], axis=0)
        flips = np.mean([set_flips(row, self.place, self.threshold) for row in scores_RN], axis=0)
        everything = np.ones(len(self.sets), dtype=bool)
        found = [self._mean(variances, everything, self.harm, "acv", headline=True)]
        found += [self._mean(variances, self.set_truth == of, self.harm, f"acv_{name}") for name, of in TRUTHS.items()]
        found.append(self._mean(100 * flips, everything, self.harm, "flip_rate"))
        found += [
            self._mean(variances, self.set_category == category, self._subset(category), "acv")
            for category in dict.fromkeys(self.set_category)
        ]
        return [entry for entry in found if entry.n]

    def _mean(
        self, values: Array, chosen: NDArray[np.bool_], subset: str, name: str, headline: bool = False
    ) -> Quantity:
        some, n = values[chosen], int(chosen.sum())
        if n < 2:
            return Quantity(subset, name, float(some.sum()) if n else np.nan, np.full(RESAMPLES, np.nan), n)
        draws = weighted_draws(lambda weights: weights @ some / n, list(range(n)))
        return Quantity(subset, name, float(some.mean()), draws, n, headline=headline)

    def _slices(self, mean: Array, category: str) -> list[Quantity]:
        """Return sliced averages of a category's subgroups, their largest gap, and the equalised-odds gap."""
        members = [k for k, name in enumerate(self.subgroups) if name.partition(":")[0] == category]
        inside = np.isin(self.slices, members) & self.all
        scores, truth = mean[inside], self.truth[inside]
        slices = np.searchsorted(members, self.slices[inside])
        keys = list(compress(self.keys, inside))
        count, subset = len(members), self._subset(category)

        def over(statistic: Callable[[Any], Array], name: str) -> Quantity:
            draws = weighted_draws(statistic, keys)
            return Quantity(subset, name, float(statistic(None)), draws, int(inside.sum()))

        found = []
        for name, of in TRUTHS.items():

            def averages(weights: Any, of: int = of) -> Array:
                return sliced_averages(scores, slices, truth, of, count, weights)[0]

            value, sizes = sliced_averages(scores, slices, truth, of, count)
            draws = weighted_draws(averages, keys)
            found += [
                Quantity(
                    self._subset(self.subgroups[member]),
                    f"sliced_average_{name}",
                    float(value[k]),
                    draws[:, k],
                    int(sizes[k]),
                )
                for k, member in enumerate(members)
                if sizes[k] and count <= MOST_SHOWN
            ]
            if (sizes > 0).sum() > 1:

                def gap(weights: Any, of: Callable[[Any], Array] = averages) -> Array:
                    return largest_gap(of(weights))

                found.append(over(gap, f"largest_gap_{name}"))
        if len(set(truth)) == 2:
            found.append(
                over(lambda weights: equalised_odds_gap(scores, slices, truth, self.threshold, count, weights), ODDS)
            )
        return found

    def _subset(self, group: str) -> str:
        words = "".join(letter.lower() if letter.isalnum() else "_" for letter in group)
        return f"{self.harm}_{words.replace('__', '_').strip('_')}"


def _mean_of_defined(values: Array) -> Array:
    """Return the mean along the first axis over the values that are not nan, or nan if there are none."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(defined, values, 0).sum(axis=0) / defined.sum(axis=0))
