"""Records made small for committing: what stays, what pages read from them, and how much the repository may weigh."""

import json
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.compact import BETWEEN, ENDS, compact, drop_file_hashes, rounded, shortened, thinned
from fairlab.files import COMPACT, PLAIN
from fairlab.record import Comparison, Reading, Record
from fairlab.types import FairlabError

ROOT = Path(__file__).parents[1]
MEGABYTE = 1_000_000


def weight(*folders):
    """Bytes of the tracked files below folders."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    return sum(file.stat().st_size for file in files if file.is_file())


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_the_repository_and_its_records_stay_light():
    assert 0 < weight("experiments") <= 6 * MEGABYTE
    assert 0 < weight() <= 20 * MEGABYTE
    assert not list(ROOT.glob("experiments/*/records/**/record.json")), "run experiments/compact.py on new records"
    assert not list(ROOT.glob("experiments/*/records/**/metrics.json"))


def test_a_compact_record_says_the_same(tmp_path):
    reading = Reading("a", "b", "c", 1 / 3, "u", 0.0, 9, 0.1234567891, 0.7, phase="after", seed=42, version=3)
    change = Comparison("a", "b", "c", -2 / 3, "u", -1.0, 1e-9 / 3, 0.00099950025, 9, headline=True, phase="change")
    history = [{"step": k, "train/loss": 1 / k} for k in range(1, 1001)] + [{"step": 1000, "validation/loss": 0.5}]
    config, facts = {"seed": 42, "rate": 1 / 3}, {"started": 1763760000.123456, "bytes": 12345678901}
    record = Record(tmp_path, config, "c", "finished", readings=[reading], comparisons=[change], history=history)
    record.provenance = facts
    record.save()
    compact(tmp_path)
    assert not (tmp_path / PLAIN).exists()
    found = Record.load(tmp_path)
    assert (found.config, found.provenance, found.command) == (config, facts, "c")
    assert (found.readings[0].value, found.readings[0].low, found.readings[0].version) == (0.333333, 0.123457, 3)
    assert (found.comparisons[0].high, found.comparisons[0].p) == (3.33333e-10, 0.000999501)
    assert found.history[-1] == {"step": 1000, "validation/loss": 0.5}
    assert found.history[-2] == {"step": 1000, "train/loss": 0.001}
    assert len(found.history) == 2 * ENDS + BETWEEN + 1
    size = (tmp_path / COMPACT).read_bytes()
    compact(tmp_path)
    assert (tmp_path / COMPACT).read_bytes() == size
    found.save()
    assert not (tmp_path / COMPACT).exists()
    assert json.loads((tmp_path / PLAIN).read_text())["readings"][0]["value"] == 0.333333


def test_a_run_that_has_not_finished_is_not_made_compact(tmp_path):
    Record(tmp_path, {}, "", "interrupted").save()
    with pytest.raises(FairlabError, match="is interrupted; finish it before its record is kept"):
        compact(tmp_path)
    assert (tmp_path / PLAIN).exists()


def test_thinning_keeps_all_that_is_no_step_and_the_order():
    rows = [{"step": k, "train/loss": 1.0} for k in range(5000)]
    rows.insert(2500, {"step": 2500, "validation/loss": 1.0})
    rows += [{"round": k, "negations": k} for k in range(300)]
    found = thinned(rows)
    assert [row for row in found if "train/loss" not in row] == [row for row in rows if "train/loss" not in row]
    steps = [row["step"] for row in found if "train/loss" in row]
    assert steps == sorted(steps)
    assert steps[:ENDS] == list(range(ENDS))
    assert steps[-ENDS:] == list(range(5000 - ENDS, 5000))
    assert len(steps) <= 2 * ENDS + BETWEEN
    assert thinned(rows[:140]) == rows[:140]


@given(st.floats(-1e6, 1e6), st.integers(1, 5))
def test_a_shortened_number_rounds_as_the_whole_one(value, digits):
    value = float(f"{value:.12g}")
    short = shortened(value)
    assert f"{short:.{digits}g}" == f"{value:.{digits}g}"
    assert abs(short - value) <= 1e-5 * abs(value)


def test_rounding_leaves_integers_texts_and_what_is_exact():
    generator = random.Random(0)
    for _ in range(200):
        exact = round(generator.uniform(-100, 100), 3)
        assert shortened(exact) == exact
    assert rounded({"n": 12345678, "a": [None, True, "1.23456789"]}) == {"n": 12345678, "a": [None, True, "1.23456789"]}


def test_hashes_of_single_files_are_dropped_only_beside_a_hash_of_all():
    whole, single = ({"provenance": {"data": {"files": {"a.txt": "1f"}} | more}} for more in ({"sha256": "2e"}, {}))
    for content in (whole, single, empty := {}):
        drop_file_hashes(content)
    assert whole == {"provenance": {"data": {"sha256": "2e"}}}
    assert single == {"provenance": {"data": {"files": {"a.txt": "1f"}}}}
    assert empty == {}
