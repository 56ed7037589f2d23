"""What the name of a model stands for, and what a command may change of it."""

import pytest

from experiments.real_models.table import fetchables
from fairlab.evaluate import asked
from fairlab.run.config.backbone_nodes import backbone_node
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


@pytest.mark.parametrize("name", fetchables())
def test_backbones_that_are_fetched_are_those_of_the_table(name):
    model, found = fetchables()[name], node(name)
    file = found.gguf or "model.safetensors"
    assert (found.name, found.weights_sha256) == (model.hub, model.files[file].sha256)
