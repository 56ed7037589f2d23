"""When checkpoints are due, and under which names they are kept."""

import zipfile
from types import SimpleNamespace

import pytest
from lightning.pytorch.utilities.exceptions import SIGTERMException

from fairlab.run.checkpoints import Checkpoints, newest_intact, remove
from tests.test_faults import cut_short, flip_a_bit


def trainer(batches, step, value=1.0, state="fit"):
    ready = SimpleNamespace(current=SimpleNamespace(ready=batches))
    return SimpleNamespace(
        fit_loop=SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=ready)),
        accumulate_grad_batches=2,
        global_step=step,
        callback_metrics={"validation/loss": value},
        state=SimpleNamespace(fn=state),
        is_global_zero=True,
        should_stop=False,
        strategy=SimpleNamespace(barrier=lambda: None),
        save_checkpoint=lambda path, weights_only: path.write_text(f"{step} {weights_only}"),
    )


def kept(folder):
    return {file.name.removesuffix(".ckpt"): file.read_text() for file in folder.iterdir()}


def test_the_best_and_the_last_weights_are_saved_when_due(tmp_path):
    saving = Checkpoints(tmp_path, every=5, patience=2)
    saving.on_validation_end(trainer(9, 5, 1.0))  # in the middle of a step
    assert kept(tmp_path) == {"best": "5 True"}
    saving.on_validation_end(trainer(10, 5, 1.0))
    assert kept(tmp_path) == {"best": "5 True", "last": "5 False"}
    saving.on_validation_end(of := trainer(12, 6, 0.5))
    assert kept(tmp_path) == {"best": "6 True", "last": "5 False"}
    assert not of.should_stop
    saving.on_validation_end(trainer(20, 10, 0.6, state="validate"))
    assert kept(tmp_path) == {"best": "6 True", "last": "5 False"}
    saving.on_validation_end(of := trainer(20, 10, 0.7))
    assert kept(tmp_path) == {"best": "6 True", "last": "10 False", "previous": "5 False"}
    assert of.should_stop
    again = Checkpoints(tmp_path, every=5)
    again.load_state_dict(saving.state_dict())
    assert (again.stopping.lowest, again.stopping.waited) == (0.5, 2)


def test_a_process_that_is_told_to_end_saves_after_its_step(tmp_path):
    saving = Checkpoints(tmp_path, every=100)
    assert not saving.told_to_end
    saving.told_to_end = True
    saving.on_validation_end(trainer(9, 5))
    with pytest.raises(SIGTERMException):
        saving.on_validation_end(trainer(10, 5))
    assert kept(tmp_path)["last"] == "5 False"


def test_a_link_is_removed_without_what_it_leads_to(tmp_path):
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("folder")
    for name in ("link", "none"):
        remove(tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
    remove(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("batches", "every_validation", "saved"),
    [(10, 4, True), (12, 4, False), (12, None, False), (12, 5.0, True), (13, 4, False)],
)
def test_a_batch_after_which_a_validation_follows_leaves_the_saving_to_it(tmp_path, batches, every_validation, saved):
    """A step has two batches, and every step is due."""
    of = trainer(batches, batches // 2)
    of.val_check_batch = every_validation
    Checkpoints(tmp_path, every=1).on_train_batch_end(of)
    assert (tmp_path / "last.ckpt").exists() is saved


@pytest.mark.parametrize("damage", [cut_short, flip_a_bit, None])
def test_a_damaged_file_is_passed_over(tmp_path, damage):
    last, previous = tmp_path / "last.ckpt", tmp_path / "previous.ckpt"
    assert newest_intact(tmp_path) == (None, [])
    for path in (last, previous):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data", bytes(range(200)) * 5)
    if damage is None:
        assert newest_intact(tmp_path) == (last, [])
    else:
        damage(last)
        assert newest_intact(tmp_path) == (previous, [last])
        damage(previous)
        assert newest_intact(tmp_path) == (None, [last, previous])
