"""Loading in 4 bits: each weight is quantized as it is read. Real 4-bit layers need bitsandbytes."""

import types

import pytest
import torch
from omegaconf import OmegaConf

from fairlab.backbones import quantization
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.quantization import dequantize, is_in_4_bits, load_in_4_bits
from fairlab.run.config.backbone_nodes import LOAD
from fairlab.run.starting import IN_4_BITS, _loaded_as
from fairlab.types import FairlabError

SETTINGS = {"pooling": "mean", "max_length": 64, "normalize": False, "dtype": "bfloat16"}


@pytest.fixture
def asked(monkeypatch):
    """Arguments of ``from_pretrained``, which is called without a quantization that this machine lacks."""
    import transformers

    found = {}
    whole = transformers.AutoModelForCausalLM.from_pretrained

    def from_pretrained(folder, **given):
        found.update(given)
        taken = {name: value for name, value in given.items() if name not in ("quantization_config", "device_map")}
        return whole(folder, **taken)

    monkeypatch.setattr(quantization, "refuse_without_cuda", lambda: None)
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", from_pretrained)
    config = types.SimpleNamespace(BitsAndBytesConfig=lambda **given: given)
    monkeypatch.setattr(transformers, "BitsAndBytesConfig", config.BitsAndBytesConfig)
    return found


def test_weights_are_quantized_as_they_are_read_with_the_values_of_qlora(asked, tiny_folders):
    found = load_in_4_bits(str(tiny_folders["llama"]), **SETTINGS)
    assert asked["quantization_config"] == {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True,
        "bnb_4bit_compute_dtype": torch.bfloat16,
    }
    assert asked["device_map"] == {"": "cpu"} if not torch.cuda.is_available() else asked["device_map"]
    assert (asked["low_cpu_mem_usage"], asked["use_safetensors"], asked["trust_remote_code"]) == (True, True, False)
    assert is_in_4_bits(found.model)
    assert not is_in_4_bits(load_backbone(str(tiny_folders["llama"]), **SETTINGS).model)
    assert found.max_length == 64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft": "adapters"}, r"backbone\.peft cannot be loaded in 4 bits"),
        ({"gguf": "x.gguf"}, r"backbone\.gguf cannot be loaded in 4 bits"),
        ({"pooling": "published"}, r"backbone\.pooling must be mean or cls"),
        ({"weights_sha256": "0" * 64}, "have SHA-256"),
    ],
)
def test_what_cannot_be_loaded_so(asked, tiny_folders, changes, message):
    with pytest.raises(FairlabError, match=message):
        load_in_4_bits(str(tiny_folders["llama"]), **SETTINGS | changes)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_machine_without_cuda_is_refused_before_anything_is_read():
    with pytest.raises(FairlabError, match="needs a CUDA device"):
        load_in_4_bits("no/such-model", **SETTINGS)


@pytest.mark.parametrize(
    ("backbone", "method", "target"),
    [
        ({"_target_": LOAD, "name": "x", "gguf": None}, {"quantize": True}, IN_4_BITS),
        ({"_target_": LOAD, "name": "x", "gguf": "x.gguf"}, {"quantize": True}, LOAD),
        ({"_target_": LOAD, "name": "x"}, {"quantize": False}, LOAD),
        ({"_target_": LOAD, "name": "x"}, {"beta": 1.0}, LOAD),
        ({"_target_": "own.load", "name": "x"}, {"quantize": True}, "own.load"),
    ],
)
def test_a_run_that_quantizes_loads_so(backbone, method, target):
    config = OmegaConf.create({"backbone": backbone, "method": method})
    assert _loaded_as(config)["_target_"] == target
    assert config.backbone["_target_"] == backbone["_target_"]  # what is recorded is what was given


def test_real_layers_hold_what_the_library_makes_of_each_weight(tiny_folders, monkeypatch):
    """On the CPU, where bitsandbytes has slow kernels of its own."""
    bitsandbytes = pytest.importorskip("bitsandbytes")
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    monkeypatch.setattr(quantization, "refuse_without_cuda", lambda: None)
    monkeypatch.setattr(quantization, "device", lambda: "cpu")
    whole = load_backbone(str(tiny_folders["llama"]), **SETTINGS | {"dtype": "float32"}).model
    small = load_in_4_bits(str(tiny_folders["llama"]), **SETTINGS | {"dtype": "float32"}).model
    layers = [one for one in small.base_model.modules() if isinstance(one, bitsandbytes.nn.Linear4bit)]
    assert len(layers) == 14  # seven a block; the head keeps its weights
    assert type(small.lm_head) is torch.nn.Linear
    assert not hasattr(small.config, "quantization_config")
    dequantize(small)
    assert not is_in_4_bits(small)
    for (name, one), (_, other) in zip(whole.named_parameters(), small.named_parameters(), strict=True):
        expected = one.detach()
        if "_proj" in name:  # what the library makes of the weight alone
            packed, state = quantize_4bit(expected, quant_type="nf4", compress_statistics=True)
            expected = dequantize_4bit(packed, state)
        torch.testing.assert_close(other.detach(), expected, msg=name)
