"""What the name of a model stands for, and what a command may change of it."""

import json
import shutil

import pytest

from experiments.real_models.table import fetchables
from fairlab.evaluate import asked
from fairlab.run.config.backbone_nodes import PUBLISHED, backbone_node
from fairlab.run.config.composing import composed, composing


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
