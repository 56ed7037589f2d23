"""Bad input at the command line: one sentence, exit code 1, no traceback, a record that says why."""

import json
import resource
import subprocess
import time

import pytest

from fairlab.record import Record
from tests.end_to_end.conftest import only_run

CASES = {
    "a wrong choice": (
        ["backbone=bort"],
        "backbone=bort: no such choice; there are: bert_base, bert_large, distilbert",
    ),
    "a wrong experiment": (
        ["+experiment=cdd"],
        "experiment=cdd: no such choice; there are: adept_sentences_bert, biaser_llm, ccd_aligned_bert",
    ),
    "an experiment without a plus": (["experiment=ccd_bert"], "add the experiment with a plus: +experiment=NAME"),
    "a misspelled key": (
        ["method.betta=1"],
        "there is no key 'betta' in 'method'; the nearest is beta; there are: _target_, alignment",
    ),
    "a misspelled group": (
        ["backbne=minilm"],
        "there is no key 'backbne' at the top level; the nearest is backbone; there are: attributes, a",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_configuration_that_cannot_be(run, tmp_path, case):
    arguments, message = CASES[case]
    done = run(*arguments)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"fairlab: {message}")


def rejected(run, tmp_path, arguments, message):
    done = run(*arguments)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert message in line
    record = Record.load(only_run(tmp_path))
    assert record.status == "failed"
    assert message in record.reason
    assert not (only_run(tmp_path) / "model").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["data.path=none.jsonl"], "none.jsonl is not a file"),
        (["data.path='???'"], "data.path has no value; give one"),
        (["trainer.checkpoint_every=0"], "trainer.checkpoint_every must be a whole number of at least 1, not 0"),
        (["+method.gamma=1"], "there is no setting 'gamma' for CCD; there are: beta, rho, neutral, others, alignment"),
        (["trainer=gpu"], "use trainer=cpu"),
    ],
    ids=["data", "no path", "checkpoint_every", "setting", "gpu"],
)
def test_a_run_that_cannot_start_says_so_and_leaves_a_record(run, small, tmp_path, changes, message):
    import torch

    if changes == ["trainer=gpu"] and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    rejected(run, tmp_path, [*small, *changes], message)


def test_a_hub_model_offline_is_said_within_seconds(run, tmp_path):
    started = time.perf_counter()
    rejected(
        run,
        tmp_path,
        ["+experiment=ccd_bert", "backbone=paper/bert"],
        "this command works offline: python -m fairlab.train +experiment=ccd_bert backbone=minilm",
    )
    assert time.perf_counter() - started < 10  # a loaded machine starting Python included


def test_a_folder_that_holds_a_run_is_not_written_over(run, small, tmp_path):
    arguments = [*small, f"hydra.run.dir={tmp_path}/here"]
    assert run(*arguments).returncode == 0
    before = (tmp_path / "here" / "record.json").read_text()
    done = run(*arguments)
    assert done.returncode == 1
    assert "already holds a run; choose another hydra.run.dir, or continue it with ckpt=" in done.stderr
    assert (tmp_path / "here" / "record.json").read_text() == before


@pytest.mark.slow
def test_a_run_that_was_refused_leaves_its_folder_to_the_same_command(run, small, tmp_path):
    rows = tmp_path / "later.jsonl"
    arguments = [*small, f"data.path={rows}", "hydra.run.dir=here", "+method.gamma=1"]
    refused = run(*arguments)
    assert "there is no setting 'gamma'" in refused.stderr
    refused = run(*arguments[:-1])
    assert "later.jsonl is not a file" in refused.stderr
    assert Record.load(tmp_path / "here").status == "failed"
    rows.write_text((tmp_path / "groups.jsonl").read_text())
    done = run(*arguments[:-1])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("quickstart scale: the backbone is ")
    assert Record.load(tmp_path / "here").status == "finished"


@pytest.mark.parametrize("limit", [4_000_000, 14_000], ids=["checkpoint", "items"])
def test_a_full_disk(small, warm_python, tmp_path, limit):
    """Files may not grow over a limit: 4 MB is too little for a checkpoint, 14 kB for embeddings of forty."""
    done = subprocess.run(
        [warm_python, "-m", "fairlab.train", *small, f"benchmark.cced.sets=[{tmp_path}/groups.jsonl]"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("fairlab: no space left to write")
    folder = only_run(tmp_path)
    assert json.loads((folder / "record.json").read_text())["status"] == "failed"
    written = {path.name for path in folder.rglob("*") if path.is_file()}
    assert not {name for name in written if name.endswith((".ckpt", ".new"))}
    assert ("cced.safetensors" in written) == (limit > 1_000_000)
