"""Readings of different versions of a benchmark's definition are refused by comparisons and marked elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

import fairlab
from fairlab.benchmarks.kept_items import draws_file, items_file
from fairlab.benchmarks.runner import measure, take
from fairlab.benchmarks.versions import other_definition, outdated, present_version
from fairlab.metrics.bootstrap import RESAMPLES
from fairlab.record import Outcome, Reading, Record
from fairlab.reporting.many_runs.sweep import report_sweep
from fairlab.reporting.paper_table import paper_table
from fairlab.reporting.tables.marks import marks_beside, version_notes
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.types import Description, FairlabError
from tests.benchmarks.test_golden import classes

PLACE = ("seat", "average", "absolute_effect_size")
STSB = ("stsb", "dev", "spearman")


def reading(version, place=PLACE, phase="after", value=1.0):
    return Reading(*place, value, "u", 0.0, 6, 0.5, 1.5, headline=True, phase=phase, seed=1, version=version)


def run(folder, *readings, **config):
    folder.mkdir(parents=True)
    parts = {"seed": 1, "benchmark": {}, "backbone": {}, "method": {"_target_": "a.b.C", **config}}
    record = Record(folder, parts, f"python -m fairlab.train a={folder.name}", "finished", readings=list(readings))
    record.provenance = {"weights": {"sha256": "same"}, "revision": "r"}
    record.save()
    for one in readings:
        file = draws_file(folder, one.phase, one.benchmark)
        file.parent.mkdir(parents=True, exist_ok=True)
        draws = np.random.default_rng(len(folder.name)).normal(one.value, 0.1, RESAMPLES)
        save_file({f"{one.subset}/{one.quantity}": draws.astype(np.float32)}, file)
    return record


@pytest.mark.parametrize(("name", "one"), classes().items(), ids=classes())
def test_the_version_of_every_class_is_found_by_the_names_of_its_readings(name, one):
    names = {
        "Classification": ["sst2", "mnli_two_way"],
        "Probe": ["rte_probe"],
        "Fairscore": ["bios_fairscore"],
        "Safety": ["safety", "safety_bias_madlibs"],
        "CrowSPairs": ["crows_pairs", "crows_pairs@meade"],
    }
    for reading_name in names.get(name, [one.__module__.rpartition(".")[2]]):
        assert present_version(reading_name) == one.version
    assert present_version("of_my_own") is None
    assert present_version("my_probe") is None


def test_which_readings_are_outdated_and_which_can_be_compared():
    assert present_version("seat") == 2
    assert outdated(reading(2)) == outdated(reading(7, ("of_my_own", "a", "b"))) == ""
    assert outdated(reading(0)) == outdated(reading(1)) == "version 1 of its definition, now 2"
    assert outdated(reading(3)) == "version 3 of its definition, newer than the 2 of this fairlab"
    assert outdated(reading(0, STSB)) == outdated(reading(1, STSB)) == ""
    assert other_definition(reading(0), reading(1)) == other_definition(reading(2), reading(2)) == ""
    said = "seat was measured with versions 1 and 2 of its definition; measure version 1 again"
    assert other_definition(reading(2), reading(0)) == other_definition(reading(1), reading(2)) == said


def test_readings_taken_over_must_have_the_version_of_this_run(tmp_path):
    old = run(tmp_path / "old", reading(1, phase="before"), reading(1, STSB, "before"))
    (old.folder / "items" / "before").mkdir(parents=True, exist_ok=True)
    mine = Record(tmp_path / "new", old.config, "", provenance={"weights": {"sha256": "same"}})
    mine.folder.mkdir()
    with pytest.raises(
        FairlabError, match=r"measured seat with version 1 of its definition, but this run uses 2; leave before"
    ):
        take("before", old.folder, mine, {"seat": 2, "stsb": 1})
    assert not mine.readings
    assert not list(mine.folder.iterdir())
    take("before", old.folder, mine, {"seat": 1, "stsb": 1})
    assert len(mine.readings) == 2


def test_a_run_that_goes_on_measures_again_what_has_another_version(tmp_path, tiny):
    class Counted:
        name, version, calls = "counted", 1, 0
        description = Description("counted", "Counted", "?", {})

        def measure(self, backbone, before=None):
            Counted.calls += 1
            return Outcome([reading(0, ("counted", "all", "calls"), value=float(Counted.calls))], items={})

    record = Record(tmp_path, {"seed": 1}, "")
    for version, calls in ((1, 1), (1, 1), (2, 2), (2, 2)):
        Counted.version = version
        measure([Counted()], tiny, "before", record)
        assert Counted.calls == calls
        assert [(one.value, one.version) for one in record.readings] == [(float(calls), version)]
        assert items_file(tmp_path, "before", "counted").exists()


def test_comparing_two_runs_leaves_out_what_has_another_version_and_says_so(tmp_path):
    old = run(tmp_path / "old", reading(1), reading(1, STSB))
    new = run(tmp_path / "new", reading(2), reading(1, STSB))
    changes = fairlab.compare(old, new)
    assert [one.benchmark for one in changes.comparisons] == ["stsb"]
    said = "seat was measured with versions 1 and 2 of its definition; measure version 1 again"
    assert changes.left_out == [said]
    assert f"Left out: {said}." in str(changes)
    assert fairlab.compare(old, old).left_out == []
    with pytest.raises(FairlabError, match="cannot be compared: seat was measured with versions 1 and 2"):
        fairlab.compare(run(tmp_path / "a", reading(1)), run(tmp_path / "b", reading(2)))


def test_pages_and_tables_mark_them(tmp_path, capsys):
    for name, version in (("old", 1), ("present", 2), ("future", 9)):
        run(tmp_path / "runs" / name, reading(version, value=version / 10), kind=name)
    records = {name: Record.load(tmp_path / "runs" / name) for name in ("old", "present", "future")}
    marks = {name: marks_beside(record, record.readings[0]) for name, record in records.items()}
    past, future = "version 1 of its definition, now 2", "version 9 of its definition, newer than the 2 of this fairlab"
    assert marks == {"old": [past], "present": [], "future": [future]}
    assert version_notes(records["present"]) == []
    table = paper_table(list(records.values()))
    assert f": {past}." in table.caption
    assert f": {future}." in table.caption
    assert not any(table.pairs.values())
    report_sweep(tmp_path / "runs")
    page = " ".join((tmp_path / "runs" / "report.html").read_text(encoding="utf-8").split())
    assert f"({past})" in page
    assert f"seat: measured by {past}; measure again before comparing it with present readings (1 of 3 runs)" in page
    viewed = view_page(browse([tmp_path / "runs"]), served=False)
    assert f"measured by {past}" in viewed
    assert f"measured by {future}" in viewed


def test_methods_of_one_version_are_tested_though_it_is_gone(tmp_path):
    runs = [run(tmp_path / name, reading(1, value=value), kind=name) for name, value in (("a", 0.2), ("bb", 0.9))]
    (p_values,) = paper_table(runs).pairs.values()
    assert len(p_values) == 1
    runs[0].readings = [replace(runs[0].readings[0], version=2)]
    assert paper_table(runs).pairs[PLACE] == {}
