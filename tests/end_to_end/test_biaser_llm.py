"""Four causal LMs by one command on a tiny random Llama: tuned, measured, compared; killed and gone on with."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

import fairlab
from fairlab.data.published.stereoset import LABELS
from fairlab.record import Record
from fairlab.reporting.many_runs.mb_index import NORMALISED, add_normalised
from tests.conftest import WORDS
from tests.end_to_end.conftest import kill, tiny_backbone, wait_for


def sentence(k):
    return f"the {WORDS[k % 11]} saw he and she by the {WORDS[(3 * k) % 11]} of number {k}"


def contexts(count):
    """Examples of StereoSet's intersentence task."""
    for k in range(count):
        candidates = [
            {"sentence": f"{WORDS[(k + j) % 11]} saw {j}", "gold_label": name} for j, name in enumerate(LABELS)
        ]
        yield {
            "id": str(k),
            "bias_type": "gender",
            "target": WORDS[k % 3],
            "context": sentence(k),
            "sentences": candidates,
        }


@pytest.fixture
def arguments(tmp_path, tiny_folders):
    (tmp_path / "reports.txt").write_text("\n\n".join(map(sentence, range(60))))
    (tmp_path / "stereoset.json").write_text(json.dumps({"data": {"intersentence": list(contexts(12))}}))
    return [
        "+experiment=biaser_llm",
        "augmentation=cda_text",
        *tiny_backbone(tiny_folders["llama"]),
        "backbone.max_length=64",
        "data.path=reports.txt",
        "data.expandable=false",  # which cda_text cannot tell
        "data.validation=5",
        "data.block=64",
        "data.batch_size=1",
        "method.rank=2",
        "benchmark.mb_index.stereoset=stereoset.json",
        "benchmark.mb_index.limit=6",
        "benchmark.mb_index.stride=32",
        "trainer=cpu",
    ]


@pytest.mark.slow
@pytest.mark.long
def test_one_command_tunes_measures_and_compares_four_models(run, arguments, tmp_path):
    done = run(*arguments, "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stderr
    records = [Record.load(tmp_path / "sweep" / str(k)) for k in range(4)]
    assert [record.status for record in records] == ["finished"] * 4
    assert [record.phases for record in records] == [["after"]] * 4
    asked = [(record.config["data"]["augmented"], record.config["data"]["sample"]) for record in records]
    assert asked == [(False, 10), (False, 50), (True, 10), (True, 50)]
    entries = [record.provenance["data"]["train_entries"] for record in records]
    assert entries == [20, 55, 20, 100]  # each entry and its counterpart; only 55 originals are not held out

    values = [{reading.key: reading.value for reading in record.readings} for record in records]
    for of_run, n in zip(values, entries, strict=True):
        expected = of_run["after/mb_index/reference/perplexity"]
        expected *= of_run["after/mb_index/continuations/stereotype_score"] / n
        assert of_run["after/mb_index/all/mb_index"] == pytest.approx(expected)
    changes = fairlab.compare(tmp_path / "sweep" / "0", tmp_path / "sweep" / "2")
    (change,) = (one for one in changes.comparisons if one.quantity == "mb_index")
    assert change.difference == pytest.approx(
        values[2]["after/mb_index/all/mb_index"] - values[0]["after/mb_index/all/mb_index"]
    )
    assert change.low < change.high
    add_normalised(records)
    scaled = [record.reading(f"after/{NORMALISED}").value for record in records]
    assert (min(scaled), max(scaled)) == (0, 1)
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "sweep" / "3" / "model")
    kept = [(tmp_path / "sweep" / "1" / f"{name}.jsonl").read_text().splitlines() for name in ("sample", "expansion")]
    assert list(map(len, kept)) == [50, 100]

    models = ",".join(f"{name}: sweep/{k}" for k, name in enumerate("ABCD"))
    again = run(
        f"model={{{models}}}",
        "benchmark=[mb_index]",
        *[argument for argument in arguments if argument.startswith("benchmark.")],
        "benchmark.mb_index.path=reports.txt",
        "hydra.run.dir=evaluated",
        entry="evaluate",
    )
    assert again.returncode == 0, again.stderr
    measured = Record.load(tmp_path / "evaluated").metrics()
    for name, of_run in zip("ABCD", values, strict=True):
        key = "mb_index/all/mb_index"
        assert measured[f"{name}/{key}"] == pytest.approx(of_run[f"after/{key}"], rel=1e-4)


@pytest.mark.slow
@pytest.mark.long
def test_kill_9_and_ckpt_give_the_same_weights(run, start, arguments, tmp_path):
    one = [
        *arguments,
        "hydra.mode=RUN",
        "data.augmented=true",
        "method.epochs=30",
        "method.validate_every=10",
        "trainer.checkpoint_every=10",
    ]
    assert run(*one, "hydra.run.dir=whole").returncode == 0
    process = start(*one, "hydra.run.dir=killed")
    last = tmp_path / "killed" / "checkpoints" / "last.ckpt"
    wait_for(last.exists, process)
    kill(process)
    kept = torch.load(last, weights_only=True)["state_dict"]
    assert all(".lora_" in name for name in kept)
    assert not (tmp_path / "killed" / "model").exists()
    done = run(*one, "ckpt=killed")
    assert done.returncode == 0, done.stderr
    whole, resumed = Record.load(tmp_path / "whole"), Record.load(tmp_path / "killed")
    assert resumed.history == whole.history
    assert resumed.metrics() == whole.metrics()
    expected, found = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "killed"))
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    untrained = load_file(os.path.join(whole.config["backbone"]["name"], "model.safetensors"))
    assert any(not torch.equal(found[name], untrained[name]) for name in found)
