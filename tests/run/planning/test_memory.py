"""The memory of training by formula: by hand, and beside what a training step really held."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel

from fairlab.run.planning.memory import KEPT, training_memory
from fairlab.run.planning.sizes import ModelSize

TOY = ModelSize("toy", 1000, 200, 2, 8, 32, 50, 4000, None, "")

MEASURE = """
import gc, sys, torch
from transformers import BertConfig, BertModel
from fairlab.benchmarks.stages import _forget_peaks, _peak

layers, width, texts, length = map(int, sys.argv[1:])
torch.manual_seed(0)
def step(model, optimiser, texts, length):
    words = torch.randint(0, 100, (texts, length))
    model(input_ids=words, attention_mask=torch.ones_like(words)).last_hidden_state.mean().backward()
    optimiser.step()
    optimiser.zero_grad()
small = BertModel(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                             intermediate_size=64)).train()
step(small, torch.optim.AdamW(small.parameters()), 2, 8)  # what libraries take at first is not the model's
gc.collect()
_forget_peaks()
before = _peak()
config = BertConfig(vocab_size=1000, hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64,
                    intermediate_size=4 * width, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertModel(config).train()
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(2):
    step(model, optimiser, texts, length)
print(sum(weight.numel() for weight in model.parameters()), _peak() - before)
"""


def test_every_share_by_hand():
    found = training_memory(TOY, texts=3, length=10, trained=1000)
    assert (found.weights, found.gradients, found.optimiser) == (4000, 4000, 8000)
    # 30 tokens; a layer keeps 8 x 8 + 2 x 32 = 128 values of 4 bytes and two masks of 8; embeddings 3 x 8 values.
    assert found.activations == 30 * (2 * (128 * 4 + 16) + 3 * 8 * 4)
    assert found.total == 16000 + found.activations


def test_a_sharded_model_holds_its_share_and_gathers_what_is_at_work():
    whole = training_memory(TOY, texts=3, length=10, trained=1000)
    shared = training_memory(TOY, texts=3, length=10, trained=1000, shards=4)
    assert (shared.weights, shared.gradients, shared.optimiser) == (1000, 1000, 2000)
    assert shared.activations == whole.activations
    # embeddings (200) and two blocks of 400 in float32, gradients of the embeddings and one block
    assert shared.gathered == 4 * (200 + 2 * 400) + 4 * (200 + 400)
    assert whole.gathered == 0
    mixed = training_memory(TOY, texts=3, length=10, trained=1000, shards=4, numbers="bfloat16")
    assert mixed.gathered == 2 * (200 + 2 * 400) + 4 * (200 + 400)
    adapters = training_memory(TOY, texts=3, length=10, trained=100, shards=4, weight_bytes=2)
    assert adapters.gathered == 2 * 1000 + 4 * 0.1 * 600


def test_what_saves_memory_does():
    plain = training_memory(TOY, texts=3, length=10, trained=1000)
    adapters = training_memory(TOY, texts=3, length=10, trained=10, weight_bytes=0.5)
    assert (adapters.weights, adapters.gradients, adapters.optimiser) == (500, 40, 80)
    again = training_memory(TOY, texts=3, length=10, trained=1000, recompute="full")
    # the inputs of two layers, one layer's values, embeddings
    assert again.activations == 30 * (2 * 8 * 4 + (128 * 4 + 16) + 3 * 8 * 4) < plain.activations
    some = training_memory(TOY, texts=3, length=10, trained=1000, recompute="selective")
    # of each layer also the results of products, 6 x 8 + 32 values, which one layer need not recompute
    assert some.activations == again.activations + 30 * (6 * 8 + 32) * 4 * (2 - 1) < plain.activations
    half = training_memory(TOY, texts=3, length=10, trained=1000, numbers="bfloat16", dropout=False)
    assert half.activations == 30 * (2 * 128 * 2 + 3 * 8 * 2)
    words = training_memory(TOY, texts=3, length=10, trained=1000, logits=1.0)
    assert words.activations - plain.activations == 30 * 3 * 50 * 4
    masked = training_memory(TOY, texts=3, length=10, trained=1000, logits=0.1)
    assert masked.activations - plain.activations == 3 * 3 * 50 * 4


def test_autocast_keeps_sums_in_float32_and_a_copy_of_the_weights():
    plain = training_memory(TOY, texts=3, length=10, trained=1000, dropout=False)
    found = training_memory(TOY, texts=3, length=10, trained=1000, dropout=False, numbers="autocast")
    assert plain.activations == 30 * (2 * (32 * 8 + 8 * 32) + 3 * 8 * 4)
    assert found.activations == 30 * (2 * (24 * 8 + 4 * 32) + 3 * 8 * 4) + 2 * 800
    gated = training_memory(replace(TOY, gated=True), texts=3, length=10, trained=1000, dropout=False)
    assert gated.activations == 30 * (2 * (40 * 8 + 16 * 32) + 3 * 8 * 4)


def test_recomputed_layers_in_other_numbers_by_hand():
    """A gated layer keeps 832 bytes a token in float32; the others 256 in bfloat16, and 320 under autocast."""
    settings = {"texts": 3, "length": 10, "trained": 1000, "dropout": False}
    gated = training_memory(replace(TOY, gated=True), **settings, recompute="selective")
    # inputs of 8 values, and products of 6 x 8 + 2 x 32
    assert gated.activations == 30 * (2 * (32 + 448) + (832 - 448) + 3 * 32)
    half = training_memory(TOY, **settings, recompute="selective", numbers="bfloat16")
    assert half.activations == 30 * (2 * (16 + 160) + (256 - 160) + 3 * 16)
    mixed = training_memory(TOY, **settings, numbers="autocast", shards=4, recompute="selective")
    assert mixed.activations == 30 * (2 * (32 + 160) + (320 - 160) + 3 * 32)  # no copy of weights that are sharded
    assert mixed.gathered == 2 * (200 + 2 * 400) + 4 * (200 + 400)
    assert mixed.total == 1000 + 1000 + 2000 + mixed.activations + mixed.gathered


@pytest.mark.parametrize(("numbers", "gated"), KEPT)
def test_a_layer_keeps_what_autograd_saves(numbers, gated):
    width, inner = 96, 160
    shape = {"hidden_size": width, "intermediate_size": inner, "num_attention_heads": 4, "vocab_size": 50}

    def kept(layers):
        kind, config = (LlamaModel, LlamaConfig) if gated else (BertModel, BertConfig)
        model = kind(config(**shape, num_hidden_layers=layers)).eval()
        model = model.bfloat16() if numbers == "bfloat16" else model
        model.set_attn_implementation("sdpa")
        weights = {one.untyped_storage().data_ptr() for one in model.parameters()}
        saved = {}

        def keep(one):
            if one.untyped_storage().data_ptr() not in weights:
                saved[one.untyped_storage().data_ptr()] = one  # kept alive, so that no address is used twice
            return one

        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one)
        with hooks, torch.autocast("cpu", torch.bfloat16, enabled=numbers == "autocast"):
            model(input_ids=torch.randint(50, (8, 64)))
        multiplied = sum(one.numel() for one in model.parameters() if one.dim() == 2) - 50 * width
        return sum(one.untyped_storage().nbytes() for one in saved.values()), multiplied

    (few, fewer_weights), (many, more_weights) = kept(1), kept(2)
    of_width, of_inner = KEPT[numbers, gated]
    copies = 2 * (more_weights - fewer_weights) if numbers == "autocast" else 0
    expected = 8 * 64 * (of_width * width + of_inner * inner) + copies
    assert many - few == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("layers", "width", "texts", "length"), [(6, 384, 32, 128), (4, 768, 32, 64)])
def test_the_formula_is_within_a_fifth_of_the_measured_peak(layers, width, texts, length):
    command = [sys.executable, "-c", MEASURE, *map(str, (layers, width, texts, length))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    parameters, peak = map(int, done.stdout.split())
    size = ModelSize("", parameters, 0, layers, width, 4 * width, 1000, 0, None, "")
    estimated = training_memory(size, texts=texts, length=length, trained=parameters, dropout=False).total
    print(f"{layers} layers, {width} wide: {estimated / 1e6:.0f} MB by formula, {peak / 1e6:.0f} MB measured")
    assert abs(estimated - peak) < 0.2 * peak
