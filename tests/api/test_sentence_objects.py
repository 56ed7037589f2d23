"""SentenceTransformer objects: with torch's weights, and those that only encode (other backends, static embeddings)."""

import json
import shutil

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

import fairlab
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.model_object import ModelObject
from fairlab.run.config.backbone_nodes import backbone_node, model_facts
from fairlab.types import FairlabError

TEXTS = ["She is a nurse.", "He left, and the river was wide.", "She is a nurse."]


class OtherBackend:
    """Stands for a model of ONNX Runtime or OpenVINO: called as one of transformers, and without weights of torch."""

    device = torch.device("cpu")

    def __init__(self, model):
        self.config, self.forward = model.config, model.forward

    def __call__(self, **inputs):
        return self.forward(**inputs)


@pytest.fixture(scope="module")
def folder(tiny_folders, tmp_path_factory):
    first = Transformer(str(tiny_folders["bert"]), max_seq_length=32)
    made = SentenceTransformer(modules=[first, Pooling(32, "mean"), Normalize()], device="cpu")
    place = tmp_path_factory.mktemp("sentence")
    made.save(str(place), create_model_card=False)
    return place


@pytest.fixture
def sentence(folder):
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.fixture
def exported(folder):
    """The same model, as sentence-transformers holds it with another backend."""
    found = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    whole = found[0]._modules.pop("model").eval()
    object.__setattr__(found[0], "model", OtherBackend(whole))
    found[0].backend = "onnx"
    return found


def test_object_folder_function_and_other_backend_embed_alike(folder, sentence, exported):
    kinds = (folder, sentence, sentence.encode, exported)
    found = [fairlab.load(kind) for kind in kinds]
    assert [type(model) for model in found] == [Backbone, Backbone, ModelObject, ModelObject]
    expected = found[0].embed(TEXTS)
    for model in found[1:]:
        assert torch.allclose(model.embed(TEXTS), expected, atol=1e-5)


@pytest.mark.data
@pytest.mark.slow
def test_object_folder_function_and_other_backend_give_the_same_readings(folder, sentence, exported):
    kinds = {"folder": folder, "object": sentence, "function": sentence.encode, "backend": exported}
    found = {name: fairlab.evaluate(kind, ["seat", "cced"], limit=3).record.metrics() for name, kind in kinds.items()}
    assert found["folder"]
    for name in ("object", "function", "backend"):
        assert found[name] == pytest.approx(found["folder"], abs=1e-5)


def test_static_embeddings_are_measured_as_an_object(tokenizer):
    torch.manual_seed(0)
    words = StaticEmbedding(tokenizer.backend_tokenizer, embedding_weights=torch.randn(len(tokenizer), 8).numpy())
    sentence = SentenceTransformer(modules=[words, Normalize()], device="cpu")
    model = fairlab.load(sentence)
    assert repr(model).splitlines()[0] == "this SentenceTransformer, measured by its embeddings alone"
    with pytest.warns(UserWarning, match="the order of words makes no difference"):
        assert np.allclose(model.embed(TEXTS), sentence.encode(TEXTS), atol=1e-6)
    with pytest.raises(FairlabError, match="this SentenceTransformer has no weights to train"):
        fairlab.debias(sentence, "embedded/people")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "onnx/model.onnx",
            r"weights for onnx \(onnx/model.onnx\); load them with SentenceTransformer\(FOLDER, backend",
        ),
        ("model_quantized.onnx", "weights for onnx"),
        ("openvino/openvino_model.xml", "weights for openvino"),
        ("tf_model.h5", "tf_model.h5, which may run code; save the model again with save_pretrained"),
    ],
)
def test_a_folder_of_other_weights_names_the_remedy(file, message, folder, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_bytes(bytes(100_000))
    with pytest.raises(FairlabError, match=rf"contains no model\.safetensors, but {message}"):
        fairlab.load(tmp_path)


def test_a_cross_encoder_of_another_backend_is_one_sentence(tiny_folders, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(tiny_folders["bert"], num_labels=1)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_folders["bert"]).save_pretrained(tmp_path)
    cross = CrossEncoder(str(tmp_path), device="cpu")
    object.__setattr__(cross[0], "model", OtherBackend(cross[0]._modules.pop("model")))
    with pytest.raises(FairlabError, match="this CrossEncoder has no PyTorch weights; load it with backend"):
        fairlab.load(cross)


def test_texts_that_another_backend_or_a_method_cuts_are_counted(folder, sentence, exported):
    long = "a word " * 40
    for kind in (sentence, sentence.encode, exported):
        model = fairlab.load(kind)
        model.embed([*TEXTS, long, long])
        assert len(model.cut) == 1
        assert "limit: 32 tokens per text; longer texts are cut and counted" in repr(model)
    settings = {"benchmark.seat.tests": ["6"]}
    exported.max_seq_length = 5
    record = fairlab.evaluate(exported, "seat", settings=settings).record
    assert [note.text for note in record.notes if "texts were cut at max_length=5" in note.text]


def test_a_folder_of_a_cross_encoder_is_its_classifier(tiny_folders, tmp_path):
    cross = CrossEncoder(str(tiny_folders["bert"]), device="cpu", num_labels=1)
    cross.save_pretrained(str(tmp_path))
    assert (tmp_path / "modules.json").is_file()
    found, expected = fairlab.load(tmp_path), fairlab.load(cross)
    assert "head: classifier" in repr(found)
    assert torch.allclose(found.embed(TEXTS), expected.embed(TEXTS), atol=1e-6)


@pytest.mark.parametrize("inside", ["", "0_StaticEmbedding"])
def test_a_folder_of_static_embeddings_is_measured_as_its_object(tokenizer, tmp_path, inside):
    torch.manual_seed(0)
    words = StaticEmbedding(tokenizer.backend_tokenizer, embedding_weights=torch.randn(len(tokenizer), 8).numpy())
    sentence = SentenceTransformer(modules=[words, Normalize()], device="cpu")
    sentence.save(str(tmp_path), create_model_card=False)
    if inside:  # as older versions save it
        (tmp_path / inside).mkdir()
        for file in ("model.safetensors", "tokenizer.json"):
            (tmp_path / file).rename(tmp_path / inside / file)
        modules = json.loads((tmp_path / "modules.json").read_text())
        modules[0] |= {"path": inside, "type": "sentence_transformers.models.StaticEmbedding"}
        (tmp_path / "modules.json").write_text(json.dumps(modules))
    found = fairlab.load(tmp_path)
    with pytest.warns(UserWarning, match="the order of words makes no difference"):
        assert np.allclose(found.embed(TEXTS), sentence.encode(TEXTS), atol=1e-6)
    facts = model_facts(backbone_node(str(tmp_path), {}))
    assert len(facts["sha256"]) == 64
    with pytest.raises(FairlabError, match="have no settings; leave out pooling"):
        fairlab.load(tmp_path, pooling="mean")


def test_a_folder_of_other_modules_names_the_way_out(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    file = tmp_path / "model" / "modules.json"
    file.write_text(file.read_text().replace("pooling.Pooling", "weighted_layer_pooling.WeightedLayerPooling"))
    with pytest.raises(FairlabError, match=r"names a module .*WeightedLayerPooling; .* give the object to fairlab"):
        fairlab.load(tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    with pytest.raises(FairlabError, match="load it with sentence-transformers and give the object to fairlab"):
        fairlab.load(tmp_path / "model")
