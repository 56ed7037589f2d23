"""The atlas: its matrix is sound, and its tables say what a record holds, and "not run" of all else."""

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from experiments.atlas import tables
from fairlab.record import Comparison, NotRun, Reading, Record
from fairlab.reporting.headlines import key
from fairlab.reporting.many_runs.reproduction import read_matrix
from fairlab.reporting.page import BETTER, WORSE
from fairlab.reporting.questions import shifts
from fairlab.run.config.composing import composed
from fairlab.run.folders import plain_config

ROOT = Path(__file__).parents[1]
FILE = ROOT / "experiments" / "atlas" / "matrix.yaml"
MATRIX = read_matrix(FILE, "quickstart")
FIRST = "before=runs/"


@cache
def composed_run(run):
    """Configuration of a run of the matrix, and the run that it takes readings over from."""
    first = [one.removeprefix(FIRST) for one in MATRIX.runs[run] if one.startswith(FIRST)]
    own = [one for one in MATRIX.runs[run] if not one.startswith(FIRST)]
    return plain_config(composed("train", [*own, "scale=quickstart"], {})), first


@pytest.mark.slow
def test_runs_take_readings_over_from_one_of_the_same_model_and_benchmarks():
    found = {run: composed_run(run) for run in MATRIX.runs}
    alone = [run for run, (_, first) in found.items() if not first]
    assert sorted(alone) == sorted(f"{model}_sentence_debias" for model in tables.NAMES)
    for config, first in found.values():
        assert config["measure_before"]
        for name in first:
            assert config["backbone"] == found[name][0]["backbone"]
            assert config["benchmark"] == found[name][0]["benchmark"]


@pytest.mark.slow
def test_methods_that_train_nothing_come_first():
    runs = list(dict.fromkeys(row.run for table in MATRIX.tables.values() for row in table.rows if row.run))
    methods = [composed_run(run)[0]["method"]["_target_"].rpartition(".")[2] for run in runs]
    fitted = [method in ("SentenceDebias", "INLP", "CCDLinear") for method in methods]
    assert fitted == sorted(fitted, reverse=True)
    assert {True, False} == set(fitted)


def test_every_benchmark_and_method_there_is_is_measured_or_left_out_in_words():
    page = (ROOT / "docs" / "atlas.md").read_text(encoding="utf-8").partition("## What is not in it")[2]
    named = set(re.findall(r"`(\w+)`", page))
    settings = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    measured = set(re.search(r"\[(.*)\]", settings["options"]["quickstart"][0])[1].split(","))
    benchmarks = {path.stem for path in (ROOT / "conf" / "benchmark").glob("*.yaml")} - {"full"}
    assert measured | named >= benchmarks
    assert not measured & named
    shown = {"ccd", "ccd_aligned", "ccd_linear", "dpce", "adept", "inlp", "sentence_debias", "dropout", "causal_lm"}
    shown.add("continued_mlm")  # CDA
    assert shown | named >= {path.stem for path in (ROOT / "conf" / "method").glob("*.yaml")}


@pytest.fixture
def folder(tmp_path):
    """A matrix of two models, one of whose runs has a record."""
    rows = {"before": {"run": "a_ccd", "phase": "before"}, "CCD": "a_ccd", "INLP": "a_inlp"}
    table = {"title": "A", "columns": ["winogender/all/male_ratio"], "rows": rows}
    later = table | {"rows": {"CDA": {"reason": "it has no head"}}}
    other = table | {"rows": {"CCD": "b_ccd"}}
    runs = {name: {"quickstart": []} for name in ("a_ccd", "a_inlp", "b_ccd")}
    content = {"seeds": [1], "options": {}, "runs": runs, "tables": {"a": table, "b": other, "a_trained": later}}
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(content))
    place = tmp_path / "records" / "a_ccd" / "seed_1"
    place.mkdir(parents=True)
    readings = [
        Reading("winogender", "all", "male_ratio", 0.8, "", 0.5, 60, 0.7, 0.9, True, phase="before"),
        Reading("winogender", "all", "male_ratio", 0.6, "", 0.5, 60, 0.45, 0.7, True, phase="after"),
        Reading("stsb", "dev", "spearman", 80.0, "", 100.0, 1500, 79.0, 81.0, True, phase="before"),
        Reading("stsb", "dev", "spearman", 78.0, "", 100.0, 1500, 77.0, 79.0, True, phase="after"),
        Reading("cced", "embedded", "gap", 0.2, "", 0.0, 9, 0.1, 0.3, True, phase="before"),
        Reading("cced", "embedded", "gap", 0.1, "", 0.0, 9, 0.0, 0.2, True, phase="after"),
    ]
    comparisons = [
        Comparison("winogender", "all", "male_ratio", -0.2, "", -0.25, -0.15, 0.001, 60, True, 0.003, "change"),
        Comparison("stsb", "dev", "spearman", -2.0, "", -2.5, -1.5, 0.001, 1500, True, 0.003, "change"),
        Comparison("cced", "embedded", "gap", -0.1, "", -0.3, 0.1, 0.4, 9, True, 0.4, "change"),
    ]
    stages = {"training": {"seconds": 12.4}, "after/stsb": {"seconds": 3.0}, "after/cced": {"seconds": 4.0}}
    no_head = [NotRun("stereoset", "all", "the model has no head", phase="before")]
    record = Record(place, {}, "", "finished", "", readings, comparisons, no_head, provenance={"stages": stages})
    record.save()
    return tmp_path


def lines(table):
    """Cells of the rows of a Markdown table, without its head."""
    rows = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows[2:]]


def test_the_overview_counts_what_moved_and_says_what_it_cost(folder):
    table = tables.overview(folder)
    assert lines(table) == [
        ["a", "CCD", "0 ▲, 0 ▼ of 1", "1 ▲, 0 ▼ of 1", "0 ▲, 1 ▼ of 1", "-2 [-2.5, -1.5]", "not run", "12", "7"],
    ]
    assert table.partition("\n\n")[2].split("\n\n") == [
        "Not run on a: INLP. Reason: the run has not been started.",
        "Not run on a: CDA. Reason: it has no head.",
        "Not run on b: CCD. Reason: the run has not been started.",
    ]


def test_the_overview_says_whose_loss_did_not_fall(folder):
    record = Record.load(folder / "records" / "a_ccd" / "seed_1")
    record.history = [{"step": step, "train/loss": 1.0} for step in range(1, 41)]
    record.save()
    assert lines(tables.overview(folder))[0][1] == "CCD (did not train)"


def test_before_has_intervals_and_says_what_does_not_fit(folder):
    table = tables.before("a", folder)
    assert lines(table) == [
        ["CCED gap, bundled sentences", "0.2 [0.1, 0.3]", "0", "", "9"],
        ["Winogender male first", "0.8 [0.7, 0.9]", "0.5", "**yes**", "60"],
        ["STS-B Spearman correlation, development set", "80 [79, 81]", "100", "", "1,500"],
    ]
    assert table.endswith("Not run: `stereoset`. Reason: the model has no head.")
    assert tables.before("b", folder) == "Not run: the run has not been started."


def test_changes_are_marked_where_they_are_beyond_chance(folder):
    table = tables.changes("a", folder)
    assert lines(table) == [
        ["CCED gap, bundled sentences", "-0.1 [-0.3, 0.1]"],
        ["Winogender male first", "-0.2 [-0.25, -0.15] ▲"],
        ["STS-B Spearman correlation, development set", "-2 [-2.5, -1.5] ▼"],
    ]
    assert "Not run: INLP. Reason: the run has not been started." in table
    assert table.endswith("Not run: CDA. Reason: it has no head.")
    assert tables.changes("b", folder) == "Not run: CCD. Reason: the run has not been started."


def test_a_link_to_records_leads_to_the_browser_of_their_runs_once_there_are_any(folder, monkeypatch):
    pytest.importorskip("mkdocs")
    from docs import hooks

    page = SimpleNamespace(file=SimpleNamespace(src_uri="atlas.md"))
    link = "[the records](../experiments/atlas/records)"
    monkeypatch.setattr(hooks, "ROOT", folder)
    assert hooks.on_page_markdown(link, page) == "the records"
    (folder / "experiments" / "atlas").mkdir(parents=True)
    (folder / "records").rename(folder / "experiments" / "atlas" / "records")
    assert hooks.on_page_markdown(link, page) == "[the records](atlas_runs.html)"
    assert "a_ccd/seed_1" in hooks.runs_page("experiments/atlas/records")


@pytest.fixture(scope="module")
def runs():
    """Records of the committed runs, by model and method."""
    found = {(model, one.method): one.record for model, methods in tables.tried().items() for one in methods}
    return {run: record for run, record in found.items() if record is not None}


@pytest.fixture(scope="module")
def moved(runs):
    """Headline readings of each run that moved beyond chance, nearer to their ideal and away from it."""
    found = {}
    for run, record in runs.items():
        tones = [(key(one.before), one.tone) for one in shifts(record) if one.comparison.headline]
        found[run] = {tone: {name for name, own in tones if own == tone} for tone in (BETTER, WORSE)}
    return found


def values(record):
    """Values of a record's readings by key."""
    return {one.key: one.value for one in record.readings}


GAPS = {"cced/embedded/gap", "cced/winogender/gap"}
STSB = "stsb/dev/spearman"


def test_what_the_page_says_of_gaps(runs, moved):
    assert {run: GAPS - one[BETTER] for run, one in moved.items() if not one[BETTER] >= GAPS} == {
        ("distilbert", "INLP"): GAPS,
        ("smollm2", "INLP"): GAPS,
        ("smollm2", "biasers"): GAPS,  # that of bundled sentences fell by collapse alone
    }
    left = {run: values(record)["after/cced/winogender/gap_kept"] for run, record in runs.items()}
    own = {method: value for (model, method), value in left.items() if model == "minilm_mlm"}
    assert max(own.pop("CCD"), own.pop("CCD, aligned, then linear map")) < 0.05
    assert own.pop("CCD, linear map") == pytest.approx(1 / 9, rel=0.1)
    assert all(1 / 4 < own.pop(name) < 1 / 3 for name in ("SentenceDebias", "INLP"))
    assert all(0.45 < value < 0.9 for value in own.values())
    names = ("CCD", "CCD, linear map", "SentenceDebias", "INLP")
    assert [round(left["mpnet", name], 2) for name in names] == [0.06, 0.17, 0.29, 0.32]
    for method in ("dropout", "CDA"):
        found = values(runs["minilm_mlm", method])
        assert found["after/cced/embedded/direction_cosine"] > 0.99
        assert found["after/cced/embedded/distance_kept"] < 0.84
    for model in ("distilbert", "smollm2"):
        assert 0.87 < left[model, "SentenceDebias"] < 0.9
        assert 0.95 < left[model, "INLP"] < 1.07
        assert round(left[model, "CCD, linear map"], 2) == 0.58
        assert STSB in moved[model, "CCD, linear map"][BETTER]
    assert round(left["distilbert", "CCD"], 2) == 0.58
    assert round(left["distilbert", "CCD, aligned, then linear map"], 2) == 0.21


def test_what_the_page_says_of_associations(runs, moved):
    beside = GAPS | {STSB}
    others = {run: one[BETTER] - beside for run, one in moved.items() if one[BETTER] - beside}
    names = ("SentenceDebias", "INLP", "CDA", "dropout", "CCD, aligned, then linear map")
    seat, wino = "seat/average/absolute_effect_size", "winobias/all/pro_preferred"
    employment = "winogender/occupations/women_correlation"
    assert others == {("minilm_mlm", name): {"crows_pairs/all/metric_score"} for name in names} | {
        ("smollm2", "SentenceDebias"): {seat, wino},
        ("smollm2", "INLP"): {seat, wino, employment},
        ("smollm2", "CCD, linear map"): {wino, employment},
        ("smollm2", "biasers"): {wino},
    }
    worse = {run: one[WORSE] - {STSB} for run, one in moved.items()}
    assert {run: names for run, names in worse.items() if names} == {
        ("minilm_mlm", "DPCE"): {"bias_ir/average/male_ratio", "bias_ir/average/margin"},
        ("minilm_mlm", "ADEPT-F"): {seat},
        ("smollm2", "INLP"): {"cced/winogender/gap"},
    }
    own = {method: values(record) for (model, method), record in runs.items() if model == "smollm2"}
    assert own["SentenceDebias"][f"before/{wino}"] == pytest.approx(59, abs=0.5)
    assert all(51.5 < own[name][f"after/{wino}"] < 54.5 for name in ("SentenceDebias", "INLP", "biasers"))
    assert own["CCD, linear map"][f"after/{wino}"] == pytest.approx(51, abs=0.5)
    rise = {
        name: found["after/perplexity/text/perplexity"] / found["before/perplexity/text/perplexity"]
        for name, found in own.items()
    }
    assert rise["INLP"] == pytest.approx(20, rel=0.02)
    assert rise["CCD, linear map"] == pytest.approx(4 / 3, rel=0.01)
    assert rise["SentenceDebias"] == pytest.approx(1.02, abs=0.005)
    turned = [round(own["SentenceDebias"][f"{phase}/{employment}"], 2) for phase in ("before", "after")]
    assert turned == [-0.48, 0.41]
