"""Columns of scored texts, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fairlab.methods.safety_ensemble.exported.columns import Columns
from fairlab.methods.safety_ensemble.exported.export import Ensemble, copied_lexicons
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.combined import Sources


class Planted(Source):
    version = "1"

    def __init__(self, name, **values):
        self.name, self.outputs, self.values = name, ("x", "y"), values

    def score(self, texts):
        return np.array([self.values.get(text.split()[0], [np.nan, np.nan]) for text in texts])


def columns(**more):
    sources = Sources([
        Planted("first", high=[0.5, 0.1234567], low=[0.4999999, 0], half=[0.25, np.nan]),
        Planted("second", high=[1, 1], low=[0, 0]),
    ])  # fmt: skip
    model = SimpleNamespace(score=lambda features, owner: features[:, 0])
    description = {
        **sources.facts(),
        "harms": {"hate": {"threshold": 0.5}, "violence": {}},
        "identities": ["subgroups"],
    }
    return Columns(Ensemble({"hate": model, "violence": model}, description), sources, **more)


def test_scores_labels_and_what_is_missing():
    assert columns()(["high", "low", "half", "none"]) == [
        {"hate": 0.5, "hate_label": 1, "violence": 0.5},
        {"hate": 0.5, "hate_label": 0, "violence": 0.5},  # rounded after it was compared
        {"hate": 0.25, "hate_label": 0, "violence": 0.25, "missing": ["first", "second"]},
        {"hate": None, "violence": None, "missing": ["first", "second"]},
    ]
    assert columns()([]) == []
    (row,) = columns(source_scores=True)(["high"])
    assert row["sources"] == {"first.x": 0.5, "first.y": 0.123457, "second.x": 1.0, "second.y": 1.0}


def test_the_variance_over_versions_has_six_digits():
    """The text scores 1/3, and its versions for other religions score 0."""
    made = columns(versions=True)
    made.sources.sources[0].values |= {"Muslim": [1 / 3, 0]} | {
        name: [0, 0] for name in ("Jewish", "Christian", "Hindu", "Buddhist", "Atheist", "Sikh")
    }
    rows = made(["Muslim bakers", "high"])
    versions = len(made.identities.versions("Muslim bakers"))
    assert versions > 1
    variance = (1 / 3) ** 2 * versions / (versions + 1) ** 2
    assert rows[0]["hate_variance"] == float(f"{variance:.6g}") != variance
    assert rows[1]["hate_variance"] is None
    assert made([]) == []


def test_lexicons_of_ones_own_are_copied(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("axis: x\n")
    for _ in range(2):
        assert copied_lexicons(["religion", str(own)], tmp_path / "new" / "model") == [
            "religion",
            "identities/own.yaml",
        ]
    assert (tmp_path / "new" / "model" / "identities" / "own.yaml").read_text() == "axis: x\n"
