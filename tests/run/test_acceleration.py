"""How a device runs a model in training, and that it is plain again afterwards."""

import copy

import lightning
import pytest
import torch

from fairlab.backbones.blocks import keep_blocks, recompute_blocks, transformer_blocks
from fairlab.backbones.loading import load_backbone
from fairlab.methods.mlm import MLM
from fairlab.run.acceleration import Acceleration
from fairlab.run.history import History
from fairlab.types import FairlabError
from tests.methods import test_mlm
from tests.run.launch.test_processes import QUIET, encoder


@pytest.mark.slow
def test_blocks_are_compiled_from_the_start_of_training_to_its_end(tiny):
    names = list(tiny.state_dict())
    compiled = Acceleration(tiny, None, "none", compiled=True)
    compiled.on_fit_start()
    blocks = transformer_blocks(tiny.model)
    assert len(blocks) == tiny.model.config.num_hidden_layers
    assert all(block._compiled_call_impl is not None for block in blocks)
    assert list(tiny.state_dict()) == names, "checkpoints and exports keep their names"
    compiled.on_fit_end()
    assert all(block._compiled_call_impl is None for block in blocks)
    assert tiny.embed(["it rained"]).shape == (1, 32)


@pytest.mark.parametrize("kind", ["bert", "roberta_mlm", "distilbert_mlm", "gpt2", "llama", "opt"])
def test_every_architecture_has_its_blocks(tiny_folders, kind):
    model = load_backbone(str(tiny_folders[kind]), pooling="mean", max_length=32, normalize=False).model
    blocks = transformer_blocks(model)
    assert len(blocks) == 2
    assert {type(block) for block in blocks} == {type(blocks[0])}


@pytest.mark.parametrize("what", ["full", "selective"])
def test_recomputed_values_give_the_same_gradients_with_less_kept(tiny, what):
    ids = torch.arange(1000, 1024).view(2, 12)

    def gradients(model):
        kept = []
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda one: kept.append(one.numel()) or one, lambda one: one)
        model.train()
        torch.manual_seed(0)  # for dropout
        with hooks:
            loss = model(input_ids=ids).last_hidden_state.square().mean()
        loss.backward()
        return [one.grad.clone() for one in model.parameters() if one.grad is not None], sum(kept)

    plain, all_kept = gradients(copy.deepcopy(tiny.model))
    model = copy.deepcopy(tiny.model)
    recompute_blocks(model, what)
    found, kept = gradients(model)
    assert all(torch.equal(one, other) for one, other in zip(plain, found, strict=True))
    assert kept < all_kept / 2
    keep_blocks(model)
    assert not any("forward" in vars(block) for block in transformer_blocks(model))


def test_attention_is_chosen_for_training_alone(tiny):
    before = tiny.model.config._attn_implementation
    eager = Acceleration(tiny, "eager", "none", compiled=False)
    eager.on_fit_start()
    assert tiny.model.config._attn_implementation == "eager"
    eager.on_fit_end()
    assert tiny.model.config._attn_implementation == before


def test_attention_that_is_not_there_is_one_sentence(tiny):
    with pytest.raises(FairlabError, match=r"^trainer\.attention=flash_attention_2 cannot be used here: "):
        Acceleration(tiny, "flash_attention_2", "none", compiled=False).on_fit_start()


@pytest.mark.slow
@pytest.mark.long
def test_compiled_blocks_train_to_the_same_losses(tmp_path, tokenizer):
    histories = {}
    for compiled in (False, True):
        backbone = encoder(tokenizer)
        method = MLM(backbone, **test_mlm.VALUES | {"rank": None, "preserve": 0.0, "validate_every": 2})
        data = test_mlm.make_data(backbone, tmp_path, 24, limit=13)
        history = History(tmp_path / f"{compiled}")
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_steps=4,
            val_check_interval=2,
            log_every_n_steps=1,
            enable_checkpointing=False,
            callbacks=[history, Acceleration(backbone, None, "none", compiled)],
            default_root_dir=tmp_path,
            **QUIET,
        )
        torch._dynamo.utils.counters.clear()
        trainer.fit(method, data)
        assert bool(torch._dynamo.utils.counters["frames"]["ok"]) == compiled
        histories[compiled] = history.rows
    assert len(histories[True]) >= 4
    for row, other in zip(histories[False], histories[True], strict=True):
        assert other == pytest.approx(row, rel=1e-5)
