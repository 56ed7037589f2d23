"""What the name of a model stands for, and what a command may change of it."""

import json
import shutil

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from experiments.real_models.table import fetchables
from fairlab.evaluate import asked
from fairlab.files import sha256
from fairlab.record import Record
from fairlab.run.config.backbone_nodes import LOAD, LOAD_STORED, PUBLISHED, backbone_node, is_stored, model_facts
from fairlab.run.config.composing import composed, composing, own_settings, written
from fairlab.run.config.served_nodes import is_served, names_server, served_facts, served_node
from fairlab.types import FairlabError


def node(model, *overrides):
    config = composed("evaluate", [f"model={model}", *overrides], {})
    with composing():
        return backbone_node(model, asked(config))


@pytest.mark.parametrize(("model", "dtype"), [("qwen", "bfloat16"), ("smollm2", "float32")])
def test_a_model_is_measured_in_its_own_number_format_unless_the_command_names_one(model, dtype):
    assert node(model).dtype == dtype
    assert node(model, "dtype=float16").dtype == "float16"


def test_a_folder_names_no_number_format(tiny_folders):
    assert "dtype" not in node(str(tiny_folders["bert"]))  # float32, by load_backbone's own default


def test_a_folder_is_pooled_as_published_unless_it_says_nothing_or_the_command_names_a_pooling(tiny_folders, tmp_path):
    plain = str(tiny_folders["bert"])
    found = node(plain)
    assert (found.pooling, found.normalize, found.max_length, found.longest) == ("mean", False, None, 128)
    shutil.copytree(plain, tmp_path / "published")
    kinds = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling")
    modules = [{"idx": k, "name": str(k), "path": f"{k}_Pooling" * k, "type": kind} for k, kind in enumerate(kinds)]
    (tmp_path / "published" / "modules.json").write_text(json.dumps(modules))
    published = str(tmp_path / "published")
    for overrides, expected in (((), (PUBLISHED, None)), (("pooling=cls",), ("cls", False))):
        found = node(published, *overrides)
        assert (found.pooling, found.normalize) == expected


@pytest.mark.parametrize("name", fetchables())
def test_backbones_that_are_fetched_are_those_of_the_table(name):
    model, found = fetchables()[name], node(name)
    file = found.gguf or "model.safetensors"
    assert (found.name, found.weights_sha256) == (model.hub, model.files[file].sha256)


def test_a_run_is_loaded_with_the_settings_of_its_record(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    record = Record(run, {"backbone": {"pooling": "cls", "dtype": "float16", "name": "before"}}, "")
    record.provenance["data"] = {"train_entries": 7}
    record.save()
    with pytest.raises(FairlabError, match="has exported no model; let it finish with ckpt="):
        node(str(run))
    (run / "model").mkdir()
    expected = {"_target_": LOAD, "name": str(run / "model"), "entries": 7, "pooling": "cls", "normalize": False}
    assert {**node(str(run))} == expected | {"max_length": None, "longest": 128, "dtype": "float16"}
    assert node(str(run), "normalize=true", "base=other").normalize is True
    Record(run, {"backbone": None}, "").save()
    with pytest.raises(FairlabError, match=r"record\.json does not name its backbone; give its model, .*/model, inst"):
        node(str(run))


def test_files_of_weights_of_texts_and_of_adapters(tmp_path):
    for name in ("m.gguf", "texts.jsonl", "run/generations/a.jsonl", "other/a.jsonl", "empty/generations/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = node(str(tmp_path / "m.gguf"))
    assert (found.name, found.gguf, found.pooling) == (str(tmp_path), "m.gguf", "mean")
    stored = {name: is_stored(str(tmp_path / name)) for name in ("texts.jsonl", "run/generations", "other", "m.gguf")}
    assert stored == {"texts.jsonl": True, "run/generations": True, "other": False, "m.gguf": False}
    assert not is_stored(str(tmp_path / "empty" / "generations"))
    for place, files in (("texts.jsonl", ["texts.jsonl"]), ("run/generations", ["run/generations/a.jsonl"])):
        found = node(str(tmp_path / place))
        assert {**found} == {"_target_": LOAD_STORED, "path": str(tmp_path / place)}
        of_files = sha256(*(tmp_path / file for file in files))
        assert model_facts(found) == {"name": str(tmp_path / place), "sha256": of_files, "stored": True}
    with pytest.raises(FairlabError, match="holds stored texts and has no settings; leave out pooling"):
        node(str(tmp_path / "texts.jsonl"), "pooling=cls")
    (tmp_path / "peft").mkdir()
    (tmp_path / "peft" / "adapter_config.json").write_text('{"base_model_name_or_path": "theirs"}')
    adapters = str(tmp_path / "peft")
    with pytest.raises(FairlabError, match="of theirs, which is not loaded without your request; give base=theirs"):
        node(adapters)
    found = node(adapters, "base=smollm2", "pooling=cls")
    assert (found.peft, found.pooling, found.name) == (adapters, "cls", node("smollm2").name)
    with pytest.raises(FairlabError, match="has no weights that can be loaded; give the model that"):
        node(adapters, f"base={tmp_path}/texts.jsonl")


def test_a_served_model_is_an_address_or_a_choice_with_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openai" / "here").mkdir(parents=True)
    with composing():
        local = served_node("HTTP://h/v1#m")
        assert (local.base_url, local.model, local.concurrency, is_served(local)) == ("HTTP://h/v1", "m", 4, True)
        assert "token_limit_key" not in local
        assert "model" not in served_node("http://h/v1")
        own = served_node("http://h/v1#m", {"api_key_env": "KEY", "model": "x", "base_url": "http://other"})
        assert {**own} == {
            **{"_target_": local["_target_"], "base_url": "http://h/v1"},
            "api_key_env": "KEY",
            "model": "m",
        }
        named = served_node("openai/gpt/x")
        assert (named.base_url, named.model) == ("https://api.openai.com/v1", "gpt/x")
        assert served_node("openai/x", {"base_url": "http://i"}).base_url == "http://i"
        assert served_node("openai/x", {"model": "y"}) is None
        for other in ("openai/", "openai", "nobody/x", "openai/here", "minilm"):
            assert served_node(other) is None
        with pytest.raises(FairlabError, match="has its own settings; leave out pooling"):
            backbone_node("http://h/v1#m", {"pooling": "cls"})
    assert not is_served(node("minilm"))
    assert (
        model_facts(local)
        == served_facts(local)
        == {
            **{"name": "HTTP://h/v1#m", "served": True},
            "sha256": "ecdd8cc99d71332f290602cb58665d1dd5103e495a4a66a2371254406a88e670",
        }
    )


@pytest.mark.parametrize(
    ("model", "served"),
    [
        ("http://h/v1", True),
        ("openai/x", True),
        ("openai/", False),
        ("nobody/x", False),
        ("minilm", False),
        (None, False),
        (["minilm", "openai/x"], True),
        (["minilm"], False),
        ({"one": "https://h#m"}, True),
        ({"http://h": "minilm"}, False),
    ],
)
def test_names_of_served_models(model, served):
    assert names_server(model) is served


@pytest.mark.parametrize("text", ["it's", "a\\", "a\\'b", "\\\\'", "'", "", "a\\b", "${x}", "1"])
def test_texts_are_written_as_hydra_reads_them(text):
    read = OverridesParser.create().parse_override(f"k={written([text, {'a': 0.5}])}").value()
    assert read == [text, {"a": 0.5}]


def test_settings_given_from_python():
    assert (own_settings(None), own_settings({"a.b": 1})) == ({}, {"a.b": 1})
    for wrong in ([1], {1: 2}, "a"):
        with pytest.raises(FairlabError, match="settings must be values by dotted key"):
            own_settings(wrong)
