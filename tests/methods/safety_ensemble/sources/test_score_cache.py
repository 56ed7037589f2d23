import sqlite3
from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.sources import score_cache
from fairlab.methods.safety_ensemble.sources.score_cache import ScoreCache
from fairlab.types import FairlabError


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "x").write_text("no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(FairlabError, match="is not a cache of scores"):
        ScoreCache(tmp_path / "x")


def test_whole_rows_are_kept_and_damaged_ones_asked_for_again(tmp_path, monkeypatch):
    monkeypatch.setattr(score_cache, "AT_ONCE", 2)
    path = tmp_path / "new" / "folders" / "scores"
    source = SimpleNamespace(name="s", version="1", outputs=("a", "b"))
    scores = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0], [7.0, 8.0]])
    ScoreCache(path).write(source, ["one", "two", "three", "four"], scores)
    with sqlite3.connect(path) as held:
        damaged = ScoreCache._key(source, "four")
        held.execute("UPDATE scores SET value = ? WHERE key = ?", (b"short", damaged))
    found = ScoreCache(path).read(source, ["two", "three", "four", "one", "five"])
    assert {k: row.tolist() for k, row in found.items()} == {1: [5.0, 6.0], 3: [1.0, 2.0]}
