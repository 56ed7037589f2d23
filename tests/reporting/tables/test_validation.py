"""The best of the values tried by the median of a task's validation measure, against medians taken by hand."""

import json

import pytest

from fairlab.record import Reading, Record
from fairlab.reporting.many_runs.sweep import write_sweep
from fairlab.reporting.tables.grouping import choices_of
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.tables.validation import best_by_median, chosen_by_validation, validation_measure

DEVELOPMENT = "after/rte/dev/accuracy"


def history(*measures, name="accuracy"):
    rows = [{f"validation/{name}": one, "validation/error": 1 - one, "validation/loss": 5.0} for one in measures]
    return [{"step": 1, "train/loss": 1.0}, *({"step": k, **row} for k, row in enumerate(rows))]


def run(folder, number, overrides, seed, measures, *, development=50.0, status="finished"):
    command = f"python -m fairlab.train +experiment=fairtune_glue {overrides} seed={seed}"
    config = {"seed": seed, "task": "rte", "method": {"lr": 1e-5}, "data": {"batch_size": 16}}
    for key, value in (part.split("=") for part in overrides.split()):
        part, _, name = key.partition(".")
        if name:
            config[part][name] = float(value)
        else:
            config[key] = value
    bounds = {"low": 0.0, "high": 100.0, "headline": True, "phase": "after", "seed": seed}
    readings = [Reading("rte", "dev", "accuracy", development, "%", 100.0, 9, **bounds)]
    place = folder / str(number)
    place.mkdir(parents=True)
    Record(place, config, command, status=status, readings=readings, history=history(*measures)).save()


def test_the_measure_of_a_run_is_that_of_the_weights_it_kept(tmp_path):
    of = {"config": {}, "command": ""}
    assert validation_measure(Record(tmp_path, history=history(0.5, 0.75, 0.625), **of)) == ("accuracy", 0.75)
    assert validation_measure(Record(tmp_path, history=history(0.25, name="matthews"), **of)) == ("matthews", 0.25)
    # A language model logs an accuracy too, but chooses by its loss, which cannot be compared between settings.
    rows = [{"step": 1, "validation/loss": 0.1, "validation/accuracy": 0.9}, {"step": 2, "validation/error": None}]
    assert validation_measure(Record(tmp_path, history=rows, **of)) is None


def test_the_highest_median_is_best_and_of_several_the_first():
    assert best_by_median([[0.1, 0.9, 0.95], [0.8, 0.85, 0.0], [0.7, 0.7, 0.7]]) == 0  # 0.9, 0.8, 0.7
    assert best_by_median([[0.6, 0.6, 0.6], [0.99, 0.5, 0.1], [0.2, 0.6, 0.9]]) == 0  # 0.6, 0.5, 0.6
    assert best_by_median([[0.5], [0.4, 0.8]]) == 1  # 0.5, and 0.6 between the two
    with pytest.raises(ValueError, match="empty"):
        best_by_median([])


@pytest.fixture
def sweep(tmp_path):
    """Two learning rates and two batch sizes on RTE with three seeds: by the mean, by the best single run and by the
    development examples another setting than by the median would be chosen."""
    measured = {
        "method.lr=1e-5 data.batch_size=16": ([0.70, 0.71, 0.72], 90),  # median 0.71, the best on development
        "method.lr=1e-5 data.batch_size=32": ([0.10, 0.80, 0.80], 10),  # median 0.80, mean 0.57
        "method.lr=2e-5 data.batch_size=16": ([0.60, 0.79, 0.99], 20),  # median 0.79, mean 0.79, the best run
        "method.lr=2e-5 data.batch_size=32": ([0.80, 0.80, 0.80], 30),  # median 0.80, but later
    }
    number = 0
    for overrides, (values, development) in measured.items():
        for seed, value in enumerate(values, start=1):
            run(tmp_path, number, f"task=rte {overrides}", seed, [value, 0.05], development=development)
            number += 1
    run(tmp_path, number, "task=rte method.lr=3e-5 data.batch_size=16", 1, [1.0], status="failed")
    return tmp_path


def test_the_values_with_the_best_median_are_chosen(sweep):
    (chosen,) = chosen_by_validation(choices_of(read_runs(sweep), []))
    assert chosen.settings == {"method.lr": "1e-05", "data.batch_size": "32"}
    assert chosen.values == pytest.approx([0.10, 0.80, 0.80])
    assert (chosen.of, chosen.measure, chosen.seeds, chosen.tried) == ({}, "accuracy", [1, 2, 3], 4)
    assert chosen.median == pytest.approx(0.80)


def test_every_task_and_data_has_its_own_best(sweep):
    for seed in (1, 2, 3):
        run(sweep, 20 + seed, "task=cola method.lr=1e-5 data.batch_size=16", seed, [0.3])
        run(sweep, 30 + seed, "task=cola method.lr=2e-5 data.batch_size=16", seed, [0.4])
        run(sweep, 40 + seed, "task=sst2 method.lr=1e-5 data.batch_size=16", seed, [0.9])  # alone: nothing to choose
    rte, cola = chosen_by_validation(choices_of(read_runs(sweep), []))
    assert (rte.of, rte.settings["method.lr"], rte.tried) == ({"task": "rte"}, "1e-05", 4)
    assert (cola.of, cola.settings["method.lr"], cola.tried) == ({"task": "cola"}, "2e-05", 2)


def test_the_report_of_a_sweep_names_them(sweep):
    page = write_sweep(sweep, read_runs(sweep), [DEVELOPMENT]).read_text(encoding="utf-8")
    assert "<h2>Best by validation</h2>" in page
    assert "Best by validation: method.lr=1e-05 data.batch_size=32." in page
    assert '<td class="number">0.8<small>accuracy</small></td><td>0.1, 0.8, 0.8</td>' in page
    assert len(json.loads((sweep / "report.json").read_text())) == 4


def test_runs_without_such_a_measure_have_no_best(sweep):
    for place in sweep.iterdir():
        record = Record.load(place)
        record.history = [{"step": 1, "validation/loss": 0.5}]
        record.save()
    assert chosen_by_validation(choices_of(read_runs(sweep), [])) == []
    assert "Best by validation" not in write_sweep(sweep, read_runs(sweep), [DEVELOPMENT]).read_text()
