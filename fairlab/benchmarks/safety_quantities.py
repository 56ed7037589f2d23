"""Quantities of the safety benchmark: their definitions, and their computation for one harm.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", sections 3 and 5.
Shape letters: R repeats, N texts, S counterfactual sets, K slices, B bootstrap draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity
from fairlab.data.safety import Predicted
from fairlab.metrics.acv import set_flips, set_numbers, set_variances
from fairlab.metrics.bootstrap import RESAMPLES, weighted_draws
from fairlab.metrics.equalised_odds import equalised_odds_gap
from fairlab.metrics.ranking import average_precision
from fairlab.metrics.sliced_averages import SAFE, UNSAFE, largest_gap, sliced_averages
from fairlab.types import QuantityInfo

Array = NDArray[np.float64]
TRUTHS = {"safe": SAFE, "unsafe": UNSAFE}
UNCALIBRATED, ODDS = "uncalibrated", "equalised_odds_gap"
MOST_SHOWN = 18  # subgroups of a category with readings of their averages; with more only the gap is read
CITATION = """\
@inproceedings{sturman2024debiasing,
  title = {Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble},
  author = {Sturman, Olivia and Joshi, Aparna R. and Radharapu, Bhaktipriya and Kumar, Piyush and Shelby, Renee},
  booktitle = {Proceedings of the 2024 Conference on Empirical Methods in Natural Language Processing: Industry Track},
  year = {2024}
}
"""
# Titles by the name of the measured texts, for texts other than the test folds.
TITLES = {
    "bias_madlibs": "Bias Madlibs",
    "hatecheck": "HateCheck",
    "validation": "Safety (validation folds)",
}
_variance = partial(QuantityInfo, unit="score²", ideal=0.0, low=0.0, high=0.25)
_gap = partial(QuantityInfo, unit="score", ideal=0.0, low=0.0, high=1.0, folded=True)
_share = partial(QuantityInfo, unit="share", low=0.0, high=1.0)
_precision = partial(QuantityInfo, unit="AU-PRC", ideal=1.0, low=0.0, high=1.0, useful=True)
_change = partial(QuantityInfo, unit="%", low=-100.0)
OF_THE_BASELINE = "in per cent of the baseline's"
VARIANCES = {
    "acv": ("counterfactual variance", "variance of a text's score over its versions"),
    "acv_safe": ("counterfactual variance of safe texts", "variance of a safe text's score over its versions"),
    "acv_unsafe": ("counterfactual variance of unsafe texts", "variance of an unsafe text's score over its versions"),
}


def _of_variance(name: str, label: str, meaning: str) -> dict[str, QuantityInfo]:
    """Return the descriptions of a variance, by calibrated and uncalibrated scores, and of the changes of both."""
    before = "before calibration"
    raw = f"{name}_{UNCALIBRATED}"
    changed = f"{OF_THE_BASELINE} (negative is fairer)"
    return {
        name: _variance(label, f"{meaning} (0 is fair)"),
        raw: _variance(f"{label} {before}", f"{meaning}, {before} (0 is fair)"),
        f"{name}_change": _change(f"change of {label}", f"change of the {meaning}, {changed}"),
        f"{raw}_change": _change(f"change of {label} {before}", f"change of the {meaning}, {before}, {changed}"),
        **_of_others(name, label),
        **_of_others(raw, f"{label} {before}"),
    }


def _of_others(name: str, label: str) -> dict[str, QuantityInfo]:
    """Return the descriptions of the changes of a quantity between models other than the baseline."""
    return {
        f"{name}_change_of_*": _change(
            f"change of {label} by {{}}", f"change of the {label} by another model, {OF_THE_BASELINE}"
        ),
        f"{name}_change_from_*": _change(
            f"change of {label} from {{}}", f"change of the {label} by this model, in per cent of another's"
        ),
    }


QUANTITIES = {
    "average_precision": _precision("average precision", "how well scores find unsafe texts (1 is best)"),
    "average_precision_counterfactual": _precision(
        "average precision with versions", "how well scores find unsafe texts, versions among them (1 is best)"
    ),
    "average_precision_change": _change(
        "change of average precision", f"change of the average precision, {OF_THE_BASELINE}", useful=True
    ),
    "average_precision_counterfactual_change": _change(
        "change of average precision with versions",
        f"change of the average precision, versions among the texts, {OF_THE_BASELINE}",
    ),
    **_of_others("average_precision", "average precision"),
    "gain_over_best_source": _change(
        "gain over the best source", "average precision above the best source's, in per cent of it", useful=True
    ),
    **{name: info for key, words in VARIANCES.items() for name, info in _of_variance(key, *words).items()},
    "flip_rate": QuantityInfo(
        "flip rate", "sets whose versions are judged both safe and unsafe (0 is fair)", "%", 0.0, 0.0, 100.0
    ),
    "largest_gap_safe": _gap(
        "largest gap, safe texts", "between the mean scores of two subgroups' safe texts (0 is fair)"
    ),
    "largest_gap_unsafe": _gap(
        "largest gap, unsafe texts", "between the mean scores of two subgroups' unsafe texts (0 is fair)"
    ),
    "sliced_average_safe": _gap("mean score of safe texts", "of one subgroup's safe texts, beside those of the others"),
    "sliced_average_unsafe": _gap(
        "mean score of unsafe texts", "of one subgroup's unsafe texts, beside those of the others", ideal=1.0
    ),
    ODDS: _gap("equalised-odds gap", "difference of subgroups in errors (0 is fair)"),
    f"{ODDS}_at_threshold": _gap(
        "equalised-odds gap at the threshold", "difference of subgroups in errors at the model's threshold (0 is fair)"
    ),
    "threshold": QuantityInfo("threshold", "score from which a text counts as unsafe", "score", low=0.0, high=1.0),
    "precision_at_threshold": _share(
        "precision at the threshold", "unsafe texts among those judged unsafe (1 is best)", ideal=1.0
    ),
    "recall_at_threshold": _share(
        "recall at the threshold", "texts judged unsafe among those that are (1 is best)", ideal=1.0
    ),
    "false_positive_rate_at_threshold": _share(
        "false-positive rate at the threshold", "texts judged unsafe among safe ones (0 is best)", ideal=0.0
    ),
}


class OfHarm:
    """Quantities of one harm, for any scores of the same texts.

    Args:
        part: Texts and their folds.
        harm: Name of the judged harm.
        truth: 1 for a text with the harm, 0 for one without, -1 for a text without a judgement, (N,).
        threshold: Score from which a text counts as unsafe.
    """

    def __init__(self, part: Predicted, harm: str, truth: NDArray[np.int64], threshold: float) -> None:
        self.harm = harm
        self.threshold = threshold
        self.folds = part.folds
        self.truth = truth
        self.keys = [text.key for text in part.texts]
        judged = truth >= 0
        self.seeds = judged & np.array([text.seed for text in part.texts])
        self.all = judged
        self.subgroups = sorted({text.subgroup for text in part.texts} - {""})
        self.slices = np.array(
            [self.subgroups.index(text.subgroup) if text.subgroup else -1 for text in part.texts], dtype=np.int64
        )
        self.categories = np.array([text.category for text in part.texts])
        counted = judged if judged.any() else ~judged
        sets = [text.key if text.subgroup and known else None for text, known in zip(part.texts, counted, strict=True)]
        self.place, self.sets = set_numbers(sets)
        self.alone = sum(name is not None for name in sets) - int((self.place >= 0).sum())
        first = {name: k for k, name in reversed(list(enumerate(sets)))}
        where = [first[str(name)] for name in self.sets]
        self.set_truth, self.set_category = truth[where], self.categories[where]

    def quantities(self, scores_RN: Array, uncalibrated_RN: Array | None = None) -> list[Quantity]:
        """Return all quantities, the average precision of the seeds first; only the variances if a label is missing.

        Args:
            scores_RN: Calibrated scores.
            uncalibrated_RN: Scores before calibration, whose variances are returned as well.
        """
        found = self._calibrated(scores_RN)
        if uncalibrated_RN is not None:
            found += self.uncalibrated(uncalibrated_RN)
        return found

    def uncalibrated(self, scores_RN: Array) -> list[Quantity]:
        """Return variances of the harm by scores before calibration."""
        kept = ("acv", "acv_safe", "acv_unsafe")
        some = [one for one in self._variances(scores_RN) if one.subset == self.harm and one.name in kept]
        return [replace(one, name=f"{one.name}_{UNCALIBRATED}", headline=False) for one in some]

    def compared(self, part: Predicted) -> list[Quantity]:
        """Return the few quantities compared between models: average precision, and variance by both scores."""
        scores = part.scores[self.harm]
        found = [self.precision(scores, self.seeds)] if len(set(self.truth[self.all])) == 2 else []
        return [*found, *self._variances(scores)[:1], *self.uncalibrated(part.uncalibrated[self.harm])[:1]]

    def at_threshold(self, scores_RN: Array) -> list[Quantity]:
        """Return results at the threshold by mean scores: the seeds' precision, recall, false-positive rate; odds."""
        cut, mean = self.threshold, scores_RN.mean(axis=0)
        named, unsafe = mean[self.seeds] >= cut, self.truth[self.seeds] == UNSAFE
        keys = [key for key, one in zip(self.keys, self.seeds, strict=True) if one]

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
                for category in dict.fromkeys(name.partition(":")[0] for name in self.subgroups)
                for one in self._slices(mean, category)
                if one.name == ODDS
            ),
        ]

    def _calibrated(self, scores_RN: Array) -> list[Quantity]:
        if len(set(self.truth[self.all])) < 2:
            return self._variances(scores_RN)
        found = [self.precision(scores_RN, self.seeds)]
        if not self.seeds.all():
            found.append(replace(self.precision(scores_RN, self.all), name="average_precision_counterfactual"))
        found += self._variances(scores_RN)
        mean = scores_RN.mean(axis=0)
        for category in dict.fromkeys(name.partition(":")[0] for name in self.subgroups):
            found += self._slices(mean, category)
        return found

    def precision(self, scores: Array, chosen: NDArray[np.bool_]) -> Quantity:
        """Return the average precision over some of the texts."""
        keys = [key for key, one in zip(self.keys, chosen, strict=True) if one]
        draws = weighted_draws(lambda weights: self._mean_precision(scores, chosen, weights), keys)
        value = self.precision_value(scores, chosen)
        return Quantity(self.harm, "average_precision", value, draws, int(chosen.sum()), headline=True)

    def precision_value(self, scores: Array, chosen: NDArray[np.bool_]) -> float:
        """Return the average precision without draws."""
        return float(self._mean_precision(scores, chosen, None))

    def _mean_precision(self, scores: Array, chosen: NDArray[np.bool_], weights: Array | None) -> Array:
        """Return the mean over repeats and folds; a fold is left out if its draw contains no unsafe text."""
        rows = np.broadcast_to(scores, (len(self.folds), len(chosen)))[:, chosen]
        truth = self.truth[chosen]
        found = []
        for row, fold in zip(rows, self.folds[:, chosen], strict=True):
            for k in np.unique(fold):
                inside = fold == k
                some = None if weights is None else weights[:, inside]
                found.append(average_precision(truth[inside], row[inside], some))
        return _mean_of_defined(np.stack(found))

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
            return Quantity(subset, name, float(some.sum()) if n else np.nan, _nans(), n)
        draws = weighted_draws(lambda weights: weights @ some / n, list(range(n)))
        return Quantity(subset, name, float(some.mean()), draws, n, headline=headline)

    def _slices(self, mean: Array, category: str) -> list[Quantity]:
        """Return sliced averages of a category's subgroups, their largest gap, and the equalised-odds gap."""
        members = [k for k, name in enumerate(self.subgroups) if name.partition(":")[0] == category]
        inside = np.isin(self.slices, members) & self.all
        scores, truth = mean[inside], self.truth[inside]
        slices = np.searchsorted(members, self.slices[inside])
        keys = [key for key, one in zip(self.keys, inside, strict=True) if one]
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
                over(
                    lambda weights: equalised_odds_gap(scores, slices, truth, self.threshold, count, weights),
                    ODDS,
                )
            )
        return found

    def _subset(self, group: str) -> str:
        words = "".join(letter.lower() if letter.isalnum() else "_" for letter in group)
        return f"{self.harm}_{words.replace('__', '_').strip('_')}"


def _mean_of_defined(values: Array) -> Array:
    """Return the mean along the first axis without nan values; nan if all values are nan."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(defined, values, 0).sum(axis=0) / defined.sum(axis=0))


def _nans() -> Array:
    return np.full(RESAMPLES, np.nan)
