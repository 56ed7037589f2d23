"""The models of one harm in one division of the texts: the two passes, and the controls that show what each part does.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4, figure 2.
Shape letters: N texts, F source scores, S counterfactual sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.data.safety import SUBGROUPS
from fairlab.ensemble.fair_reweighting import Reweighted, Strength, reweight
from fairlab.ensemble.model import Array, HarmModel
from fairlab.ensemble.pairing import paired_logistic
from fairlab.ensemble.views import AVERAGE, BLIND, TEXT, Shown, Views
from fairlab.metrics.safety import sliced_averages

KINDS = ("forest", "boosting", "logistic")
BASELINE, DEBIASED = "before", "after"
SMOOTH, UNWEIGHTED, PAIRED = "smooth", "unweighted", "paired"
Mask = NDArray[np.bool_]


@dataclass
class Part:
    """The three parts of the texts in one fold of one repeat, as masks (N,)."""

    train: Mask
    validation: Mask
    test: Mask


@dataclass(frozen=True)
class Examples:
    """The texts of one harm as numbers.

    Attributes:
        views: source scores of the texts.
        truth: true label, (N,), 0 (safe), 1 (unsafe) or -1 (not judged).
        seed: whether a text is a seed and no version, (N,).
        slices: number of a text's subgroup, (N,), -1 for none.
        sets: number of a text's counterfactual set, (N,); a seed without versions is a set of its own.
    """

    views: Views
    truth: NDArray[np.int64]
    seed: Mask
    slices: NDArray[np.int64]
    sets: NDArray[np.int64]


@dataclass(frozen=True)
class Trainer:
    """Trains the models of a harm.

    Attributes:
        kind: kind of model, one of :data:`KINDS`.
        trees: number of trees of the forest, or of rounds of boosting.
        baseline_leaf: least number of seeds in a leaf of the baseline.
        leaf: least number of seeds in a leaf of the debiased forest: versions of one seed count as one together.
        pairing: weights of the variance penalty of the rivals, each of which is a model.
        rivals: further rivals: ``blind`` and ``average``.
    """

    kind: str
    trees: int
    baseline_leaf: int
    leaf: int
    pairing: Sequence[float] = ()
    rivals: Sequence[str] = ()

    def models(
        self, examples: Examples, part: Part, strength: Strength, state: int
    ) -> tuple[dict[str, Shown], Reweighted]:
        """All models by name, calibrated on the validation seeds, and what reweighting did.

        Two controls show what each part does: the baseline with the leaf of the debiased forest (``smooth``), and the
        debiased forest without reweighting (``unweighted``). Rivals: ``paired 1`` is a logistic regression that pays
        for the variance of its logits within sets with the weight 1; ``blind`` is the baseline that sees no identity
        word; ``average`` is the baseline's mean over all versions of a text, made when it is asked.
        """
        judged = examples.truth >= 0
        seeds, balanced = part.train & judged & examples.seed, part.train & judged
        held = part.validation & judged
        text, alone = examples.views.text, np.ones(int(seeds.sum()))
        base = self._fitted(text, examples.truth, seeds, alone, state, sets=None)
        found = {BASELINE: _calibrated(base, examples, held)}
        scores, _ = found[BASELINE].scores(examples.views.only(held))
        slices, truth = examples.slices[held], examples.truth[held]
        averages = np.stack([sliced_averages(scores, slices, truth, of, len(SUBGROUPS))[0] for of in (0, 1)])
        rng = np.random.default_rng(state)
        made = reweight(examples.slices[balanced], examples.truth[balanced], averages, strength, rng)
        share = set_shares(examples.sets[balanced])
        sets = round(share.sum())
        second = {
            DEBIASED: (balanced, made.weights * share, sets),
            SMOOTH: (seeds, alone, len(alone)),
            UNWEIGHTED: (balanced, share, sets),
        }
        for name, (rows, weights, count) in second.items():
            fitted = self._fitted(text, examples.truth, rows, weights, state, sets=count)
            found[name] = _calibrated(fitted, examples, held)
        for weight in self.pairing:
            taught = (text[balanced], examples.truth[balanced], examples.sets[balanced])
            fitted = paired_logistic(*taught, share, weight, state % 2**31)
            found[f"{PAIRED} {weight:g}"] = _calibrated(fitted, examples, held)
        if AVERAGE in self.rivals:
            found[AVERAGE] = _calibrated(base, examples, held, AVERAGE)
        if BLIND in self.rivals:
            assert examples.views.blind is not None
            fitted = self._fitted(examples.views.blind, examples.truth, seeds, alone, state, sets=None)
            found[BLIND] = _calibrated(fitted, examples, held, BLIND)
        return found, made

    def _fitted(
        self, features: Array, truth: NDArray[np.int64], rows: Mask, weights: Array, state: int, sets: int | None
    ) -> Any:
        pipeline = self._pipeline(state % 2**31, sets)
        # Without weights where all are 1: a forest draws weighted examples by another way of chance.
        more = {} if (weights == 1).all() else {"model__sample_weight": weights}
        return pipeline.fit(features[rows], truth[rows], **more)

    def _pipeline(self, state: int, sets: int | None) -> Any:
        """The model; of ``sets`` sets, a tree draws as many texts, one of each set on average.

        scikit-learn draws the texts of a tree by their weights and gives each the number of its draws as its weight, so
        that a share of the draws is a number of sets, however many versions they have.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        leaf: dict[str, Any] = {"min_samples_leaf": self.baseline_leaf}
        if sets is not None:
            leaf = {"min_weight_fraction_leaf": min(0.5, self.leaf / sets), "max_samples": sets}
        models = {
            "forest": lambda: RandomForestClassifier(self.trees, **leaf, random_state=state, n_jobs=1),
            "boosting": lambda: HistGradientBoostingClassifier(
                max_iter=self.trees,
                min_samples_leaf=self.baseline_leaf if sets is None else self.leaf,
                random_state=state,
            ),
            "logistic": lambda: LogisticRegression(max_iter=1000),
        }
        steps: list[tuple[str, Any]] = [("missing", SimpleImputer(strategy="median", keep_empty_features=True))]
        steps += [("scale", StandardScaler())] if self.kind == "logistic" else []
        return Pipeline([*steps, ("model", models[self.kind]())])


def set_shares(sets: NDArray[np.int64]) -> Array:
    """What part of its set each text is, (N,): one divided by the number of the set's texts.

    Example:
        >>> set_shares(np.array([7, 7, 3])).tolist()
        [0.5, 0.5, 1.0]
    """
    _, place, sizes = np.unique(sets, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[place])


def _calibrated(pipeline: Any, examples: Examples, held: Mask, view: str = TEXT) -> Shown:
    """The model with a line through its logits; as it is where the held-out seeds have one label, or rank backwards."""
    from sklearn.linear_model import LogisticRegression

    chosen = held & examples.seed
    truth = examples.truth[chosen]
    if len(set(truth)) < 2:
        return Shown(HarmModel(pipeline, 1.0, 0.0), view)
    line = LogisticRegression(C=1e6).fit(examples.views.only(chosen).logits(pipeline, view)[:, None], truth)
    slope, intercept = float(line.coef_[0, 0]), float(line.intercept_[0])
    return Shown(HarmModel(pipeline, slope, intercept) if slope > 0 else HarmModel(pipeline, 1.0, 0.0), view)
