"""Tasks of lm-evaluation-harness: what is written, how answers are scored, and the score of our own benchmark."""

import json
import os
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import load_file
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

import fairlab
from fairlab.benchmarks import lm_eval_tasks
from fairlab.benchmarks.lm_eval_tasks import FUNCTIONS, write_lm_eval_tasks
from fairlab.types import FairlabError

LM_EVAL = os.environ.get("LM_EVAL")  # the command, of an environment of its own
ITEMS = 40


class Loader(yaml.SafeLoader):
    """YAML with the tool's tag for functions."""


Loader.add_constructor("!function", lambda loader, node: node.value)


@pytest.mark.data
@pytest.mark.parametrize("arguments", [["new/tasks"], []])
def test_tasks_name_their_data_and_functions(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["lm_eval_tasks.py", *arguments])
    (tmp_path / "lm_eval_tasks").mkdir()  # an empty folder is taken
    runpy.run_path(lm_eval_tasks.__file__, run_name="__main__")
    folder = Path(*(arguments or ["lm_eval_tasks"]))
    assert sorted(capsys.readouterr().out.split()) == sorted(map(str, folder.iterdir()))
    for task, size, choices in (("crows_pairs", 1508, 2), ("stereoset", 2106, 3)):
        content = yaml.load((folder / f"fairlab_{task}.yaml").read_text(), Loader)
        data = content["dataset_kwargs"]["data_files"]["test"]
        rows = [json.loads(line) for line in Path(data).read_text(encoding="utf-8").splitlines()]
        assert {len(row["choices"]) for row in rows} == {choices}
        assert len(rows) == size
        assert content["process_results"] == f"fairlab_tasks.{task}"
        assert "\\u" not in Path(data).read_text(encoding="utf-8")
    with pytest.raises(FairlabError, match="already exists; give a new folder"):
        write_lm_eval_tasks(folder)


def test_answers_are_scored_by_hand():
    functions = {}
    exec(FUNCTIONS, functions)
    assert functions["crows_pairs"]({}, [(-3.0, False), (-4.0, False)]) == {"pct_stereotype": 1.0}
    assert functions["crows_pairs"]({}, [(-3.0, False), (-3.0, False)]) == {"pct_stereotype": 0.0}  # a tie
    document = {"choices": ["aaaa", "bb", "cc"]}
    found = functions["stereoset"](document, [(-4.0, False), (-3.0, False), (-2.4, False)])  # -1, -1.5, -1.2 a letter
    assert found == {"ss": 1.0, "lms": 0.5}


@pytest.mark.data
@pytest.mark.slow
def test_the_tool_gives_the_score_of_our_own_benchmark(tiny_folders, tmp_path):
    if LM_EVAL is None:
        pytest.skip("LM_EVAL names no command; install lm-eval into an environment of its own")
    write_lm_eval_tasks(tmp_path / "tasks")
    model, tokenizer = tmp_path / "model", AutoTokenizer.from_pretrained(tiny_folders["gpt2"])
    torch.manual_seed(3)
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=512, n_embd=32, n_layer=2, n_head=2, **ends)
    GPT2LMHeadModel(config).save_pretrained(model)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(model)
    done = subprocess.run(
        [LM_EVAL, "--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--tasks",
         "fairlab_crows_pairs", "--include_path", tmp_path / "tasks", "--device", "cpu", "--limit", str(ITEMS),
         "--output_path", tmp_path / "out"],
        capture_output=True, text=True, timeout=300, check=False, env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (file,) = (tmp_path / "out").rglob("results_*.json")
    theirs = json.loads(file.read_text())["results"]["fairlab_crows_pairs"]["pct_stereotype,none"]
    ours = fairlab.evaluate(str(model), "crows_pairs", settings={"benchmark.crows_pairs.protocol": "nangia"})
    (items,) = (ours.record.folder / "items").rglob("crows_pairs.safetensors")
    more, less = load_file(items)["scores"][:ITEMS].T
    assert theirs == pytest.approx(np.mean(more > less))
