"""Folders of sentence-transformers, in its old and its new format, embed as it embeds them itself."""

import json

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling

from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone, weights_facts
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.projection import away_from, project
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.types import FairlabError

TEXTS = ["They saw the river.", "a clock", "He gave her the letter that was in the garden behind the old bridge", ""]
OLD_NAMES = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "mean_sqrt_len_tokens": None}
OLD_NAMES |= {"weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken"}
AS_PUBLISHED = {"pooling": "published", "max_length": None, "normalize": None}
DENSE = {"in_features": 32, "out_features": 12}


def make(source, folder, *modules, old=False, pooling="mean", length=24, **more):
    """A folder as sentence-transformers 6 saves it, or as version 2 did."""
    torch.manual_seed(1)
    first = Transformer(str(source))
    made = SentenceTransformer(modules=[first, Pooling(32, pooling), *modules], device="cpu", **more)
    made.max_seq_length = length
    made.save(str(folder), create_model_card=False)
    if old:
        as_version_2(folder, pooling, length)
    return folder


def as_version_2(folder, pooling, length):
    """Rewrite what version 2 wrote otherwise: the names of the modules, the pooling, and the length."""
    modules = json.loads((folder / "modules.json").read_text())
    for module in modules:
        module["type"] = "sentence_transformers.models." + module["type"].rpartition(".")[2]
    (folder / "modules.json").write_text(json.dumps(modules))
    modes = {f"pooling_mode_{name}": name == OLD_NAMES[pooling] for name in OLD_NAMES.values() if name}
    modes["pooling_mode_mean_sqrt_len_tokens"] = pooling == "mean_sqrt_len_tokens"
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **modes}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length, "do_lower_case": False}))
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer | {"model_max_length": 64}))


def encoded(folder, texts=TEXTS):
    return torch.tensor(SentenceTransformer(str(folder), device="cpu").encode(texts))


def assert_alike(found, expected, tolerance=1e-5):
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("pooling", OLD_NAMES)
def test_every_pooling_is_sentence_transformers_own(tiny_folders, tmp_path, pooling, old):
    folder = make(tiny_folders["bert"], tmp_path / "model", pooling=pooling, old=old)
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    expected = encoded(folder)
    assert_alike(backbone.embed(TEXTS), expected)
    if pooling != "mean":
        mean = load_backbone(str(folder), pooling="mean", max_length=24, normalize=False)
        assert (mean.embed(TEXTS) - expected).abs().max() > 1e-2


MODULES = {
    "dense": lambda: [Dense(**DENSE)],
    "dense_normalize": lambda: [Dense(**DENSE, activation_function=torch.nn.Identity()), Normalize()],
    "residual": lambda: [Dense(32, 32, use_residual=True)],
    "layer_norm": lambda: [LayerNorm(32)],
    "normalize": lambda: [Normalize()],
}


@pytest.mark.parametrize("old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("modules", MODULES.values(), ids=MODULES)
def test_every_module_takes_part(tiny_folders, tmp_path, modules, old):
    folder = make(tiny_folders["bert"], tmp_path / "model", *modules(), old=old)
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    found = backbone.embed(TEXTS)
    assert_alike(found, encoded(folder))
    assert found.shape[1] == backbone.width


@pytest.mark.parametrize("old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("include_prompt", [True, False])
def test_the_default_prompt_stands_before_every_text(tiny_folders, tmp_path, include_prompt, old):
    prompts = {"prompts": {"query": "search for: ", "none": ""}, "default_prompt_name": "query"}
    folder = make(tiny_folders["bert"], tmp_path / "model", old=old, **prompts)
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling | {"include_prompt": include_prompt}))
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    assert_alike(backbone.embed(TEXTS), encoded(folder))
    without = torch.tensor(SentenceTransformer(str(folder), device="cpu").encode(TEXTS, prompt_name="none"))
    assert (backbone.embed(TEXTS) - without).abs().max() > 1e-2
    # What a language model reads has no prompt.
    assert backbone.tokenize(["a clock"])[0] == backbone.tokenizer("a clock")["input_ids"]


@pytest.mark.parametrize("old", [True, False], ids=["old", "new"])
def test_the_length_is_the_published_one_unless_another_is_given(tiny_folders, tmp_path, old):
    folder = make(tiny_folders["bert"], tmp_path / "model", old=old, length=8)
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    assert backbone.max_length == 8
    assert_alike(backbone.embed(TEXTS), encoded(folder))
    longer = load_backbone(str(folder), **AS_PUBLISHED | {"max_length": 40})
    reference = SentenceTransformer(str(folder), device="cpu")
    reference.max_seq_length = 40
    assert_alike(longer.embed(TEXTS), torch.tensor(reference.encode(TEXTS)))
    with pytest.raises(FairlabError, match=r"must be in 4\.\.64"):
        load_backbone(str(folder), **AS_PUBLISHED | {"max_length": 65})


@pytest.mark.parametrize("normalize", [True, False])
def test_scaling_to_unit_length_can_be_asked_for_and_left_out(tiny_folders, tmp_path, normalize):
    folder = make(tiny_folders["bert"], tmp_path / "model", Dense(**DENSE), *[Normalize()] * (not normalize))
    lengths = load_backbone(str(folder), **AS_PUBLISHED | {"normalize": normalize}).embed(TEXTS).norm(dim=1)
    assert torch.allclose(lengths, torch.ones(len(TEXTS))) == normalize


def test_embeddings_may_be_cut_to_their_first_dimensions(tiny_folders, tmp_path):
    folder = make(tiny_folders["bert"], tmp_path / "model", truncate_dim=5)
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    assert backbone.width == 5
    assert_alike(backbone.embed(TEXTS), encoded(folder))


def test_the_last_token_of_a_decoder(tiny_folders, tmp_path, byte_tokenizer):
    folder = make(tiny_folders["llama"], tmp_path / "model", Normalize(), pooling="lasttoken")
    texts = [text for text in TEXTS if text]  # a decoder's tokenizer makes no token of an empty text
    with pytest.raises(FairlabError, match="pad"):
        load_backbone(str(folder), **AS_PUBLISHED)
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    for side in ("left", "right"):
        padded = {"pad_token": "<|endoftext|>", "padding_side": side}
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer | padded))
        assert_alike(load_backbone(str(folder), **AS_PUBLISHED).embed(texts), encoded(folder, texts))


@pytest.mark.parametrize("modules", MODULES.values(), ids=MODULES)
def test_an_export_after_training_loads_again_and_elsewhere(tiny_folders, tmp_path, modules):
    own = {"prompts": {"query": "search for: "}, "default_prompt_name": "query", "similarity_fn_name": "dot"}
    folder = make(tiny_folders["bert_mlm"], tmp_path / "model", *modules(), pooling="max", length=16, **own)
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    before = backbone.embed(TEXTS)
    trained_briefly(backbone)
    expected = backbone.embed(TEXTS)
    assert (expected - before).abs().max() > 1e-3
    export_backbone(backbone, tmp_path / "export", "# card")
    again = load_backbone(str(tmp_path / "export"), **AS_PUBLISHED)
    assert_alike(again.embed(TEXTS), expected, 1e-6)
    assert_alike(encoded(tmp_path / "export"), expected)
    assert again.digest() == backbone.digest() != load_backbone(str(folder), **AS_PUBLISHED).digest()
    assert (again.max_length, again.published.prompt) == (16, "search for: ")
    assert SentenceTransformer(str(tmp_path / "export"), device="cpu").similarity_fn_name == "dot"
    assert (tmp_path / "export" / "README.md").read_text() == "# card"


def trained_briefly(backbone):
    """A few steps that draw two texts together, through all modules; those behind the transformer stay."""
    behind = [value.clone() for value in backbone.readout.state_dict().values()]
    optimizer = torch.optim.SGD([p for p in backbone.parameters() if p.requires_grad], lr=0.1)
    ids = torch.tensor(
        [backbone.tokenize_to_embed(["she saw the boat"])[0], backbone.tokenize_to_embed(["he saw the boat"])[0]]
    )
    for _ in range(3):
        one, other = backbone(ids, torch.ones_like(ids))
        optimizer.zero_grad()
        (one - other).square().sum().backward()
        optimizer.step()
    assert all(map(torch.equal, behind, backbone.readout.state_dict().values()))


def test_a_head_is_kept_beside_the_modules(tiny_folders, tmp_path):
    made = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=True)
    export_backbone(made, tmp_path / "model", "card")
    backbone = load_backbone(str(tmp_path / "model"), **AS_PUBLISHED)
    ids = made.tokenize(["they saw the river"])
    assert MaskedLM(backbone).pseudo_log_likelihoods(ids).sums == pytest.approx(
        MaskedLM(made).pseudo_log_likelihoods(ids).sums
    )
    assert_alike(backbone.embed(TEXTS), made.embed(TEXTS))
    export_backbone(backbone, tmp_path / "again", "card")
    assert set(load_file(tmp_path / "again" / "model.safetensors")) == set(
        load_file(tmp_path / "model" / "model.safetensors")
    )


@pytest.mark.parametrize("pooling", ["cls", "weightedmean"])
def test_a_projection_of_the_hidden_states_is_exported_and_found_again(tiny_folders, tmp_path, pooling):
    folder = make(tiny_folders["bert_mlm"], tmp_path / "model", Normalize(), pooling=pooling)
    backbone = load_backbone(str(folder), **AS_PUBLISHED)
    torch.manual_seed(2)
    project(backbone, away_from(torch.randn(3, 32)))
    expected = backbone.embed(TEXTS)
    export_backbone(backbone, tmp_path / "export", "card")
    assert_alike(encoded(tmp_path / "export"), expected)
    again = load_backbone(str(tmp_path / "export"), **AS_PUBLISHED)
    assert_alike(again.embed(TEXTS), expected)
    assert_alike(again.projection, backbone.projection)


@pytest.mark.parametrize(("modules", "pooling"), [([Dense(**DENSE)], "mean"), ([], "max")])
def test_embeddings_that_are_no_weighted_sum_are_not_projected(tiny_folders, tmp_path, modules, pooling):
    backbone = load_backbone(
        str(make(tiny_folders["bert"], tmp_path / "model", *modules, pooling=pooling)), **AS_PUBLISHED
    )
    with pytest.raises(FairlabError, match=r"cannot be projected; set backbone.pooling=mean or cls"):
        project(backbone, torch.eye(32))


def test_the_weights_of_all_modules_are_hashed(tiny_folders, tmp_path):
    folder = make(tiny_folders["bert"], tmp_path / "model", Dense(**DENSE))
    before = weights_facts({"name": str(folder), "pooling": "published"})
    dense = folder / "2_Dense" / "model.safetensors"
    content = bytearray(dense.read_bytes())
    content[-1] ^= 1
    dense.write_bytes(content)
    assert weights_facts({"name": str(folder), "pooling": "published"}) != before


def test_a_folder_without_modules_is_not_published(tiny_folders):
    with pytest.raises(FairlabError, match=r"has no modules\.json of sentence-transformers; set pooling=mean or cls"):
        load_backbone(str(tiny_folders["bert"]), **AS_PUBLISHED)


def test_a_folder_is_measured_as_published_unless_a_pooling_is_given(tiny_folders, tmp_path):
    folder = str(make(tiny_folders["bert"], tmp_path / "model", Normalize()))
    assert {key: backbone_node(folder, {})[key] for key in AS_PUBLISHED} == AS_PUBLISHED
    own = backbone_node(folder, {"pooling": "cls"})
    assert (own.pooling, own.normalize, own.max_length, own.longest) == ("cls", False, None, 128)
    assert backbone_node(str(tiny_folders["bert"]), {}).pooling == "mean"
