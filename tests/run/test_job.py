"""Which runs may be overwritten."""

import pytest

from fairlab.benchmarks.stages import LOADING, STAGES
from fairlab.record import Record
from fairlab.run.job import has_results


@pytest.mark.parametrize(
    ("status", "stages", "history", "expected"),
    [
        ("failed", {}, [], False),
        ("failed", {LOADING: {}}, [], False),
        ("failed", {LOADING: {}, "training": {}}, [], True),
        ("failed", {}, [{"step": 1}], True),
        ("interrupted", {}, [], True),
        ("finished", {}, [], True),
    ],
)
def test_a_run_that_failed_while_loading_alone_has_no_results(tmp_path, status, stages, history, expected):
    record = Record(tmp_path, {}, "", status=status, provenance={STAGES: stages}, history=history)
    assert has_results(record) is expected
