"""Checkpoints in shards: resumed by another number of processes, and damaged."""

import json

import lightning
import pytest
from transformers import AutoTokenizer

from fairlab.backbones.loading import find_weights
from fairlab.distributed import rank, ranks
from fairlab.run.checkpoints import Checkpoints, newest_intact, replace_last
from fairlab.run.history import History
from fairlab.run.launch.processes import run_in_processes
from fairlab.run.launch.sharded import Sharded
from tests.conftest import MINILM
from tests.run.launch import test_processes as processes
from tests.test_faults import cut_short, flip_a_bit

CASES = ("mlm", "adapters", "weighted classifier")


def train(folder, steps=-1):
    """Train or resume the methods in shards, up to a number of steps."""
    tokenizer = AutoTokenizer.from_pretrained(find_weights(**MINILM))
    own = folder / f"{rank()}_of_{ranks()}"
    own.mkdir(parents=True, exist_ok=True)
    for name, method, data in processes.cases(tokenizer, own):
        if name not in CASES:
            continue
        place = folder / name
        last, damaged = newest_intact(place)
        assert not damaged
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=ranks(),
            strategy=Sharded(),
            max_epochs=1,
            max_steps=steps,
            val_check_interval=2,
            use_distributed_sampler=False,
            callbacks=[History(place), Checkpoints(place, 2, monitor=method.monitor)],
            default_root_dir=own,
            **processes.QUIET,
        )
        trainer.fit(method, data, ckpt_path=last and str(last), weights_only=True)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("first", "second"), [(2, 1), (1, 2)])
def test_another_number_of_processes_continues_to_the_same_losses(tmp_path, first, second):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run_in_processes(first, train, whole)
    run_in_processes(first, train, stopped, 2)
    for name in CASES:
        assert (stopped / name / "last.ckpt").is_dir()
        assert len(list((stopped / name / "last.ckpt").glob("*.safetensors"))) == first
    run_in_processes(second, train, stopped)
    for name in CASES:
        rows, others = (
            [json.loads(row) for row in (folder / name / "history.jsonl").open()] for folder in (whole, stopped)
        )
        assert max(row["step"] for row in rows) > 2
        assert [row["step"] for row in rows] == [row["step"] for row in others]
        for row, other in zip(rows, others, strict=True):
            assert other == pytest.approx(row, rel=1e-9, abs=1e-12), name
