"""Fairness and performance of a safety classifier, measured with models that saw no version of a text in training.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", sections 3 and 5.
Shape letters: R repeats, N texts, S counterfactual sets, K slices, B bootstrap draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity, evenly, outcome
from fairlab.benchmarks.safety_described import QUANTITIES, TITLES, UNCALIBRATED
from fairlab.benchmarks.safety_quantities import OfHarm
from fairlab.data.safety import Judged, Predicted
from fairlab.data.safety_texts import SafetyText
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.protocols import Benchmark
from fairlab.record import Note, NotRun, Outcome
from fairlab.text.papers import STURMAN_2024
from fairlab.types import ALIKE, DataUnavailable, Description, FairlabError

Array = NDArray[np.float64]
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
VALIDATION = "validation"  # settings are chosen on these texts, so their numbers are not unbiased estimates
NO_SKILL = "no better than chance here"
UNAVERAGED = "acv_change_of_unaveraged"  # change by a model that averages reference groups, without the average
OF_OTHERS = ("average_precision", "acv", "acv_uncalibrated")  # changes that are also given for other models


class Safety(Benchmark):
    """Quantities of table 3 of the paper and their components, with intervals that resample whole counterfactual sets.

    - By harm: average precision, AUC and base rate of the seed texts; average precision of seeds and versions; average
      counterfactual variance (ACV) of all, of safe and of unsafe sets; percentage of sets with scores on both sides of
      the threshold.
    - By harm and identity category: ACV, largest gap between sliced averages, and equalised-odds gap.
    - By subgroup: sliced averages and AUC.

    Values are means over repeats; average precision and AUC are means over repeats and folds. If the texts have no
    label or only one label for a harm, only its variances are measured. A model whose AUC cannot be distinguished from
    0.5 gets a warning and no changes in per cent, because a score without information becomes perfectly fair if it is
    made constant.

    Args:
        of: Texts to measure on: ``test``, ``validation``, or the name of a held-out dataset.
        threshold: Lowest score at which a text counts as unsafe, above 0 and below 1.
        limit: Maximum number of counterfactual sets, spread evenly over the texts; None for all.

    Raises:
        FairlabError: The threshold is not a probability.
        DataUnavailable: The model scored none of these texts. The error is raised by :meth:`measure`.
    """

    version: ClassVar[int] = 2
    description = Description(
        "safety",
        "Safety",
        "Does a safety classifier judge texts alike, whoever they are about?",
        QUANTITIES,
        topic=ALIKE,
        citation=STURMAN_2024,
        needs=("harm_scores",),
    )

    def __init__(self, *, of: str, threshold: float, limit: int | None = None) -> None:
        self.limit = limit
        if not 0 < threshold < 1:
            raise FairlabError(f"the threshold of benchmark safety must be above 0 and below 1, not {threshold}")
        self.of = of
        if of != "test":
            self.description = self.describe(f"safety_{of}") or self.description
        self.threshold = threshold
        self._known: dict[str, tuple[Sequence[SafetyText], Array, list[Quantity]]] = {}

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description of the readings of ``safety`` or ``safety_TEXTS``, or None for other names."""
        of = name.removeprefix("safety_")
        if of == name:
            return super().describe(name)
        title = TITLES.get(of, f"Safety ({of.replace('_', ' ')})")
        return replace(cls.description, name=name, title=title, for_choosing=of == VALIDATION)

    def measure(self, judged: Judged, before: Mapping[str, Array] | None = None) -> Outcome:
        """Measure an ensemble. ``before`` holds the scores of the baseline for the same texts."""
        from sklearn.utils.parallel import Parallel, delayed

        if self.of not in judged.parts:
            raise DataUnavailable(f"'{self.of}' has no scores; there are: {', '.join(judged.parts)}; see data.held_out")
        judged = self._limited(judged)
        part = judged.parts[self.of]
        result = Outcome(items=dict(_items(part)))
        # numpy releases the interpreter lock, so threads run in parallel.
        for found in Parallel(-1, prefer="threads")(
            delayed(self._measure_harm)(judged, harm, before) for harm in part.scores
        ):
            result.readings += found.readings
            result.draws |= found.draws
            result.comparisons += found.comparisons
            result.not_run += found.not_run
            result.notes += found.notes
        result.notes = list(dict.fromkeys(result.notes))
        return result

    def _measure_harm(self, judged: Judged, harm: str, before: Mapping[str, Array] | None) -> Outcome:
        """Return the readings and notes of one harm."""
        part, not_run, notes = judged.parts[self.of], list[NotRun](), list[Note]()
        scores, truth = part.scores[harm], np.array([text.labels.get(harm, -1) for text in part.texts])
        of_harm = OfHarm(part, harm, truth, self.threshold)
        if len(set(truth[truth >= 0])) < 2:
            have = "no label" if (truth < 0).all() else "one label only"
            rest = "; only variances are measured" if of_harm.sets else ""
            not_run.append(NotRun(self.name, harm, f"the texts have {have} for {harm}{rest}"))
            if not of_harm.sets:
                return Outcome(not_run=not_run)
        quantities = partial(self._quantities, part.texts, of_harm)
        earlier = quantities(before[harm], before.get(_raw(harm))) if before is not None else []
        now = quantities(scores, part.uncalibrated.get(harm))
        if len(set(truth[truth >= 0])) == 2:
            cut = OfHarm(part, harm, truth, judged.thresholds.get(harm, self.threshold))
            now += cut.at_threshold(scores) if harm in judged.thresholds else []
            now += cut.accuracies(scores)
        changes = [_ratio(one, other, f"{one.name}_change") for one, other in _paired(now, earlier, CHANGED, harm)]
        for name, other in judged.beside.items() if earlier else ():
            changes += _of_other(of_harm, name, other.parts[self.of], now, earlier)
        if unskilled := self._unskilled(harm, now, earlier):
            notes.append(unskilled)
            now = [replace(one, headline=False) if _is_acv(one) else one for one in now]
            earlier, changes = [one for one in earlier if not _is_acv(one)], []
        notes += [Note(self.name, _as_they_are(one), subset=harm) for one in changes if one.name == UNAVERAGED]
        for name, other in judged.beside.items() if now[0].name == "average_precision" and earlier else ():
            now.append(of_harm.auc(other.parts[self.of].scores[harm], f"auc_of_{_word(name)}"))
        if self.of == "test" and now[0].name == "average_precision":
            source, note = self._best_source(judged, of_harm, now[0])
            now.append(source)
            notes.append(note)
        if of_harm.alone:
            text = f"{of_harm.alone} texts with a subgroup are the only ones in their set, so they are in no variance"
            notes.append(Note(self.name, text))
        if self.description.for_choosing:
            now = [replace(one, headline=False) for one in now]
        found = outcome(self.description, [*now, *changes], earlier)
        return replace(found, not_run=[*not_run, *found.not_run], notes=notes)

    def _quantities(
        self, texts: Sequence[SafetyText], of_harm: OfHarm, scores: Array, uncalibrated: Array | None
    ) -> list[Quantity]:
        """Return the quantities of scores. The last result for each harm, such as the baseline's, is cached."""
        both = scores if uncalibrated is None else np.stack([scores, uncalibrated])
        known = self._known.get(of_harm.harm)
        if known is None or known[0] != texts or not np.array_equal(known[1], both, equal_nan=True):
            self._known[of_harm.harm] = known = texts, both, of_harm.quantities(scores, uncalibrated)
        return list(known[2])

    def _unskilled(self, harm: str, now: list[Quantity], earlier: list[Quantity]) -> Note | None:
        """Return a note if the model or the baseline ranks texts no better than chance.

        Only the note about the model has a mark that is shown next to readings.
        """
        if skill := no_skill(now):
            return Note(self.name, f"{harm}: {skill}", subset=harm, mark=NO_SKILL)
        if skill := no_skill(earlier):
            return Note(self.name, f"{harm}: of the baseline, {skill}", subset=harm)
        return None

    def _limited(self, judged: Judged) -> Judged:
        """Return the scores restricted to the measured texts."""
        if self.limit is None:
            return judged
        texts = judged.parts[self.of].texts
        kept = set(evenly(list(dict.fromkeys(text.key for text in texts)), self.limit))
        chosen = [k for k, text in enumerate(texts) if text.key in kept]
        beside = {name: other.only(self.of, chosen) for name, other in judged.beside.items()}
        return replace(judged.only(self.of, chosen), beside=beside)

    def _best_source(self, judged: Judged, of_harm: OfHarm, own: Quantity) -> tuple[Quantity, Note]:
        """Return the gain in average precision over the best source score (table 6), chosen on the same test texts."""
        scores = np.nan_to_num(judged.source_scores)
        values = [of_harm.precision_value(column, of_harm.seeds) for column in scores.T]
        best = int(np.nanargmax(values))
        draws = of_harm.precision(scores[:, best], of_harm.seeds).draws
        change = _ratio(own, replace(own, value=values[best], draws=draws), "gain_over_best_source")
        return change, Note(self.name, f"the best source for {of_harm.harm} is {judged.features[best]}", of_harm.harm)


def _items(part: Predicted) -> dict[str, Array]:
    """Return calibrated scores by harm, and uncalibrated scores under names of their own."""
    return dict(part.scores) | {_raw(harm): scores for harm, scores in part.uncalibrated.items()}


def _raw(harm: str) -> str:
    return f"{harm}_{UNCALIBRATED}"


def _of_other(
    of_harm: OfHarm, name: str, part: Predicted, now: list[Quantity], earlier: list[Quantity]
) -> list[Quantity]:
    """Return the changes from the baseline to another model, and from this other model to the debiased model."""
    word = _word(name)
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
    """Return the pairs of quantities that are in both lists."""
    by_name = {one.name: one for one in others if one.subset == harm}
    return [
        (one, by_name[one.name]) for one in some if one.subset == harm and one.name in names and one.name in by_name
    ]


def _as_they_are(change: Quantity) -> str:
    """Return a sentence on the change in variance for the model that does not average over reference groups."""
    return (
        f"{change.subset}: scores are averaged over reference groups, so that the variance falls nearly by "
        f"construction; with texts as they are, its change is {change.value:.0f} %"
    )


def _is_acv(one: Quantity) -> bool:
    return one.name.startswith("acv")


def no_skill(quantities: Sequence[Quantity]) -> str:
    """Return a sentence if a model ranks texts no better than chance, otherwise an empty string.

    The string is also empty if the AUC is missing or has no interval.
    """
    auc = next((one for one in quantities if one.name == "auc"), None)
    if auc is None:
        return ""
    low, high = percentile_interval(auc.draws)
    if low > 0.5 or np.isnan(low):
        return ""
    return f"the AUC is {auc.value:.2f} [{low:.2f}, {high:.2f}], and 0.5 is chance; its changes are not reported"


def _word(name: str) -> str:
    return name.replace(" ", "_")


def _ratio(entry: Quantity, earlier: Quantity, name: str) -> Quantity:
    """Return the change from an earlier quantity in per cent, computed draw by draw."""
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = 100 * (entry.draws / earlier.draws - 1)
        value = 100 * (np.float64(entry.value) / earlier.value - 1)
    return Quantity(entry.subset, name, float(value), draws, entry.n)
