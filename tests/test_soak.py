"""The soak itself: what it draws, that it goes on where it was stopped, and what it calls lost."""

import json

import pytest

from experiments.reliability import soak

# Writes a record and then its result, or ends in a sentence; a "broken" one waits until it is ended, and then comes to
# another result.
FAKE = """
import json, signal, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
def stop(*_):
    print("fairlab: interrupted")
    sys.exit(130)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
folder.mkdir(exist_ok=True)
record = {"config": {}, "command": "", "status": "running"}
resumed = (folder / "record.json").exists()
(folder / "record.json").write_text(json.dumps(record))
broken = "broken" in sys.argv and "whole" not in folder.name
time.sleep(60 if broken and not resumed else 0.6)
(folder / "metrics.json").write_text(json.dumps({"a": 2 if broken else 1}))
(folder / "record.json").write_text(json.dumps(record | {"status": "finished"}))
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "RESULT", tmp_path / "soak.json")
    (tmp_path / "fake.py").write_text(FAKE)
    return tmp_path


def case(*more):
    return soak.Case(["fake", "{folder}", *more], "", soak.metrics, "record.json")


def test_moments_are_spread_for_every_signal_and_drawn_the_same_again():
    drawn = [soak.moment("train", number, 30) for number in range(30)]
    assert drawn == [soak.moment("train", number, 30) for number in range(30)]
    for signal in range(3):
        assert [int(10 * share) for share in drawn[signal::3]] == list(range(10))


@pytest.mark.slow
def test_a_soak_goes_on_where_it_was_stopped(work, capsys):
    soak.soak("fake", case(), work, 3)
    found = soak.figures()["fake"]
    assert [one["by"] for one in found["moments"]] == list(soak.SIGNALS)
    assert all(one["resumed"] and one["clean"] for one in found["moments"])
    capsys.readouterr()
    soak.soak("fake", case(), work, 5)
    assert capsys.readouterr().out.count("fake {") == 2
    assert soak.figures()["fake"]["moments"][:3] == found["moments"]
    assert len(soak.figures()["fake"]["moments"]) == 5
    row = soak.table().splitlines()[-1]
    assert row.startswith("| all | 5 | 2 | 2 | 1 |")
    assert row.endswith("| 5 | 0 |")


@pytest.mark.slow
def test_another_result_is_lost(work, monkeypatch):
    monkeypatch.setattr(soak, "moment", lambda *_: 0.9)
    soak.soak("fake", case("broken"), work, 3)
    found = soak.figures()["fake"]["moments"]
    assert {one["killed"] for one in found} == {"in mid-run"}
    assert not any(one["resumed"] for one in found)
    assert all(one["clean"] for one in found)
    assert soak.table().splitlines()[-1].endswith("| 2 of 2 | 0 | 3 |")


def test_an_older_record_of_one_signal_is_done_again(work):
    (work / "soak.json").write_text(json.dumps({"fake": {"seconds": 1, "moments": [{"killed": "in mid-run"}]}}))
    soak.soak("fake", case(), work, 1)
    (one,) = soak.figures()["fake"]["moments"]
    assert one["by"] == "SIGKILL"
