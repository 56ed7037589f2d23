"""CCD as a LightningModule on a tiny random encoder."""

import copy
from dataclasses import replace
from itertools import permutations
from operator import mul

import pytest
import torch
from lightning.pytorch.loggers.logger import DummyLogger

from fairlab.backbones.loading import load_backbone
from fairlab.data.counterfactual import CounterfactualData
from fairlab.losses.ccd import (
    alignment_loss,
    bandwidth,
    bias_loss,
    bias_loss_to_others,
    distances_to_neutral,
    representation_loss,
)
from fairlab.methods.ccd import CCD
from fairlab.run.checkpoints import Checkpoints
from fairlab.run.history import History
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows
from tests.methods.training import make_trainer

VALUES = {"beta": 1.0, "rho": "rms", "lr": 5e-5, "dropout": False, "epochs": 1, "validate_every": 2, "seed": 0}


def make_data(encoder, folder, count=12, **changes):
    path = write_rows(folder / "groups.jsonl", [row(group) for group in make_groups(count)])
    settings = {"validation": 2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    return CounterfactualData(path=path, encoder=encoder, **settings | changes)


def test_the_loss_of_the_first_step_is_equation_4_worked_out_text_by_text(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    original = copy.deepcopy(tiny)
    method = CCD(tiny, **VALUES)
    groups = data.groups["train"]
    neutral = torch.cat([original.embed([group.versions["neutral"]]) for group in groups])
    attributes = torch.stack(
        [torch.cat([original.embed([group.versions[name]]) for name in ("man", "woman")]) for group in groups]
    )
    rho = bandwidth(distances_to_neutral(attributes, neutral), "rms")

    first_batch = next(iter(data.train_dataloader()))
    rows = first_batch.positions
    expected = bias_loss(attributes[rows], neutral[rows], rho).mean() + 0.0  # nothing has moved yet
    seen = []
    trainer = make_trainer(tmp_path, max_steps=1, limit_val_batches=0)
    method.on_train_batch_end = lambda outputs, *_: seen.append(outputs["loss"].item())
    trainer.fit(method, data)
    assert method.facts()["rho"] == pytest.approx(rho, rel=1e-6)
    assert seen[0] == pytest.approx(expected.item(), rel=1e-4, abs=1e-6)


def test_other_neutral_texts_and_alignment_are_added_to_the_loss(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    groups = data.groups["train"]
    texts = [text for group in groups for text in group.texts]
    embedded = copy.deepcopy(tiny).embed(texts).unflatten(0, (len(groups), -1))
    attributes, neutral = embedded[:, 1:], embedded[:, 0]
    rho = bandwidth(distances_to_neutral(attributes, neutral), "rms")
    rho_others = distances_to_neutral(attributes, neutral.roll(1, dims=0)).square().mean().sqrt()
    rows = next(iter(data.train_dataloader())).positions
    parts = (
        bias_loss(attributes[rows], neutral[rows], rho),
        bias_loss_to_others(attributes[rows], neutral[rows], rho_others),
        0.5 * alignment_loss(attributes[rows]),
    )
    method, seen = CCD(tiny, **VALUES | {"neutral": "batch", "alignment": 0.5}), []
    method.on_train_batch_end = lambda outputs, *_: seen.append(outputs["loss"].item())
    make_trainer(tmp_path, max_steps=1, limit_val_batches=0).fit(method, data)
    assert seen[0] == pytest.approx(sum(part.mean().item() for part in parts), rel=1e-4)


def test_the_last_layers_alone_are_trained(tiny, tmp_path):
    before = copy.deepcopy(tiny.transformer.state_dict())
    trainer = make_trainer(tmp_path, limit_val_batches=0)
    trainer.fit(CCD(tiny, **VALUES | {"lr": 1e-2, "last_layers": 1}), make_data(tiny, tmp_path))
    changed = {name for name, value in tiny.transformer.state_dict().items() if not torch.equal(value, before[name])}
    last = f"encoder.layer.{tiny.transformer.config.num_hidden_layers - 1}."
    assert changed
    assert all(name.startswith(last) for name in changed)


def test_more_layers_than_there_are(tiny):
    with pytest.raises(FairlabError, match=r"last_layers must be from 1 to \d, the layers of this encoder, not 99"):
        CCD(tiny, **VALUES | {"last_layers": 99})


def test_the_representation_loss_measures_the_drift_from_the_original(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    original = copy.deepcopy(tiny)
    method = CCD(tiny, **VALUES | {"lr": 1e-3})
    trainer = make_trainer(tmp_path, limit_val_batches=0, logger=DummyLogger(), log_every_n_steps=1)
    trainer.fit(method, data)
    assert trainer.callback_metrics["train/loss"] > 0
    assert trainer.logged_metrics == {}  # loggers get the values of steps from the history
    batch = next(iter(data.val_dataloader()))
    _, parts, _ = method.losses(batch, "validation")
    texts = [group.versions["neutral"] for group in data.groups["validation"]]
    expected = representation_loss(tiny.embed(texts), original.embed(texts)).mean()
    assert expected > 0
    assert parts["representation_loss"].item() == pytest.approx(expected.item(), rel=1e-4)
    assert parts["loss"].item() == pytest.approx((parts["bias_loss"] + parts["representation_loss"]).item(), rel=1e-6)


@pytest.mark.slow
def test_it_overfits_a_few_groups(tiny, tmp_path):
    data = make_data(tiny, tmp_path, count=10, epochs=60, batch_size=8)
    method = CCD(tiny, **VALUES | {"lr": 1e-3, "beta": 0.1})
    losses = []
    method.on_train_batch_end = lambda outputs, *_: losses.append(outputs["loss"].item())
    make_trainer(tmp_path, limit_val_batches=0).fit(method, data)
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


@pytest.mark.parametrize("name", ["bert_mlm", "roberta_mlm", "distilbert_mlm"])
def test_the_head_of_a_masked_lm_stays_frozen_and_its_tied_decoder_follows(tiny_folders, tmp_path, name):
    encoder = load_backbone(str(tiny_folders[name]), pooling="mean", max_length=32, normalize=False)
    before = copy.deepcopy(encoder.model.state_dict())
    make_trainer(tmp_path, limit_val_batches=0).fit(CCD(encoder, **VALUES | {"lr": 1e-3}), make_data(encoder, tmp_path))
    encoder_keys = {f"{encoder.model.base_model_prefix}.{key}" for key in encoder.transformer.state_dict()}
    decoder = encoder.model.get_output_embeddings().weight
    assert decoder is encoder.model.get_input_embeddings().weight
    for key, value in encoder.model.state_dict().items():
        tied = value.data_ptr() == decoder.data_ptr()
        if key not in encoder_keys and not tied:
            assert torch.equal(value, before[key]), f"{key} moved"
    assert any(not torch.equal(encoder.model.state_dict()[key], before[key]) for key in encoder_keys)


def test_an_unused_pooler_gets_no_gradient(tiny, tmp_path):
    pooler = copy.deepcopy(tiny.model.pooler.state_dict())
    make_trainer(tmp_path, limit_val_batches=0).fit(CCD(tiny, **VALUES | {"lr": 1e-3}), make_data(tiny, tmp_path))
    assert all(torch.equal(value, pooler[key]) for key, value in tiny.model.pooler.state_dict().items())


def test_accumulating_small_batches_equals_a_large_one(tiny, tmp_path):
    results = []
    for batch_size, accumulate in ((8, 1), (2, 4)):
        encoder = copy.deepcopy(tiny)
        data = make_data(encoder, tmp_path, count=10, batch_size=batch_size)
        torch.manual_seed(0)
        trainer = make_trainer(tmp_path, accumulate_grad_batches=accumulate, limit_val_batches=0)
        method = CCD(encoder, **VALUES)
        gradients = []
        method.on_before_optimizer_step = lambda _, m=method, g=gradients: g.append(
            torch.cat([p.grad.flatten() for p in m.parameters() if p.grad is not None]).clone()
        )
        # A norm has no stable gradient where nothing has moved, so the originals are put elsewhere.
        method.on_train_start = lambda m=method: m.original["train"].zero_()
        trainer.fit(method, data)
        assert len(gradients) == 1
        results.append(gradients[0])
    torch.testing.assert_close(results[1], results[0], atol=1e-6, rtol=1e-4)


def test_a_loss_that_is_not_finite_stops_and_names_the_groups(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    method = CCD(tiny, **VALUES)

    def break_it():
        method.original["train"][:] = float("nan")

    method.on_train_start = break_it
    with pytest.raises(
        FairlabError, match=r"the loss became nan at step 1, in the groups (g\d+, ){3}g\d+; check their texts"
    ):
        make_trainer(tmp_path).fit(method, data)


def test_a_validation_loss_that_is_not_finite_stops_too(tiny, tmp_path):
    method = CCD(tiny, **VALUES)
    method.on_validation_start = lambda: method.original["validation"].fill_(float("nan"))
    with pytest.raises(FairlabError, match=r"the validation loss became nan at step 4, in the groups g1[01], g1"):
        make_trainer(tmp_path).fit(method, make_data(tiny, tmp_path))


def test_losses_are_computed_in_float32_whatever_the_precision(tiny, tmp_path):
    method = CCD(tiny, **VALUES)
    data = make_data(tiny, tmp_path)
    with torch.autocast("cpu", torch.bfloat16):
        attributes, neutral = method(next(iter(data.val_dataloader())))
    assert attributes.dtype == neutral.dtype == torch.float32


def test_a_share_without_groups_has_embeddings_of_none(tiny, tmp_path):
    batch = next(iter(make_data(tiny, tmp_path).val_dataloader()))
    attributes, neutral = CCD(tiny, **VALUES)(replace(batch, ids=[]))
    assert (attributes.shape, neutral.shape) == ((0, 2, tiny.width), (0, tiny.width))


@pytest.mark.parametrize("every", [1, 2, 3])
def test_the_best_weights_are_those_of_the_lowest_validation_loss(tiny, tmp_path, every):
    data = make_data(tiny, tmp_path, epochs=3)
    method, history = CCD(tiny, **VALUES | {"lr": 0.02}), History(tmp_path)
    kept = {}
    method.on_validation_end = lambda: kept.update({method.global_step: copy.deepcopy(tiny.state_dict())})
    checkpoints = Checkpoints(tmp_path / "checkpoints", every=2)
    make_trainer(tmp_path, callbacks=[history, checkpoints], val_check_interval=every, enable_checkpointing=True).fit(
        method, data
    )
    rows = [row for row in history.rows if "validation/loss" in row]
    assert len(rows) == len(kept) == 9 // every
    best = min(rows, key=lambda row: row["validation/loss"])["step"]
    state = torch.load(checkpoints.best, weights_only=True)["state_dict"]
    for name, value in kept[best].items():
        assert torch.equal(state[f"encoder.{name}"], value)
    assert torch.load(checkpoints.last, weights_only=True)["global_step"] == 8
    assert sorted(path.name for path in checkpoints.last.parent.iterdir()) == [
        "best.ckpt",
        "last.ckpt",
        "previous.ckpt",
    ]


def test_the_paper_bandwidth_on_unit_length_embeddings_is_refused_with_the_remedy(tiny, tmp_path):
    tiny.normalize = True
    method = CCD(tiny, **VALUES | {"rho": "variance"})
    with pytest.raises(FairlabError, match=r"use method\.rho=rms"):
        make_trainer(tmp_path).fit(method, make_data(tiny, tmp_path))


def test_the_randomness_of_a_step_depends_on_seed_and_step_alone(tiny, tmp_path):
    def draws(seed, noise):
        encoder = copy.deepcopy(tiny)
        method, seen = CCD(encoder, **VALUES | {"dropout": True, "seed": seed}), []
        step = method.training_step

        def recording(batch, batch_idx):
            seen.append(torch.rand(1).item())
            return step(batch, batch_idx)

        method.training_step = recording
        torch.manual_seed(noise)
        make_trainer(tmp_path, limit_val_batches=0).fit(method, make_data(encoder, tmp_path))
        return seen

    assert draws(0, noise=1) == draws(0, noise=2)
    assert draws(0, noise=1) != draws(1, noise=1)
    assert len(set(draws(0, noise=1))) == 3


def test_each_weight_of_the_loss_belongs_to_its_own_part(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    weights = {"beta": 0.3, "others": 0.7, "alignment": 0.5}
    method = CCD(tiny, **VALUES | weights | {"neutral": "batch", "lr": 1e-2})
    make_trainer(tmp_path, max_steps=2, limit_val_batches=0).fit(method, data)  # so that neutral texts have moved
    batch = next(iter(data.train_dataloader()))
    loss, _, _ = method.losses(batch, "train")
    attributes, neutral = method(batch)
    parts = {
        1.0: bias_loss(attributes, neutral, method.rho),
        0.3: representation_loss(neutral, method.original["train"][batch.positions]),
        0.7: bias_loss_to_others(attributes, neutral, method.rho_others),
        0.5: alignment_loss(attributes),
    }
    means = [part.mean().item() for part in parts.values()]
    fitting = [
        order for order in permutations(parts) if loss.item() == pytest.approx(sum(map(mul, order, means)), rel=1e-5)
    ]
    assert fitting == [tuple(parts)]
