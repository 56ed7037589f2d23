"""Progress of a stream of rows: the rows come through, and are counted first only if somebody watches."""

import sys
from contextlib import nullcontext

import pytest

from fairlab.data.stream import rows as module
from fairlab.data.stream.rows import row_progress, rows_of_table

TABLE = [{"text": f"row {k}"} for k in range(5)]


@pytest.mark.parametrize(("watched", "counted"), [(False, 0), (True, 1)])
def test_rows_are_counted_for_a_terminal_only(monkeypatch, watched, counted):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched)
    calls = []

    def again():
        calls.append(1)
        return rows_of_table(TABLE)

    assert [row.text for row in row_progress(rows_of_table(TABLE), again)] == [row["text"] for row in TABLE]
    assert len(calls) == counted


@pytest.mark.parametrize(("watched", "most", "total"), [(True, 5, 5), (True, 4, None), (False, 5, None)])
def test_the_total_is_known_up_to_a_number_of_rows(monkeypatch, watched, most, total):
    told = []

    class Watched(nullcontext):
        def __init__(self, *_, **settings):
            super().__init__(self)
            told.append(settings)

        def add_task(self, text, total):
            told.append(total)

        def advance(self, task):
            told.append("row")

    monkeypatch.setattr("rich.progress.Progress", Watched)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched)
    monkeypatch.setattr(module, "MOST_COUNTED", most)
    assert len(list(row_progress(rows_of_table(TABLE), lambda: rows_of_table(TABLE)))) == 5
    assert told == [{"disable": not watched, "transient": True}, total, *["row"] * 5]


def test_a_stream_that_cannot_be_read_twice_or_counted_comes_through(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert len(list(row_progress(rows_of_table(TABLE)))) == 5
    monkeypatch.setattr(module, "MOST_COUNTED", 3)
    assert len(list(row_progress(rows_of_table(TABLE), lambda: rows_of_table(TABLE)))) == 5
