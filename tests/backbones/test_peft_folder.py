"""Adapter folders in PEFT's format: merged weights against PEFT's own forward pass, and folders that are refused."""

import json

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

import fairlab
from fairlab.backbones.causal_lm import CausalLM
from fairlab.types import FairlabError

TEXTS = ["She is a nurse.", "He left."]


def save_adapters_of(folder, kind, place, **settings):
    """Save random adapters of a model as trl does, and return the model with them."""
    torch.manual_seed(0)
    model = kind.from_pretrained(folder)
    wrapped = peft.get_peft_model(model, peft.LoraConfig(init_lora_weights=False, **settings)).eval()
    wrapped.save_pretrained(place)
    return wrapped


@pytest.mark.parametrize("kind", [AutoModel, AutoModelForMaskedLM])
@pytest.mark.parametrize("settings", [{"r": 4, "lora_alpha": 16}, {"use_rslora": True}, {"rank_pattern": {"query": 2}}])
@pytest.mark.slow
def test_merged_adapters_embed_as_peft_does(kind, settings, tiny_folders, tmp_path):
    base = tiny_folders["bert"]
    wrapped = save_adapters_of(base, kind, tmp_path / "a", target_modules=["query", "value"], **settings)
    expected = fairlab.load((wrapped, AutoTokenizer.from_pretrained(base))).embed(TEXTS)
    found = fairlab.load(str(tmp_path / "a"), base=str(base))
    torch.testing.assert_close(found.embed(TEXTS), expected, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found.embed(TEXTS), fairlab.load(base).embed(TEXTS), atol=1e-3)
    assert all(parameter.requires_grad for parameter in found.model.parameters())


def test_merged_adapters_score_as_peft_does_and_a_merged_folder_is_a_model(tiny_folders, tmp_path):
    base = tiny_folders["gpt2"]
    wrapped = save_adapters_of(base, AutoModelForCausalLM, tmp_path / "a", target_modules=["c_attn"], lora_alpha=32)
    found = CausalLM(fairlab.load(str(tmp_path / "a"), base=str(base))).log_likelihoods(TEXTS).sums
    tokenizer = AutoTokenizer.from_pretrained(base)
    expected = CausalLM(fairlab.load((wrapped, tokenizer))).log_likelihoods(TEXTS).sums
    assert found == pytest.approx(expected, abs=1e-3)
    wrapped.merge_and_unload().save_pretrained(tmp_path / "merged")
    tokenizer.save_pretrained(tmp_path / "merged")
    merged = CausalLM(fairlab.load(str(tmp_path / "merged"))).log_likelihoods(TEXTS).sums
    assert merged == pytest.approx(expected, abs=1e-3)


def test_initial_values_that_leave_the_base_unchanged_are_accepted(tiny_folders, tmp_path):
    base = tiny_folders["bert"]
    wrapped = save_adapters_of(base, AutoModel, tmp_path / "a", target_modules=["query"])
    settings = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    (tmp_path / "a" / "adapter_config.json").write_text(json.dumps(settings | {"init_lora_weights": "gaussian"}))
    expected = fairlab.load((wrapped, AutoTokenizer.from_pretrained(base))).embed(TEXTS)
    torch.testing.assert_close(fairlab.load(str(tmp_path / "a"), base=str(base)).embed(TEXTS), expected)


@pytest.fixture
def adapters(tiny_folders, tmp_path):
    save_adapters_of(tiny_folders["bert"], AutoModel, tmp_path / "a", target_modules=["query"])
    return tmp_path / "a"


def test_the_base_is_the_users_to_name(adapters, tiny_folders):
    with pytest.raises(
        FairlabError, match=r"holds adapters of .*bert, which is not loaded without your request; give base="
    ):
        fairlab.load(str(adapters))
    with pytest.raises(FairlabError, match=r"do not fit the base model: GPT2LMHeadModel has no .*query; give another"):
        fairlab.load(str(adapters), base=str(tiny_folders["gpt2"]))
    with pytest.raises(FairlabError, match=r"holds adapters of .*bert, which is not loaded without your request"):
        fairlab.load(str(adapters), base=str(adapters))
    settings = json.loads((adapters / "adapter_config.json").read_text())
    (adapters / "adapter_config.json").write_text(json.dumps(settings | {"base_model_name_or_path": None}))
    with pytest.raises(FairlabError, match=r"holds adapters of a model that they do not name; give base=NAME$"):
        fairlab.load(str(adapters))


def test_adapters_of_another_hub_model_are_refused(adapters):
    settings = json.loads((adapters / "adapter_config.json").read_text())
    (adapters / "adapter_config.json").write_text(json.dumps(settings | {"base_model_name_or_path": "google/other"}))
    with pytest.raises(FairlabError, match=r"belong to google/other, not to sentence-transformers/all"):
        fairlab.load(str(adapters), base="minilm")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"peft_type": "PROMPT_TUNING"}, "has the kind PROMPT_TUNING; give adapters of the kind LORA"),
        (
            {"megatron_config": {"a": 1}, "megatron_core": "os"},
            "sets megatron_config, which is not accepted",
        ),
        ({"alora_invocation_tokens": [5, 7]}, "sets alora_invocation_tokens, which is not accepted"),
        ({"init_lora_weights": "pissa_niter_4"}, "sets init_lora_weights=pissa_niter_4, with which the base model was"),
        ({"init_lora_weights": "OLoRA"}, "sets init_lora_weights=OLoRA, with which the base model was changed too"),
        ({"target_modules": "(a+)+$"}, "sets target_modules to a pattern"),
        ({"r": "many"}, "sets r='many', which LoRA does not accept"),
        ({"rank_pattern": {"query": []}}, "must set rank_pattern to one number per module"),
        ({"rank_pattern": {"(a+)+": 2}}, "sets rank_pattern for '(a+)+', which is not a module's name"),
        ({"r": 10**9}, "declares a rank of 1000000000, but the largest size of the adapters' tensors is"),
        ({"alpha_pattern": {"query": 1e300}, "r": True}, "sets r=True, which LoRA does not accept"),
        ({"modules_to_save": [""]}, "sets modules_to_save=[''], which LoRA does not accept"),
    ],
)
def test_a_folder_decides_no_more_than_its_adapters(change, message, adapters, tiny_folders):
    settings = json.loads((adapters / "adapter_config.json").read_text())
    (adapters / "adapter_config.json").write_text(json.dumps(settings | change))
    with pytest.raises(FairlabError) as error:
        fairlab.load(str(adapters), base=str(tiny_folders["bert"]))
    assert message in str(error.value)


def test_damaged_adapters_are_one_sentence(adapters, tiny_folders):
    file, base = adapters / "adapter_model.safetensors", str(tiny_folders["bert"])
    tensors = {name: value.clone() for name, value in load_file(file).items()}  # not mapped
    some = sorted(tensors)[0]
    save_file({name: value for name, value in tensors.items() if name != some}, file)
    with pytest.raises(FairlabError, match="do not fit the base model"):
        fairlab.load(str(adapters), base=base)
    save_file({**tensors, some: torch.zeros(3, 5)}, file)
    with pytest.raises(FairlabError, match="cannot be loaded"):
        fairlab.load(str(adapters), base=base)
    file.unlink()
    (adapters / "adapter_model.bin").write_bytes(b"pickle")
    with pytest.raises(FairlabError, match=r"adapter_model\.bin is not an archive of torch.save"):
        fairlab.load(str(adapters), base=base)


def test_adapters_of_an_older_peft_are_read_as_numbers(adapters, tiny_folders):
    base = str(tiny_folders["bert"])
    expected = fairlab.load(str(adapters), base=base).embed(TEXTS)
    file = adapters / "adapter_model.safetensors"
    torch.save(load_file(file), adapters / "adapter_model.bin")
    file.unlink()
    assert torch.equal(fairlab.load(str(adapters), base=base).embed(TEXTS), expected)
    torch.save(torch.nn.Linear(2, 2), adapters / "adapter_model.bin")
    with pytest.raises(FairlabError, match="its file contains more than numbers and may run code"):
        fairlab.load(str(adapters), base=base)
