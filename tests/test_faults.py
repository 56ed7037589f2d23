"""What a disk does to files: damage is found, what is whole is used, and it is said."""

import errno
import os

import numpy as np
import pytest
import torch

from fairlab.benchmarks.kept_items import items_file
from fairlab.benchmarks.runner import EVERYTHING, measure
from fairlab.record import Outcome, Reading, Record
from fairlab.run.checkpoints import checkpoint_is_intact, newest_intact
from fairlab.run.command_line import cli
from fairlab.types import Description, FairlabError


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut_short, flip_a_bit, lambda path: path.write_bytes(b"")])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, damage):
    assert newest_intact(tmp_path) == (None, [])
    last, previous = tmp_path / "last.ckpt", tmp_path / "previous.ckpt"
    for path in (last, previous):
        torch.save({"state_dict": {"weight": torch.randn(1000)}}, path)
    assert newest_intact(tmp_path) == (last, [])
    damage(last)
    assert not checkpoint_is_intact(last)
    assert newest_intact(tmp_path) == (previous, [last])
    damage(previous)
    assert newest_intact(tmp_path) == (None, [last, previous])


class Counted:
    """A benchmark that counts how often it measures."""

    name = "counted"

    def __init__(self):
        self.times = 0

    version = 1
    description = Description("counted", "Counted", "?", {})

    def measure(self, backbone, before):
        self.times += 1
        reading = Reading(self.name, EVERYTHING, "n", 1.0, "u", 0.0, 3, 0.0, 2.0)
        return Outcome(readings=[reading], items={"all": np.arange(300.0)})


def test_damaged_items_are_measured_again_and_it_is_said(tmp_path):
    record, counted = Record(tmp_path, {"seed": 1}, ""), Counted()
    for _ in range(2):
        measure([counted], None, "before", record)
    assert (counted.times, record.notes) == (1, [])
    cut_short(items_file(tmp_path, "before", "counted"))
    measure([counted], None, "before", record)
    assert counted.times == 2
    assert [note.text for note in record.notes] == [
        "items/before/counted.safetensors was damaged, so it was measured again"
    ]
    assert len(record.readings) == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_folder_that_cannot_be_written_is_one_sentence(number):
    sentence = cli.explain(OSError(number, os.strerror(number), "runs/1"))
    assert sentence == f"runs/1: {os.strerror(number)}; choose another folder, or change who may write there"


def test_too_little_memory_is_one_sentence():
    error = MemoryError("Unable to allocate 8.00 TiB")
    assert cli.explain(error) == "this machine has too little memory (Unable to allocate 8.00 TiB); " + (
        "give smaller files or batches"
    )


def test_a_damaged_cache_of_scores_is_named(tmp_path):
    from fairlab.methods.safety_ensemble.sources.score_cache import ScoreCache
    from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment

    path = tmp_path / "scores"
    cache = ScoreCache(path)
    texts = [f"text {k}" for k in range(500)]
    cache.write(Sentiment(), texts, np.zeros((500, 4)))
    cache.connection.close()
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(FairlabError, match=r"scores is not a cache of scores, or it is damaged; give another"):
        ScoreCache(path).read(Sentiment(), texts)


def test_secrets_leave_no_trace_in_sentences(monkeypatch, capsys):
    monkeypatch.setenv("SOME_TOKEN", "hunter2-hunter2")
    with pytest.raises(SystemExit):
        cli.stop("the server refused hunter2-hunter2")
    assert capsys.readouterr().err == "fairlab: the server refused <SOME_TOKEN>\n"
