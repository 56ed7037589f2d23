"""The page of a sweep, against values computed by hand."""

import json
import math
import os
import re

import pytest
import yaml
from scipy import stats

from fairlab.record import Note, NotRun, Reading, Record
from fairlab.reporting.many_runs.sweep import report_sweep, write_sweep
from fairlab.reporting.tables.grouping import (
    TWO_SEEDS,
    best,
    choices_of,
    headlines,
    over_seeds,
    settings_of,
    trade_off_front,
)
from fairlab.reporting.tables.runs import read_runs
from fairlab.types import FairlabError

GAP, LOSS = "after/cced/mine/gap", "after/stsb/dev/spearman"


def reading(key, value, seed, ideal=0.0):
    phase, benchmark, subset, quantity = key.split("/")
    bounds = {"low": value - 1, "high": value + 1}
    return Reading(benchmark, subset, quantity, value, "u", ideal, 100, **bounds, headline=True, phase=phase, seed=seed)


def run(folder, number, overrides, gap, utility, status="finished", seed=1, target=None):
    place = folder / str(number)
    place.mkdir(parents=True)
    command = f"python -m fairlab.train +experiment=ccd_bert {overrides} seed={seed} hydra.run.dir={place}"
    config = {"seed": seed, "method": {"beta": 1.0, "rho": "variance"}, "augmentation": {"seed": seed}}
    if target:
        config["method"]["_target_"] = target
    for override in overrides.split():
        key, value = override.split("=")
        if key.startswith("method."):
            config["method"][key.removeprefix("method.")] = yaml.safe_load(value)
        elif key.startswith("+experiment"):
            config["method"]["_target_"] = value
    readings = [reading(GAP, gap, seed), reading(LOSS, utility, seed, ideal=100.0)]
    record = Record(place, config, command, status=status, readings=readings if status == "finished" else [])
    record.reason = "no space" if status != "finished" else ""
    record.not_run = [NotRun("x", "y", "z")]
    record.save()


@pytest.fixture
def folder(tmp_path):
    """Beta 0, 1 (the default, in one run not said) and 2; three seeds of 0, two of 1, one of 2, and one that failed."""
    runs = [("method.beta=0", 1, 80, 1), ("method.beta=0", 2, 81, 2), ("method.beta=0", 3, 82, 3)]
    runs += [("method.beta=1.0", 4.0, 90, 1), ("", 6.0, 92, 2), ("method.beta=2", 1.5, 70, 1)]
    for number, (overrides, gap, utility, seed) in enumerate(runs):
        run(tmp_path / "sweep", number, overrides, gap, utility, seed=seed)
    run(tmp_path / "sweep", 10, "method.beta=3", 0, 0, status="failed")
    return tmp_path / "sweep"


def test_seeds_are_averaged_over_seeds_and_items(folder):
    records = read_runs(folder)
    assert [record.folder.name for record in records] == ["0", "1", "2", "3", "4", "5", "10"]
    assert headlines(records) == [GAP, LOSS]
    choices = choices_of(records, [GAP, LOSS])
    assert [choice.settings for choice in choices] == [{"method.beta": v} for v in ("0", "1", "2")]
    assert [choice.seeds for choice in choices] == [[1, 2, 3], [1, 2], [1]]
    first = choices[0].points[GAP]
    alone = 4.302653 / math.sqrt(3)  # t of 2 degrees of freedom, standard deviation 1
    assert first.over_seeds == pytest.approx((2 - alone, 2 + alone), abs=1e-5)
    seeds, items = 1 / 3, 1 / 1.959964**2  # each run's interval is its value ± 1, over 100 items
    freedom = (seeds + items) ** 2 / (seeds**2 / 2 + items**2 / 99)
    howe, welch = math.hypot(alone, 1.984217 / 1.959964), stats.t.ppf(0.975, freedom) * math.sqrt(seeds + items)
    half = (howe + 3 * welch) / 4
    assert (first.value, first.low, first.high) == pytest.approx((2, 2 - half, 2 + half), abs=1e-5)
    two = choices[1].points[GAP]
    assert math.isnan(two.low)
    assert (two.interval, two.marks) == ("", (TWO_SEEDS,))
    alone = choices[2].points[GAP]
    widened = 1.984217 / 1.959964 * math.sqrt(100 / 99)  # of one run
    assert (alone.low, alone.high) == pytest.approx((1.5 - widened, 1.5 + widened), abs=1e-5)
    assert (alone.value, alone.n) == (1.5, 1)
    assert over_seeds([]) is None


def test_one_computation_thrice_has_the_variance_of_its_items():
    """A deterministic method's seeds agree in all digits: no interval of width 0, and no three runs."""
    point = over_seeds([reading(GAP, 0.5428, seed) for seed in (42, 43, 44)])
    assert (point.value, point.low, point.high, point.n, point.over_seeds) == (
        0.5428,
        pytest.approx(-0.4572),
        1.5428,
        1,
        None,
    )


def test_what_a_method_never_reads_does_not_split_its_seeds(tmp_path):
    for seed in (1, 2):
        run(tmp_path, seed, f"trainer.max_steps={seed}00 method.beta=1", 2, 80, seed=seed, target="m.INLP")
    records = read_runs(tmp_path)
    for record, steps in zip(records, (100, 200), strict=True):
        record.config |= {"trainer": {"max_steps": steps, "accelerator": "cpu"}, "optimizer": {"lr": steps}}
    assert [choice.seeds for choice in choices_of(records, [GAP])] == [[1, 2]]
    for record in records:
        record.history = [{"step": 1, "train/loss": 0.5}]  # a method with steps reads both
    assert [choice.seeds for choice in choices_of(records, [GAP])] == [[1], [2]]


def test_a_run_that_did_not_train_is_never_the_best(tmp_path):
    run(tmp_path, 0, "method.beta=0", 2, 90, seed=1)
    run(tmp_path, 1, "method.beta=1", 2, 95, seed=1)
    records = read_runs(tmp_path)
    records[1].notes = [Note("training", "its loss did not fall", phase="after", mark="did not train")]
    assert best(choices_of(records, [LOSS]), LOSS)[0].name == "method.beta=0"
    assert best(choices_of(records[1:], [LOSS]), LOSS) is None


def test_the_best_is_nearest_to_the_ideal_and_those_not_told_apart_are_named(folder):
    choices = choices_of(read_runs(folder), [GAP, LOSS])
    nearest, alike = best(choices, GAP)
    assert nearest.name == "method.beta=2"
    assert [choice.name for choice in alike] == ["method.beta=0", "method.beta=1"]  # 5 [-7.7, 17.7]
    nearest, alike = best(choices, LOSS)
    assert nearest.name == "method.beta=1"  # 91 over two seeds, which have no interval: none is told apart from it
    assert [choice.name for choice in alike] == ["method.beta=0", "method.beta=2"]
    assert best(choices, "after/none/x/y") is None


def test_the_front():
    assert trade_off_front([(1, 5), (2, 2), (3, 3), (5, 1), (2, 2), (1, 6)]) == [0, 1, 4, 3]


def test_settings_are_what_the_commands_differ_in(tmp_path):
    for number, overrides in enumerate(["method=ccd x.y=1", "method=dpce x.y=1", "x.y=1 method.rho=std"]):
        run(tmp_path, number, overrides, 0, 0, target=f"m{number % 3}")
    assert settings_of(read_runs(tmp_path)) == [
        {"method": "ccd", "method.rho": "variance"},
        {"method": "dpce", "method.rho": "variance"},
        {"method": "default", "method.rho": "std"},
    ]


def test_methods_are_never_seeds_of_one_another(tmp_path):
    methods = ("cda", "inlp", "sentence_debias")
    for number, (method, seed) in enumerate((method, seed) for method in methods for seed in (1, 2, 3)):
        run(tmp_path, number, f"+experiment={method}", methods.index(method) * 10 + seed, 80, seed=seed)
    choices = choices_of(read_runs(tmp_path), [GAP])
    assert [choice.settings for choice in choices] == [{"experiment": method} for method in methods]
    assert [choice.points[GAP].n for choice in choices] == [3, 3, 3]
    assert [choice.points[GAP].value for choice in choices] == [2, 12, 22]


def test_what_no_command_says_tells_runs_apart(tmp_path):
    """Two runs of one command, of which the configuration's own default was changed between them."""
    for number, target in enumerate(("old", "new")):
        run(tmp_path, number, "", number, 80, seed=number, target=target)
    choices = choices_of(read_runs(tmp_path), [GAP])
    assert [choice.settings for choice in choices] == [{"method._target_": "old"}, {"method._target_": "new"}]
    assert [choice.points[GAP].n for choice in choices] == [1, 1]


def test_one_setting_written_in_two_ways_is_one(tmp_path):
    for number, overrides in enumerate(["method.beta=1", "method.beta=1.0", "", "+experiment=a method.beta=1.00"]):
        run(tmp_path, number, overrides, number, 80, seed=number, target="a")
    (choice,) = choices_of(read_runs(tmp_path), [GAP])
    assert choice.seeds == [0, 1, 2, 3]


def test_two_runs_of_one_seed_are_never_two(tmp_path):
    for number, (gap, seed) in enumerate([(1, 1), (5, 1), (9, 2)]):
        run(tmp_path / "sweep", number, "", gap, 80, seed=seed)
    records = read_runs(tmp_path / "sweep")
    (choice,) = choices_of(records, [GAP])
    assert (choice.seeds, choice.repeated) == ([1, 2], 1)
    assert (choice.points[GAP].value, choice.points[GAP].n) == (7, 2)
    page = write_sweep(tmp_path / "sweep", records, [GAP]).read_text(encoding="utf-8")
    assert "1 of them repeat another run with the same seed; the last one counts." in page


def test_a_record_that_cannot_be_read_stops_no_other(folder, capsys):
    (folder / "5" / "record.json").write_text("{}")
    (folder / "11").mkdir()
    os.mkfifo(folder / "11" / "record.json")
    report_sweep(folder)
    said = capsys.readouterr().err
    assert f"fairlab: left out: {folder}/5/record.json is damaged" in said
    assert f"fairlab: left out: {folder}/11/record.json is a pipe, a socket or a device, not a file; remove it" in said
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "5 of 6 runs finished" in page
    assert "<td>not read</td>" in page


def test_where_none_can_be_read_it_is_an_error(tmp_path):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "record.json").write_text("null")
    with pytest.raises(FairlabError, match=r"holds no run that can be read: .*0/record.json is damaged"):
        report_sweep(tmp_path)


def test_the_page_has_every_part(folder):
    page = write_sweep(folder, read_runs(folder), [GAP, LOSS]).read_text(encoding="utf-8")
    for part in ("Runs", "Nearest to the ideal value", "Against each setting", "Trade-offs", "Side by side"):
        assert f"<h2>{part}</h2>" in page
    assert "6 of 7 runs finished" in page
    command = f"python -m fairlab.train +experiment=ccd_bert method.beta=3 seed=1 hydra.run.dir={folder / '10'}"
    assert f'<td class="number">10</td><td>failed</td><td>no space</td><td>{command}</td>' in page
    assert "The command of the sweep, given again" not in page  # no command started all of these runs
    (folder / "sweep.json").write_text("{}")
    page = write_sweep(folder, read_runs(folder), [GAP, LOSS]).read_text(encoding="utf-8")
    assert "The command of the sweep, given again, runs only these and those that were not started." in page
    assert '<td class="number">2<small>[-0.07017, 4.07]\nseeds alone\n[-0.4841, 4.484]</small></td>' in page
    assert '<td class="number">1.5<small>[0.4825, 2.517]</small></td>' in page  # two cannot be distinguished from it
    (answer,) = re.findall(r'<div class="verdict"><p>(.*?)</p>', page)
    alike = "none of the 2 other settings can be distinguished from it."
    assert answer == f"CCED gap, mine: method.beta=2 is nearest to 0, but {alike}"
    assert 'title="difference between the distances of the versions to the neutral one (0 is fair)' in page
    assert "CCED gap, mine</span><small>u</small></th>" in page
    found = json.loads((folder / "report.json").read_text())
    assert found[2]["readings"][LOSS]["value"] == 70


def test_a_single_run_and_none_that_finished_still_have_a_page(tmp_path):
    run(tmp_path / "a", 0, "method.beta=0", 1, 80)
    run(tmp_path / "b", 0, "method.beta=0", 1, 80, status="failed")
    for name in "ab":
        records = read_runs(tmp_path / name)
        assert "<h2>Runs</h2>" in write_sweep(tmp_path / name, records, headlines(records)).read_text()
