"""``python -m fairlab.evaluate``: every way to name a model, several side by side, going on, and bad input."""

import json
import shutil

import pytest
from safetensors.numpy import load_file

import fairlab
from fairlab.record import Record
from tests.conftest import make_groups, row, write_rows
from tests.end_to_end.conftest import only_run


@pytest.fixture
def measured(tmp_path) -> list[str]:
    """Overrides of an evaluation that takes a moment."""
    path = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(20)])
    return ["benchmark=[cced]", f"benchmark.cced.sets=[{path}]", "max_length=32"]


def test_one_model_has_no_phase(run, measured, tmp_path, tiny_folders):
    done = run(f"model={tiny_folders['bert']}", *measured, entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CCED gap, groups: ")
    folder = only_run(tmp_path, "evaluate")
    assert "cced/groups/gap" in json.loads((folder / "metrics.json").read_text())
    assert "Measured without training" in (folder / "report.html").read_text()
    record = Record.load(folder)
    assert record.status == "finished"
    assert record.command.startswith("python -m fairlab.evaluate model=")
    assert len(record.provenance["weights of bert"]["sha256"]) == 64


def test_from_python_it_is_the_same(run, measured, tmp_path, tiny_folders):
    folder = str(tiny_folders["bert"])
    done = run(f"model={folder}", *measured, entry="evaluate")
    assert done.returncode == 0, done.stderr
    there = Record.load(only_run(tmp_path, "evaluate"))
    sets = there.config["benchmark"]["cced"]["sets"]
    results = fairlab.evaluate(fairlab.load(folder, max_length=32), "cced", settings={"benchmark.cced.sets": sets})
    assert results.record.metrics() == there.metrics()
    own = {"model": folder, "max_length": 32}  # which an object has in itself
    assert {**results.record.config, **own} == there.config


def test_several_models_stand_side_by_side_with_paired_differences(run, measured, tmp_path, tiny_folders):
    folders = [str(tiny_folders[name]) for name in ("bert", "bert_mlm", "bert")]
    done = run(f"model=[{','.join(folders)}]", *measured, entry="evaluate")
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path, "evaluate"))
    assert record.phases == ["bert_1", "bert_mlm", "bert_2"]
    differences = {comparison.key: comparison for comparison in record.comparisons}
    gaps = {reading.key: reading.value for reading in record.readings}
    change = differences["bert_mlm less bert_1/cced/groups/gap"]
    assert change.difference == pytest.approx(gaps["bert_mlm/cced/groups/gap"] - gaps["bert_1/cced/groups/gap"])
    assert change.p_holm is not None
    assert differences["bert_2 less bert_1/cced/groups/gap"].difference == 0
    assert "bert_2 and bert_1 have the same weights" in done.stdout


@pytest.mark.slow
def test_a_run_folder_is_the_model_it_trained_with_its_own_settings(run, small, tmp_path):
    assert run(*small, "backbone.pooling=cls").returncode == 0
    trained = only_run(tmp_path)
    measured = ["benchmark=[cced]", next(one for one in small if one.startswith("benchmark.cced.sets="))]
    done = run(f"model={trained}", *measured, entry="evaluate")
    assert done.returncode == 0, done.stderr
    again = load_file(only_run(tmp_path, "evaluate") / "items" / "cced.safetensors")["groups"]
    assert again == pytest.approx(load_file(trained / "items" / "after" / "cced.safetensors")["groups"], abs=1e-5)
    shutil.rmtree(trained / "model")
    done = run(f"model={trained}", *measured, entry="evaluate")
    assert done.returncode == 1
    assert "has exported no model" in done.stderr


def test_going_on_measures_nothing_twice(run, measured, tmp_path, tiny_folders):
    command = [f"model={tiny_folders['bert_mlm']}", *measured, "benchmark=[cced,perplexity]"]
    (tmp_path / "text.txt").write_text("the river is wide\na letter came\nthe clock stands\n")
    command += [f"benchmark.perplexity.path={tmp_path / 'text.txt'}"]
    assert run(*command, entry="evaluate").returncode == 0
    folder = only_run(tmp_path, "evaluate")
    whole = (folder / "metrics.json").read_text()
    record = Record.load(folder)
    record.status = "interrupted"
    record.save()
    (folder / "items" / "perplexity.safetensors").unlink()
    stamp = (folder / "items" / "cced.safetensors").stat().st_mtime_ns
    done = run(*command, "ckpt=last", entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert (folder / "items" / "cced.safetensors").stat().st_mtime_ns == stamp
    assert json.loads((folder / "metrics.json").read_text()) == pytest.approx(json.loads(whole), rel=1e-6)


def test_a_benchmark_the_model_cannot_take_is_listed_not_run(run, measured, tmp_path, tiny_folders):
    done = run(f"model={tiny_folders['bert']}", *measured, "benchmark=[cced,perplexity]", entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert "not run: perplexity all: BertModel has no language-modelling head" in done.stdout


@pytest.fixture
def data(tmp_path, tiny_folders) -> list[str]:
    """Overrides of a measure of data that takes a moment."""
    lines = [json.dumps({"text": f"entry {k} zebra", "kind": "ab"[k % 2]}) + "\n" for k in range(12)]
    (tmp_path / "texts.jsonl").write_text("".join(lines))
    (tmp_path / "abuse.jsonl").write_text("".join(lines[:5]).replace("zebra", "secretword"))
    own = {"vectors": tiny_folders["bert"], "comparison": "abuse.jsonl", "category": "kind"}
    return ["benchmark=db_index", "max_length=32", *(f"benchmark.db_index.{name}={own[name]}" for name in own)]


def test_data_is_measured_side_by_side_and_never_printed(run, data, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text("One zebra here.\nAnother zebra there.\nA third one.\n")
    done = run("dataset=[texts.jsonl,more]", *data, entry="evaluate")
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "evaluate")
    record = Record.load(folder)
    assert record.phases == ["texts.jsonl", "more"]
    assert {"data of texts.jsonl", "data of more", "vectors"} <= set(record.provenance)
    assert "more/db_index/all/expectation" in json.loads((folder / "metrics.json").read_text())
    report = (folder / "report.html").read_text()
    assert "Data bias of more" in report
    assert "nearest: a" in report
    assert "0.56" in report  # table 1 beside ours
    for file in folder.rglob("*"):
        if file.is_file():
            assert b"zebra" not in file.read_bytes()
            assert b"secretword" not in file.read_bytes()
    assert "secretword" not in done.stdout + done.stderr


def test_a_benchmark_of_models_measures_no_data(run, tmp_path):
    (tmp_path / "texts.txt").write_text("One.\nTwo.\n")
    done = run("dataset=texts.txt", "benchmark=[cced]", entry="evaluate")
    assert done.returncode == 1
    assert "cced measures models, not data; with dataset=, use benchmark=db_index" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "dataset= is measured without a model"),
        (["model=null", "dataset=nowhere.jsonl"], "nowhere.jsonl is not a file"),
        (["model=null", "benchmark.db_index.comparison=none.jsonl"], "none.jsonl is not a file"),
        (["model=null", "benchmark.db_index.vectors=spacy:en_none"], "the spaCy pipeline en_none is not installed"),
    ],
)
def test_bad_input_of_data_is_one_sentence(run, data, arguments, message, tmp_path):
    done = run("dataset=texts.jsonl", "model=minilm", *data, *arguments, entry="evaluate")
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "model has no value; give one, for example model=..."),
        (["model=nowhere/none"], "the weights of nowhere/none cannot be"),
        (
            ["model=minilm", "benchmark=[seaty]"],
            "benchmark=seaty: no such choice; the nearest is seat",
        ),
        (["model=[]"], "model is an empty list"),
        (
            ["model=minilm", "poling=cls"],
            "there is no key 'poling' at the top level; the nearest is pooling",
        ),
        (["model=minilm", "pooling=median"], "pooling must be mean, cls or published or null, not median"),
    ],
)
def test_bad_input_is_one_sentence(run, arguments, message, tmp_path):
    done = run(*arguments, entry="evaluate")
    assert done.returncode == 1
    assert done.stderr.startswith(f"fairlab: {message}"), done.stderr
    assert done.stderr.count("\n") == 1


def test_evaluations_are_logged_too(run, tiny_folders, tmp_path):
    write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(12)])
    command = [
        f"model={tiny_folders['bert']}",
        "max_length=32",
        "benchmark=[cced]",
        "benchmark.cced.sets=[mine.jsonl]",
        "logger=csv",
    ]
    done = run(*command, entry="evaluate")
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "evaluate")
    assert "cced/mine/gap" in (folder / "csv" / "version_0" / "metrics.csv").read_text()


def test_an_entry_point_without_loggers_says_so(run):
    done = run("paper=ccd", "logger=csv", entry="reproduce")
    assert done.returncode == 1
    assert done.stderr.strip().endswith("reproduce has no setting logger; run it with --help to see its settings")
