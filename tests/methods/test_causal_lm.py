"""Causal-LM tuning on tiny random models."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from fairlab.backbones import adapters
from fairlab.backbones.adapters import FILE, LoRA, add_adapters
from fairlab.backbones.backbone import body
from fairlab.backbones.loading import load_backbone
from fairlab.data.block_collator import NOT_SCORED, collated
from fairlab.methods import causal_lm
from fairlab.methods.causal_lm import CausalLMTuning, refuse_mixing
from fairlab.run.checkpoints import Checkpoints
from fairlab.types import CannotScore, FairlabError
from tests.backbones.reference import all_log_probabilities, livened
from tests.conftest import WORDS
from tests.data.test_entries import make
from tests.methods.training import clipped_norm, fit, losses_of

VALUES = {
    "rank": 4,
    "quantize": False,
    "checkpointing": False,
    "lr": 1e-2,
    "warmup": 0.1,
    "weight_decay": 0.0,
    "epochs": 1,
    "validate_every": 100,
    "seed": 0,
}


@pytest.fixture(params=["gpt2", "llama"])
def backbone(request, tiny_folders):
    return livened(load_backbone(str(tiny_folders[request.param]), pooling="mean", max_length=64, normalize=False))


@pytest.fixture
def llama(tiny_folders):
    return livened(load_backbone(str(tiny_folders["llama"]), pooling="mean", max_length=64, normalize=False))


@pytest.fixture
def reports(tmp_path):
    texts = [f"he saw the {WORDS[k % 11]} and he wrote of {k}" for k in range(40)]
    (tmp_path / "reports.txt").write_text("\n\n".join(texts))
    return str(tmp_path / "reports.txt")


def test_the_first_loss_is_that_of_the_entries_one_by_one(backbone, reports, tmp_path):
    data = make(backbone, reports, block=64)
    original = copy.deepcopy(backbone)
    batch = next(iter(data.train_dataloader()))
    pieces = [piece for position in batch.positions for piece in data.blocks["train"][position]]
    assert len(pieces) > 2  # several share a block
    logs = [all_log_probabilities(original, piece)[k - 1, piece[k]] for piece in pieces for k in range(1, len(piece))]
    method = CausalLMTuning(backbone, **VALUES)
    losses, caches = losses_of(method), []
    body(backbone.model).register_forward_hook(lambda *given: caches.append(given[2].past_key_values))
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    assert losses[0] == pytest.approx(-torch.stack(logs).mean().item(), abs=1e-5)
    assert caches == [None] * 3  # two forward passes of the check, and one of the step


def test_it_learns_and_leaves_what_is_frozen(backbone, reports, tmp_path):
    before = copy.deepcopy(backbone.model.state_dict())
    method = CausalLMTuning(backbone, **VALUES | {"epochs": 15})
    losses = losses_of(method)
    fit(method, make(backbone, reports, augmented=True, epochs=15), tmp_path)
    assert losses[-1] < losses[0] - 0.5
    assert all(".lora_" in name for name in method.trained_names())
    after = {name.replace(".base_layer", ""): value for name, value in backbone.model.state_dict().items()}
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_merged_gives_the_logits_of_unmerged(backbone, reports, tmp_path):
    method = CausalLMTuning(backbone, **VALUES)
    fit(method, make(backbone, reports, augmented=True), tmp_path)
    ids = torch.tensor([[0, *backbone.tokenizer.encode("he saw the river and the bridge")]])
    with torch.no_grad():
        unmerged = backbone.model(input_ids=ids).logits
        method.finish(tmp_path)
        merged = backbone.model(input_ids=ids).logits
    assert not any(".lora_" in name for name, _ in backbone.model.named_parameters())
    torch.testing.assert_close(merged, unmerged, atol=1e-4, rtol=0)
    assert backbone.entries == 8
    assert (tmp_path / FILE).is_file()


def test_all_weights_are_trained_without_a_rank(llama, reports, tmp_path):
    before = copy.deepcopy(llama.model.state_dict())
    method = CausalLMTuning(llama, **VALUES | {"rank": None, "lr": 1e-3})
    fit(method, make(llama, reports), tmp_path)
    method.finish(tmp_path)
    changed = [name for name, value in llama.model.state_dict().items() if not torch.equal(value, before[name])]
    assert any("mlp" in name for name in changed)
    assert not (tmp_path / FILE).exists()


def test_checkpointing_gives_the_same_losses(tiny_folders, reports, tmp_path):
    gpt2 = livened(load_backbone(str(tiny_folders["gpt2"]), pooling="mean", max_length=64, normalize=False))

    def trained(epochs=3, **changes):
        method = CausalLMTuning(copy.deepcopy(gpt2), **VALUES | changes)
        method.found = losses_of(method)
        fit(method, make(method.encoder, reports, epochs=epochs), tmp_path, limit_val_batches=0)
        return method

    assert trained(checkpointing=True).found == pytest.approx(trained().found, rel=1e-5)
    model = trained(epochs=1, checkpointing=True, adapter_dropout=0.25).encoder.model
    dropped = {("lora_dropout" in name, one.p) for name, one in model.named_modules() if isinstance(one, nn.Dropout)}
    assert dropped == {(True, 0.25), (False, 0.0)}


def test_autocast_in_bfloat16_trains_and_its_losses_are_near(llama, reports, tmp_path):
    def losses(**changes):
        backbone = copy.deepcopy(llama)
        method = CausalLMTuning(backbone, **VALUES)
        found = losses_of(method)
        fit(method, make(backbone, reports, epochs=3), tmp_path, **changes)
        return found

    exact, rounded = losses(), losses(precision="bf16-mixed")
    assert rounded == pytest.approx(exact, rel=0.05)
    assert rounded != exact


def test_a_checkpoint_holds_what_is_trained_and_loads_into_the_same_model_alone(llama, reports, tmp_path):
    data = make(llama, reports)
    method = CausalLMTuning(llama, **VALUES)
    fit(method, data, tmp_path, callbacks=[Checkpoints(tmp_path, every=1)], enable_checkpointing=True)
    weights = list(method.trained_weights)
    for name in ("last.ckpt", "best.ckpt"):
        state = torch.load(tmp_path / name, weights_only=True)["state_dict"]
        assert sorted(state) == sorted(method.trained_names())
        method.load_state_dict(state)
    assert all(one is other for one, other in zip(method.trained_weights, weights, strict=True))
    assert method.facts()["trained_parameters"] == sum(value.numel() for value in state.values())
    with pytest.raises(RuntimeError, match="loading state_dict"):
        method.load_state_dict(dict(list(state.items())[1:]))


def test_a_head_of_its_own_is_frozen(llama, reports, tmp_path):
    assert llama.model.lm_head.weight is not llama.model.model.embed_tokens.weight
    method = CausalLMTuning(llama, **VALUES)
    fit(method, make(llama, reports), tmp_path, max_steps=1, limit_val_batches=0)
    assert not llama.model.lm_head.weight.requires_grad


def test_validation_is_over_tokens_not_batches(llama, reports, tmp_path):
    data = make(llama, reports, validation=9)
    method = CausalLMTuning(llama, **VALUES | {"lr": 1e-9})
    trainer = fit(method, data, tmp_path)
    logs = []
    for text in data.texts["validation"]:
        ids = [0, *llama.tokenizer.encode(text)]
        values = all_log_probabilities(llama, ids)
        logs += [values[k - 1, ids[k]] for k in range(1, len(ids))]
    expected = -torch.stack(logs).mean()
    assert trainer.callback_metrics["validation/loss"].item() == pytest.approx(expected.item(), abs=1e-4)
    assert trainer.callback_metrics["validation/perplexity"].item() == pytest.approx(expected.exp().item(), rel=1e-4)


def test_a_model_that_mixes_entries_is_refused(tiny_folders):
    opt = livened(load_backbone(str(tiny_folders["opt"]), pooling="mean", max_length=64, normalize=False))
    whole = opt.model.model.decoder.forward
    opt.model.model.decoder.forward = lambda position_ids=None, **given: whole(**given)  # deaf to positions
    with pytest.raises(CannotScore, match="OPTForCausalLM lets entries of a block attend to each other"):
        refuse_mixing(opt)


@pytest.mark.parametrize(("apart", "refused"), [(0.1, False), (0.11, True), (-0.11, True)])
def test_a_twentieth_of_the_largest_state_may_be_rounding(llama, monkeypatch, apart, refused):
    def states(input_ids, position_ids=None, **_):
        hidden = torch.zeros(*input_ids.shape, 2)
        hidden[..., -2, 1] = -2.0
        hidden[..., -1, 0] += apart if position_ids is not None else 0.0
        return SimpleNamespace(last_hidden_state=hidden)

    monkeypatch.setattr(causal_lm, "body", lambda model: states)
    if refused:
        with pytest.raises(CannotScore):
            refuse_mixing(llama)
    else:
        refuse_mixing(llama)


@pytest.mark.parametrize("already", [False, True])
def test_weights_are_quantized_once_and_not_in_shards(llama, monkeypatch, already):
    done = []
    monkeypatch.setattr(causal_lm, "refuse_without_cuda", lambda: None)
    monkeypatch.setattr(causal_lm, "is_in_4_bits", lambda model: already)
    monkeypatch.setattr(causal_lm, "quantize", done.append)
    method = CausalLMTuning(llama, **VALUES | {"quantize": True})
    method._trainer = SimpleNamespace(strategy=SimpleNamespace(root_device=torch.device("cpu")))
    method._device_mesh = object()
    with pytest.raises(FairlabError, match="4-bit weights are not sharded"):
        method.setup("fit")
    method._device_mesh = None
    method.setup("fit")
    assert done == ([] if already else [llama.model])


def test_only_adapters_are_trained_on_4_bits(llama):
    with pytest.raises(FairlabError, match=r"method\.quantize=true trains only adapters"):
        CausalLMTuning(llama, **VALUES | {"quantize": True, "rank": None})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_four_bits_need_cuda(llama):
    with pytest.raises(FairlabError, match=r"needs a CUDA device; with method\.quantize=false the same adapters"):
        CausalLMTuning(llama, **VALUES | {"quantize": True})


@pytest.mark.gpu
def test_two_steps_beside_four_bits(llama, reports, tmp_path):
    pytest.importorskip("bitsandbytes")
    method = CausalLMTuning(llama.to("cuda"), **VALUES | {"quantize": True})
    losses = losses_of(method)
    fit(method, make(llama, reports), tmp_path, accelerator="gpu", max_steps=2, limit_val_batches=0)
    assert len(losses) == 2
    ids = torch.tensor([[0, *llama.tokenizer.encode("he saw the river")]], device="cuda")
    with torch.no_grad():
        unmerged = llama.model(input_ids=ids).logits
        method.finish(tmp_path)
        torch.testing.assert_close(llama.model(input_ids=ids).logits, unmerged, atol=1e-4, rtol=0)


def test_a_loss_that_is_no_number_stops_the_run(llama, reports, tmp_path):
    method, data = CausalLMTuning(llama, **VALUES), make(llama, reports)
    method.setup = lambda stage: add_adapters(llama.model, LoRA(2))
    with torch.no_grad():
        llama.model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(FairlabError, match=r"the loss became nan at step 1; lower method\.lr"):
        fit(method, data, tmp_path)


def test_a_batch_without_targets_has_no_loss(llama):
    batch = collated([[[0]], [[0]]], [0, 1], padding_id=0)
    assert (batch.targets == NOT_SCORED).all()
    method = CausalLMTuning(llama, **VALUES | {"warmup": 0})
    for one in (batch, replace(batch, positions=batch.positions[:0])):
        loss, tokens = method.loss(one)
        assert (loss.item(), tokens) == (0.0, 0)


def test_the_rate_rises_from_zero_and_gradients_are_clipped_to_one(llama):
    method = CausalLMTuning(llama, **VALUES | {"rank": None})
    schedule = method.schedule(torch.optim.SGD(llama.model.parameters(), lr=1.0), steps=4, warmup=0.5)
    assert [schedule.lr_lambdas[0](step) for step in range(5)] == [0.0, 0.5, 1.0, 0.5, 0.0]
    assert clipped_norm(method) == pytest.approx(1, rel=1e-2)


def test_adapters_are_kept_in_the_type_asked_for(llama, tmp_path):
    from safetensors.torch import load_file

    add_adapters(llama.model, LoRA(2))
    for dtype in (torch.float16, torch.float32):
        adapters.save_adapters(llama.model, tmp_path / FILE, dtype)
        assert {value.dtype for value in load_file(tmp_path / FILE).values()} == {dtype}
