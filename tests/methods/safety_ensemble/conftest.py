"""A fitted ensemble on a source whose bias is known."""

from __future__ import annotations

import numpy as np
import pytest

from fairlab.augmentation.identity import Identity
from fairlab.data.safety import SafetyData
from fairlab.methods.safety_ensemble.forest import SafetyEnsemble
from fairlab.methods.safety_ensemble.sources.base import Source

MUCH = {"lambda_safe": 5.0, "lambda_unsafe": 1.0, "beta_safe": 500.0, "beta_unsafe": 500.0}


class Biased(Source):
    """A source that goes by what a text says and, wrongly, by whom it is about."""

    name, version, outputs = "biased", "1", ("harm", "identity")

    def score(self, texts):
        harm = [0.7 * any(word in text for word in ("awful", "useless", "dull")) + len(text) % 7 / 20 for text in texts]
        about = [0.9 * any(word in text for word in ("Muslim", "homosexual", "Black")) for text in texts]
        return np.stack([np.array(harm) + 0.3 * np.array(about), about], axis=1)


def data(**more):
    settings = {"name": "embedded/safety", "path": None, "held_out": [], "folds": 3, "repeats": 1, "seed": 0}
    return SafetyData(**settings | {"augmentation": Identity()} | more)


def ensemble(strength=MUCH, *, sources=None, **more):
    settings = {
        "harms": ["toxicity"],
        "kind": "forest",
        "trees": 8,
        "baseline_leaf": 3,
        "leaf": 3,
        "cache": None,
        "seed": 0,
    }
    settings |= {"penalty": None, "most_lost": 1.0, "pairing": [], "rivals": [], "target": None}
    return SafetyEnsemble(sources or [Biased()], **{"reweighting": {"toxicity": strength}} | settings | more)


@pytest.fixture(scope="module")
def fitted():
    method = ensemble(penalty=1)
    method.fit(data())
    return method
