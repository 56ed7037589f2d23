"""Toxicity of rewrites."""

import pytest

from experiments.shared import toxicity
from experiments.shared.toxicity import made_toxic


def test_only_rewrites_that_crossed_the_middle_are_named(monkeypatch):
    scores = {"a": 0.2, "b": 0.6, "c": 0.5, "d": 0.9}
    monkeypatch.setattr(toxicity, "toxicity", lambda texts: toxicity.np.array([scores[text] for text in texts]))
    assert made_toxic(["a", "a", "b", "b"], ["c", "a", "d", "a"]) == [0]


@pytest.mark.data
@pytest.mark.slow
def test_insults_are_told_from_the_weather():
    insult, weather = toxicity.toxicity(["shut up you stupid bitch", "It rained in the mountains all day."])
    assert weather < 0.5 < insult
