"""Similarity with sentences of a policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file

from experiments.ensemble.teach import write_linear
from fairlab.backbones.adapters import LoRA, add_adapters, save_adapters
from fairlab.methods.safety_ensemble.exported.portable import write_sources
from fairlab.methods.safety_ensemble.exported.trust import read_sources
from fairlab.methods.safety_ensemble.sources.linear_scores import LinearScores
from fairlab.methods.safety_ensemble.sources.policy import LISTS, PolicySimilarity, read_policy
from fairlab.rewriting.identities import Identities
from fairlab.types import DataUnavailable, FairlabError

HERE = "fairlab.methods.safety_ensemble.sources.policy.PolicySimilarity"


def test_the_nearest_sentence_of_a_harm_counts(tiny_folders, tmp_path):
    (tmp_path / "mine.txt").write_text("# of a garden\ntools: the ladder\nwater: the river\ntools: a boat: old\n")
    source = PolicySimilarity(encoder=str(tiny_folders["bert"]), path=str(tmp_path / "mine.txt"), name="near")
    assert (source.name, source.outputs) == ("near", ("tools", "water"))
    texts = ["a clock", "the river"]
    vectors = source.backbone.embed([*texts, "the ladder", "a boat: old", "the river"]).double().numpy()
    of, to = vectors[:2], vectors[2:]
    expected = [[max(one @ to[0], one @ to[1]), one @ to[2]] for one in of]
    np.testing.assert_allclose(source.score(texts), expected, atol=1e-6)
    assert source.score(["the river"])[0, 1] == pytest.approx(1, abs=1e-6)
    assert source.score([]).shape == (0, 2)
    source.score(["river " * 200])
    assert source.backbone.cut == set()  # a server never ends, so no text may leave anything behind
    (tmp_path / "mine.txt").write_text("tools: the ladder\n")
    other = PolicySimilarity(encoder=str(tiny_folders["bert"]), path=str(tmp_path / "mine.txt"))
    assert other.version != source.version


def test_the_policy_that_comes_with_fairlab_names_no_group():
    sentences = read_policy(LISTS / "policy.txt")
    assert list(sentences) == ["hate", "toxicity", "sexual", "violence", "harmless"]
    identities = Identities()
    for some in sentences.values():
        assert len(some) >= 7
        assert not [one for one in some if any(list(swap.finder.find(one)) for swap in identities.swaps)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("hate: they\nnothing\n", "line 2 is not a sentence of a harm; write HARM: SENTENCE"),
        ("hate:\n", "line 1 is not a sentence of a harm"),
        ("# a head\n\n", "contains no sentence"),
    ],
)
def test_a_bad_policy_is_named(tmp_path, content, message):
    (tmp_path / "bad.txt").write_text(content)
    with pytest.raises(FairlabError, match=message):
        read_policy(tmp_path / "bad.txt")
    with pytest.raises(DataUnavailable, match="is not a policy"):
        read_policy(tmp_path / "none.txt")


def test_a_moved_folder_takes_its_sentences_along_and_asks_no_hub(tmp_path):
    (tmp_path / "mine.txt").write_text("hate: they\n")
    nodes = {
        "mine": {"_target_": HERE, "encoder": "minilm", "path": str(tmp_path / "mine.txt"), "name": "mine"},
        "ours": {"_target_": HERE, "encoder": "minilm", "path": "policy"},
    }
    (tmp_path / "model").mkdir()
    write_sources(nodes, tmp_path / "model")
    (tmp_path / "mine.txt").unlink()
    found = read_sources(tmp_path / "model", {})
    assert found["mine"]["path"] == str(tmp_path / "model" / "sources" / "mine" / "mine.txt")
    assert (found["ours"]["path"], found["ours"]["encoder"]) == ("policy", "minilm")
    nodes = {"ours": nodes["ours"] | {"encoder": "somebody/model"}}
    (tmp_path / "model" / "sources.yaml").write_text(yaml.safe_dump(nodes))
    with pytest.raises(FairlabError, match=r"encoder of ours is not a folder here \(somebody/model\)"):
        read_sources(tmp_path / "model", {})


def test_linear_scores_are_of_one_encoder(tiny_folders, tmp_path):
    plain = PolicySimilarity(encoder=str(tiny_folders["bert"]))
    width = plain.vectors(["a clock"]).shape[1]
    weights = np.random.default_rng(0).normal(size=(width, 2))
    mine = LinearScores(("rude", "long"), weights, np.array([1.0, -1.0]), plain.encoder_sha256)
    write_linear(mine, tmp_path / "mine.safetensors")
    source = PolicySimilarity(encoder=str(tiny_folders["bert"]), linear=str(tmp_path / "mine.safetensors"))
    assert source.outputs == (*plain.outputs, "linear_rude", "linear_long")
    assert source.version != plain.version
    texts = ["a clock", "the river"]
    expected = plain.vectors(texts) @ weights + [1.0, -1.0]
    np.testing.assert_allclose(source.score(texts)[:, -2:], expected, atol=1e-5)
    np.testing.assert_allclose(source.score(texts)[:, :-2], plain.score(texts))
    with pytest.raises(FairlabError, match=r"was made for another encoder; make it with .* or set linear=null"):
        PolicySimilarity(encoder=str(tiny_folders["bert"]), linear="linear")
    with pytest.raises(DataUnavailable, match="is not a file of linear scores"):
        PolicySimilarity(encoder=str(tiny_folders["bert"]), linear=str(tmp_path / "none.safetensors"))
    others = ({"outputs": ("rude",)}, {"outputs": ("rude", "rude")}, {"outputs": ()}, {"weights": weights * np.nan})
    others += ({"weights": weights[:, :1]}, {"intercepts": np.zeros(3)}, {"intercepts": np.array([0, np.inf])})
    for broken in (replace(mine, **changes) for changes in others):
        write_linear(broken, tmp_path / "broken.safetensors")
        with pytest.raises(FairlabError, match="holds no linear scores"):
            PolicySimilarity(encoder=str(tiny_folders["bert"]), linear=str(tmp_path / "broken.safetensors"))
    (tmp_path / "torn.safetensors").write_bytes(b"x")
    with pytest.raises(FairlabError, match="the linear scores"):
        PolicySimilarity(encoder=str(tiny_folders["bert"]), linear=str(tmp_path / "torn.safetensors"))


def test_adapters_change_the_encoder_and_its_hash(tiny_folders, tmp_path):
    encoder = str(tiny_folders["bert"])
    plain, tuned = PolicySimilarity(encoder=encoder), PolicySimilarity(encoder=encoder)
    add_adapters(tuned.backbone.model, LoRA(rank=2, targets=["value"]))
    for name, parameter in tuned.backbone.model.named_parameters():
        parameter.requires_grad_("lora" in name)
        if "lora_B" in name:
            parameter.data.fill_(2.0)
    file = tmp_path / "mine.safetensors"
    save_adapters(tuned.backbone.model, file)
    source = PolicySimilarity(encoder=encoder, adapters=str(file))
    texts = ["a clock", "the river"]
    np.testing.assert_allclose(source.vectors(texts), tuned.vectors(texts), atol=1e-3)
    assert np.abs(source.vectors(texts) - plain.vectors(texts)).max() > 0.01
    assert len({source.encoder_sha256, plain.encoder_sha256}) == len({source.version, plain.version}) == 2
    with pytest.raises(DataUnavailable, match="is not a file of adapters"):
        PolicySimilarity(encoder=encoder, adapters=str(tmp_path / "none.safetensors"))
    for other in ({"encoder.layer.0.attention.self.query.lora_B": np.ones((3, 2))}, {"x": np.ones(2)}):
        save_file(other, tmp_path / "other.safetensors")
        with pytest.raises(FairlabError, match="adapters"):
            PolicySimilarity(encoder=encoder, adapters=str(tmp_path / "other.safetensors"))
