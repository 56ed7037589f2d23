"""Checkpoints of many architectures: which class loads them, and that texts of every kind are embedded."""

import pytest
import torch
import transformers

import fairlab
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.tokenizers import readable_positions
from fairlab.benchmarks.needs import why_not_measured
from fairlab.benchmarks.stereoset import StereoSet
from fairlab.types import CannotScore, FairlabError
from tests.tiny_models import SIZE, byte_tokenizer

TEXTS = ["She is a nurse.", "", "He left, and the river was wide."]
OF_T5 = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
OF_BART = {f"{half}_{what}": 2 for half in ("encoder", "decoder") for what in ("layers", "attention_heads", "ffn_dim")}
OF_LLAMA = {**SIZE, "head_dim": 16, "num_key_value_heads": 1, "bos_token_id": 0, "eos_token_id": 0}
OF_IMAGES = {"image_size": 28, "patch_size": 14, **SIZE}
pytestmark = pytest.mark.filterwarnings("ignore:the embeddings of this model")


def saved(kind, settings, folder, **others):
    torch.manual_seed(0)
    tokenizer = byte_tokenizer()
    config = getattr(
        transformers, kind.partition("For")[0].removesuffix("EncoderModel").removesuffix("MTModel") + "Config"
    )
    own = {"text_config": {"vocab_size": len(tokenizer), **settings}} if others else {"vocab_size": len(tokenizer)}
    model = getattr(transformers, kind)(config(**own, **(others or settings)))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return fairlab.load(folder), model.eval()


def last_states(part, backbone, text):
    with torch.no_grad():
        return part(torch.tensor([backbone.tokenize([text])[0]])).last_hidden_state.mean(dim=1)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("T5EncoderModel", OF_T5),
        ("T5ForConditionalGeneration", OF_T5),
        ("BartForConditionalGeneration", {"d_model": 32, "pad_token_id": 0, **OF_BART}),
        (
            "MarianMTModel",
            {"d_model": 32, "pad_token_id": 0, "decoder_start_token_id": 0, "max_position_embeddings": 64, **OF_BART},
        ),
    ],
)
def test_of_an_encoder_decoder_the_encoder_embeds(kind, settings, tmp_path):
    found, model = saved(kind, settings, tmp_path)
    assert type(found.model).__name__ == kind
    embedded = found.embed(TEXTS)
    assert torch.allclose(embedded[:1], last_states(model.get_encoder(), found, TEXTS[0]), atol=1e-5)
    assert embedded.isfinite().all()
    assert why_not_measured(StereoSet(), found) in (
        f"{kind} scores a text only as a reply to another text; take a masked or a causal LM",
        f"{kind} has no language-modelling head; take a checkpoint saved with one",
    )


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Qwen3ForCausalLM", OF_LLAMA),
        ("MambaForCausalLM", {"hidden_size": 32, "num_hidden_layers": 1, "state_size": 8}),
    ],
)
def test_a_text_without_tokens_is_read_as_a_start_token(kind, settings, tmp_path):
    found, _ = saved(kind, settings, tmp_path)
    together = found.embed(TEXTS)
    alone = torch.cat([found.embed([text]) for text in TEXTS])
    assert together.isfinite().all()
    assert torch.allclose(together, alone, atol=1e-5)
    assert torch.allclose(together[1:2], found.embed(["<|endoftext|>"]), atol=1e-6)


def test_a_language_model_that_also_reads_images_is_a_causal_one(tmp_path):
    found, model = saved("Gemma3ForConditionalGeneration", OF_LLAMA, tmp_path, vision_config=OF_IMAGES)
    assert "head: causal language model" in repr(found)
    assert not why_not_measured(StereoSet(), found)
    ids = [0, *found.tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]]
    with torch.no_grad():
        values = model(torch.tensor([ids])).logits[0].log_softmax(dim=-1)
    expected = sum(float(values[place, token]) for place, token in enumerate(ids[1:]))
    assert CausalLM(found).log_likelihoods(TEXTS[:1]).sums[0] == pytest.approx(expected, abs=1e-3)


def test_positions_that_a_configuration_calls_unlimited():
    assert transformers.XLNetConfig().max_position_embeddings == -1
    assert readable_positions(transformers.XLNetConfig()) is None


def test_layers_with_fewer_states_than_tokens(tmp_path):
    settings = {"block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 32, "n_head": 2, "d_head": 16, "d_inner": 64}
    found, model = saved("FunnelForMaskedLM", settings, tmp_path)
    assert torch.allclose(found.embed(TEXTS[:1]), last_states(model.funnel, found, TEXTS[0]), atol=1e-5)
    assert found.gate.startswith("failed: ")  # of random weights, after the checks that it can take


def test_a_model_that_embeds_in_another_width_than_it_says(tmp_path):
    sizes = {"attn_layers": ["local"], "hidden_size": 32, "num_attention_heads": 2, "attention_head_size": 16}
    places = {"axial_pos_shape": [8, 8], "axial_pos_embds_dim": [16, 16], "max_position_embeddings": 64}
    found, _ = saved(
        "ReformerForMaskedLM", {**sizes, **places, "is_decoder": False, "local_attn_chunk_length": 8}, tmp_path
    )
    with pytest.raises(
        CannotScore, match="gives embeddings of length 64, not 32 as in its configuration; give it as an"
    ):
        found.embed(TEXTS)


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        (
            "ViTModel",
            "ViTConfig",
            "is a ViTModel, which reads pixel_values instead of texts; give a model that reads texts",
        ),
        ("SiglipModel", "SiglipConfig", "is a SiglipModel with one part for texts and one for images; give the part"),
    ],
)
def test_a_model_that_reads_no_texts_is_one_sentence(kind, config, message, tmp_path):
    halves = {"text_config": {"vocab_size": 320, **SIZE}, "vision_config": OF_IMAGES} if kind == "SiglipModel" else {}
    model = getattr(transformers, kind)(getattr(transformers, config)(**halves or OF_IMAGES))
    model.save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(FairlabError, match=message):
        fairlab.load(tmp_path)
    with pytest.raises(FairlabError, match=message.removeprefix("is")):
        fairlab.load((model, byte_tokenizer()))
