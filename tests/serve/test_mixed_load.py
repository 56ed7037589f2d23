"""A server of a real source among slow, huge and hostile clients: good ones lose nothing."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from experiments.reliability.mixed_load import HOSTILE, mixed_load
from fairlab.methods.safety_ensemble.exported.export import save_ensemble
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.run.exported_ensemble import load_columns

SENTIMENT = "fairlab.methods.safety_ensemble.sources.sentiment.Sentiment"


@pytest.fixture
def ensemble(tmp_path):
    pipeline = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler()), ("model", LogisticRegression())])
    features = np.random.default_rng(0).random((20, 4))
    model = HarmModel([pipeline.fit(features, features[:, 0] > 0.5)], 1.0, 0.0)
    save_ensemble({"hate": model}, Sources([Sentiment()]), tmp_path / "ensemble")
    (tmp_path / "ensemble" / "sources.yaml").write_text(f"sentiment: {{_target_: {SENTIMENT}}}\n")
    return tmp_path / "ensemble"


@pytest.mark.slow
def test_good_clients_lose_nothing_among_hostile_ones(ensemble):
    found = mixed_load(str(ensemble), 10, "connections=32")
    assert len(HOSTILE) >= 8
    assert found["replies"].get("lost", 0) == 0
    assert found["replies"]["answered"] > 50
    assert found["latency_ms"]["99"] < 10_000
    assert found["exit_code"] == 0


def test_a_text_that_a_source_is_too_slow_for_is_not_scored_and_no_other_suffers(ensemble):
    columns = load_columns(str(ensemble), None, {})
    columns(["a text"])
    columns.sources.seconds = 0.2
    slow, fast = columns(["\U0001f600" * 16_000, "A lovely day."])
    assert slow == {"hate": None, "missing": ["sentiment"]}
    assert 0 <= fast["hate"] <= 1
    assert columns.sources.missing == {"sentiment": 1}
