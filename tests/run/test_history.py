"""The history of a training, whose state does not grow with its steps."""

import json
import os
import pickle
from itertools import count
from types import SimpleNamespace

import pytest
import torch

from fairlab.methods.loss_watch import CHECK_EVERY, LossWatch
from fairlab.run.history import WAIT_EVERY, WARM_UP, History, read_history


def trainer(**values):
    return SimpleNamespace(
        callback_metrics={},
        global_step=0,
        is_global_zero=True,
        loggers=[],
        logged_metrics={},
        current_epoch=0,
        **values,
    )


def take(history, of, batches, parts=1, loss=lambda batch: batch / 2):
    """Pass batches to a history as a trainer does, each ``parts`` of them a step."""
    for batch in batches:
        history.on_train_batch_start(of)
        of.callback_metrics["train/loss"] = torch.tensor(float(loss(batch)))
        of.global_step = (batch + 1) // parts
        history.on_train_batch_end(of)


def test_a_step_in_parts_is_one_row_with_the_means_of_its_parts(tmp_path):
    history, of = History(tmp_path), trainer()
    take(history, of, range(12), parts=4)
    history.on_train_end(of)
    assert history.rows == [{"step": k + 1, "train/loss": (4 * k + 1.5) / 2} for k in range(3)]
    assert history.last == history.rows[-1]
    assert history.batches == 4, "the first read, after eight, warms up"


def test_batches_of_the_first_two_reads_are_not_timed_if_others_follow(tmp_path):
    history, of = History(tmp_path), trainer()
    take(history, of, range(WARM_UP + WAIT_EVERY))
    assert history.batches == WAIT_EVERY
    take(history, of, range(WARM_UP + WAIT_EVERY, WARM_UP + WAIT_EVERY + 7))
    history.on_validation_start(of)
    assert history.batches == 7
    take(history, of, range(WARM_UP + WAIT_EVERY + 7, WARM_UP + WAIT_EVERY + 10))
    history.on_train_end(of)
    assert history.batches == 10


def test_the_clock_runs_from_the_first_batch_of_a_read_to_the_read(tmp_path, monkeypatch):
    """Each look at the clock is two seconds later; figures get batches a second, and the loggers the figures."""
    clock, asked, logged = count(step=2), [], []
    monkeypatch.setattr("fairlab.run.history.time.perf_counter", lambda: next(clock))
    history, of = History(tmp_path), trainer(lightning_module="method")
    of.loggers = [SimpleNamespace(log_metrics=lambda values, step: logged.append((step, values)))]
    history.figures = lambda *given: asked.append(given) or {"rate": given[2]}
    take(history, of, range(3))
    history.on_train_end(of)
    history.on_train_end(of)
    assert (history.seconds, history.batches, asked) == (2.0, 3, [(of, "method", 1.5)])
    assert history.live == {"rate": 1.5}
    assert logged[1:] == [
        (1, {"train/loss": 0.5, "epoch": 0}),
        (2, {"train/loss": 1.0, "epoch": 0, "speed/rate": 1.5}),
    ]
    for batch in (3, 5, 7):
        take(history, of, range(batch, batch + 2))
        history.on_validation_start(of)
    assert (history.seconds, history.batches) == (4.0, 4)  # without the first two reads


def test_other_ranks_write_nothing_and_old_checkpoints_hold_nothing(tmp_path):
    history, of = History(tmp_path / "new" / "folder"), trainer()
    of.is_global_zero = False
    take(history, of, range(2))
    history.on_save_checkpoint(of, None, {})
    assert (history.rows, history.last) == ([], {"step": 2, "train/loss": 0.5})
    of.is_global_zero = True
    take(history, of, range(2, 3))
    history.on_train_end(of)
    assert history.rows == [{"step": 3, "train/loss": 1.0}]
    again, of = History(tmp_path / "new" / "folder"), trainer()
    again.load_state_dict({})
    take(again, of, range(1))
    again.on_train_end(of)
    assert again.rows == [{"step": 1, "train/loss": 0.0}]


def test_a_value_that_a_batch_did_not_log_is_repeated_and_not_averaged(tmp_path):
    history, of = History(tmp_path), trainer()
    for batch, name in enumerate(["a", "b", "a", "a"]):  # two parts a step
        of.callback_metrics[f"train/{name}"] = torch.tensor(float(batch))
        of.global_step = (batch + 1) // 2
        history.on_train_batch_end(of)
    history.on_train_end(of)
    assert history.rows == [
        {"step": 1, "train/a": 0.0, "train/b": 1.0},
        {"step": 2, "train/a": 2.5, "train/b": 1.0},
    ]


def test_a_resumed_history_is_cut_to_its_checkpoint(tmp_path):
    history, of = History(tmp_path), trainer()
    take(history, of, range(WAIT_EVERY + 3))
    checkpoint = {"callbacks": {}}
    history.on_save_checkpoint(of, None, checkpoint)
    (state,), kept = checkpoint["callbacks"].values(), history.rows
    of.callback_metrics["validation/loss"] = torch.tensor(1.0)
    take(history, of, range(WAIT_EVERY + 3, 3 * WAIT_EVERY))
    history.on_validation_start(of)
    history.on_validation_end(of)
    whole = history.rows
    assert len(kept) == WAIT_EVERY + 3 < len(whole) == 3 * WAIT_EVERY + 1

    again = History(tmp_path)
    again.load_state_dict(state)
    take(again, of, range(WAIT_EVERY + 3, 3 * WAIT_EVERY))
    again.on_validation_start(of)
    assert again.rows == [*kept, *whole[len(kept) : -1]], "the first rows of the second process follow those kept"
    again.on_validation_end(of)
    assert again.rows == whole

    new, of = History(tmp_path), trainer()
    take(new, of, range(2))
    new.on_train_end(of)
    assert new.rows == whole[:2]


def test_a_run_that_resumes_after_its_last_step_cuts_before_its_validation(tmp_path):
    history, of = History(tmp_path), trainer()
    take(history, of, range(3))
    history.on_train_end(of)
    kept, state = history.rows, history.state_dict()
    of.callback_metrics["validation/loss"] = torch.tensor(1.0)
    history.on_validation_end(of)

    again = History(tmp_path)
    again.load_state_dict(state)
    again.on_validation_end(of)
    assert again.rows == history.rows == [*kept, {"step": 3, "validation/loss": 1.0}]


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("kept\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "history.jsonl").symlink_to(tmp_path / "elsewhere")
    history, of = History(tmp_path / "run"), trainer()
    take(history, of, range(2))
    with pytest.raises(OSError, match="symbolic"):
        history.on_train_end(of)
    assert (tmp_path / "elsewhere").read_text() == "kept\n"


def test_loggers_get_the_rows_of_steps_but_not_what_they_have(tmp_path):
    logged = []
    logger = SimpleNamespace(log_metrics=lambda values, step: logged.append((step, values)))
    history, of = History(tmp_path), trainer()
    of.loggers = [logger]
    of.logged_metrics = {"train/own": 1.0}
    of.callback_metrics["train/own"] = torch.tensor(1.0)
    take(history, of, range(2))
    history.on_train_end(of)
    assert logged == [(0, {"train/loss": 0.0, "epoch": 0}), (1, {"train/loss": 0.5, "epoch": 0})]


def test_values_are_read_once_in_many_batches(tmp_path, monkeypatch):
    reads = []
    stack = torch.stack
    monkeypatch.setattr(torch, "stack", lambda tensors: reads.append(len(tensors)) or stack(tensors))
    history, of = History(tmp_path), trainer()
    take(history, of, range(200))
    assert reads == [5, 50, 50, 50]


def test_a_long_history_is_thinned_and_keeps_its_ends(tmp_path):
    rows = [{"step": k, "train/loss": 1.0} for k in range(1000)]
    rows[500:500] = [{"step": 500, "validation/loss": 2.0}]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_history(tmp_path / "history.jsonl", most=100)
    assert 100 <= sum("train/loss" in row for row in found) <= 101
    assert (found[0]["step"], found[-1]["step"]) == (0, 999)
    assert {"step": 500, "validation/loss": 2.0} in found
    assert read_history(tmp_path / "history.jsonl") == rows
    (tmp_path / "long.jsonl").write_text('{"step": 1}\n' * 20_001)
    assert len(read_history(tmp_path / "long.jsonl")) == 6668  # every third, and the last
    assert read_history(tmp_path / "none.jsonl") == []


@pytest.mark.slow
@pytest.mark.long
def test_ten_million_steps_leave_a_state_of_the_same_size(tmp_path):
    history, of = History(tmp_path), trainer()
    values = torch.arange(1000.0)
    sizes, memory = [], []
    for thousand in range(10_000):
        # A thousand steps as the callback has them when it reads, which is what grows if anything does.
        first = 1000 * thousand
        history._parts = [{"train/loss": value} for value in values.unbind()]
        history._ends = [(first + k + 1, k + 1) for k in range(1000)]
        history.read(of)
        if thousand % 1000 == 0:
            sizes.append(len(pickle.dumps(history.state_dict())))
            memory.append(resident())
    assert max(sizes) - sizes[0] < 16  # digits of two numbers
    assert max(memory[1:]) - memory[1] < 8 << 20
    found = history.rows
    assert 10_000 <= len(found) <= 10_001
    assert found[-1] == {"step": 10_000_000, "train/loss": 999.0}
    assert len(json.dumps(found)) < 1 << 20, "what a record holds of it"


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_the_first_loss_that_is_not_finite_is_found_with_its_step_and_items():
    found = []
    watch = LossWatch(lambda *said: found.append(said))
    for step in range(1, CHECK_EVERY):
        watch.add(step, torch.tensor(float("inf") if step == 7 else 1.0), [f"g{step}"])
    assert found == []
    watch.add(CHECK_EVERY, torch.tensor(1.0))
    assert found == [(float("inf"), 7, ["g7"])]
    watch.check()
    assert len(found) == 1, "what was checked is forgotten"
