"""Low-rank adapters: merged weights against peft's own forward pass, and the adapters that come with fairlab."""

import copy
import json
import re

import peft
import pytest
import torch
from hydra import compose, initialize_config_dir
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from fairlab.backbones import adapters
from fairlab.backbones.adapters import (
    EMBEDDED,
    FILE,
    LoRA,
    add_adapters,
    merge_adapters,
    remove_adapters,
    save_adapters,
)
from fairlab.backbones.backbone import pad
from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.masked_lm import with_masked_lm_head
from fairlab.data.groups import read_groups
from fairlab.run.command_line.cli import conf_dir
from fairlab.run.config.build import build
from fairlab.types import FairlabError

HOW = {"pooling": "mean", "max_length": 32, "normalize": False}


@pytest.fixture
def trained(tiny_folders):
    """A masked LM with adapters whose every trained parameter was moved."""
    model = load_backbone(str(tiny_folders["bert"]), **HOW).model
    torch.manual_seed(0)
    model = with_masked_lm_head(model)
    add_adapters(model, LoRA(4))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def logits(model):
    ids = torch.arange(1000, 1024).reshape(3, 8)
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits


def test_merged_weights_give_what_the_adapters_gave(trained, tmp_path):
    with_peft = logits(trained)
    save_adapters(trained, tmp_path / FILE)
    frozen = copy.deepcopy(trained)
    remove_adapters(frozen)
    assert not torch.allclose(logits(frozen), with_peft, atol=1e-2)
    merge_adapters(frozen, tmp_path / FILE)
    torch.testing.assert_close(logits(frozen), with_peft, atol=5e-3, rtol=5e-3)  # float16 in the file


def test_merging_is_what_peft_itself_does(trained, tmp_path):
    save_adapters(trained, tmp_path / FILE)
    ours = copy.deepcopy(trained)
    remove_adapters(ours)
    merge_adapters(ours, tmp_path / FILE)
    theirs = {}
    for name, module in trained.named_modules():
        if isinstance(module, peft.tuners.lora.Linear):
            module.merge()
            theirs[name] = module.get_base_layer().weight
    assert len(theirs) == 12
    for name, weight in theirs.items():
        torch.testing.assert_close(ours.get_parameter(f"{name}.weight"), weight, atol=1e-3, rtol=1e-3)


def test_the_file_holds_what_was_trained_as_float16(trained, tmp_path):
    save_adapters(trained, tmp_path / FILE)
    tensors = load_file(tmp_path / FILE)
    assert {value.dtype for value in tensors.values()} == {torch.float16}
    assert sum(value.numel() for value in tensors.values()) == sum(
        parameter.numel() for parameter in trained.parameters() if parameter.requires_grad
    )
    assert "cls.predictions.transform.dense.weight" in tensors
    assert tensors["bert.encoder.layer.1.output.dense.lora_A"].shape == (4, 64)
    assert tensors["bert.encoder.layer.1.output.dense.lora_B"].shape == (32, 4)


def test_a_model_loads_with_adapters_and_exports_as_an_ordinary_masked_lm(trained, tiny_folders, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    save_adapters(trained, tmp_path / "mine" / FILE)
    monkeypatch.setattr(adapters, "EMBEDDED", tmp_path)
    backbone = load_backbone(str(tiny_folders["bert"]), **HOW, adapters="mine")
    torch.testing.assert_close(logits(backbone.model), logits(trained), atol=5e-3, rtol=5e-3)
    assert backbone.model.get_output_embeddings().weight is backbone.model.get_input_embeddings().weight
    export_backbone(backbone, tmp_path / "model", "card")
    again = AutoModelForMaskedLM.from_pretrained(tmp_path / "model")
    torch.testing.assert_close(logits(again), logits(backbone.model))
    with pytest.raises(FairlabError, match=r"the adapters mine have SHA-256 .*, not 0000; reinstall fairlab"):
        load_backbone(str(tiny_folders["bert"]), **HOW, adapters="mine", adapters_sha256="0000")
    with pytest.raises(FairlabError, match=r"includes no adapters yours; it includes: mine"):
        load_backbone(str(tiny_folders["bert"]), **HOW, adapters="yours")


def test_adapters_of_another_model_are_refused(trained, tiny_folders, tmp_path):
    save_adapters(trained, tmp_path / FILE)
    model = load_backbone(str(tiny_folders["distilbert_mlm"]), **HOW).model
    with pytest.raises(FairlabError, match=r"adapters\.safetensors does not fit the model: it has no bert\."):
        merge_adapters(model, tmp_path / FILE)


def embedded_backbone(name):
    with initialize_config_dir(conf_dir(), version_base="1.3"):
        return build(compose("train", overrides=[f"backbone={name}"]).backbone)


def test_a_bare_encoder_gets_a_head_tied_to_its_embeddings(tiny):
    encoder = tiny.model
    model = with_masked_lm_head(encoder)
    assert model.base_model is encoder
    assert model.get_output_embeddings().weight is encoder.get_input_embeddings().weight
    assert with_masked_lm_head(model) is model


@pytest.mark.slow
def test_minilm_mlm_predicts_masked_words_of_sentences_it_was_not_trained_on():
    backbone = embedded_backbone("minilm_mlm")
    assert (EMBEDDED / "minilm_mlm" / FILE).stat().st_size < 6_000_000
    texts = [g.versions["woman"] for g in read_groups("embedded/people") if g.extra["split"] == "test"][:60]
    generator = torch.Generator().manual_seed(0)
    found = total = 0
    for text in texts:
        ids, ones = pad(backbone.tokenize([text]), backbone.padding_id)
        chosen = torch.rand(ids.shape, generator=generator) < 0.15
        chosen[:, [0, -1]] = False
        with torch.no_grad():
            shown = ids.masked_fill(chosen, backbone.tokenizer.mask_token_id)
            best = backbone.model(input_ids=shown, attention_mask=ones).logits.argmax(dim=-1)
        found += int((best == ids)[chosen].sum())
        total += int(chosen.sum())
    assert found / total > 0.15  # an untrained head finds next to none


def test_minilm_mlm_loads_without_a_word(capfd, caplog):
    embedded_backbone("minilm_mlm")
    captured = capfd.readouterr()
    assert captured.out + captured.err + caplog.text == ""


@pytest.mark.slow
def test_the_embeddings_of_minilm_mlm_stay_near_those_of_minilm():
    texts = [g.versions["man"] for g in read_groups("embedded/people") if g.extra["split"] == "test"][:60]
    cosines = torch.cosine_similarity(*(embedded_backbone(name).embed(texts) for name in ("minilm", "minilm_mlm")))
    assert cosines.mean() > 0.9


def trained_causal(folder, lora):
    """A causal LM with adapters whose every trained parameter was moved."""
    model = load_backbone(str(folder), **HOW).model
    torch.manual_seed(0)
    add_adapters(model, lora)
    model.get_output_embeddings().requires_grad_(False)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


SCALED = LoRA(4, alpha=16, targets=("q_proj", "v_proj"))


@pytest.mark.parametrize("lora", [LoRA(4), SCALED, LoRA(2, bias="all")])
def test_peft_and_fairlab_load_what_is_saved_in_pefts_format(lora, tiny_folders, tmp_path):
    folder = tiny_folders["llama"]
    model = trained_causal(folder, lora)
    ids = torch.arange(5, 29).reshape(3, 8)
    with torch.no_grad():
        expected = model(input_ids=ids).logits
    adapters.save_peft_folder(model, lora, tmp_path / "adapters")
    save_adapters(model, tmp_path / FILE, torch.float32)
    loaded = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), str(tmp_path / "adapters"))
    again = load_backbone(str(folder), **HOW, peft=str(tmp_path / "adapters")).model
    merged = load_backbone(str(folder), **HOW).model
    merge_adapters(merged, tmp_path / FILE)
    for other in (loaded.eval(), again, merged):
        with torch.no_grad():
            torch.testing.assert_close(other(input_ids=ids).logits, expected, atol=1e-5, rtol=1e-4)


def test_alpha_scales_what_the_adapters_add(tiny_folders):
    def change(alpha):
        model = trained_causal(tiny_folders["llama"], LoRA(4, alpha=alpha, targets=("q_proj",)))
        layer = model.model.layers[0].self_attn.q_proj
        states = torch.ones(1, layer.in_features)
        with torch.no_grad():
            return layer(states) - layer.get_base_layer()(states)

    torch.testing.assert_close(change(8), 4 * change(2))
    torch.testing.assert_close(change(4), change(None))


def test_adapters_of_bfloat16_weights_are_float32_and_small_steps_are_kept(tiny_folders):
    model = load_backbone(str(tiny_folders["llama"]), **HOW, dtype="bfloat16").model
    add_adapters(model, LoRA(2))
    kinds = {("lora" in name, parameter.dtype) for name, parameter in model.named_parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
    output = model(input_ids=torch.arange(5, 13)[None])
    assert output.logits.dtype == torch.bfloat16
    output.logits.float().logsumexp(-1).sum().backward()
    some = next(parameter for name, parameter in model.named_parameters() if "lora_A" in name)
    before = some.detach().clone()
    with torch.no_grad():
        some.add_(1e-5)
    assert (some != before).all()


def test_layers_that_are_not_there_are_named(tiny_folders):
    model = load_backbone(str(tiny_folders["llama"]), **HOW).model
    with pytest.raises(
        FairlabError, match=r"method\.targets=\('query',\) matches no linear layer .* some layers are: down_pr"
    ):
        add_adapters(model, LoRA(2, targets=("query",)))


def test_the_dropout_of_adapters_is_on_in_training_alone(tiny_folders):
    model = trained_causal(tiny_folders["llama"], LoRA(2, dropout=0.5)).eval()
    ids = torch.arange(5, 29).reshape(3, 8)
    with torch.no_grad():
        assert torch.equal(model(input_ids=ids).logits, model(input_ids=ids).logits)
        adapters.drop_inputs(model)
        assert not torch.equal(model(input_ids=ids).logits, model(input_ids=ids).logits)


def test_transformers_loads_the_folder_and_names_and_settings_are_those_that_vllm_reads(tiny_folders, tmp_path):
    """vLLM reads ``peft_type``, r, alpha and targets, takes no trained bias, and tells a module by its tensors' names.

    Source: vllm/lora/peft_helper.py and ``parse_fine_tuned_lora_name`` in vllm/lora/utils.py.
    """
    folder, lora = tiny_folders["llama"], SCALED
    model = trained_causal(folder, lora)
    ids = torch.arange(5, 29).reshape(3, 8)
    with torch.no_grad():
        expected = model(input_ids=ids).logits
    adapters.save_peft_folder(model, lora, tmp_path / "adapters")
    with torch.no_grad():
        loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "adapters")  # finds the base by its name
        torch.testing.assert_close(loaded(input_ids=ids).logits, expected, atol=1e-5, rtol=1e-4)
    config = json.loads((tmp_path / "adapters" / "adapter_config.json").read_text())
    read = {name: config[name] for name in ("peft_type", "r", "lora_alpha", "target_modules", "bias", "use_dora")}
    assert read | {"target_modules": sorted(read["target_modules"])} == {
        "peft_type": "LORA",
        "r": 4,
        "lora_alpha": 16,
        "target_modules": ["q_proj", "v_proj"],
        "bias": "none",
        "use_dora": False,
    }
    assert not config["modules_to_save"]
    names = load_file(tmp_path / "adapters" / "adapter_model.safetensors")
    layer = r"base_model\.model\.model\.layers\.[01]\.self_attn\.[qv]_proj\.lora_[AB]\.weight"
    assert len(names) == 8
    assert all(re.fullmatch(layer, name) for name in names)
