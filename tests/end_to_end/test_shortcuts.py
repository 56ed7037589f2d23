"""Baselines against shortcuts from the command line, each by one override, on files of a user's own."""

import pytest

from fairlab.record import Record
from tests.conftest import write_rows
from tests.end_to_end.conftest import only_run, tiny_backbone


def claims(count, start=0):
    return [
        {
            "evidence": f"The boat of number {k} is {'good' if k % 2 else 'bad'}.",
            "claim": f"Boat {k} is {'' if k % 2 else 'not '}good in {1900 + k}.",
            "label": "SUPPORTS" if k % 2 else "REFUTES",
        }
        for k in range(start, start + count)
    ]


@pytest.fixture
def small(tmp_path, tiny_folders):
    """Overrides of a run that takes a moment, trained on two mixed tasks and measured on a third."""
    for name, rows in (("fever_two_way", claims(40)), ("vitaminc_two_way", claims(30, 40))):
        (tmp_path / "data" / name).mkdir(parents=True)
        write_rows(tmp_path / "data" / name / "train.jsonl", rows)
    (tmp_path / "data" / "measured").mkdir()
    write_rows(tmp_path / "data" / "measured" / "test.jsonl", claims(20, 100))
    return [
        "+experiment=razor_fever",
        *tiny_backbone(tiny_folders["bert"]),
        "data.task=fever_two_way+vitaminc_two_way",
        "data.path=data",
        "data.unseen=[]",
        "benchmark=quickstart/fact_checking",
        *(f"~benchmark.{name}" for name in ("fever", "fever_symmetric_v01", "vitaminc", "mnli")),
        "benchmark.fever_symmetric.path=data/measured",
        "method.epochs=1",
    ]


@pytest.mark.parametrize("choice", ["debiasing=clever", pytest.param("augmentation=crossaug", marks=pytest.mark.slow)])
def test_a_baseline_by_one_override(run, small, tmp_path, choice):
    done = run(*small, choice)
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "razor_fever")
    record = Record.load(folder)
    keys = {reading.key for reading in record.readings}
    assert {f"after/fever_symmetric/test/{name}" for name in ("accuracy", "macro_f1", "f1")} <= keys
    assert record.provenance["data"]["task"] == "fever_two_way+vitaminc_two_way"
    if choice.startswith("debiasing"):
        assert record.provenance["method"]["debiasing"] == "clever"
        again = [f"model={folder}", "benchmark=fact_checking", "benchmark.fever_symmetric.path=data/measured"]
        again += [f"~benchmark.{name}" for name in ("fever", "fever_symmetric_v01", "vitaminc", "mnli")]
        done = run(*again, "hydra.run.dir=again", entry="evaluate")
        assert done.returncode == 0, done.stderr
        found = {reading.key: reading.value for reading in Record.load(tmp_path / "again").readings}
        expected = {r.key.partition("/")[2]: r.value for r in record.readings if r.key.startswith("after/")}
        assert found == expected
    else:
        assert record.provenance["data"]["added"] > 0


def test_debiasing_is_of_classifiers(run, small, tmp_path):
    done = run("+experiment=ccd_bert", *small[1:4], "debiasing=poe", "data.path=x")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.endswith(
        "debiasing= works only with classifiers; choose it with +experiment=fairtune, glue, razor_fever or razor_nli"
    )
