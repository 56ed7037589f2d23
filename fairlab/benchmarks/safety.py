"""Counterfactual fairness and performance of a safety classifier, on scores by models that saw no version of a text.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", sections 3 and 5.
Shape letters: R repeats, N texts, S counterfactual sets, K slices, B bootstrap draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity, evenly, outcome
from fairlab.data.safety import Judged, Predicted
from fairlab.metrics.acv import set_flips, set_numbers, set_variances
from fairlab.metrics.bootstrap import RESAMPLES, weighted_draws
from fairlab.metrics.equalised_odds import equalised_odds_gap
from fairlab.metrics.ranking import average_precision
from fairlab.metrics.sliced_averages import SAFE, UNSAFE, largest_gap, sliced_averages
from fairlab.record import Note, NotRun, Outcome
from fairlab.types import FairlabError

Array = NDArray[np.float64]
TRUTHS = {"safe": SAFE, "unsafe": UNSAFE}
CHANGED = (
    "average_precision",
    "average_precision_counterfactual",
    "acv",
    "acv_safe",
    "acv_unsafe",
    "acv_uncalibrated",
    "acv_safe_uncalibrated",
    "acv_unsafe_uncalibrated",
)
OF_OTHERS = ("average_precision", "acv", "acv_uncalibrated")  # changes that are given of other models beside
UNCALIBRATED, ODDS = "uncalibrated", "equalised_odds_gap"


class Safety:
    """Table 3 of the paper and what stands behind it, with intervals by resampling counterfactual sets whole.

    By harm: average precision of the seeds and of seeds and versions, average counterfactual variance (ACV) of all
    sets, of the safe and of the unsafe ones, share of sets whose scores fall on both sides of the threshold; by harm
    and identity category: ACV, the largest gap between sliced averages and the equalised-odds gap; by subgroup: the
    sliced averages. Values are means over repeats, average precision over repeats and folds. Texts with no label or one
    only for a harm give its variances alone.

    Args:
        of: the texts to measure on: ``test``, ``validation``, or the name of a held-out data set.
        threshold: score from which a text counts as unsafe, above 0 and below 1.
        limit: most counterfactual sets, spread evenly over the texts; None takes all.

    Raises:
        FairlabError: the threshold is no probability; in ``measure``, when the model scored no such texts.
    """

    version: ClassVar[int] = 1

    def __init__(self, *, of: str, threshold: float, limit: int | None = None) -> None:
        self.limit = limit
        if not 0 < threshold < 1:
            raise FairlabError(f"the threshold of benchmark safety must lie above 0 and below 1, not {threshold}")
        self.of = of
        self.name = "safety" if of == "test" else f"safety_{of}"
        self.threshold = threshold

    def measure(self, judged: Judged, before: Mapping[str, Array] | None = None) -> Outcome:
        """Measure an ensemble; ``before`` holds the scores of the baseline for the same texts."""
        if self.of not in judged.parts:
            raise FairlabError(
                f"nothing was scored of '{self.of}'; there are: {', '.join(judged.parts)}; see data.held_out"
            )
        judged = self._limited(judged)
        part = judged.parts[self.of]
        result = Outcome(items=dict(_items(part)))
        for harm, scores in part.scores.items():
            truth = np.array([text.labels.get(harm, -1) for text in part.texts])
            of_harm = OfHarm(part, harm, truth, self.threshold)
            if len(set(truth[truth >= 0])) < 2:
                have = "no label" if (truth < 0).all() else "one label only"
                rest = "; only variances are measured" if of_harm.sets else ""
                result.not_run.append(NotRun(self.name, harm, f"the texts have {have} for {harm}{rest}"))
                if not of_harm.sets:
                    continue
            now = of_harm.quantities(scores, part.uncalibrated.get(harm))
            earlier = of_harm.quantities(before[harm], before.get(_raw(harm))) if before is not None else []
            if harm in judged.thresholds and len(set(truth[truth >= 0])) == 2:
                now += OfHarm(part, harm, truth, judged.thresholds[harm]).at_threshold(part.scores[harm])
            changes = [_relative(entry, other) for entry, other in _paired(now, earlier, CHANGED, harm)]
            for name, other in judged.beside.items() if earlier else ():
                changes += _of_other(of_harm, name, other.parts[self.of], now, earlier)
            if self.of == "test" and now[0].name == "average_precision":
                source, note = self._best_source(judged, of_harm, now[0])
                now.append(source)
                result.notes.append(note)
            if of_harm.alone:
                text = f"{of_harm.alone} texts with a subgroup stand alone in their set, and count in no variance"
                result.notes.append(Note(self.name, text))
            found = outcome(self.name, [*now, *changes], earlier)
            result.readings += found.readings
            result.draws |= found.draws
            result.comparisons += found.comparisons
            result.not_run += found.not_run
        result.notes = list(dict.fromkeys(result.notes))
        return result

    def _limited(self, judged: Judged) -> Judged:
        """What was judged of the texts measured."""
        if self.limit is None:
            return judged
        texts = judged.parts[self.of].texts
        kept = set(evenly(list(dict.fromkeys(text.key for text in texts)), self.limit))
        chosen = [k for k, text in enumerate(texts) if text.key in kept]
        beside = {name: other.only(self.of, chosen) for name, other in judged.beside.items()}
        return replace(judged.only(self.of, chosen), beside=beside)

    def _best_source(self, judged: Judged, of_harm: OfHarm, own: Quantity) -> tuple[Quantity, Note]:
        """Table 6: average precision above the best of all source scores; it is the best one on the very test texts."""
        scores = np.nan_to_num(judged.source_scores, nan=0.0)
        values = [of_harm.precision_value(column, of_harm.seeds) for column in scores.T]
        best = int(np.nanargmax(values))
        draws = of_harm.precision(scores[:, best], of_harm.seeds).draws
        change = _ratio(own, replace(own, value=values[best], draws=draws), "gain_over_best_source")
        return change, Note(self.name, f"the best source for {of_harm.harm} is {judged.features[best]}", of_harm.harm)


class OfHarm:
    """The quantities of one harm, for any scores of the same texts.

    Args:
        part: the texts and their folds.
        harm: name of the harm that is judged.
        truth: (N,), 1 for a text with the harm, 0 for one without, -1 for a text that nobody judged.
        threshold: score from which a text counts as unsafe.
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
        """All of them; the first one is the average precision of the seeds. Without both labels, the variances.

        Args:
            scores_RN: calibrated scores.
            uncalibrated_RN: the scores before calibration, whose variances are given as well.
        """
        found = self._calibrated(scores_RN)
        if uncalibrated_RN is not None:
            found += self.uncalibrated(uncalibrated_RN)
        return found

    def uncalibrated(self, scores_RN: Array) -> list[Quantity]:
        """Variances of the harm by scores before calibration."""
        kept = ("acv", "acv_safe", "acv_unsafe")
        some = [one for one in self._variances(scores_RN) if one.subset == self.harm and one.name in kept]
        return [replace(one, name=f"{one.name}_{UNCALIBRATED}", headline=False) for one in some]

    def compared(self, part: Predicted) -> list[Quantity]:
        """The few quantities that are compared of other models: average precision, and variance by both scores."""
        scores = part.scores[self.harm]
        found = [self.precision(scores, self.seeds)] if len(set(self.truth[self.all])) == 2 else []
        return [*found, *self._variances(scores)[:1], *self.uncalibrated(part.uncalibrated[self.harm])[:1]]

    def at_threshold(self, scores_RN: Array) -> list[Quantity]:
        """What the threshold gives by mean scores: precision, recall, false-positive rate of the seeds, and odds."""
        cut, mean = self.threshold, scores_RN.mean(axis=0)
        named, unsafe = mean[self.seeds] >= cut, self.truth[self.seeds] == UNSAFE
        keys = [key for key, one in zip(self.keys, self.seeds, strict=True) if one]

        def share(of: NDArray[np.bool_], among: NDArray[np.bool_], name: str, ideal: float) -> Quantity:
            def statistic(weights: Array) -> Array:
                with np.errstate(invalid="ignore", divide="ignore"):
                    return np.asarray(weights @ (of & among) / (weights @ among))

            value = float(statistic(np.ones(len(of))))
            draws = weighted_draws(statistic, keys)
            return Quantity(self.harm, f"{name}_at_threshold", value, draws, int(among.sum()), "share", ideal)

        return [
            Quantity(self.harm, "threshold", cut, np.full(RESAMPLES, cut), len(named), "score", None),
            share(unsafe, named, "precision", 1.0),
            share(named, unsafe, "recall", 1.0),
            share(named, ~unsafe, "false_positive_rate", 0.0),
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
        """Average precision over some of the texts."""
        keys = [key for key, one in zip(self.keys, chosen, strict=True) if one]
        draws = weighted_draws(lambda weights: self._mean_precision(scores, chosen, weights), keys)
        value = self.precision_value(scores, chosen)
        return Quantity(self.harm, "average_precision", value, draws, int(chosen.sum()), "AU-PRC", 1.0, headline=True)

    def precision_value(self, scores: Array, chosen: NDArray[np.bool_]) -> float:
        """The same without draws."""
        return float(self._mean_precision(scores, chosen, None))

    def _mean_precision(self, scores: Array, chosen: NDArray[np.bool_], weights: Array | None) -> Array:
        """Mean over repeats and folds; a fold whose draw holds no unsafe text is left out."""
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
        found = [self._mean(variances, everything, self.harm, "acv", "score²", headline=True)]
        found += [
            self._mean(variances, self.set_truth == of, self.harm, f"acv_{name}", "score²")
            for name, of in TRUTHS.items()
        ]
        found.append(self._mean(100 * flips, everything, self.harm, "flip_rate", "%"))
        found += [
            self._mean(variances, self.set_category == category, self._subset(category), "acv", "score²")
            for category in dict.fromkeys(self.set_category)
        ]
        return [entry for entry in found if entry.n]

    def _mean(
        self, values: Array, chosen: NDArray[np.bool_], subset: str, name: str, unit: str, headline: bool = False
    ) -> Quantity:
        some, n = values[chosen], int(chosen.sum())
        if n < 2:
            return Quantity(subset, name, float(some.sum()) if n else np.nan, _nans(), n, unit, 0.0)
        draws = weighted_draws(lambda weights: weights @ some / n, list(range(n)))
        return Quantity(subset, name, float(some.mean()), draws, n, unit, 0.0, headline=headline)

    def _slices(self, mean: Array, category: str) -> list[Quantity]:
        """Sliced averages of a category's subgroups, their largest gap, and the equalised-odds gap."""
        members = [k for k, name in enumerate(self.subgroups) if name.partition(":")[0] == category]
        inside = np.isin(self.slices, members) & self.all
        scores, truth = mean[inside], self.truth[inside]
        slices = np.searchsorted(members, self.slices[inside])
        keys = [key for key, one in zip(self.keys, inside, strict=True) if one]
        count, subset = len(members), self._subset(category)

        def over(statistic: Callable[[Any], Array], name: str) -> Quantity:
            draws = weighted_draws(statistic, keys)
            return Quantity(subset, name, float(statistic(None)), draws, int(inside.sum()), "score", 0.0)

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
                    "score",
                    float(of),
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


MOST_SHOWN = 18  # subgroups of a category whose averages are readings of their own; of more only the gap is


def _items(part: Predicted) -> dict[str, Array]:
    """Scores by harm, calibrated, and before calibration under another name."""
    return dict(part.scores) | {_raw(harm): scores for harm, scores in part.uncalibrated.items()}


def _raw(harm: str) -> str:
    return f"{harm}_{UNCALIBRATED}"


def _of_other(
    of_harm: OfHarm, name: str, part: Predicted, now: list[Quantity], earlier: list[Quantity]
) -> list[Quantity]:
    """Changes of another model from the baseline, and of this model from the other one."""
    word = name.replace(" ", "_")
    others = of_harm.compared(part)
    return [
        *(
            _ratio(other, one, f"{other.name}_change_of_{word}")
            for other, one in _paired(others, earlier, OF_OTHERS, of_harm.harm)
        ),
        *(
            _ratio(one, other, f"{one.name}_change_from_{word}")
            for one, other in _paired(now, others, OF_OTHERS, of_harm.harm)
        ),
    ]


def _paired(
    some: list[Quantity], others: list[Quantity], names: tuple[str, ...], harm: str
) -> list[tuple[Quantity, Quantity]]:
    """Quantities of a harm that both have, one beside the other."""
    by_name = {one.name: one for one in others if one.subset == harm}
    return [
        (one, by_name[one.name]) for one in some if one.subset == harm and one.name in names and one.name in by_name
    ]


def _mean_of_defined(values: Array) -> Array:
    """Mean along the first axis of what is a number; nan where nothing is."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(defined, values, 0).sum(axis=0) / defined.sum(axis=0))


def _relative(entry: Quantity, earlier: Quantity) -> Quantity:
    return _ratio(entry, earlier, f"{entry.name}_change")


def _ratio(entry: Quantity, earlier: Quantity, name: str) -> Quantity:
    """Per cent above an earlier quantity, draw by draw."""
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = 100 * (entry.draws / earlier.draws - 1)
        value = 100 * (np.float64(entry.value) / earlier.value - 1)
    return Quantity(entry.subset, name, float(value), draws, entry.n, "%", None)


def _nans() -> Array:
    return np.full(RESAMPLES, np.nan)
