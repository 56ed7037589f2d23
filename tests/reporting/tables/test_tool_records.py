"""Runs of other tools in tables and on the page of all runs."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import fairlab
from fairlab.judge.verdicts import Judgement
from fairlab.record import Reading, Record
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.run.papers import table
from fairlab.types import FairlabError
from fairlab.view import main

FIXTURES = Path(__file__).parents[2] / "judge" / "fixtures"


@pytest.mark.parametrize(
    ("tool", "runs", "keys"),
    [
        ("lm_eval", 2, ["sums/all/acc", "sums/all/acc_norm"]),
        ("every_eval_ever", 2, ["sums/all/acc", "sums/all/acc_norm"]),
        ("inspect", 2, ["sums/all/match"]),
        ("mteb", 2, ["tasks of MTEB/all/main score"]),
    ],
)
def test_results_of_every_tool_are_runs(tool, runs, keys):
    found = fairlab.runs(FIXTURES / tool)
    assert len(found) == runs
    assert [reading.key for reading in found[0].readings] == keys
    table = found.to_pandas()
    assert len(table) == runs * len(keys)
    assert set(table.status) == {"finished"}
    assert isinstance(fairlab.compare(found[0], found[1]), Judgement)


def test_the_interval_is_that_of_student():
    (acc, _) = fairlab.runs(FIXTURES / "lm_eval")[0].readings
    values = np.array([1.0] * 8 + [0.0] * 12)  # lm-evaluation-harness printed 0.4
    expected = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
    assert (acc.low, acc.high) == pytest.approx(expected)


def test_few_groups_are_marked_and_one_item_is_no_reading(tmp_path):
    record = fairlab.runs(FIXTURES / "inspect")[0]
    assert record.marks(record.readings[0]) == ["4 independent items, too few to conclude from"]
    (tmp_path / "a.csv").write_text("id,score\nx,1\n")
    (only,) = fairlab.runs(tmp_path)
    assert only.readings == []
    assert only.not_run[0].reason == "1, over one independent item, has no interval"


def test_the_page_of_all_runs_shows_other_tools(tmp_path):
    shutil.copytree(FIXTURES / "lm_eval", tmp_path / "lm_eval")
    main([str(tmp_path / "lm_eval")])
    page = (tmp_path / "lm_eval" / "view.html").read_text(encoding="utf-8")
    assert "tiny_a/results_2026-11-26.json" in page
    assert "sums acc norm" in page
    names = browse([FIXTURES / "inspect" / "a.eval"]).names
    assert names == ["a.eval"]
    assert "too few to conclude from" in view_page(browse([FIXTURES / "inspect"]), served=False)


def test_a_folder_without_results_is_one_sentence(tmp_path):
    for ask in (lambda: browse([tmp_path]), lambda: fairlab.runs(tmp_path), lambda: main([str(tmp_path)])):
        with pytest.raises(FairlabError, match=r"holds no run .* and no results of another tool"):
            ask()
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(FairlabError, match=r"a\.eval is cut off or damaged"):
        browse([tmp_path])
    assert not (tmp_path / "view.html").exists()


def test_what_was_left_out_is_noted_and_a_run_without_results_is_named(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("id,score\n" + "".join(f"{k},{k % 2}\n" for k in range(30)) + "0,1\n")
    (tmp_path / "b.csv").write_text("id,score\nx,1\n")
    many, _ = fairlab.runs(tmp_path)
    assert "items, score: 1 of 30 items have several scores, which are averaged" in [note.text for note in many.notes]
    table([str(tmp_path)])
    said = capsys.readouterr()
    assert "b.csv (1, over one independent item, has no interval)" in said.err
    assert "0.517" in said.out  # 15.5 of 30


def test_a_table_names_the_results_that_it_leaves_out(tmp_path, capsys):
    """Results next to runs of fairlab, and, without runs, files that no reader takes; files in a run are its own."""
    (tmp_path / "empty.csv").touch()
    (tmp_path / "a.csv").write_text("id,score\nx,1\ny,0\n")
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(b"\x1f\x8b")
    table([str(tmp_path)])
    said = capsys.readouterr()
    assert f"not in the table: {packed} (compressed; unpack it), {tmp_path / 'empty.csv'} (empty)\n" == said.err
    readings = [Reading("seat", "all", "effect_size", 0.4, "", 0.0, 40, 0.1, 0.7, headline=True)]
    (tmp_path / "run").mkdir()
    Record(tmp_path / "run", {}, "", "finished", readings=readings).save()
    shutil.copy(tmp_path / "a.csv", tmp_path / "run" / "items.csv")
    table([str(tmp_path)])
    reason = "results of another tool next to runs of fairlab; give its path as well"
    assert capsys.readouterr().err == f"not in the table: {tmp_path / 'a.csv'} ({reason})\n"
    with pytest.raises(SystemExit):
        table([str(packed)])
    assert capsys.readouterr().err == f"fairlab: {packed} is compressed; unpack it, and give the files in it\n"
