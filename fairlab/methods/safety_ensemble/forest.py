"""Fairness-aware ensemble: one small model per harm on the scores of source classifiers, trained in two passes.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4, figure 2.
Shape letters: N texts, F source scores, R repeats of the division into folds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from fairlab.checks.progress import with_progress
from fairlab.data.safety import Judged, SafetyData
from fairlab.data.safety_texts import SafetyText
from fairlab.files import write_whole
from fairlab.methods.safety_ensemble.choosing import Compared
from fairlab.methods.safety_ensemble.fair_reweighting import Reweighted
from fairlab.methods.safety_ensemble.kept_scores import TEST, VALIDATION, FoldScores, KeptScores, fold_scores
from fairlab.methods.safety_ensemble.model import Array, HarmModel
from fairlab.methods.safety_ensemble.passes import BASELINE, DEBIASED, Examples, FoldModels, Mask, Part, Trainer
from fairlab.methods.safety_ensemble.score_checks import (
    refuse_labels_as_scores,
    refuse_partly_covered_sets,
    refuse_silent_sources,
    warn_of_mixed_sets,
)
from fairlab.methods.safety_ensemble.settings import Setting, combinations
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.score_cache import IN_MEMORY
from fairlab.methods.safety_ensemble.strengths import choose, pareto_front
from fairlab.methods.safety_ensemble.thresholds import ThresholdTarget, read_target, threshold
from fairlab.methods.safety_ensemble.views import AVERAGE, RIVALS, TEXT, Views, seen
from fairlab.rewriting.identities import SUBGROUPS
from fairlab.text.papers import STURMAN_2024
from fairlab.types import Count, FairlabError, Texts

# Most of the time is spent in compiled code, which lets threads work at the same time.
IN_THREADS: dict[str, Any] = {"n_jobs": -1, "prefer": "threads", "return_as": "generator"}
OTHERS = "others"  # key of the reweighting values for harms that are not listed


class SafetyEnsemble:
    """Method that trains, for every harm, a baseline on seed texts and a debiased model on seeds and their versions.

    One fold is held out for testing and the next one for validation; the others are used for training. The baseline's
    sliced averages on the validation fold are the input of fair data reweighting. Every text is therefore scored by
    models that were not trained on any version of it. Both models are calibrated on the validation seeds. The exported
    models are trained in the same way on all but one fold.

    The debiased model averages the logits of a forest and of a kernel logistic regression, which is trained with a
    penalty on the variance of its logits within sets, each of which is a seed with its versions. A list as the value of
    ``leaf``, ``penalty`` or ``reweighting`` gives several settings. For each harm and test fold, the validation scores
    of the texts outside that fold select the setting with the lowest ACV among the settings that lose no more AU-PRC
    than allowed. All validation scores together select the setting of the exported models.

    Args:
        sources: Classifiers whose scores are the features.
        harms: Names of the harms to train models for; None for all harms with labels in the data.
        inputs: Required total number of source scores; None for any number.
        kind: Kind of model: ``forest`` or ``logistic``.
        trees: Number of trees in the forest; at least 1.
        baseline_leaf: Minimum number of seeds in a leaf of the baseline, at least 1.
        leaf: Minimum number of seeds in a leaf of the debiased forest, at least 1; all versions of a seed count as one.
        penalty: Weight of the variance penalty in the kernel logistic regression; None to use only the forest.
        most_lost: Maximum AU-PRC loss of the chosen setting on validation texts, in per cent of the baseline's AU-PRC.
        pairing: Weights of the penalty on the variance of logits within sets (Garg et al. 2019); each adds a rival
            model.
        rivals: Further rivals to measure: ``blind``, which sees no identity words, and ``average``, the baseline's mean
            over a text's rewrites to the reference groups. Both need scores of many more texts.
        average: Whether the debiased model averages its logits over a text's rewrites to the reference groups, if a
            source scores rewrites.
        target: Required ``precision`` or ``false_positive_rate`` of each harm's threshold on the validation seeds; None
            for no thresholds. Of the thresholds that meet the target, the threshold that detects the most harmful texts
            is used.
        reweighting: Lambdas and betas for each harm; ``others`` applies to harms that are not listed.
        cache: File that caches source scores; None for a cache in memory.
        seed: Seed of the models and of the reweighting.

    Raises:
        FairlabError: A harm is unknown, the number of scores differs from ``inputs``, or a harm has no values
            for reweighting. In ``fit``, the training texts have only one label, or a source has no score for any text.
    """

    title = "fairness-aware ensemble with fair data reweighting (FDW)"
    epochs = validate_every = 1
    steps: int | None = None
    monitor = ""
    patience: int | None = None
    measurable_before = False  # one fit produces both phases
    limits = (
        "English only. The versions of a seed are made by word lists, which ignore grammar. The ensemble cannot be "
        "better than its sources, and must be retrained when one of them changes."
    )
    citation = STURMAN_2024

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        harms: Texts | None,
        inputs: int | None = None,
        kind: Literal["forest", "logistic"],
        trees: Count,
        baseline_leaf: Count,
        leaf: int | Sequence[int],
        penalty: float | Sequence[float | None] | None,
        most_lost: float,
        pairing: Sequence[float],
        rivals: Sequence[str],
        target: Mapping[str, float] | None,
        reweighting: Mapping[str, Mapping[str, float | Sequence[float]]],
        cache: str | None,
        seed: int,
        average: bool = False,
    ) -> None:
        if unknown := sorted(set(rivals) - set(RIVALS)):
            raise FairlabError(f"method.rivals may be {', '.join(RIVALS)}, not {unknown[0]}")
        if any(not weight >= 0 for weight in pairing):
            raise FairlabError(f"method.pairing must hold weights of at least 0, not {list(pairing)}")
        self.sources = Sources(sources, cache=cache or IN_MEMORY)
        if inputs not in (None, len(self.sources.features)):
            raise FairlabError(
                f"method.inputs asks for {inputs} scores, but the sources give {len(self.sources.features)}; give "
                "others by source=, or set method.inputs=null"
            )
        self.harms = list(harms or ())
        self.subgroups: list[str] = []
        self.identities: Sequence[str] = (SUBGROUPS,)
        # with only sources that do not score rewrites, such as stored scores, the average would be over equal scores
        average = average and any(getattr(source, "asks_of_turned", True) for source in sources)
        view = AVERAGE if average else TEXT
        self.trainer = Trainer(kind, trees, baseline_leaf, tuple(pairing), tuple(rivals), view)
        self._combined = partial(combinations, leaf, penalty)
        self._reweighting = reweighting
        self.settings = self._settings_of(self.harms)
        self.most_lost = most_lost
        self.compared: dict[str, Compared] = {}
        self.seed = seed
        self.target = read_target(target)
        self.thresholds: dict[str, float] = {}
        self.judged: dict[str, Judged] = {}
        self.models: dict[str, dict[str, HarmModel]] = {}
        self.sampled: dict[str, Reweighted] = {}
        self.warnings: list[str] = []

    def check_data(self, data: SafetyData) -> None:
        """Check, before scoring, whether the models can be trained on the data.

        Raises:
            FairlabError: No text is labelled for a harm, the training seeds of a fold have fewer than two labels, or a
                source has no score for any text, or only for some texts of a counterfactual set.
        """
        labelled = data.harms()
        if missing := [harm for harm in self.harms if harm not in labelled]:
            raise FairlabError(
                f"no text is labelled for {missing[0]}; there are labels for: {', '.join(labelled)}; give "
                f"method.harms=[{','.join(labelled)}]"
            )
        seed = np.array([text.seed for text in data.texts])
        divisions = [data.division(repeat) for repeat in range(data.repeats)]
        trained = [_parts(division, fold, data.folds).train for division in divisions for fold in range(data.folds)]
        for harm in self.harms or labelled:
            truth = _labels(data.texts, harm)
            if any(len(set(truth[train & (truth >= 0) & seed])) < 2 for train in trained):
                rest = [name for name in self.harms or labelled if name != harm]
                without = f"give method.harms=[{','.join(rest)}]" if rest else "label other texts"
                raise FairlabError(
                    f"the training seeds of a fold have fewer than two labels for {harm}; {without}, or give more safe "
                    "and unsafe texts"
                )
        remedy = "leave the source out (fairlab augment +augmentation=identity writes the texts of all versions)"
        refuse_partly_covered_sets(self.sources.sources, data.texts, remedy)
        for name, texts in data.others.items():
            refuse_partly_covered_sets(self.sources.sources, texts, f"leave {name} out of data.held_out")

    def fit(self, data: SafetyData) -> None:
        """Score the texts with all sources, choose settings, train in every fold, and train the models to export."""
        import sklearn.kernel_approximation  # loads the libraries whose threads are then limited
        import sklearn.linear_model  # noqa: F401
        from threadpoolctl import threadpool_limits

        self.check_data(data)
        self._adopt(data)
        folds = np.stack([data.division(repeat) for repeat in range(data.repeats)])
        views = self._views(data.texts, folds[0] >= 0)
        refuse_silent_sources(self.sources, views.text)
        refuse_labels_as_scores(self.sources, views.text, {harm: _labels(data.texts, harm) for harm in self.harms})
        others = {name: self._views(texts) for name, texts in data.others.items()}
        self.warnings = warn_of_mixed_sets(self.sources, data.texts, views.text)
        for name, texts in data.others.items():
            self.warnings += [f"{name}: {text}" for text in warn_of_mixed_sets(self.sources, texts, others[name].text)]
        # The matrices are so small that threads would wait for each other longer than they work.
        with threadpool_limits(limits=1):
            self._train(data, folds, views, others)

    def _settings_of(self, harms: Sequence[str]) -> dict[str, dict[str, Setting]]:
        """Return the settings to compare, by harm and name.

        Raises:
            FairlabError: A harm has no values for reweighting.
        """
        strengths = {harm: self._reweighting.get(harm, self._reweighting.get(OTHERS)) for harm in harms}
        if missing := [harm for harm, values in strengths.items() if values is None]:
            raise FairlabError(f"method.reweighting has no values for {missing[0]}; give lambdas and betas")
        return {harm: self._combined(values) for harm, values in strengths.items() if values}

    def _adopt(self, data: SafetyData) -> None:
        """Store the data's subgroups and lexicons and, if no harms were configured, its labelled harms."""
        self.harms = self.harms or data.harms()
        self.settings = self._settings_of(self.harms)
        self.subgroups = sorted({text.subgroup for text in data.texts} - {""})
        self.identities = data.identities

    def _train(self, data: SafetyData, folds: NDArray[np.int64], views: Views, others: Mapping[str, Views]) -> None:
        """Train the models of all folds and the models to export, and keep the scores of the folds.

        ``folds`` (R, N) holds the fold of each text, or -1 for texts that are always used for training.
        """
        parts = {TEST: data.texts, VALIDATION: data.texts, **data.others}
        kept: dict[str, KeptScores] = {}
        for harm in self.harms:
            of_folds = self._compare(harm, data.texts, views, folds)
            scored = partial(self._fold_scores, harm, views, others)
            results = Parallel(**IN_THREADS)(delayed(scored)(models) for models in of_folds.values())
            shown = with_progress(list(of_folds.items()), f"folds, {harm}")
            for ((repeat, _), models), found in zip(shown, results, strict=True):
                for name, scores in found.items():
                    rows = kept.setdefault(name, KeptScores(self.harms, folds, parts))
                    rows.add(harm, repeat, models.part, scores)
        judged = {name: rows.judged(self.sources.features, views.text) for name, rows in kept.items()}
        self.judged = {phase: judged.pop(phase) for phase in (BASELINE, DEBIASED)}
        if self.target:
            self.thresholds = {harm: self._threshold(harm, self.target) for harm in self.harms}
        self.judged[DEBIASED] = replace(self.judged[DEBIASED], beside=judged, thresholds=self.thresholds)
        self._train_exported(data, views, folds[0])

    def _compare(
        self, harm: str, texts: Sequence[SafetyText], views: Views, folds: NDArray[np.int64]
    ) -> dict[tuple[int, int], FoldModels]:
        """Return the models of all folds, by repeat and fold, and compare the settings if there are several."""
        count = int(folds.max()) + 1
        places = [(repeat, fold) for repeat in range(len(folds)) for fold in range(count)]
        settings = self.settings[harm] if len(self.settings[harm]) > 1 else {}

        def fitted(place: tuple[int, int]) -> tuple[FoldModels, dict[str, Array]]:
            models = self._make_fold_models(harm, texts, views, _parts(folds[place[0]], place[1], count), place)
            tried = {name: models.debiased(setting) for name, setting in settings.items()}
            tried |= {BASELINE: models.baseline} if settings else {}
            return models, {name: model.scores(models.held)[0] for name, model in tried.items()}

        found = {}
        rows = {name: np.zeros(folds.shape) for name in (BASELINE, *settings)}
        results = Parallel(**IN_THREADS)(delayed(fitted)(place) for place in places)
        shown = with_progress(places, f"settings, {harm}")
        for (repeat, fold), (models, scores) in zip(shown, results, strict=True):
            found[repeat, fold] = models
            for name, held in scores.items():
                rows[name][repeat, models.part.validation] = held
        self.compared[harm] = Compared(texts, harm, folds, rows.pop(BASELINE), rows)
        return found

    def _fold_scores(
        self, harm: str, views: Views, others: Mapping[str, Views], models: FoldModels
    ) -> dict[str, FoldScores]:
        """Return the scores of a fold's models under the setting that is chosen by the texts outside its test part."""
        setting = self.settings[harm][self._choose_setting(harm, ~models.part.test)]
        return fold_scores(models, setting, views, others)

    def _choose_setting(self, harm: str, inside: Mask | None = None) -> str:
        """Return the name of the setting that validation scores select, or of the only setting."""
        names = list(self.settings[harm])
        return choose(self.compared[harm].candidates(inside), self.most_lost).name if len(names) > 1 else names[0]

    def _train_exported(self, data: SafetyData, views: Views, folds: NDArray[np.int64]) -> None:
        whole = _parts(folds, 0, data.folds)
        whole.train |= whole.test
        for harm in self.harms:
            models = self._make_fold_models(harm, data.texts, views, whole, (data.repeats, 0))
            setting = self.settings[harm][self._choose_setting(harm)]
            self.sampled[harm] = models.sampled(setting.strength)
            self.models.setdefault(BASELINE, {})[harm] = models.baseline.model
            self.models.setdefault(DEBIASED, {})[harm] = models.debiased(setting, self.trainer.view).model

    def measured(self, phase: str) -> Judged:
        """Return the scores of a phase's models: ``before`` for the baselines, ``after`` for the debiased models."""
        return self.judged[phase]

    def digest(self) -> str:
        """Return the names of the trained models."""
        return ", ".join(sorted(self.models))

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record, including missing scores, chosen settings and sampled texts."""
        return {
            "title": self.title,
            "limits": self.limits,
            "citation": self.citation,
            "texts_cut": self.sources.cut,
            "texts_without_a_score": self.sources.missing,
            "warnings": self.warnings,
            "settings": {harm: self._choice(harm) for harm, names in self.settings.items() if len(names) > 1},
            "sampled": {
                harm: {
                    truth: dict(zip(self.subgroups, map(int, counts), strict=True))
                    for truth, counts in zip(("safe", "unsafe"), made.counts, strict=True)
                }
                for harm, made in self.sampled.items()
            },
        }

    def finish(self, folder: Path) -> None:
        """Write the data that the report shows in addition to the readings."""
        from fairlab.methods.safety_ensemble.overview import ensemble_overview, largest_gaps

        for name, found in (("overview", ensemble_overview(self.judged)), ("largest_gaps", largest_gaps(self.judged))):
            write_whole(folder / f"{name}.json", json.dumps(found, ensure_ascii=False) + "\n")

    def export(self, folder: Path, card: str) -> Path:
        """Write the debiased models, and return the path of their description."""
        from fairlab.methods.safety_ensemble.exported.export import save_ensemble

        averaged = self.trainer.view == AVERAGE
        return save_ensemble(self.models[DEBIASED], self.sources, folder, self.thresholds, self.identities, averaged)

    def _views(self, texts: Sequence[SafetyText], measured: Mask | None = None) -> Views:
        return seen(self.sources, [text.text for text in texts], self.trainer.views, self.identities, measured)

    def _choice(self, harm: str) -> dict[str, object]:
        """Return the validation results of all settings, and the names of the chosen settings."""
        compared = self.compared[harm]
        candidates = compared.candidates()
        return {
            "most_lost": self.most_lost,
            "validation": [vars(one) for one in candidates],
            "front": [one.name for one in pareto_front(candidates)],
            "exported": self._choose_setting(harm),
            "by_test_fold": [
                self._choose_setting(harm, folds != fold) for folds in compared.folds for fold in np.unique(folds)
            ],
        }

    def _make_fold_models(
        self, harm: str, texts: Sequence[SafetyText], views: Views, part: Part, place: tuple[int, int]
    ) -> FoldModels:
        """Make the models for one harm from one division of the texts into training, validation and test texts."""
        truth = _labels(texts, harm)
        seed = np.array([text.seed for text in texts])
        places = {name: k for k, name in enumerate(self.subgroups)}
        slices = np.array([places.get(text.subgroup, -1) for text in texts])
        numbers = {key: k for k, key in enumerate(dict.fromkeys(text.key for text in texts))}
        sets = np.array([numbers[text.key] for text in texts])
        state = int(np.random.SeedSequence([self.seed, *place]).generate_state(1)[0])
        return FoldModels(self.trainer, Examples(views, truth, seed, slices, len(places), sets), part, state)

    def _threshold(self, harm: str, target: ThresholdTarget) -> float:
        """Return a harm's threshold, based on the validation scores of its seeds, averaged over repeats."""
        part = self.judged[DEBIASED].parts[VALIDATION]
        truth = np.array([text.labels.get(harm, -1) if text.seed else -1 for text in part.texts])
        judged = truth >= 0
        return threshold(part.scores[harm].mean(axis=0)[judged], truth[judged], target, harm)


def _labels(texts: Sequence[SafetyText], harm: str) -> NDArray[np.int64]:
    """Return the labels (N,) for a harm, with -1 for unlabelled texts."""
    return np.array([text.labels.get(harm, -1) for text in texts])


def _parts(folds: NDArray[np.int64], fold: int, count: int) -> Part:
    """Return a division: the given fold for testing, the next one for validation, the others for training."""
    test, validation = folds == fold, folds == (fold + 1) % count
    return Part(~(test | validation), validation, test)
