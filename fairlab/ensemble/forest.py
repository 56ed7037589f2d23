"""The fairness-aware ensemble: one small model a harm on the scores of source classifiers, trained in two passes.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4, figure 2.
Shape letters: N texts, F source scores, R repeats of the division into folds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from fairlab.data.safety import SUBGROUPS, Judged, Predicted, SafetyData, SafetyText
from fairlab.ensemble.fair_reweighting import Reweighted, Strength, reweight
from fairlab.ensemble.model import Array, HarmModel, _logits
from fairlab.ensemble.sources import Source, Sources
from fairlab.files import write_whole
from fairlab.metrics.safety import sliced_averages
from fairlab.types import FairlabError, Texts, need_extra

KINDS = ("forest", "boosting", "logistic")
BASELINE, DEBIASED = "before", "after"


@dataclass
class _Part:
    """The three parts of the texts in one fold of one repeat, as masks (N,)."""

    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    test: NDArray[np.bool_]


@dataclass
class _Kept:
    """Scores of the models of one phase as they come in; nan where no model was asked."""

    test: dict[str, Array]
    validation: dict[str, Array]
    others: dict[str, dict[str, Array]]
    contributions: dict[str, list[Array]] = field(default_factory=dict)


class SafetyEnsemble:
    """Trains, for every harm, a baseline on the seeds and a debiased model on seeds and versions, reweighted.

    A fold is held out for testing and the next one for validation; the others train. The baseline's sliced averages on
    the validation fold are the losses of fair data reweighting. Every text so gets a score by models that saw no
    version of it. Both models are calibrated on the validation seeds. The exported models are trained in the same way
    on all but one fold.

    Args:
        sources: classifiers whose scores are the features.
        harms: names of the harms to train models for.
        kind: kind of model: ``forest``, ``boosting`` or ``logistic``.
        trees: number of trees of the forest, or of rounds of boosting; at least 1.
        leaf: least number of examples in a leaf, at least 1.
        reweighting: lambdas and betas of each harm.
        cache: file of source scores; None keeps none.
        seed: seed of the models and of the reweighting.

    Raises:
        FairlabError: an unknown kind or harm, or a harm without values for reweighting; in ``fit``, when the training
            texts have one label only.
    """

    title = "fairness-aware ensemble with fair data reweighting (FDW)"
    epochs = validate_every = 1
    steps: int | None = None
    monitor = ""
    patience: int | None = None
    measurable_before = False  # both phases are made by one fit
    limits = (
        "English only. The versions of a seed are made by word lists, which see no grammar. The ensemble can be no "
        "better than its sources, and must be trained anew when one of them changes."
    )

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        harms: Texts,
        kind: str,
        trees: int,
        leaf: int,
        reweighting: Mapping[str, Mapping[str, float]],
        cache: str | None,
        seed: int,
    ) -> None:
        if kind not in KINDS:
            raise FairlabError(f"method.kind must be {', '.join(KINDS)}, not {kind}")
        if missing := [harm for harm in harms if harm not in reweighting]:
            raise FairlabError(f"method.reweighting has no values for {missing[0]}; give lambdas and betas")
        if trees < 1 or leaf < 1:
            raise FairlabError(f"method.trees and method.leaf must be at least 1: {trees}, {leaf}")
        need_extra("safety", "the export of a safety ensemble", "skops")  # said before an hour's training, not after
        self.sources = Sources(sources, cache=cache)
        self.harms = list(harms)
        self.kind = kind
        self.trees = trees
        self.leaf = leaf
        self.strengths = {harm: Strength(**reweighting[harm]) for harm in harms}
        self.seed = seed
        self.judged: dict[str, Judged] = {}
        self.models: dict[str, dict[str, HarmModel]] = {}
        self.sampled: dict[str, Reweighted] = {}

    def fit(self, data: SafetyData) -> None:
        """Score the texts by all sources, train in every fold, and train the models to export."""
        features = self.sources.score([text.text for text in data.texts])
        others = {name: self.sources.score([text.text for text in texts]) for name, texts in data.others.items()}
        folds = np.stack([data.division(repeat) for repeat in range(data.repeats)])
        kept = {phase: self._empty(data, folds.shape) for phase in (BASELINE, DEBIASED)}
        jobs = [(repeat, fold) for repeat in range(data.repeats) for fold in range(data.folds)]
        for repeat, fold in track(jobs, "folds", transient=True):
            part = _parts(folds[repeat], fold, data.folds)
            for harm in self.harms:
                for phase, model in self._pair(harm, data.texts, features, part, (repeat, fold)).items():
                    rows = kept[phase]
                    rows.test[harm][repeat, part.test] = model.score(features[part.test])
                    rows.validation[harm][repeat, part.validation] = model.score(features[part.validation])
                    for name, scores in others.items():
                        rows.others[name][harm][repeat] += model.score(scores) / data.folds
                    if model.contributions is not None:
                        rows.contributions.setdefault(harm, []).append(model.contributions)
        self.judged = {phase: self._judged(data, folds, features, rows) for phase, rows in kept.items()}
        whole = _parts(folds[0], 0, data.folds)
        whole.train |= whole.test
        for harm in self.harms:
            for phase, model in self._pair(harm, data.texts, features, whole, (data.repeats, 0), keep=True).items():
                self.models.setdefault(phase, {})[harm] = model

    def measured(self, phase: str) -> Judged:
        """The scores of the models of a phase: ``before``, the baseline's, or ``after``, the debiased ones'."""
        return self.judged[phase]

    def digest(self) -> str:
        """Which models are there."""
        return ", ".join(sorted(self.models))

    def facts(self) -> dict[str, object]:
        """What the record should hold beside the configuration: scores that sources lacked, what was sampled."""
        return {
            "title": self.title,
            "limits": self.limits,
            "texts_cut": self.sources.cut,
            "texts_without_a_score": self.sources.missing,
            "sampled": {
                harm: {
                    truth: dict(zip(SUBGROUPS, map(int, counts), strict=True))
                    for truth, counts in zip(("safe", "unsafe"), made.counts, strict=True)
                }
                for harm, made in self.sampled.items()
            },
        }

    def finish(self, folder: Path) -> None:
        """Write what the report shows beside the readings."""
        from fairlab.ensemble.overview import ensemble_overview

        write_whole(folder / "look.json", json.dumps(ensemble_overview(self.judged), ensure_ascii=False) + "\n")

    def export(self, folder: Path, card: str) -> Path:
        """Write the debiased models, and return their file."""
        from fairlab.ensemble.export import save_ensemble
        from fairlab.ensemble.trust import DESCRIPTION

        save_ensemble(self.models[DEBIASED], self.sources, folder)
        return folder / DESCRIPTION

    def _pair(
        self,
        harm: str,
        texts: Sequence[SafetyText],
        features: Array,
        part: _Part,
        place: tuple[int, int],
        keep: bool = False,
    ) -> dict[str, HarmModel]:
        """Baseline and debiased model of one harm: the two passes."""
        truth = np.array([text.labels.get(harm, -1) for text in texts])
        seed = np.array([text.seed for text in texts])
        slices = np.array([SUBGROUPS.index(text.subgroup) if text.subgroup else -1 for text in texts])
        judged = truth >= 0
        if len(set(truth[part.train & judged & seed])) < 2:
            raise FairlabError(
                f"the training seeds have fewer than two labels for {harm}; leave it out of method.harms, or give "
                "data with safe and unsafe texts"
            )
        state = int(np.random.SeedSequence([self.seed, *place]).generate_state(1)[0])
        held = part.validation & judged

        def fitted(rows: NDArray[np.bool_], weights: Array) -> HarmModel:
            pipeline = self._pipeline(state % 2**31)
            # Without weights where all are 1: a forest draws weighted examples by another way of chance.
            more = {} if (weights == 1).all() else {"model__sample_weight": weights}
            pipeline.fit(features[rows], truth[rows], **more)
            return _calibrated(pipeline, features[held & seed], truth[held & seed])

        original, balanced = part.train & judged & seed, part.train & judged
        baseline = fitted(original, np.ones(original.sum()))
        scores = baseline.score(features[held])
        averages = np.stack(
            [sliced_averages(scores, slices[held], truth[held], of, len(SUBGROUPS))[0] for of in (0, 1)]
        )
        rng = np.random.default_rng(state)
        made = reweight(slices[balanced], truth[balanced], averages, self.strengths[harm], rng)
        if keep:
            self.sampled[harm] = made
        return {BASELINE: baseline, DEBIASED: fitted(balanced, made.weights)}

    def _pipeline(self, state: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        models = {
            "forest": lambda: RandomForestClassifier(
                self.trees, min_samples_leaf=self.leaf, random_state=state, n_jobs=1
            ),
            "boosting": lambda: HistGradientBoostingClassifier(
                max_iter=self.trees, min_samples_leaf=self.leaf, random_state=state
            ),
            "logistic": lambda: LogisticRegression(max_iter=1000),
        }
        steps: list[tuple[str, Any]] = [("missing", SimpleImputer(strategy="median", keep_empty_features=True))]
        steps += [("scale", StandardScaler())] if self.kind == "logistic" else []
        return Pipeline([*steps, ("model", models[self.kind]())])

    def _empty(self, data: SafetyData, shape: tuple[int, ...]) -> _Kept:
        def blank() -> dict[str, Array]:
            return {harm: np.full(shape, np.nan) for harm in self.harms}

        others = {
            name: {harm: np.zeros((shape[0], len(texts))) for harm in self.harms} for name, texts in data.others.items()
        }
        return _Kept(blank(), blank(), others)

    def _judged(self, data: SafetyData, folds: NDArray[np.int64], features: Array, rows: _Kept) -> Judged:
        parts = {
            "test": Predicted(data.texts, folds, rows.test),
            "validation": Predicted(data.texts, folds, rows.validation),
        }
        for name, texts in data.others.items():
            parts[name] = Predicted(texts, np.zeros((len(folds), len(texts)), dtype=np.int64), rows.others[name])
        contributions = {harm: np.mean(found, axis=0) for harm, found in rows.contributions.items()}
        return Judged(parts, self.sources.features, features, contributions)


def _parts(folds: NDArray[np.int64], fold: int, count: int) -> _Part:
    """A fold for testing, the next one for validation, the others for training."""
    test, validation = folds == fold, folds == (fold + 1) % count
    return _Part(~(test | validation), validation, test)


def _calibrated(pipeline: Any, features: Array, truth: NDArray[np.int64]) -> HarmModel:
    """The model with a line through its logits; as it is where the held-out seeds have one label, or rank backwards."""
    from sklearn.linear_model import LogisticRegression

    if len(set(truth)) < 2:
        return HarmModel(pipeline, 1.0, 0.0)
    line = LogisticRegression(C=1e6).fit(_logits(pipeline, features)[:, None], truth)
    slope, intercept = float(line.coef_[0, 0]), float(line.intercept_[0])
    return HarmModel(pipeline, slope, intercept) if slope > 0 else HarmModel(pipeline, 1.0, 0.0)
