"""New texts are scored as a stream."""

from __future__ import annotations

from functools import partial

import pytest

from fairlab.methods.safety_ensemble.exported.scoring import score_batches
from fairlab.types import FairlabError


def lengths():
    return lambda texts: [{"length": float(len(text))} for text in texts]


@pytest.mark.parametrize("num_proc", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_batches_are_scored_in_order(num_proc):
    batches = [["a" * k for k in range(start, start + 3)] for start in range(0, 9, 3)]
    found = list(score_batches(batches, list, partial(lengths), num_proc=num_proc))
    assert found == [(batch, [{"length": float(len(item))} for item in batch]) for batch in batches]


def test_no_processes_are_refused():
    with pytest.raises(FairlabError, match="num_proc must be at least 1"):
        list(score_batches([], list, partial(lengths), num_proc=0))
