"""New texts are scored as a stream."""

from __future__ import annotations

from functools import partial

import pytest

from fairlab.methods.safety_ensemble.exported.scoring import score_stream
from fairlab.types import FairlabError


def lengths():
    return lambda texts: [{"length": float(len(text))} for text in texts]


@pytest.mark.parametrize("num_proc", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_streams_are_scored_in_order(num_proc, monkeypatch):
    monkeypatch.setattr("fairlab.methods.safety_ensemble.exported.scoring.CHUNK", 3)
    items = ["a" * k for k in range(10)]
    found = list(score_stream(items, str, partial(lengths), num_proc=num_proc))
    assert found == [(item, {"length": float(len(item))}) for item in items]


def test_no_processes_are_refused():
    with pytest.raises(FairlabError, match="num_proc must be at least 1"):
        list(score_stream([], str, partial(lengths), num_proc=0))
