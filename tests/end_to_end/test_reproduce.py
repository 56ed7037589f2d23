"""The reproduction driver end to end: runs what is missing, resumes, writes tables."""

import csv
import json
import re
from pathlib import Path

import pytest
import yaml

from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import read_matrix
from fairlab.run.launch.matrix_jobs import command_of, jobs_of

OUTPUT = "outputs/reproduce/mini/quickstart"
MATRIX = "experiments/mini/matrix.yaml"


@pytest.fixture
def matrix(small, tmp_path):
    """A paper of one run on a tiny model, and a row that cannot be had."""
    content = {
        "published": "ccd",
        "seeds": [1, 2],
        "options": {"quickstart": ["method.epochs=1"]},
        "runs": {"ccd": {"quickstart": small}, "gpt": {"quickstart": "the authors' groups are not public"}},
        "tables": {
            6: {
                "published": "table_6",
                "columns": {"BERT-large": "cced/groups/gap"},
                "rows": {"no debiasing": {"run": "ccd", "phase": "before"}, "CCD-CDA": "ccd", "CCD-GPT": "gpt"},
            }
        },
    }
    file = tmp_path / "experiments" / "mini" / "matrix.yaml"
    file.parent.mkdir(parents=True)

    def write(**changes):
        file.write_text(yaml.safe_dump(content | changes))

    write()
    return write


def numbered(printed):
    """The lines of the runs in their order."""
    return [line for line in printed.splitlines() if re.match(r"\d+/\d+ ", line)]


@pytest.mark.slow
def test_it_runs_what_is_missing_once_and_writes_tables(run, matrix, small, tmp_path):
    listed = run("paper=mini", "dry_run=true", entry="reproduce")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith("Plan: paper=mini scale=quickstart, 2 runs: 2 missing\n")
    assert not (tmp_path / "outputs").exists()

    first = run("paper=mini", "seeds=1", entry="reproduce")
    assert first.returncode == 0, first.stderr
    record = Record.load(tmp_path / OUTPUT / "runs" / "ccd" / "seed_1")
    cells = json.loads((tmp_path / OUTPUT / "table_6.json").read_text())
    values = {reading.key: reading.value for reading in record.readings}
    assert cells["no debiasing"]["cced/groups/gap"]["value"] == values["before/cced/groups/gap"]
    assert cells["CCD-CDA"]["cced/groups/gap"]["value"] == values["after/cced/groups/gap"]
    assert cells["CCD-CDA"]["cced/groups/gap"]["published"] == 0.081
    assert cells["CCD-GPT"]["cced/groups/gap"]["verdict"] == "not reproducible"
    page = (tmp_path / OUTPUT / "table_6.md").read_text()
    assert "CCD-GPT: not reproducible: the authors' groups are not public" in page
    assert "at quickstart scale, seeds 1" in page
    with (tmp_path / OUTPUT / "readings.csv").open() as file:
        (gap,) = [
            float(row["value"])
            for row in csv.DictReader(file)
            if [row[part] for part in ("phase", "benchmark", "subset", "quantity")]
            == ["after", "cced", "groups", "gap"]
        ]
    assert gap == pytest.approx(values["after/cced/groups/gap"])
    assert (tmp_path / OUTPUT / "methods.tex").is_file()

    again = run("paper=mini", "seeds=1", entry="reproduce")
    assert again.stdout.startswith("1/1 ccd seed 1: finished")

    matrix(options={"quickstart": ["method.epochs=2"]})
    changed = run("paper=mini", "seeds=1", entry="reproduce")
    assert changed.returncode == 1
    assert "which is not the command in the matrix; move it away" in changed.stderr


@pytest.mark.slow
@pytest.mark.long
def test_runs_of_one_backbone_take_the_readings_before_from_the_first(run, matrix, small, tmp_path):
    beta = {"quickstart": [*small, "method.beta=2"]}
    rows = {"no debiasing": {"run": "ccd", "phase": "before"}, "CCD-CDA": "ccd", "CCD-GPT": "beta"}
    table = {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}, "rows": rows}
    table["against"] = "method.beta"
    matrix(runs={"ccd": {"quickstart": small}, "beta": beta}, tables={6: table}, before={"quickstart": "ccd"})
    done = run("paper=mini", "seeds=2", entry="reproduce")
    assert done.returncode == 0, done.stderr
    first = Record.load(tmp_path / OUTPUT / "runs" / "ccd" / "seed_1")
    for name, seed in (("ccd", 2), ("beta", 1), ("beta", 2)):
        other = Record.load(tmp_path / OUTPUT / "runs" / name / f"seed_{seed}")
        assert other.provenance["before_taken_from"]["folder"] == f"{OUTPUT}/runs/ccd/seed_1"
        before = {reading.key: reading.value for reading in other.readings if reading.phase == "before"}
        assert before == {reading.key: reading.value for reading in first.readings if reading.phase == "before"}
        assert {change.key for change in other.comparisons} == {change.key for change in first.comparisons}
    page = (tmp_path / OUTPUT / "report.html").read_text()
    assert ">method.beta</text>" in page  # the readings against beta
    assert page.count('class="panel-title">before') == 2  # a map of embeddings for each method
    again = run("paper=mini", "seeds=2", entry="reproduce")
    assert [line.rsplit(": ", 1)[1] for line in again.stdout.splitlines()[:4]] == ["finished"] * 4


@pytest.mark.slow
def test_a_matrix_of_no_paper_takes_readings_over_from_the_run_that_it_names(run, matrix, small, tmp_path):
    runs = {"first": {"quickstart": small}, "second": {"quickstart": [*small, "before=runs/first", "method.beta=2"]}}
    rows = {"before": {"run": "first", "phase": "before"}, "CCD": "second", "CDA": {"reason": "no head to train"}}
    table = {"title": "a model", "columns": ["cced/groups/gap"], "rows": rows}
    content = {"seeds": [1], "options": {}, "runs": runs, "tables": {"model": table}}
    (tmp_path / "experiments" / "mini" / "matrix.yaml").write_text(yaml.safe_dump(content))
    listed = run("paper=mini", "dry_run=true", entry="reproduce")
    assert ", 2 runs: 2 missing\n" in listed.stdout
    done = run("paper=mini", entry="reproduce")
    assert done.returncode == 0, done.stderr
    first, second = (Record.load(tmp_path / OUTPUT / "runs" / name / "seed_1") for name in runs)
    assert second.provenance["before_taken_from"]["folder"] == f"{OUTPUT}/runs/first/seed_1"
    before = {reading.key: reading.value for reading in second.readings if reading.phase == "before"}
    assert before == {reading.key: reading.value for reading in first.readings if reading.phase == "before"}
    page = (tmp_path / OUTPUT / "report.html").read_text()
    assert "No printed number can be compared with ours." in page
    assert "reproduced" not in page
    again = run("paper=mini", entry="reproduce")
    assert [line.rsplit(": ", 1)[1] for line in numbered(again.stdout)] == ["finished"] * 2
    at_paper_scale = run("paper=mini", "scale=paper", "dry_run=true", entry="reproduce")
    assert "first, second: the matrix has no run at paper scale" in at_paper_scale.stdout


def test_a_run_starts_from_another(matrix, small, tmp_path):
    on_first = ["+experiment=ccd_bert", "backbone=bert_base", "backbone.name=runs/ccd/model", "method.epochs=1"]
    table = {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}, "rows": {"CCD-CDA": "second"}}
    matrix(runs={"ccd": {"quickstart": small}, "second": {"quickstart": on_first}}, tables={6: table})
    read = read_matrix(tmp_path / MATRIX, "quickstart")
    assert jobs_of(["second"], read) == [("ccd", 1), ("second", 1), ("second", 2)]
    for seed in (1, 2):
        assert f"backbone.name={OUTPUT}/runs/ccd/seed_1/model" in command_of("second", seed, read, Path(OUTPUT))


def test_an_evaluation_measures_what_runs_of_its_own_seed_left(matrix, small, tmp_path):
    data = {"entry": "evaluate", "quickstart": ["dataset={a:runs/ccd/x.jsonl}"], "options": False}
    row = {"run": "data", "phase": "a"}
    table = {"title": "t", "columns": ["db_index/all/expectation"], "rows": {"A": row}}
    matrix(runs={"ccd": {"quickstart": small}, "data": data}, tables={1: table})
    read = read_matrix(tmp_path / MATRIX, "quickstart")
    assert jobs_of(["data"], read) == [("ccd", 1), ("data", 1), ("ccd", 2), ("data", 2)]
    for seed in (1, 2):
        place = f"{OUTPUT}/runs/ccd/seed_{seed}/x.jsonl"
        folder = f"hydra.run.dir={OUTPUT}/runs/data/seed_{seed}"
        expected = ["-m", "fairlab.evaluate", f"dataset={{a:{place}}}", f"seed={seed}", folder]
        assert command_of("data", seed, read, Path(OUTPUT))[1:] == expected


@pytest.mark.slow
def test_data_is_made_once_before_the_runs_that_train_on_it(run, matrix, small, tmp_path):
    texts = [f"He saw his father and mother {k} times." for k in range(40)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    on_made = [*(part for part in small if not part.startswith("data.path")), "data.path=made/swapped"]
    making = ["+augmentation=cda", "input=texts.jsonl"]
    matrix(runs={"ccd": {"quickstart": on_made}, "gpt": {"quickstart": "none"}}, made={"swapped": making})
    listed = run("paper=mini", "seeds=1", "dry_run=true", entry="reproduce")
    assert f"fairlab.augment +augmentation=cda input=texts.jsonl output={OUTPUT}/made/swapped" in listed.stdout
    done = run("paper=mini", "seeds=2", entry="reproduce")
    assert done.returncode == 0, done.stderr
    for seed in (1, 2):
        record = Record.load(tmp_path / OUTPUT / "runs" / "ccd" / f"seed_{seed}")
        assert record.config["data"]["path"] == f"{OUTPUT}/made/swapped"
    assert "<h2>CCD paper, table 6: CCED gap</h2>" in (tmp_path / OUTPUT / "report.html").read_text()


@pytest.mark.slow
def test_readings_before_are_not_taken_from_another_model_or_benchmark(run, small, tmp_path):
    assert run(*small, "hydra.run.dir=first").returncode == 0
    same = run(*small, "method.beta=2", "before=first", "hydra.run.dir=same")
    assert same.returncode == 0, same.stderr
    for changed, message in (
        (["benchmark.cced.sets=[embedded/people]"], "before=first has a different benchmark; leave before out"),
        (["backbone.max_length=16"], "before=first has a different backbone; leave before out"),
    ):
        done = run(*small, *changed, "before=first")
        assert done.returncode == 1
        assert message in done.stderr
    missing = run(*small, "before=nowhere")
    assert "before=nowhere holds no run with its items" in missing.stderr


@pytest.mark.slow
def test_a_run_that_fails_leaves_its_cells_empty(run, matrix, small, tmp_path):
    matrix(options={"quickstart": ["method.epochs=0"]})
    done = run("paper=mini", "seeds=1", entry="reproduce")
    assert done.returncode == 1
    assert "ccd seed 1 failed: method.epochs" in done.stderr
    assert "1 of 1 runs failed (ccd seed 1); run the same" in done.stderr
    cells = json.loads((tmp_path / OUTPUT / "table_6.json").read_text())
    assert cells["CCD-CDA"]["cced/groups/gap"]["value"] is None
    assert "Embeddings" not in (tmp_path / OUTPUT / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "paper has no value"),
        (["paper=none"], "there is no experiments/none/matrix.yaml; papers with a matrix: mini"),
        (["paper=mini", "table=9"], "mini has no table 9 in its matrix; it has: 6"),
        (["paper=mini", "seeds=3"], "seeds must be in 1..2, not 3"),
    ],
)
def test_bad_input_ends_in_one_sentence(run, matrix, arguments, message):
    done = run(*arguments, entry="reproduce")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_in_a_circle_are_one_sentence(run, matrix, small):
    first = [*small, "backbone.name=runs/second/model"]
    second = [*small, "backbone.name=runs/ccd/model"]
    matrix(runs={"ccd": {"quickstart": first}, "second": {"quickstart": second}, "gpt": {"quickstart": "none"}})
    done = run("paper=mini", "dry_run=true", entry="reproduce")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "fairlab: the runs of mini depend on each other in a circle: ccd > second > ccd; "
        "let one of them start from no other"
    )


def test_a_run_that_needs_a_failed_one_is_not_run(run, matrix, small):
    second = [*small, "backbone.name=runs/ccd/model"]
    table = {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}, "rows": {"CCD-CDA": "second"}}
    runs = {"ccd": {"quickstart": [*small, "method.epochs=0"]}, "second": {"quickstart": second}}
    matrix(runs=runs, tables={6: table}, options={"quickstart": []})
    done = run("paper=mini", "seeds=1", entry="reproduce")
    assert done.returncode == 1
    assert "second seed 1 failed: it needs ccd seed 1, which failed" in done.stderr


@pytest.mark.parametrize(
    "launcher",
    [
        pytest.param(["launcher=joblib", "launcher.n_jobs=2"], marks=pytest.mark.slow),
        pytest.param(["launcher=submitit_local", "launcher.n_jobs=2"], marks=pytest.mark.slow),
        pytest.param(["launcher=ray"], marks=pytest.mark.slow),
    ],
)
def test_a_launcher_does_several_runs_at_a_time_each_after_what_it_needs(run, matrix, small, tmp_path, launcher):
    package = {"launcher=submitit_local": "submitit", "launcher=ray": "ray"}.get(launcher[0])
    pytest.importorskip(package) if package else None
    texts = [f"He saw his father and mother {k} times." for k in range(40)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    on_made = [*(part for part in small if not part.startswith("data.path")), "data.path=made/swapped"]
    table = {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}}
    table["rows"] = {"no debiasing": {"run": "ccd", "phase": "before"}, "CCD-CDA": "other"}
    matrix(
        runs={"ccd": {"quickstart": small}, "other": {"quickstart": on_made}},
        made={"swapped": ["+augmentation=cda", "input=texts.jsonl"]},
        tables={6: table},
        before={"quickstart": "ccd"},
    )
    done = run("paper=mini", *launcher, entry="reproduce")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(": ")[1] for line in numbered(done.stdout)] == ["missing"] * 4
    ended = [line.removesuffix(" is done") for line in lines if line.endswith(" is done")]
    assert sorted(ended) == ["ccd seed 1", "ccd seed 2", "data swapped", "other seed 1", "other seed 2"]
    assert ended.index("ccd seed 1") < ended.index("other seed 1")
    folder = tmp_path / OUTPUT / "runs"
    for name, seed in (("ccd", 2), ("other", 1), ("other", 2)):
        record = Record.load(folder / name / f"seed_{seed}")
        assert record.provenance["before_taken_from"]["folder"] == f"{OUTPUT}/runs/ccd/seed_1"
    assert "report: " in (folder / "ccd" / "logs" / "seed_2.txt").read_text()
    again = run("paper=mini", *launcher, entry="reproduce")
    assert [line.split(": ")[1] for line in numbered(again.stdout)] == ["finished"] * 4
    assert "is done" not in again.stdout


def test_a_dry_run_of_a_training_plans_it_and_writes_nothing(run, small, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    done = run(*small, "dry_run=true")
    assert done.returncode == 0, done.stderr
    assert "    model           " in done.stdout
    assert "All together" not in done.stdout  # the sum of one run is the run
    assert "NVIDIA A100 " in done.stdout
    assert sorted(tmp_path.rglob("*")) == before
    swept = run("-m", *small, "dry_run=true")
    assert (swept.returncode, swept.stderr) == (1, "fairlab: dry_run=true plans one run; leave out -m\n")


def test_overrides_go_to_every_training(run, matrix):
    listed = run("paper=mini", "dry_run=true", "overrides=['trainer=cpu']", entry="reproduce")
    commands = [line for line in listed.stdout.splitlines() if line.startswith("    python")]
    assert len(commands) == 1
    assert " trainer=cpu seed=1 " in commands[0]
