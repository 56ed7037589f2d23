"""The entry point end to end: a real reduced quickstart, the run contract, sweeps, and an installed wheel."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import torch

from fairlab.record import Record
from tests.conftest import write_rows
from tests.end_to_end.conftest import only_run, tiny_backbone

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_a_reduced_quickstart_on_the_real_encoder_and_real_data(run, tmp_path):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    done = run("+experiment=ccd_bert", "data.limit=120", "method.validate_every=8")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "quickstart scale: the backbone is sentence-transformers/all-MiniLM-L6-v2 with the adapters minilm_mlm, "
    )
    assert lines[1] == "trained on 120 counterfactual groups, 16 items per step"
    headlines = (
        "CCED gap, bundled sentences: ",
        "CCED gap, Winogender sentences: ",
        "SEAT mean absolute effect size, all tests: ",
        "Bias-IR distance from an even choice, all categories: ",
        "STS-B Spearman correlation, development set: ",
    )
    assert all(line.startswith(start) for line, start in zip(lines[2:], headlines, strict=False))
    assert lines[-1] == f"report: {only_run(tmp_path).relative_to(tmp_path)}/report.html"
    assert done.stderr.strip() == ""

    folder = only_run(tmp_path)
    metrics = json.loads((folder / "metrics.json").read_text())
    for phase in ("before", "after"):
        assert {f"{phase}/{key}" for key in ("cced/embedded/gap", "cced/winogender/gap", "stsb/dev/spearman")} <= set(
            metrics
        )
    # A tenth of the training data already moves both gaps without costing utility.
    for held_out in ("embedded", "winogender"):
        assert metrics[f"after/cced/{held_out}/gap"] < 0.8 * metrics[f"before/cced/{held_out}/gap"]
    assert metrics["after/stsb/dev/spearman"] > metrics["before/stsb/dev/spearman"] - 0.5

    record = Record.load(folder)
    assert record.status == "finished"
    assert not record.not_run
    assert record.provenance["data"]["train_groups"] == 120
    assert record.provenance["weights"]["sha256"].startswith("53aa51172d")
    assert 0 < record.provenance["method"]["rho"] < 2
    assert all(reading.low <= reading.value <= reading.high for reading in record.readings)

    exported = SentenceTransformer(str(folder / "model"), device="cpu")
    first, second = exported.encode(["The doctor said he was late.", "The doctor said she was late."])
    assert first @ second > 0.9
    assert AutoModel.from_pretrained(folder / "model").config.hidden_size == 384
    assert (folder / "report.html").stat().st_size < 3_000_000


def test_the_run_contract_on_a_tiny_masked_lm(run, small, tmp_path):
    done = run(*small, "augmentation=cda", "logger=wandb")
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path)
    record = Record.load(folder)
    assert record.provenance["decoder_tied_to_embeddings"] is True
    assert record.command.startswith("python -m fairlab.train +experiment=ccd_bert")
    assert record.metrics()["data/polarity/train/union_accuracy"] == 100
    steps = [row["step"] for row in record.history if "train/loss" in row]
    assert steps == list(range(1, len(steps) + 1))
    assert any("validation/cced_gap" in row for row in record.history)
    assert (folder / "wandb").is_dir()
    for name in ("report.html", "metrics.json", "checkpoints/last.ckpt", "model/model.safetensors", "model/README.md"):
        assert (folder / name).is_file(), name


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.long
def test_every_benchmark_measures_before_and_after(run, small, tmp_path):
    small = [argument for argument in small if "benchmark" not in argument]
    done = run(*small, "benchmark=[stsb,seat,bias_ir]")
    assert done.returncode == 0, done.stderr
    metrics = json.loads((only_run(tmp_path) / "metrics.json").read_text())
    for key in (
        "seat/6b/effect_size",
        "seat/average/absolute_effect_size",
        "bias_ir/career/male_ratio",
        "stsb/dev/spearman",
    ):
        assert {f"before/{key}", f"after/{key}"} <= set(metrics)


def test_arguments_of_lightnings_trainer_and_callbacks_by_their_names_work(run, small, tmp_path):
    timer = "{_target_:lightning.pytorch.callbacks.Timer,duration:{hours:1}}"
    callbacks = f"+trainer.callbacks=[{{_target_:lightning.pytorch.callbacks.LearningRateMonitor}},{timer}]"
    done = run(*small, "+trainer.max_steps=2", "+trainer.detect_anomaly=true", callbacks, "logger=csv")
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path))
    assert [row["step"] for row in record.history if "train/loss" in row][-1] == 2
    (written,) = only_run(tmp_path).glob("csv/*/metrics.csv")
    assert "lr-AdamW" in written.read_text() or "lr-Adam" in written.read_text()


@pytest.mark.slow
def test_a_sweep_runs_its_jobs_in_order_and_a_failing_one_stops_no_other(run, small, tmp_path):
    done = run("-m", *small, "method.last_layers=null,99,1")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (sweep,) = (tmp_path / "multirun" / "ccd_bert").iterdir()
    records = [Record.load(sweep / str(number)) for number in range(3)]
    assert [record.config["method"]["last_layers"] for record in records] == [None, 99, 1]
    assert [record.status for record in records] == ["finished", "failed", "finished"]
    assert records[1].reason.startswith("method.last_layers must be from 1 to ")
    assert f"1 of 3 runs failed (1: {records[1].reason})" in done.stderr
    assert "<h2>Nearest to the ideal value</h2>" in (sweep / "report.html").read_text(encoding="utf-8")
    assert "hydra.mode=RUN" in records[0].command


@pytest.mark.slow
def test_help_answers_without_the_libraries_that_take_seconds_to_import():
    """What makes it answer in under two seconds on a quiet machine; a limit of time would judge the machine."""
    program = (
        "import atexit, runpy, sys\n"
        "heavy = {'torch', 'transformers', 'lightning', 'datasets', 'sklearn', 'scipy', 'spacy', 'pandas'}\n"
        "atexit.register(lambda: print('imported:', sorted(heavy & set(sys.modules))))\n"
        "sys.argv = ['fairlab.train', '--help']\n"
        "runpy.run_module('fairlab.train', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "imported: []" in done.stdout
    assert "+experiment=ccd_bert" in done.stdout
    assert "backbone/paper: bert, " in done.stdout


def test_the_configuration_is_printed(run):
    done = run("+experiment=ccd_bert", "scale=paper", "--cfg", "job")
    assert done.returncode == 0
    assert "name: google-bert/bert-large-uncased" in done.stdout
    assert "rho: variance" in done.stdout


@pytest.mark.slow
@pytest.mark.long
def test_an_installed_wheel_works_from_an_empty_folder(tmp_path):
    """The wheel carries conf/ and the embedded data; its environment borrows this one's packages."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
    )
    (wheel,) = tmp_path.glob("fairlab-*.whl")
    venv.create(tmp_path / "venv")
    into = ["--python", str(tmp_path / "venv"), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *into], check=True)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    assert list((tmp_path / "venv").rglob("site-packages/fairlab/py.typed"))
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [
            str(tmp_path / "venv" / "bin" / "fairlab"),
            "train",
            "+experiment=ccd_bert",
            "data.limit=8",
            "benchmark=[cced]",
            "benchmark.cced.sets=[embedded]",
        ],
        cwd=empty,
        env=os.environ | {"PYTHONPATH": packages},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Record.load(only_run(empty)).provenance["revision"] == ""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_run(run, small, tmp_path):
    assert run(*small, "trainer=gpu").returncode == 0
    assert Record.load(only_run(tmp_path)).provenance["hardware"]["gpus"]


@pytest.mark.slow
def test_masked_language_model_training_on_a_tiny_encoder(run, tiny_folders, tmp_path):
    from transformers import AutoModelForMaskedLM

    text = "\n\n".join(f"The boat number {k} left the river. A letter lay beside it." for k in range(40))
    (tmp_path / "corpus.txt").write_text(text)
    done = run(
        "+experiment=minilm_mlm",
        *tiny_backbone(tiny_folders["bert"]),
        f"data.paths=[{tmp_path / 'corpus.txt'}]",
        "data.batch_size=8",
        "data.validation=0.2",
        "method.validate_every=3",
        "benchmark.stsb.path=nowhere",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
    folder = only_run(tmp_path, "minilm_mlm")
    record = Record.load(folder)
    assert record.status == "finished"
    assert record.provenance["decoder_tied_to_embeddings"] is True
    assert record.provenance["data"]["files"].keys() == {"corpus.txt"}
    assert {"validation/perplexity", "validation/accuracy"} <= set(record.history[-1])
    model, loading = AutoModelForMaskedLM.from_pretrained(folder / "model", output_loading_info=True)
    assert not loading["missing_keys"]
    assert (folder / "adapters.safetensors").stat().st_size < 200_000 < sum(p.numel() for p in model.parameters())
    assert "texts (`" in (folder / "model" / "README.md").read_text()


@pytest.mark.slow
def test_methods_sweep_over_the_same_groups(run, small, tiny_folders, tmp_path):
    roberta = f"backbone.name={tiny_folders['roberta_mlm']}"
    done = run("-m", *small, roberta, "method=dpce,sentence_debias")
    assert done.returncode == 0, done.stderr
    (sweep,) = (tmp_path / "multirun" / "ccd_bert").iterdir()
    records = [Record.load(sweep / str(number)) for number in range(2)]
    assert {record.status for record in records} == {"finished"}
    assert not any(note.text.startswith("the trained weights equal") for record in records for note in record.notes)
    assert [bool(record.history) for record in records] == [True, False]
    projected = [(record.folder / "model" / "2_Dense" / "model.safetensors").is_file() for record in records]
    assert projected == [False, True]

    folder = records[1].folder  # what is measured of the exported model is what was measured of the one in memory
    sets = next(argument for argument in small if argument.startswith("benchmark.cced.sets"))
    done = run(f"model={folder}", "benchmark=[cced]", sets, entry="evaluate")
    assert done.returncode == 0, done.stderr
    measured = json.loads((only_run(tmp_path, "evaluate") / "metrics.json").read_text())["cced/groups/gap"]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert measured == pytest.approx(metrics["after/cced/groups/gap"], rel=1e-4)
    assert measured != pytest.approx(metrics["before/cced/groups/gap"], rel=1e-4)


@pytest.mark.slow
@pytest.mark.long
def test_training_on_an_axis_of_ones_own_is_measured_on_it_and_said(run, small, tmp_path):
    """Disability groups, measured by sets of gender and on the training file itself."""
    versions = ["a deaf person saw the boat", "a blind person saw the boat", "a person saw the boat"]
    rows = [
        {
            "id": f"d{k}",
            "axis": "disability",
            "versions": {n: f"{t} {k}" for n, t in zip(("x", "y", "neutral"), versions, strict=False)},
        }
        for k in range(40)
    ]
    write_rows(tmp_path / "own.jsonl", rows)
    arguments = [argument for argument in small if "data.path" not in argument and "sets" not in argument]
    done = run(*arguments, "data.path=own.jsonl", "benchmark.cced.sets=[embedded]")
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path))
    after = {r.subset: r for r in record.readings if (r.phase, r.quantity) == ("after", "gap")}
    assert set(after) == {"embedded", "held_out_disability"}
    assert record.marks(after["embedded"]) == ["another axis"]
    assert record.marks(after["held_out_disability"]) == []
    assert "it measures the axis gender, while the training data are of disability" in done.stdout

    record.history = [{"step": k, "train/loss": 1.1e-5} for k in range(40)]
    record.save()
    model = str(only_run(tmp_path))
    done = run(f"model={model}", "benchmark=[cced]", "benchmark.cced.sets=[own.jsonl]", entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert "108 of 120 texts of this benchmark were also trained on" in done.stdout
    assert "CCED gap" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[0].endswith("(did not train; measured on training texts)")


def test_a_smoke_run_takes_two_steps_and_says_that_its_numbers_mean_nothing(run, small, tmp_path):
    done = run(*small, "+debug=smoke")
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path))
    assert sum("train/loss" in row for row in record.history) == 2
    assert {reading.n for reading in record.readings if reading.benchmark == "cced"} == {8}
    said = "+debug=smoke shortened this run to check that it works; do not use its numbers as results"
    assert [note.text for note in record.notes if note.benchmark == "smoke"] == [said]
    assert said in done.stdout
    assert said in (only_run(tmp_path) / "report.html").read_text()
