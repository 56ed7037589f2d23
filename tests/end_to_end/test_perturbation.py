"""``+experiment=perturber`` and ``+experiment=fairberta`` on tiny models, at both scales, killed and continued."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM

from fairlab.record import Record
from tests.conftest import WORDS, write_rows
from tests.end_to_end.conftest import kill, only_run, wait_for

FIELDS = ("original", "selected_word", "target_attribute", "perturbed")


@pytest.fixture
def pairs(tmp_path):
    rows = [(f"He saw the {WORDS[k % 11]} {k}.", "He", "woman", f"She saw the {WORDS[k % 11]} {k}.") for k in range(40)]
    return write_rows(tmp_path / "pairs.jsonl", [dict(zip(FIELDS, row, strict=True)) for row in rows])


@pytest.fixture
def text(tmp_path):
    lines = [f"The woman saw the {WORDS[k % 11]} {k}. He left the {WORDS[(5 * k) % 11]} there." for k in range(60)]
    (tmp_path / "text.txt").write_text("\n\n".join(lines), encoding="utf-8")
    return tmp_path / "text.txt"


@pytest.mark.slow
def test_a_perturber_at_paper_scale_takes_two_steps_and_loads(run, tmp_path, tiny_bart, pairs):
    done = run(
        "+experiment=perturber",
        "scale=paper",
        f"backbone.name={tiny_bart}",
        "backbone.max_length=64",
        f"data.path={pairs}",
        "data.batch_size=15",
        "method.epochs=1",
        "trainer.accelerator=cpu",
    )
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "perturber")
    record = Record.load(folder)
    assert len([row for row in record.history if "train/loss" in row]) == 2
    assert "after/perturber/perturber/bleu" in record.metrics()
    assert "not trained as a perturber" in record.not_run[0].reason
    assert not any(key.startswith("before/") for key in record.metrics())
    model = AutoModelForSeq2SeqLM.from_pretrained(folder / "model")
    assert model.config.perturber_format == "paper"
    again = run(
        f"model={folder}",
        "benchmark=perturber",
        f"benchmark.perturber.test_of={pairs}",
        "benchmark.perturber.test=0.1",
        entry="evaluate",
    )
    assert again.returncode == 0, again.stderr
    found = Record.load(next((tmp_path / "outputs").glob("evaluate*/*"))).metrics()
    assert found["perturber/perturber/bleu"] == record.metrics()["after/perturber/perturber/bleu"]


def small(tiny_folders, text, **values):
    name = values.pop("model", "bert_mlm")
    settings = {
        "backbone.name": tiny_folders[name],
        "backbone.max_length": 32,
        "data.paths": f"[{text}]",
        "data.batch_size": 4,
        "data.passage": 24,
        "data.validation": 0.2,
        "benchmark": "perplexity",
        "benchmark.perplexity.path": text,
        "benchmark.perplexity.lines": 4,
        "trainer.accelerator": "cpu",
    } | values
    return ["+experiment=fairberta", *(f"{key}={value}" for key, value in settings.items())]


@pytest.mark.slow
def test_fairberta_at_paper_scale_takes_two_steps_on_a_fresh_roberta(run, tmp_path, tiny_folders, text):
    values = {
        "data.block": 16,
        "method.steps": 2,
        "data.batch_size": 8,
        "trainer.device_batch_size": 4,
        "model": "roberta_mlm",
    }
    done = run("scale=paper", *small(tiny_folders, text, **values))
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path, "fairberta"))
    assert max(row["step"] for row in record.history) == 2
    assert record.provenance["data"]["passages_changed"] > 0
    fresh = load_file(only_run(tmp_path, "fairberta") / "model" / "model.safetensors")
    old = load_file(tiny_folders["roberta_mlm"] / "model.safetensors")
    name = "roberta.encoder.layer.0.attention.self.query.weight"
    assert (fresh[name] - old[name]).abs().max() > 0.01  # two steps of a rate that has hardly risen move them less


@pytest.mark.slow
@pytest.mark.long
def test_kill_9_in_mid_epoch_and_ckpt_last_give_the_same_model(run, start, tmp_path, tiny_folders, text):
    long = {"method.epochs": 15, "method.validate_every": 20, "trainer.checkpoint_every": 5, "backbone": "bert_base"}
    arguments = small(tiny_folders, text, **long, **{"backbone.max_length": 32, "data.block": 16})
    assert run(*arguments, f"hydra.run.dir={tmp_path}/whole").returncode == 0
    process = start(*arguments)
    wait_for(lambda: list((tmp_path / "outputs").glob("fairberta/*/checkpoints/last.ckpt")), process)
    kill(process)
    folder = only_run(tmp_path, "fairberta")
    assert not (folder / "model").exists()
    done = run(*arguments, "ckpt=last")
    assert done.returncode == 0, done.stderr
    whole, resumed = Record.load(tmp_path / "whole"), Record.load(folder)
    assert resumed.history == whole.history
    expected = load_file(tmp_path / "whole" / "model" / "model.safetensors")
    found = load_file(folder / "model" / "model.safetensors")
    assert all(torch.equal(found[name], expected[name]) for name in expected)
