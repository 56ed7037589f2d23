"""Checkpoints in shards: resumed by another number of processes, and damaged."""

import json
import zlib
from concurrent.futures import Future
from pathlib import Path

import lightning
import pytest
import torch
from torch import distributed, nn
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from transformers import AutoTokenizer

from fairlab.backbones.loading import find_weights
from fairlab.distributed import rank, ranks
from fairlab.run.checkpoints import Checkpoints, newest_intact, replace_last
from fairlab.run.history import History
from fairlab.run.launch.processes import run_in_processes
from fairlab.run.launch.sharded import Sharded
from fairlab.run.shards import CHECKSUMS, STATE, ShardWriter, _split, load_shards
from tests.conftest import MINILM
from tests.run.launch import test_processes as processes
from tests.test_faults import cut_short, flip_a_bit

CASES = ("mlm", "adapters", "weighted classifier")


def train(folder, steps=-1, names=CASES, precision="32-true"):
    """Train or resume the methods in shards, up to a number of steps; weights are in double precision."""
    tokenizer = AutoTokenizer.from_pretrained(find_weights(**MINILM))
    own = folder / f"{rank()}_of_{ranks()}"
    own.mkdir(parents=True, exist_ok=True)
    for name, method, data in processes.cases(tokenizer, own):
        if name not in names:
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
            precision=precision,
            val_check_interval=2,
            use_distributed_sampler=False,
            callbacks=[History(place), Checkpoints(place, 2, monitor=method.monitor)],
            default_root_dir=own,
            **processes.QUIET,
        )
        trainer.fit(method, data, ckpt_path=last and str(last), weights_only=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Rows of the methods' histories, trained by two processes without a stop."""
    folder = tmp_path_factory.mktemp("whole")
    run_in_processes(2, train, folder)
    return {name: rows_of(folder, name) for name in CASES}


def rows_of(folder, name):
    return [json.loads(row) for row in (folder / name / "history.jsonl").open()]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("first", "second"), [(2, 1), (1, 2)])
def test_another_number_of_processes_continues_to_the_same_losses(tmp_path, whole, first, second):
    run_in_processes(first, train, tmp_path, 2)
    for name in CASES:
        assert (tmp_path / name / "last.ckpt").is_dir()
        assert len(list((tmp_path / name / "last.ckpt").glob("*.safetensors"))) == first
    run_in_processes(second, train, tmp_path)
    for name in CASES:
        rows, others = whole[name], rows_of(tmp_path, name)
        assert max(row["step"] for row in rows) > 2
        assert [row["step"] for row in rows] == [row["step"] for row in others]
        for row, other in zip(rows, others, strict=True):
            assert set(row) == set(other)
            for key, value in row.items():
                # Single-precision parts of a loss differ by 2e-6 between one process and two.
                assert other[key] == pytest.approx(value, rel=1e-5), (name, key)


@pytest.mark.slow
@pytest.mark.long
def test_shards_gathered_in_bfloat16_train_to_about_the_same_losses(tmp_path, whole):
    run_in_processes(2, train, tmp_path, -1, ("mlm",), "bf16-mixed")
    exact, found = (
        [row["train/loss"] for row in rows if "train/loss" in row] for rows in (whole["mlm"], rows_of(tmp_path, "mlm"))
    )
    assert found != exact
    assert found == pytest.approx(exact, rel=0.02)


def saved(folder, number):
    """A checkpoint of two files, as a finished write leaves it."""
    folder.mkdir()
    (folder / "shard-00001-x.safetensors").write_bytes(bytes(range(200)) * number)
    (folder / STATE).write_bytes(bytes(range(100)) * number)
    sums = {path.name: zlib.crc32(path.read_bytes()) for path in folder.iterdir()}
    (folder / CHECKSUMS).write_text(json.dumps(sums))


@pytest.mark.parametrize("damage", [cut_short, flip_a_bit, Path.unlink])
@pytest.mark.parametrize("file", [STATE, CHECKSUMS, "shard-00001-x.safetensors"])
def test_damaged_shards_are_passed_over(tmp_path, damage, file):
    last, previous = tmp_path / "last.ckpt", tmp_path / "previous.ckpt"
    saved(last, 5)
    saved(previous, 6)
    assert newest_intact(tmp_path) == (last, [])
    if file == CHECKSUMS and damage is cut_short:
        (last / file).write_text("{")
    else:
        damage(last / file)
    assert newest_intact(tmp_path) == (previous, [last])


def test_an_unfinished_write_leaves_the_checkpoints_alone(tmp_path):
    saved(tmp_path / "last.ckpt", 5)
    (tmp_path / "last.new").mkdir()
    (tmp_path / "last.new" / STATE).write_bytes(b"half")
    assert newest_intact(tmp_path) == (tmp_path / "last.ckpt", [])


@pytest.mark.parametrize("kinds", ["dd", "df", "fd", "ff"])
def test_the_last_checkpoint_becomes_the_previous_one_whether_folder_or_file(tmp_path, kinds):
    last, previous, new = (tmp_path / name for name in ("last.ckpt", "previous.ckpt", "last.new"))
    for number, kind in enumerate(f"{kinds}d"):
        path = new / "a" if kind == "d" else new
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(number))
        replace_last(new, last)
    assert (last / "a").read_text() == "2"
    assert (previous / "a" if kinds[1] == "d" else previous).read_text() == "1"
    assert not new.exists()


def test_tensors_are_told_from_single_numbers():
    weights = {"a": torch.ones(2), "count": torch.tensor(5)}
    states = [{"state": {"a": {"step": torch.tensor(3.0), "exp_avg": torch.zeros(2)}}}]
    tensors, numbers = _split(weights, states)
    assert set(tensors) == {"model.a", "optimizer.0.a.exp_avg"}
    assert numbers == {"model.count": 5, "optimizer.0.a.step": 3}


class Later:
    """A thread that begins when it is told to."""

    def submit(self, call, *arguments):
        self.begin, done = lambda: done.set_result(call(*arguments)), Future()
        return done


def stepped(seed, inputs=3, lr=0.1):
    """A model and its optimizer after a step."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(inputs, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model(torch.randn(4, inputs)).square().sum().backward()
    optimizer.step()
    return model, optimizer


def test_one_process_writes_and_loads_a_checkpoint_of_shards(tmp_path):
    """The thread begins to write after the weights have moved on, and writes them as they were."""
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        model, optimizer = stepped(0)
        states, folder, published = get_optimizer_state_dict(model, optimizer), tmp_path / "last.ckpt", []
        before = {name: value.clone() for name, value in model.state_dict().items()}
        writer = ShardWriter()
        writer._thread = Later()
        folder.mkdir()
        checkpoint = {"state_dict": model.state_dict(), "optimizer_states": [states], "epoch": 3}
        writer.start(checkpoint, folder, lambda: published.append(sorted(path.name for path in folder.iterdir())))
        model[0].weight.data.fill_(9.0)
        writer._thread.begin()
        writer.wait()
        writer.wait()
        (written,) = published
        assert {CHECKSUMS, STATE} < {*written}
        assert sum(name.startswith("shard-00001-") for name in written) == 1
        assert newest_intact(tmp_path) == (folder, [])
        other, others = stepped(1, lr=0.5)
        assert load_shards(folder, other, [others], writer.group) == {"epoch": 3}
        assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())
        found = get_optimizer_state_dict(other, others)
        torch.testing.assert_close(found["state"], states["state"])
        assert others.param_groups[0]["lr"] == 0.1
        wider, its = stepped(0, inputs=4)
        for of, optimizers in ((wider, [its]), (nn.Linear(3, 2), [])):
            with pytest.raises(RuntimeError, match="loading state_dict: its tensors belong to another model"):
                load_shards(folder, of, optimizers, writer.group)
    finally:
        distributed.destroy_process_group()
