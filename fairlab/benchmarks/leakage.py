"""Leakage: how well probes recognise attributes of people in the embeddings of unseen texts.

The benchmark trains probes on part of a set's groups and tests them on the other groups. Information is measured as
V-information (Xu et al. 2020, "A Theory of Usable Information under Computational Constraints", definition 2), the
number of bits that a family of probes can use. The families and their settings are chosen by this project. Shape
letters: G groups, A attributes, D embedding width, P probes.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.group_sets import FREE, OfGroups
from fairlab.benchmarks.readings import Items, Quantity, items_outcome, quantity
from fairlab.benchmarks.scales import ratio
from fairlab.metrics.bootstrap import mean
from fairlab.record import NotRun, Outcome
from fairlab.types import EQUAL, Description, FairlabError, ItemTexts, NotNegative, QuantityInfo, Texts

FEWEST = 20  # minimum number of groups for training and holding out in turn
STRENGTHS = (1e-3, 1e-1, 10.0)  # inverse L2 strengths to try, on features of mean 0 and overall deviation 1
PROBES = {"linear": "a linear classifier", "kernel": "a kernel classifier", "neural": "a small neural network"}
INFORMED = ("linear", "kernel")  # their strength is chosen by log loss; a network's probabilities are overconfident
CITATION = """\
@inproceedings{xu2020theory,
  title = {A Theory of Usable Information under Computational Constraints},
  author = {Xu, Yilun and Zhao, Shengjia and Song, Jiaming and Stewart, Russell and Ermon, Stefano},
  booktitle = {International Conference on Learning Representations},
  year = {2020}
}
"""


def _described() -> dict[str, QuantityInfo]:
    found = {}
    for name, words in PROBES.items():
        found[f"accuracy_{name}"] = ratio(
            f"accuracy of {words}",
            f"share of held-out texts whose attribute {words} predicts (1 over the number of attributes is fair)",
            headline=name == "linear",
            margin=0.05,
        )
        if name in INFORMED:
            found[f"information_{name}"] = QuantityInfo(
                f"information for {words}",
                f"bits about the attribute that {words} can use on held-out texts (0 is fair; chance may give less)",
                "bits",
                0.0,
                margin=0.05,
            )
    return found


class Leakage(OfGroups):
    """Accuracy and usable information of probes that predict attributes from embeddings, per set of groups.

    The versions of a group are classified, except for the neutral one. Groups are divided into folds, and the versions
    in each fold are predicted by probes trained on the other folds. A probe therefore never sees another version of a
    text that it predicts. All attributes have the same number of texts, so chance is 1 over the number of attributes.
    The probes are logistic regressions on the embeddings (``linear``) and on features of a Gaussian kernel
    (``kernel``), whose L2 strength is chosen within the training groups, and a network with one hidden layer
    (``neural``).

    Quantities of each set:

    - ``accuracy_PROBE`` for each probe: Proportion of texts whose attribute is predicted correctly. Ideal: chance.
    - ``information_linear`` and ``information_kernel``: V-information in bits, which is the entropy of the attribute
      minus the probe's mean log loss. Ideal: 0; at most log2 of the number of attributes.

    The quantities apply to probes of this size and this number of training groups; other probes may find more
    information. Intervals resample groups with the probes held fixed.

    Items (G, A, P, 2): probability of a version's own attribute, and whether it is the most likely attribute.

    Args:
        sets: Names or files of the sets to measure on; see :class:`~fairlab.benchmarks.group_sets.OfGroups`.
        test: Number of groups, or their fraction if below 1, to measure on in a set without splits; None for all.
        limit: Maximum number of groups per set, spread evenly over it; at least 20 are measured. None for all.
        folds: Number of folds, at least 2.
        seed: Seed for the folds, the kernel's features and the network.

    Raises:
        FairlabError: The number of folds is below 2, or two sets have the same name.
    """

    version: ClassVar[int] = 1
    description = Description(
        "leakage",
        "Leakage",
        "Can the attribute of a person be predicted from the embedding of a text?",
        _described(),
        topic=EQUAL,
        subsets={"embedded": "bundled sentences", "winogender": "Winogender sentences"},
        citation=CITATION,
        needs=("embeddings",),
        sources=("winogender/all_sentences.tsv",),
    )

    def __init__(
        self, sets: Texts, test: NotNegative | None = None, limit: int | None = None, folds: int = 5, seed: int = 0
    ) -> None:
        super().__init__(sets, test, None if limit is None else max(FEWEST, limit))
        if folds < 2:
            raise FairlabError(f"leakage.folds must be at least 2, not {folds}")
        self.folds = folds
        self.seed = seed

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Train and test the probes on every set. ``before`` holds the ``items`` of an earlier measurement."""
        items: dict[str, NDArray[np.floating]] = {}
        missing: list[NotRun] = []
        for _, subset, groups in self.available(missing):
            if len(groups) < FEWEST:
                reason = f"{len(groups)} groups, but probes need at least {FEWEST}"
                missing.append(NotRun(self.name, subset, reason))
                continue
            texts = [group.versions[name] for group in groups for name in group.attributes]
            embedded = backbone.embed(texts, progress=f"leakage {subset}").unflatten(0, (len(groups), -1))
            items[subset] = probed(embedded.double().numpy(), self.folds, self.seed)
        return items_outcome(self.description, leakage_quantities, items, before, not_run=missing)

    def texts(self) -> list[ItemTexts]:
        """Return the versions of every group in the available sets."""
        found = []
        for name, subset, groups in self.available():
            if name in self.own:
                continue
            values = [f"probability of {name}" for name in groups[0].attributes]
            ids = [group.id for group in groups]
            texts = [[group.versions[name] for name in group.attributes] for group in groups]
            found.append(ItemTexts(subset, values, ids, texts, part=subset, licence=FREE.get(name, "")))
        return found

    def scores(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the linear probe's probability of each version's own attribute (G, A)."""
        return values[:, :, 0, 0]


def probes(texts: int, width: int, seed: int) -> dict[str, Any]:
    """Return a new probe of each kind, by name, for a number of training texts and the width of their embeddings."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    def chosen(factor: float, *steps: Any) -> GridSearchCV:
        pipeline = make_pipeline(*steps, LogisticRegression(max_iter=1000))
        strengths = [factor * strength for strength in STRENGTHS]
        return GridSearchCV(pipeline, {"logisticregression__C": strengths}, cv=3, scoring="neg_log_loss")

    kernel = Nystroem(gamma=1 / (2 * width), n_components=min(200, texts // 2), random_state=seed)
    network = MLPClassifier((64,), alpha=1.0, learning_rate_init=0.01, early_stopping=True, random_state=seed)
    return {
        "linear": chosen(1.0),
        "kernel": chosen(100.0, kernel),  # kernel features have length 1
        "neural": network,
    }


def probed(
    embeddings_GAD: NDArray[np.float64], folds: int, seed: int, kinds: Sequence[str] = tuple(PROBES)
) -> NDArray[np.float32]:
    """Return each version's held-out probability of its attribute, and whether it is the likeliest, (G, A, P, 2).

    Each of the ``folds`` parts of the groups is predicted by probes trained on the others.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold

    groups, attributes, width = embeddings_GAD.shape
    result = np.empty((groups, attributes, len(kinds), 2), dtype=np.float32)
    for train, held_out in KFold(folds, shuffle=True, random_state=seed).split(embeddings_GAD):
        # One factor for all dimensions; scaling each separately would amplify rounding errors in those that hardly
        # vary.
        centred = embeddings_GAD - embeddings_GAD[train].mean(axis=(0, 1))
        centred /= max(centred[train].std(), np.finfo(np.float32).tiny)
        features, unseen = (centred[part].reshape(-1, width) for part in (train, held_out))
        labels, own = (np.tile(np.arange(attributes), len(part)) for part in (train, held_out))
        fresh = probes(len(features), width, seed)
        for k, kind in enumerate(kinds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                probabilities = fresh[kind].fit(features, labels).predict_proba(unseen)
            read = np.stack([probabilities[np.arange(len(own)), own], probabilities.argmax(axis=1) == own], axis=1)
            result[held_out, :, k] = read.reshape(len(held_out), attributes, 2)
    return result


def leakage_quantities(items: Mapping[str, NDArray[np.floating]]) -> list[Quantity]:
    """Return the accuracy and information of every probe, from probabilities and hits (G, A, P, 2) by set."""
    found: list[Quantity] = []
    for subset, values in items.items():
        attributes, of_set = values.shape[1], partial(quantity, mean, subset=subset)
        for k, name in enumerate(PROBES):
            chances, hits = values[:, :, k, 0].astype(np.float64), values[:, :, k, 1]
            bits = np.log2(attributes) + np.log2(np.maximum(chances, 1e-12)).mean(axis=1)
            found.append(of_set(hits.mean(axis=1), name=f"accuracy_{name}", ideal=1 / attributes))
            if name in INFORMED:
                found.append(of_set(bits, name=f"information_{name}"))
    return found
