"""Masked-language-model training on a tiny random BERT."""

import copy
import math
from dataclasses import replace

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import LambdaCallback
from transformers import BertForMaskedLM

from fairlab.backbones.adapters import FILE
from fairlab.backbones.loading import load_backbone
from fairlab.checks.values import node_faults
from fairlab.data.corpus import Corpus
from fairlab.methods.mlm import MLM, mask_tokens
from fairlab.run.checkpoints import Checkpoints
from fairlab.run.history import History
from fairlab.types import FairlabError
from tests.conftest import WORDS
from tests.methods.training import fit, losses_of

VALUES = {
    "rank": 4,
    "lr": 1e-3,
    "warmup": 0.1,
    "weight_decay": 0.0,
    "betas": (0.9, 0.98),
    "clip": 1.0,
    "mask_share": 0.3,
    "whole_words": False,
    "preserve": 0.0,
    "dropout": None,
    "epochs": 1,
    "steps": None,
    "validate_every": 100,
    "seed": 0,
}


def make_data(encoder, folder, count=24, **changes):
    lines = [f"The {WORDS[k % 11]} stood beside the {WORDS[(3 * k) % 11]} of number {k}." for k in range(count)]
    (folder / "corpus.txt").write_text("\n\n".join(lines))
    settings = {"windows": [0], "validation": 0.2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    return Corpus(paths=[str(folder / "corpus.txt")], encoder=encoder, **settings | changes)


@pytest.mark.parametrize("preserve", [0.0, 3.0])
def test_the_first_loss_is_that_of_transformers_text_by_text(tiny, tmp_path, preserve):
    original = copy.deepcopy(tiny)
    data = make_data(tiny, tmp_path)
    batch = next(iter(data.train_dataloader()))
    method = MLM(tiny, **VALUES | {"preserve": preserve})
    losses = losses_of(method)
    trainer = fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)

    torch.manual_seed(0)  # the head that the method draws from its seed
    reference = BertForMaskedLM(original.model.config).eval()
    reference.bert.load_state_dict(original.model.state_dict(), strict=False)
    generator = torch.Generator().manual_seed(0)
    special = torch.isin(batch.input_ids, torch.tensor(tiny.tokenizer.all_special_ids))
    masks = {"share": 0.3, "as_mask": 0.8, "as_random": 0.1, "mask_id": tiny.tokenizer.mask_token_id}
    shown, chosen = mask_tokens(batch.input_ids, special, **masks, vocabulary=30522, generator=generator)
    total, count, cosines = 0.0, 0, []
    for row in range(len(shown)):
        length = int(batch.attention_mask[row].sum())
        out = reference(input_ids=shown[row : row + 1, :length], output_hidden_states=True)
        log_p = out.logits[0].log_softmax(dim=-1)
        for place in chosen[row].nonzero().flatten().tolist():
            total -= log_p[place, batch.input_ids[row, place]].item()
            count += 1
        pooled = out.hidden_states[-1][0].mean(dim=0)
        full = original.embed([data.texts["train"][batch.positions[row]]])[0]
        cosines.append((pooled @ full / pooled.norm() / full.norm()).item())
    expected = total / count + preserve * (1 - sum(cosines) / len(cosines))
    assert losses[0] == pytest.approx(expected, rel=1e-5)
    assert trainer.callback_metrics["train/loss"].item() == pytest.approx(expected, rel=1e-5)
    assert method.facts()["trained_parameters"] == sum(p.numel() for p in tiny.model.parameters() if p.requires_grad)


def test_a_share_without_texts_or_without_masks_has_no_loss(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    method = MLM(tiny, **VALUES | {"preserve": 3.0})
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    batch = next(iter(data.val_dataloader()))
    nothing = batch.chosen[:0]
    for positions in (batch.positions[:0], batch.positions):
        parts, logits = method.losses(
            replace(batch, positions=positions, chosen=nothing, targets=nothing), "validation"
        )
        assert set(parts) == {"loss", "mlm_loss", "preservation_loss"}
        assert parts["mlm_loss"].item() == 0
        assert parts["loss"].item() == pytest.approx(3 * parts["preservation_loss"].item())
        assert (parts["preservation_loss"].item() == 0) == (not len(positions))
        assert logits.argmax(dim=1).shape == (0,)


def test_a_part_of_the_loss_counts_by_what_it_is_a_mean_of(tiny, tmp_path, monkeypatch):
    """Processes have other numbers of masked tokens than of texts."""

    class Share:
        def __init__(self, count, device):
            self.count = count

        def mean(self, value):
            return self.count * value

        loss = mean

    data, logged = make_data(tiny, tmp_path), []
    method = MLM(tiny, **VALUES | {"preserve": 3.0})
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    batch = next(iter(data.train_dataloader()))
    parts, _ = method.losses(batch, "train")
    monkeypatch.setattr("fairlab.methods.mlm.BatchShare", Share)
    method.log_training = lambda values, size: logged.append((values, size))
    loss = method.training_step(batch, 0)
    texts, tokens = len(batch.positions), len(batch.targets)
    assert tokens != texts
    expected = {"mlm_loss": tokens * parts["mlm_loss"], "preservation_loss": texts * parts["preservation_loss"]}
    expected["loss"] = expected["mlm_loss"] + 3 * expected["preservation_loss"]
    assert loss.item() == pytest.approx(expected["loss"].item(), rel=1e-5)
    ((values, size),) = logged
    assert {name: value.item() for name, value in values.items()} == pytest.approx(
        {name: value.item() for name, value in expected.items()}, rel=1e-5
    )
    assert size == texts


@pytest.mark.slow
def test_two_runs_of_one_seed_are_the_same_and_of_two_seeds_are_not(tiny, tmp_path):
    def run(seed, noise):
        torch.manual_seed(noise)
        encoder = copy.deepcopy(tiny)
        method = MLM(encoder, **VALUES | {"seed": seed})
        losses = losses_of(method)
        fit(method, make_data(encoder, tmp_path), tmp_path, limit_val_batches=0)
        return losses

    assert run(0, noise=1)[0] == run(0, noise=2)[0]
    assert run(0, noise=1)[0] != run(1, noise=1)[0]


@pytest.mark.slow
def test_dropout_is_drawn_from_seed_and_step_and_off_in_validation(tiny, tmp_path):
    def run(seed, noise, **changes):
        torch.manual_seed(noise)
        encoder = copy.deepcopy(tiny)
        method = MLM(encoder, **VALUES | {"rank": None, "seed": seed, **changes})
        losses = losses_of(method)
        data = make_data(encoder, tmp_path)
        trainer = fit(method, data, tmp_path, limit_train_batches=2)
        batch = next(iter(data.val_dataloader()))
        with method.encoder.measuring():
            parts, _ = method.losses(batch, "validation")
            again, _ = method.losses(batch, "validation")
        assert parts["loss"] == again["loss"]
        assert trainer.callback_metrics["validation/loss"] > 0
        return losses

    raised = {"dropout": {"hidden": 0.2, "attention": 0.15}}
    assert run(0, noise=1, **raised) == run(0, noise=2, **raised)
    assert run(0, noise=1, **raised)[0] != run(0, noise=1)[0]


@pytest.mark.parametrize("dropout", [None, {"hidden": 0.2, "attention": 0.15}])
def test_a_continued_run_ends_as_one_that_never_stopped(tiny, tmp_path, dropout):
    def run(*, stop=-1, start=None):
        encoder = copy.deepcopy(tiny)
        method = MLM(encoder, **VALUES | {"rank": None, "dropout": dropout, "preserve": 1.0})
        quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
        trainer = lightning.Trainer(max_epochs=1, limit_val_batches=0, accelerator="cpu", **quiet)
        if stop > 0:
            method.on_train_batch_end = lambda *_: (
                trainer.save_checkpoint(tmp_path / "stop.ckpt") if trainer.global_step == stop else None
            )
        trainer.fit(method, make_data(encoder, tmp_path), ckpt_path=start, weights_only=True)
        assert trainer.global_step > 3
        return encoder.embed(["he saw a clock"])

    expected = run(stop=2)
    torch.testing.assert_close(run(start=str(tmp_path / "stop.ckpt")), expected)


def test_only_adapters_and_head_are_trained(tiny, tmp_path):
    before = copy.deepcopy(tiny.model.state_dict())
    method = MLM(tiny, **VALUES)
    fit(method, make_data(tiny, tmp_path), tmp_path, limit_val_batches=0)
    trained = {name for name, p in tiny.model.named_parameters() if p.grad is not None}
    assert trained == {name for name, p in tiny.model.named_parameters() if p.requires_grad}
    assert all(".lora_" in name or name.startswith("cls.") for name in trained)
    assert sum(".lora_A." in name for name in trained) == 2 * 6
    for name, value in tiny.model.bert.state_dict().items():
        if ".lora_" not in name:
            assert torch.equal(value, before[name.replace(".base_layer", "")]), f"{name} moved"
    model = tiny.model
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_without_adapters_everything_is_trained(tiny, tmp_path):
    fit(MLM(tiny, **VALUES | {"rank": None}), make_data(tiny, tmp_path), tmp_path, limit_val_batches=0)
    assert all(p.requires_grad and p.grad is not None for p in tiny.model.parameters())
    assert tiny.model.config._attn_implementation == "eager"  # faster on a CPU


# With adapters the decoder stays random.
@pytest.mark.parametrize(
    ("rank", "lr", "share"), [(None, 1e-2, 0.5), pytest.param(8, 3e-2, 0.8, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_it_overfits_a_handful_of_sentences(tiny, tmp_path, rank, lr, share):
    data = make_data(tiny, tmp_path, count=8, epochs=60, batch_size=8)
    method = MLM(tiny, **VALUES | {"rank": rank, "lr": lr})
    losses = losses_of(method)
    fit(method, data, tmp_path, limit_val_batches=0)
    assert sum(losses[-5:]) < share * sum(losses[:5])


@pytest.mark.slow
@pytest.mark.parametrize("rank", [None, 4])
def test_a_larger_weight_keeps_the_embeddings_nearer(tiny, tmp_path, rank):
    drift = []
    for preserve in (0.0, 30.0):
        encoder = copy.deepcopy(tiny)
        data = make_data(encoder, tmp_path, epochs=10)
        method = MLM(encoder, **VALUES | {"preserve": preserve, "lr": 2e-2, "rank": rank})
        fit(method, data, tmp_path, limit_val_batches=0)
        texts = data.texts["validation"]
        drift.append(1 - torch.cosine_similarity(encoder.embed(texts), tiny.embed(texts)).mean().item())
    assert drift[1] < 0.5 * drift[0]


def test_finishing_leaves_the_trained_model_as_the_file_holds_it(tiny, tmp_path):
    method = MLM(tiny, **VALUES | {"lr": 1e-2})
    data = make_data(tiny, tmp_path, epochs=3)
    fit(method, data, tmp_path, limit_val_batches=0)
    batch = next(iter(data.val_dataloader()))

    @torch.no_grad()
    def logits():
        return tiny.model(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits

    with_adapters = logits()
    method.finish(tmp_path)
    assert (tmp_path / FILE).is_file()
    assert not [name for name, _ in tiny.model.named_modules() if "lora" in name]
    torch.testing.assert_close(logits(), with_adapters, atol=5e-3, rtol=5e-3)  # the file holds float16


def test_validation_reports_means_over_all_masked_tokens(tiny, tmp_path):
    data = make_data(tiny, tmp_path, batch_size=3)
    method = MLM(tiny, **VALUES | {"preserve": 2.0})
    trainer = fit(method, data, tmp_path)
    metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}
    total, found, count = 0.0, 0, 0
    with torch.no_grad():
        for batch in data.val_dataloader():
            parts, logits = method.losses(batch, "validation")
            hits = logits.argmax(dim=-1) == batch.targets
            total += parts["mlm_loss"].item() * len(hits)
            found += int(hits.sum())
            count += len(hits)
    assert metrics["validation/mlm_loss"] == pytest.approx(total / count, rel=1e-5)
    assert metrics["validation/perplexity"] == pytest.approx(math.exp(total / count), rel=1e-5)
    assert metrics["validation/accuracy"] == pytest.approx(found / count)
    expected = metrics["validation/mlm_loss"] + 2 * metrics["validation/preservation_loss"]
    assert metrics["validation/loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_continued_run_skips_the_batches_it_has_used(tiny, tmp_path):
    def run(killed_at=None, ckpt_path=None):
        encoder = copy.deepcopy(tiny)
        method, data = MLM(encoder, **VALUES), make_data(encoder, tmp_path)
        history = History(tmp_path)
        kill = LambdaCallback(on_train_batch_start=lambda trainer, *_: 1 / (trainer.global_step != killed_at))
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
            limit_val_batches=1,
            callbacks=[kill, history, Checkpoints(tmp_path, 1)],
        )
        trainer.fit(method, data, ckpt_path=ckpt_path, weights_only=True)
        return history.rows

    whole = run()
    with pytest.raises(ZeroDivisionError):
        run(killed_at=3)
    assert run(ckpt_path=tmp_path / "last.ckpt") == whole


def test_a_loss_that_is_not_finite_stops(tiny, tmp_path):
    method = MLM(tiny, **VALUES | {"preserve": 1.0})
    method.on_train_start = lambda: method.original["train"].fill_(float("nan"))
    with pytest.raises(FairlabError, match=r"the loss became nan at step 1; lower method\.lr"):
        fit(method, make_data(tiny, tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dropout": {"hidden": 0.1}}, "method.dropout needs hidden and attention, or null, not: hidden"),
        ({"dropout": {"hidden": 1.0, "attention": 0.1}}, r"must be at least 0 and below 1: 1.0, 0.1"),
    ],
)
def test_values_out_of_range(tiny, change, message):
    with pytest.raises(FairlabError, match=message):
        MLM(tiny, **VALUES | change)


@pytest.mark.parametrize(("betas", "faults"), [([0, 0.999], 0), ([0.9, 1], 1), ([-0.1, 0.9], 1)])
def test_decay_rates_are_below_one(tiny, betas, faults):
    assert len(list(node_faults("method", {"_target_": "fairlab.methods.mlm.MLM", "betas": betas}))) == faults
    assert MLM(tiny, **VALUES | {"betas": betas}).betas == tuple(betas)


def test_a_model_that_cannot_be_a_masked_lm_is_rejected_before_training(tiny, monkeypatch, tiny_folders):
    gpt2 = load_backbone(str(tiny_folders["gpt2"]), pooling="mean", max_length=64, normalize=False)
    with pytest.raises(FairlabError, match="GPT2LMHeadModel cannot be trained as a masked LM, since transformers has"):
        MLM(gpt2, **VALUES)
    kept, tiny.tokenizer.mask_token = tiny.tokenizer.mask_token, None
    try:
        with pytest.raises(FairlabError, match="the tokenizer of BertModel has no mask token; use the tokenizer"):
            MLM(tiny, **VALUES)
    finally:
        tiny.tokenizer.mask_token = kept


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_gradients_are_clipped_whatever_the_precision(tiny, tmp_path, precision):
    method = MLM(tiny, **VALUES | {"clip": 1e-3})
    norms, clip = [], method.configure_gradient_clipping

    def noted(*given, **named):
        for _ in range(2):  # as it came, and as it was left
            norms.append(torch.stack([one.grad.norm() for one in method.trained_weights]).norm().item())
            clip(*given, **named)

    method.configure_gradient_clipping = noted
    fit(method, make_data(tiny, tmp_path), tmp_path, max_steps=2, limit_val_batches=0, precision=precision)
    assert len(norms) == 4
    assert min(norms[::2]) > 1e-2
    assert norms[1::2] == pytest.approx([1e-3] * 2, rel=1e-2)


def test_a_share_of_the_mask_is_hidden_as_such_in_training_and_all_of_it_in_validation(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    method = MLM(tiny, **VALUES | {"mask_share": 0.4})
    ids = torch.full((200, 60), 3000)
    whole = torch.ones_like(ids)
    mask = tiny.tokenizer.mask_token_id
    batch = replace(next(iter(data.train_dataloader())), input_ids=ids, attention_mask=whole, texts=None)
    for split, as_mask, unchanged in (("train", 0.8, 0.1), ("validation", 1.0, 0.0)):
        masked = method.masked(batch, split, 0)
        seen = masked.input_ids.flatten()[masked.chosen]
        assert len(masked.chosen) / ids.numel() == pytest.approx(0.4, rel=0.05)
        assert (seen == mask).float().mean().item() == pytest.approx(as_mask, rel=0.03)
        assert (seen == 3000).float().mean().item() == pytest.approx(unchanged, rel=0.15)
        assert (masked.targets == 3000).all()
