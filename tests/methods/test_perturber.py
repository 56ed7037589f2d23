"""Training a perturber on tiny random models."""

import copy
import json
from dataclasses import replace

import lightning
import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertLMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from fairlab.backbones.backbone import Backbone
from fairlab.data.perturbation_pairs import PerturbationPairs
from fairlab.methods.perturber import PerturberTraining, add_markers
from fairlab.types import CannotScore, FairlabError
from tests.conftest import WORDS
from tests.methods.training import losses_of, make_trainer

VALUES = {
    "lr": 1e-2,
    "warmup": 0.1,
    "decay": 0.1,
    "weight_decay": 0.0,
    "clip": 1.0,
    "dropout": False,
    "train_embeddings": True,
    "epochs": 1,
    "patience": None,
    "validate_every": 1000,
    "seed": 0,
}
IDS = {"pad_token_id": 0, "eos_token_id": 102, "decoder_start_token_id": 102}


@pytest.fixture
def words(tokenizer):
    """A tokenizer of its own, which training adds markers to."""
    return copy.deepcopy(tokenizer)


@pytest.fixture(params=["bart", "t5"])
def seq2seq(request, words):
    torch.manual_seed(0)
    if request.param == "bart":
        size = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
        heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        config = BartConfig(vocab_size=30522, max_position_embeddings=64, bos_token_id=101, **IDS, **size, **heads)
        model = BartForConditionalGeneration(config)
    else:
        size = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2}
        model = T5ForConditionalGeneration(T5Config(vocab_size=30522, **IDS, **size))
    return Backbone(model.eval(), words, pooling="mean", max_length=48, normalize=False)


def make_data(backbone, folder, count=40, **changes):
    rows = [
        {
            "original": f"he saw the {WORDS[k % 11]} {k}",
            "selected_word": "he",
            "target_attribute": "woman",
            "perturbed": f"she saw the {WORDS[k % 11]} {k}",
        }
        for k in range(count)
    ]
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"paths": None, "axes": [], "format": "paper", "validation": 0.2, "batch_size": 4, "limit": None}
    return PerturbationPairs(path=str(path), encoder=backbone, **settings | {"epochs": 1, "seed": 0} | changes)


def fit(method, data, **changes):
    trainer = make_trainer(None, **{"limit_val_batches": 0} | changes)
    trainer.fit(method, data)
    return trainer


def test_the_first_loss_is_that_of_transformers_by_labels(seq2seq, tmp_path):
    method = PerturberTraining(seq2seq, **VALUES)
    data = make_data(seq2seq, tmp_path)
    reference = copy.deepcopy(seq2seq.model)
    batch = next(iter(data.train_dataloader()))
    losses = losses_of(method)
    nothing = replace(batch, targets=batch.targets[:0], given=batch.given[:0])
    assert [len(values) for values in method.losses(nothing)] == [0, 0]
    fit(method, data, max_steps=1)
    expected = reference(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=batch.targets).loss
    assert losses[0] == pytest.approx(expected.item(), rel=1e-5)
    assert seq2seq.model.config.perturber_format == "paper"


@pytest.mark.slow
def test_it_overfits_a_handful_of_pairs(seq2seq, tmp_path):
    method = PerturberTraining(seq2seq, **VALUES | {"epochs": 30})
    losses = losses_of(method)
    fit(method, make_data(seq2seq, tmp_path, count=8, epochs=30))
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])


def test_markers_are_added_once_and_read_as_one_token(seq2seq):
    add_markers(seq2seq, seed=0)
    size = len(seq2seq.tokenizer)
    add_markers(seq2seq, seed=0)
    assert len(seq2seq.tokenizer) == size == 30524
    assert seq2seq.model.get_input_embeddings().num_embeddings == size
    assert seq2seq.tokenizer.tokenize("he <PERT_SEP> boat <SEP> x") == ["he", "<PERT_SEP>", "boat", "<SEP>", "x"]


def test_embeddings_of_markers_have_the_distribution_of_the_others(seq2seq):
    """Half of the words have a value one standard deviation above the mean of a component, and half below."""
    weight = seq2seq.model.get_input_embeddings().weight.data
    means, sizes = torch.arange(32.0), torch.linspace(0.5, 2.0, 32)
    weight.copy_(means + sizes * torch.tensor([1.0, -1.0]).repeat(15261)[:, None])
    add_markers(seq2seq, seed=3)
    rows = seq2seq.model.get_input_embeddings().weight[30522:].detach()
    drawn = torch.randn(2, 32, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close((rows - means) / sizes, drawn, atol=1e-3, rtol=1e-3)


def test_embeddings_stay_where_they_are_not_to_be_trained(seq2seq, tmp_path):
    method = PerturberTraining(seq2seq, **VALUES | {"train_embeddings": False})
    before = seq2seq.model.get_input_embeddings().weight.clone()
    fit(method, make_data(seq2seq, tmp_path), max_steps=2)
    assert torch.equal(seq2seq.model.get_input_embeddings().weight, before)


def test_only_the_last_layers_of_each_stack_are_trained(words, tmp_path):
    size = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 2}
    model = T5ForConditionalGeneration(T5Config(vocab_size=30522, **IDS, **size))
    backbone = Backbone(model.eval(), words, pooling="mean", max_length=48, normalize=False)
    with pytest.raises(FairlabError, match="trained_layers=3 freezes nothing, since the model has 3 layers"):
        PerturberTraining(backbone, **VALUES | {"trained_layers": 3})
    method = PerturberTraining(backbone, **VALUES | {"trained_layers": 2})
    before = copy.deepcopy(model.state_dict())
    fit(method, make_data(backbone, tmp_path), max_steps=2)
    kept = {name for name, value in model.state_dict().items() if torch.equal(value, before[name])}
    assert kept == {name for name in before if name.startswith("encoder.block.0.")}


@pytest.mark.slow
def test_a_continued_run_ends_as_one_that_never_stopped(seq2seq, tmp_path):
    def run(*, stop=-1, start=None):
        backbone = copy.deepcopy(seq2seq)
        method = PerturberTraining(backbone, **VALUES | {"dropout": True})
        quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
        trainer = lightning.Trainer(max_epochs=1, limit_val_batches=0, accelerator="cpu", **quiet)
        if stop > 0:
            method.on_train_batch_end = lambda *_: (
                trainer.save_checkpoint(tmp_path / "stop.ckpt") if trainer.global_step == stop else None
            )
        trainer.fit(method, make_data(backbone, tmp_path), ckpt_path=start, weights_only=True)
        assert trainer.global_step > 5
        return backbone.model.state_dict()

    expected = run(stop=3)
    found = run(start=str(tmp_path / "stop.ckpt"))
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_rate_rises_by_steps_and_falls_to_the_share_that_is_left(seq2seq, tmp_path):
    method = PerturberTraining(seq2seq, **VALUES | {"warmup": 2, "decay": 0.25, "lr": 1.0})
    data = make_data(seq2seq, tmp_path)
    rates = []
    method.on_train_batch_start = lambda *_: rates.append(method.trainer.optimizers[0].param_groups[0]["lr"])
    fit(method, data)
    steps = data.total_batches
    assert rates[:3] == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert rates[-1] == pytest.approx(1 - 0.75 * (steps - 1 - 2) / (steps - 2))


def test_validation_gives_perplexity_of_all_and_of_changed_tokens(seq2seq, tmp_path):
    method = PerturberTraining(seq2seq, **VALUES)
    data = make_data(seq2seq, tmp_path)
    trainer = fit(method, data, max_steps=1, limit_val_batches=1.0, val_check_interval=1)
    total, changed, counts = 0.0, 0.0, [0, 0]
    with torch.no_grad():
        for pair, one in zip(data.pairs["validation"], data.encoded["validation"], strict=True):
            logits = seq2seq.model(input_ids=torch.tensor([one.source]), labels=torch.tensor([one.target])).logits[0]
            losses = torch.nn.functional.cross_entropy(logits, torch.tensor(one.target), reduction="none")
            total, counts[0] = total + losses.sum().item(), counts[0] + len(losses)
            she = one.target.index(seq2seq.tokenizer.convert_tokens_to_ids("she"))
            assert pair.perturbed.startswith("she")
            changed, counts[1] = changed + losses[she].item(), counts[1] + 1
    metrics = trainer.callback_metrics
    assert metrics["validation/loss"].item() == pytest.approx(total / counts[0], rel=1e-4)
    assert metrics["validation/perplexity_changed"].log().item() == pytest.approx(changed / counts[1], rel=1e-4)


def test_another_model_is_refused(tiny):
    with pytest.raises(FairlabError, match="or a causal LM; BertModel is neither"):
        PerturberTraining(tiny, **VALUES)


@pytest.fixture
def decoder(byte_tokenizer):
    torch.manual_seed(0)
    words = copy.deepcopy(byte_tokenizer)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    ids = {"vocab_size": len(words), "bos_token_id": 0, "eos_token_id": 0, "tie_word_embeddings": True}
    model = LlamaForCausalLM(LlamaConfig(**size, **ids, max_position_embeddings=256))
    return Backbone(model.eval(), words, pooling="mean", max_length=96, normalize=False)


def test_a_causal_lm_is_trained_on_the_rewriting_alone(decoder, tmp_path):
    method = PerturberTraining(decoder, **VALUES)
    data = make_data(decoder, tmp_path)
    reference = copy.deepcopy(decoder.model)
    batch = next(iter(data.train_dataloader()))
    losses = losses_of(method)
    fit(method, data, max_steps=1)
    marker = decoder.tokenizer.convert_tokens_to_ids("<PERT_SEP>")
    total, count = 0.0, 0
    for source, mask, target in zip(batch.input_ids, batch.attention_mask, batch.targets, strict=True):
        read, given = source[mask == 1].tolist(), target[target >= 0].tolist()
        labels = [-100] * (len(read) + 1) + given
        loss = reference(input_ids=torch.tensor([[*read, marker, *given]]), labels=torch.tensor([labels])).loss
        total, count = total + loss.item() * len(given), count + len(given)
    assert losses[0] == pytest.approx(total / count, rel=1e-5)
    assert decoder.model.config.perturber_format == "paper"
    assert method.facts()["pipeline"] == "text-generation"


@pytest.mark.slow
def test_a_causal_lm_learns_a_handful_of_pairs_and_keeps_its_tied_words(decoder, tmp_path):
    method = PerturberTraining(decoder, **VALUES | {"epochs": 60, "train_embeddings": False})
    before = decoder.model.get_input_embeddings().weight.clone()
    losses = losses_of(method)
    fit(method, make_data(decoder, tmp_path, count=8, epochs=60))
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])  # its words are random and stay, so it learns slowly
    assert torch.equal(decoder.model.get_input_embeddings().weight, before)
    assert torch.equal(decoder.model.get_output_embeddings().weight, before)


def test_a_causal_lm_that_cannot_end_or_sees_ahead_is_refused(decoder, tokenizer):
    bert = BertLMHeadModel(BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
    both_ways = Backbone(bert.eval(), tokenizer, pooling="mean", max_length=48, normalize=False)
    with pytest.raises(CannotScore):
        PerturberTraining(both_ways, **VALUES)
    decoder.tokenizer.eos_token = None
    with pytest.raises(FairlabError, match="has no end token"):
        PerturberTraining(decoder, **VALUES)
