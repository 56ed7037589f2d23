"""Training and evaluation data for safety classifiers: seeds, counterfactual versions, folds and scored texts.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble".
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.checks.escapes import print_escaped
from fairlab.data.near_copies import set_groups
from fairlab.data.own_safety import TableColumns
from fairlab.data.safety_readers import READERS, read_safety
from fairlab.data.safety_readers import _csv as _csv  # scripts outside of this repository import it from here
from fairlab.data.safety_texts import HARMS, SafetyText
from fairlab.protocols import SubgroupAugmentation, TrainingData
from fairlab.rewriting.identities import SUBGROUPS, Identities, identity_lexicons
from fairlab.types import Bounds, Count, FairlabError


class SafetyData(TrainingData):
    """Seed texts and their counterfactual versions, in folds that keep versions and near-duplicates together.

    Args:
        name: Name of the dataset, one of :data:`READERS`.
        path: Path of the dataset's file. None uses the file that comes with fairlab or is under ``FAIRLAB_DATA``.
        held_out: Names of further datasets, not used for training or model selection.
        always_trained: Names of further datasets whose texts are always used for training and never for evaluation.
        folds: Number of folds, at least three. Each fold is the test set of one model and the validation set of
            another.
        repeats: Number of independent divisions of the data into folds.
        seed: Seed of the divisions.
        columns: Columns of a user's own table, see :class:`TableColumns`; None for the default names.
        augmentation: Augmentation that makes the versions; None uses only the texts in the data.

    Attributes:
        texts: Seed texts, the versions made from them, and the texts that are always used for training.
        subgroups: Subgroups in the augmentation's lexicons, by identity category.
        identities: Names of the lexicons that list the subgroups.
        others: Texts of every held-out dataset, by its name.

    Raises:
        FairlabError: The data or a setting is invalid.
    """

    applies = (SubgroupAugmentation,)
    epochs = total_batches = 1  # there are no training steps

    def __init__(
        self,
        *,
        name: str,
        path: str | None,
        held_out: Sequence[str],
        folds: Annotated[int, Bounds(3)],
        repeats: Count,
        seed: int,
        always_trained: Sequence[str] = (),
        columns: Mapping[str, Any] | None = None,
        augmentation: SubgroupAugmentation | None,
    ) -> None:
        if augmentation is not None and not isinstance(augmentation, SubgroupAugmentation):
            raise FairlabError("this augmentation makes no versions of a seed; set augmentation=identity or none")
        self.name = name
        self.path = path
        self.folds = folds
        self.repeats = repeats
        self.seed = seed
        # a custom augmentation may have no lexicons
        self.identities = tuple(getattr(augmentation, "identities", (SUBGROUPS,)))
        lexicons = identity_lexicons(self.identities)
        self.subgroups = {lexicon.axis: list(lexicon.attributes) for lexicon in lexicons}
        found = read_safety(name, path, TableColumns(**columns) if columns else None)
        seeds = about_whom(found, self.subgroups, self.identities) if augmentation else found
        words = Identities(self.identities)
        self.groups = set_groups([text.key for text in seeds], [text.text for text in seeds], words)
        if (count := len(set(self.groups.values()))) < folds:
            remedy = (
                f"set data.folds={count}" if count >= 3 else "give at least 3 texts that are not copies of each other"
            )
            raise FairlabError(
                f"{path or name} has {count} sets that are not copies, or nearly copies, of others, too few for "
                f"{folds} folds; {remedy}"
            )
        self.made = made_of(seeds, augmentation) if augmentation else []
        if columns and augmentation and not any(text.subgroup for text in seeds):
            print_escaped(
                f"no versions are made, because no text of {path} names one subgroup; data.columns.subgroup=NAME names "
                "the column of subgroups"
            )
        self.always = [
            replace(text, key=f"{other} {text.key}") for other in always_trained for text in read_safety(other)
        ]
        self.texts = [*seeds, *self.made, *self.always]
        self.others = {other: read_safety(other) for other in held_out}

    def division(self, repeat: int) -> NDArray[np.int64]:
        """Return the fold of every text (N,), with -1 for texts that are always used for training.

        Counterfactual sets that contain near-duplicates of each other form a group, which is kept in one fold. Groups
        are assigned in an order that depends on ``repeat``, each to the fold with the fewest sets so far.
        """
        sizes = Counter(self.groups.values())
        order = sorted(sizes)
        random.Random(f"{self.seed} {repeat}").shuffle(order)
        held, fold = [0] * self.folds, {}
        for group in order:
            fold[group] = held.index(min(held))
            held[fold[group]] += sizes[group]
        return np.array([fold[self.groups[text.key]] if text.key in self.groups else -1 for text in self.texts])

    def harms(self) -> list[str]:
        """Return the harms for which texts are labelled, beginning with the harms in the paper's table 1."""
        labelled = {harm for text in self.texts for harm in text.labels}
        return [*(harm for harm in HARMS if harm in labelled), *sorted(labelled - set(HARMS))]

    def facts(self) -> dict[str, object]:
        """Return the facts for the record: content hash, sizes, and the number of versions made for each subgroup."""
        own = [text for text in self.texts if text.key in self.groups]
        seeds, versions = [text for text in own if text.seed], [text for text in own if not text.seed]
        return {
            "path": self.path or READERS[self.name][0],
            "sha256": _digest([*self.texts, *(text for texts in self.others.values() for text in texts)]),
            "trained_on": f"{len(seeds)} seeds of {self.name} and {len(versions)} versions of them",
            "seeds": len(seeds),
            "seeds_with_a_subgroup": sum(bool(text.subgroup) for text in seeds),
            "seeds_with_versions": len({text.key for text in versions}),
            "always_trained": len(self.always),
            "versions": dict(Counter(text.subgroup for text in versions)),
            "versions_left_out": self._left_out(seeds) if self.made else 0,
            "unsafe_seeds": {harm: sum(text.labels.get(harm, 0) for text in seeds) for harm in self.harms()},
            "held_out": {name: len(texts) for name, texts in self.others.items()},
        }

    def _left_out(self, seeds: Sequence[SafetyText]) -> int:
        """Return the number of versions that are missing because a word of the seed text has no counterpart.

        Only seed texts with other versions are counted.
        """
        made = Counter(text.key for text in self.made)
        return sum(len(self.subgroups[text.category]) - 1 - made[text.key] for text in seeds if made[text.key])


def about_whom(
    seeds: Sequence[SafetyText], subgroups: Mapping[str, Sequence[str]], identities: Sequence[str]
) -> list[SafetyText]:
    """Return the texts with their subgroups or, if no text has a subgroup, with the subgroups that they mention.

    Raises:
        FairlabError: A text has a subgroup that no lexicon lists.
    """
    known = {f"{category}:{name}" for category, names in subgroups.items() for name in names}
    for number, text in enumerate(seeds, start=1):
        if text.subgroup and text.subgroup not in known:
            raise FairlabError(
                f"text {number} has the subgroup '{text.subgroup}', which is in no lexicon; the known ones are: "
                f"{', '.join(sorted(known))}; add a lexicon with augmentation.identities=[subgroups,FILE], or make no "
                "versions with augmentation=none"
            )
    if any(text.subgroup for text in seeds):
        return list(seeds)
    words = Identities(identities)
    return [replace(text, subgroup=words.named(text.text)) for text in seeds]


def made_of(seeds: Sequence[SafetyText], augmentation: SubgroupAugmentation) -> list[SafetyText]:
    """Make versions of seed texts for every other subgroup of the same category.

    Versions are made only for seed texts that are the only text of their set. A version keeps the labels of its seed.
    """
    sizes = Counter(text.key for text in seeds)
    made = []
    for text in seeds:
        if text.subgroup and sizes[text.key] == 1:
            versions = augmentation.versions(text.text, text.category, text.subgroup.partition(":")[2])
            made += [
                replace(text, text=version, subgroup=f"{text.category}:{name}", seed=False)
                for name, version in versions.items()
            ]
    return made


def _digest(texts: Sequence[SafetyText]) -> str:
    """Return the SHA-256 of texts, keys, subgroups and labels."""
    content = [(text.text, text.key, text.subgroup, sorted(text.labels.items())) for text in texts]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True)
class Predicted:
    """Texts, with scores from models that were trained on other texts.

    Attributes:
        texts: Texts that were scored; their number is N.
        folds: Fold of each text in each of the R repeats, (R, N). One model scores all texts of a fold.
        scores: Scores (R, N) for each harm, in [0, 1].
        uncalibrated: Scores before calibration, in the same form; empty unless requested.
    """

    texts: Sequence[SafetyText]
    folds: NDArray[np.int64]
    scores: Mapping[str, NDArray[np.float64]]
    uncalibrated: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def only(self, chosen: Sequence[int]) -> Predicted:
        """Return a copy with only the texts at the given indices."""
        scores, raw = (
            {harm: found[:, chosen] for harm, found in of.items()} for of in (self.scores, self.uncalibrated)
        )
        return Predicted([self.texts[k] for k in chosen], self.folds[:, chosen], scores, raw)


@dataclass(frozen=True)
class Judged:
    """Scores, weights and thresholds of an ensemble, to be measured by benchmarks.

    Attributes:
        parts: Scored texts: ``test``, ``validation``, and every held-out dataset by name.
        features: Names of the F source scores that the ensemble combines.
        source_scores: Source scores of the N texts in ``test``, (N, F).
        contributions: Weight of each source score (F,) for each harm, in [0, 1]; empty for a model without weights.
        thresholds: Lowest score, for each harm, at which a text is classified as unsafe; empty if no threshold was
            chosen.
        beside: Other models that were trained on the same folds, by name: controls and competing methods.
        offers: Quantities that a benchmark may request.
    """

    offers: ClassVar[frozenset[str]] = frozenset({"harm_scores"})
    parts: Mapping[str, Predicted]
    features: Sequence[str]
    source_scores: NDArray[np.float64]
    contributions: Mapping[str, NDArray[np.float64]]
    thresholds: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, Judged] = field(default_factory=dict)

    def only(self, of: str, chosen: Sequence[int]) -> Judged:
        """Return a copy in which one part has only the texts at the given indices."""
        sources = self.source_scores[chosen] if of == "test" else self.source_scores
        return replace(self, parts={**self.parts, of: self.parts[of].only(chosen)}, source_scores=sources)
