"""Models for one harm and one division of the texts: two training passes, and controls that isolate each part.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4, figure 2.
Shape letters: N texts, F source scores, S counterfactual sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.calibration import calibration_line
from fairlab.methods.safety_ensemble.fair_reweighting import Reweighted, Strength, reweight
from fairlab.methods.safety_ensemble.model import Array, HarmModel
from fairlab.methods.safety_ensemble.pairing import FittedKernel, fitted_kernel, paired_logistic
from fairlab.methods.safety_ensemble.settings import Setting
from fairlab.methods.safety_ensemble.views import AVERAGE, BLIND, TEXT, Shown, Views
from fairlab.metrics.sliced_averages import sliced_averages

BASELINE, DEBIASED = "before", "after"
SMOOTH, UNWEIGHTED, FOREST, UNDEBIASED, PAIRED = "smooth", "unweighted", "forest", "undebiased", "paired"
ALONE = "unaveraged"
NOTHING = Strength(0, 0, 0, 0)
FORESTS = Lock()
Mask = NDArray[np.bool_]


@dataclass
class Part:
    """Masks (N,) of the training, validation and test texts in one fold of one repeat."""

    train: Mask
    validation: Mask
    test: Mask


@dataclass(frozen=True)
class Examples:
    """Numerical data about the texts, for one harm.

    Attributes:
        views: Source scores of the texts.
        truth: True label, (N,), 0 (safe), 1 (unsafe) or -1 (unlabelled).
        seed: Whether a text is a seed (instead of a version), (N,).
        slices: Index of a text's subgroup, (N,), -1 for no subgroup.
        subgroups: Number of subgroups.
        sets: Number of a text's counterfactual set, (N,); a seed without versions is its own set.
    """

    views: Views
    truth: NDArray[np.int64]
    seed: Mask
    slices: NDArray[np.int64]
    subgroups: int
    sets: NDArray[np.int64]


@dataclass(frozen=True)
class Trainer:
    """Trainer of the models for a harm.

    Attributes:
        kind: Kind of model, ``forest`` or ``logistic``; the debiased model combines this kind with the kernel logistic
            regression.
        trees: Number of trees of the forest.
        baseline_leaf: Minimum number of seeds in a leaf of the baseline.
        pairing: Weights of the variance penalty in the rivals; each weight gives one model.
        rivals: Further rivals: ``blind`` and ``average``.
        view: View of a text that the debiased model receives: the text itself, or the average over reference groups.
    """

    kind: str
    trees: int
    baseline_leaf: int
    pairing: Sequence[float] = ()
    rivals: Sequence[str] = ()
    view: str = TEXT

    @property
    def views(self) -> tuple[str, ...]:
        """Return the names of the views that the models receive."""
        return (*self.rivals, self.view)

    def fitted(
        self, features: Array, truth: NDArray[np.int64], weights: Array, state: int, *, leaf: int, sets: int | None
    ) -> Any:
        """Fit and return a model of the trainer's kind.

        ``leaf`` counts texts or, if ``sets`` is given, sets.
        """
        # Weights of 1 are omitted, because a forest samples weighted examples with a different random procedure.
        more = {} if (weights == 1).all() else {"model__sample_weight": weights}
        # Fit one model at a time, because a forest's threads change the warning filters of the whole process.
        with FORESTS:
            fitted = self._pipeline(state % 2**31, leaf, sets).fit(features, truth, **more)
        return fitted.set_params(model__n_jobs=1) if self.kind == "forest" else fitted  # the trees are the same

    def _pipeline(self, state: int, leaf: int, sets: int | None) -> Any:
        """Return the unfitted model.

        If ``sets`` is given, each tree draws that number of texts, on average one per set. scikit-learn draws the texts
        of a tree by their weights, and weights each text by the number of times it is drawn. The minimum share of draws
        in a leaf is therefore a number of sets, regardless of the number of versions in a set.
        """
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        least: dict[str, Any] = {"min_samples_leaf": leaf}
        if sets is not None:
            least = {"min_weight_fraction_leaf": min(0.5, leaf / sets), "max_samples": sets}
        missing = ("missing", SimpleImputer(strategy="median", keep_empty_features=True))
        if self.kind == "logistic":
            return Pipeline([missing, ("scale", StandardScaler()), ("model", LogisticRegression(max_iter=1000))])
        forest = RandomForestClassifier(self.trees, **least, random_state=state, n_jobs=-1)
        return Pipeline([missing, ("model", forest)])


class FoldModels:
    """All models for one harm in one fold, calibrated on the validation seeds.

    Each part of the models is fitted only once.

    Args:
        trainer: Trainer of the models.
        examples: Numerical data about the texts.
        part: Masks of the training and held-out texts.
        state: Seed of the models.
    """

    def __init__(self, trainer: Trainer, examples: Examples, part: Part, state: int) -> None:
        self.trainer, self.examples, self.part, self.state = trainer, examples, part, state
        judged = examples.truth >= 0
        self.seeds, self.all = part.train & judged & examples.seed, part.train & judged
        self.judged = judged[part.validation]
        self.shares = set_shares(examples.sets[self.all])
        self._forests: dict[tuple[int, Strength], Any] = {}
        self._kernels: dict[float, Any] = {}

    @cached_property
    def held(self) -> Views:
        """Return the views of the validation texts."""
        return self.examples.views.only(self.part.validation)

    @cached_property
    def baseline(self) -> Shown:
        """Return the model that is trained only on the seeds."""
        return self._calibrate([self._fit_seeds(self.examples.views.text, self.trainer.baseline_leaf)])

    def debiased(self, setting: Setting, view: str = TEXT) -> Shown:
        """Return the reweighted forest, combined with the regression that penalises variance within sets."""
        return self._calibrate([self._forest(setting.leaf, setting.strength), *self._kernel(setting.penalty)], view)

    def sampled(self, strength: Strength) -> Reweighted:
        """Reweight the training examples by the baseline's sliced averages on the validation texts."""
        examples, held = self.examples, self.part.validation
        scores, _ = self.baseline.scores(self.held)
        slices, truth = examples.slices[held][self.judged], examples.truth[held][self.judged]
        averages = np.stack(
            [sliced_averages(scores[self.judged], slices, truth, of, examples.subgroups)[0] for of in (0, 1)]
        )
        rng = np.random.default_rng(self.state)
        return reweight(examples.slices[self.all], examples.truth[self.all], averages, strength, rng)

    def named(self, setting: Setting) -> dict[str, Shown]:
        """Return the baseline, the controls and rivals, and the debiased model, by name."""
        return {BASELINE: self.baseline, **self.beside(setting), DEBIASED: self.debiased(setting, self.trainer.view)}

    def beside(self, setting: Setting) -> dict[str, Shown]:
        """Return controls, which isolate the effect of each part of the debiased model, and rivals, by name.

        ``smooth`` learns only from the seeds, with the same leaf size and amount of shrinkage as the debiased model.
        ``unweighted`` is the debiased model without reweighting, ``forest`` its forest alone, and ``undebiased`` the
        baseline combined with a regression without a variance penalty. ``paired 1`` is the regression alone, with a
        penalty weight of 1. ``blind`` is a baseline that does not see identity words. ``average`` is the baseline's
        mean over a text's rewrites to the reference groups. ``unaveraged`` is the debiased model without averaging, if
        the debiased model averages. All other models receive the text itself.
        """
        views, seeds = self.examples.views, int(self.seeds.sum())
        smooth = [self._fit_seeds(views.text, setting.leaf, sets=seeds)]
        undebiased = list(self.baseline.model.pipelines)
        if setting.penalty is not None:
            of_seeds = self.examples.seed[self.all].astype(np.float64)
            smooth.append(self._regression(self.all, of_seeds, setting.penalty, evenly=True))
            undebiased.append(self._regression(self.seeds, np.ones(seeds), 0.0))
        found = {
            UNWEIGHTED: self.debiased(replace(setting, strength=NOTHING)),
            FOREST: self.debiased(replace(setting, penalty=None)),
            UNDEBIASED: self._calibrate(undebiased),
        }
        found[SMOOTH] = self._calibrate(smooth)
        found |= {f"{PAIRED} {weight:g}": self._calibrate(self._kernel(weight)) for weight in self.trainer.pairing}
        if self.trainer.view == AVERAGE:
            found[ALONE] = self.debiased(setting)
        if AVERAGE in self.trainer.views:
            found[AVERAGE] = self._calibrate(self.baseline.model.pipelines, AVERAGE)
        if BLIND in self.trainer.rivals:
            assert views.blind is not None
            found[BLIND] = self._calibrate([self._fit_seeds(views.blind, self.trainer.baseline_leaf)], BLIND)
        return found

    def _fit_seeds(self, features: Array, leaf: int, sets: int | None = None) -> Any:
        rows, truth = features[self.seeds], self.examples.truth[self.seeds]
        return self.trainer.fitted(rows, truth, np.ones(len(rows)), self.state, leaf=leaf, sets=sets)

    def _forest(self, leaf: int, strength: Strength) -> Any:
        if (leaf, strength) not in self._forests:
            features, truth = self.examples.views.text[self.all], self.examples.truth[self.all]
            weights = self.sampled(strength).weights * self.shares
            sets = round(self.shares.sum())
            fitted = self.trainer.fitted(features, truth, weights, self.state, leaf=leaf, sets=sets)
            self._forests[leaf, strength] = fitted
        return self._forests[leaf, strength]

    def _kernel(self, penalty: float | None) -> list[Any]:
        if penalty is None:
            return []
        if penalty not in self._kernels:
            self._kernels[penalty] = self._regression(self.all, self.shares, penalty)
        return [self._kernels[penalty]]

    def _regression(self, rows: Mask, weights: Array, penalty: float, *, evenly: bool = False) -> Any:
        taught = (self.examples.views.text[rows], self.examples.truth[rows], self.examples.sets[rows])
        kernel = self._kernel_of_all if rows is self.all else None
        return paired_logistic(*taught, weights, penalty, self.state % 2**31, evenly=evenly, kernel=kernel)

    @cached_property
    def _kernel_of_all(self) -> FittedKernel:
        return fitted_kernel(self.examples.views.text[self.all], self.state % 2**31)

    def _calibrate(self, pipelines: Sequence[Any], view: str = TEXT) -> Shown:
        """Calibrate a model on the validation seeds."""
        held = self.part.validation
        chosen = self.judged & self.examples.seed[held]
        found = self.held.logits(pipelines, view)[chosen]
        return Shown(HarmModel(pipelines, *calibration_line(found, self.examples.truth[held][chosen])), view)


def set_shares(sets: NDArray[np.int64]) -> Array:
    """Return each text's share of its set, (N,): one divided by the number of texts in the set.

    Example:
        >>> set_shares(np.array([7, 7, 3])).tolist()
        [0.5, 0.5, 1.0]
    """
    _, place, sizes = np.unique(sets, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[place])
