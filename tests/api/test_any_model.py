"""Models as objects: functions, objects that encode, compiled ones and those with adapters."""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import fairlab
from fairlab.backbones.model_object import ModelObject
from fairlab.types import CannotScore, FairlabError
from tests.conftest import make_groups, row, write_rows

TEXTS = ["She is a nurse.", "He left.", "She is a nurse."]


class Encodes:
    """An object that has nothing but ``encode``."""

    def __init__(self, backbone, make=lambda array: array):
        self.backbone, self.make = backbone, make

    def encode(self, texts):
        return self.make(self.backbone.embed(texts).numpy())


def sparse(array):
    """As a SparseEncoder gives vectors."""
    return torch.from_numpy(array).to_sparse()


@pytest.mark.parametrize(
    "make", [np.asarray, torch.from_numpy, sparse, np.ndarray.tolist, lambda array: array.astype("f8")]
)
def test_an_object_that_encodes_embeds_and_measures_as_its_model(tiny, make):
    model = fairlab.load(Encodes(tiny, make))
    assert torch.allclose(model.embed(TEXTS), tiny.embed(TEXTS), atol=1e-6)
    assert model.embed(TEXTS).dtype == torch.float32
    assert model.digest() == fairlab.load(Encodes(tiny).encode).digest()
    assert repr(model).splitlines()[0] == "this Encodes, measured by its embeddings alone"


@pytest.mark.data
def test_a_function_gives_the_readings_of_its_model(tiny):
    def vectors(texts):
        return tiny.embed(texts)

    found, expected = (fairlab.evaluate(one, ["seat", "crows_pairs"], limit=5) for one in (vectors, tiny))
    name = "seat/average/absolute_effect_size"
    assert found[name] == pytest.approx(expected[name], abs=1e-5)
    assert found.record.config["model"] == "function object"
    (reason,) = {entry.reason for entry in found.not_run if entry.benchmark == "crows_pairs"}
    assert reason.startswith("the function vectors has no language-modelling head")


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda texts: np.zeros(3), r"returns an array of shape \[3\] for 2 texts; return \[2, length of a vector\]"),
        (lambda texts: np.zeros((5, 3)), r"returns an array of shape \[5, 3\] for 2 texts"),
        (lambda texts: np.zeros((2, 4, 3)), r"returns an array of shape \[2, 4, 3\]"),
        (lambda texts: [[1.0], [1.0, 2.0]], "returns no array of numbers"),
        (lambda texts: [["a"], ["b"]], "returns values of dtype <U1; return numbers"),
        (lambda texts: np.full((2, 3), np.nan), "numbers that are not finite"),
        (lambda texts: None, "returns a NoneType that is not an array; return one vector per text"),
        (lambda texts: {"dense": np.zeros((2, 3))}, "returns a dict that is not an array"),
        (lambda texts: np.full((2, 3), 1e300), "numbers that are not finite in float32"),
        (lambda texts: np.ma.masked_all((2, 3)), "numbers that are not finite"),
        (lambda texts: torch.ones(2, 3, dtype=torch.complex64), "returns values of dtype complex64; return numbers"),
        (lambda texts: torch.ones(2, 3, device="meta"), "returns no array of numbers"),
        (lambda texts: (np.ones(3 + k) for k in range(2)), "returns no array of numbers"),
        (lambda texts: texts[5], r"this model raised an error \(IndexError: list index out of range\)"),
    ],
)
def test_what_is_no_vector_per_text_is_one_sentence(encode, message):
    with pytest.raises(CannotScore, match=message):
        ModelObject("this model", encode).embed(TEXTS)


def test_vectors_one_by_one_and_sparse_ones_are_taken():
    expected = torch.tensor([[float(len(text)), 1.0] for text in TEXTS])
    from scipy.sparse import csr_matrix

    for make in (iter, csr_matrix, lambda rows: torch.tensor(rows).to_sparse()):
        model = ModelObject("this model", lambda texts, make=make: make([[float(len(text)), 1.0] for text in texts]))
        assert torch.equal(model.embed(TEXTS), expected)


def test_vectors_of_another_length_in_a_later_call_are_one_sentence():
    lengths = iter([3, 4])
    model = ModelObject("this model", lambda texts: np.ones((len(texts), next(lengths))))
    model.embed(TEXTS)
    with pytest.raises(
        CannotScore, match="returns vectors of length 4 after vectors of length 3; make all of one length"
    ):
        model.embed(TEXTS)


def test_what_gives_embeddings_alone_is_not_trained(tiny):
    with pytest.raises(FairlabError, match="this Encodes has no weights to train"):
        fairlab.debias(Encodes(tiny), "embedded/people")
    with pytest.raises(FairlabError, match="this Encodes has its own settings; leave out pooling"):
        fairlab.load(Encodes(tiny), pooling="cls")
    with pytest.raises(FairlabError, match=r"a int is not a model .* an object with encode\(texts\) or a function"):
        fairlab.load(5)


@pytest.mark.slow
def test_compiled_models_and_adapters_are_measured_as_they_are(tiny_folders):
    peft = pytest.importorskip("peft")
    folder = tiny_folders["bert"]
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    plain = fairlab.load((model, tokenizer)).embed(TEXTS)
    assert torch.equal(fairlab.load((torch.compile(model), tokenizer)).embed(TEXTS), plain)
    torch.manual_seed(0)
    settings = peft.LoraConfig(target_modules=["query"], init_lora_weights=False)
    with_adapters = peft.get_peft_model(model, settings).eval()
    found = fairlab.load((with_adapters, tokenizer)).embed(TEXTS)
    assert not torch.allclose(found, plain, atol=1e-4)
    with pytest.raises(FairlabError, match="the adapters of the model are not merged"):
        fairlab.debias((with_adapters, tokenizer), "embedded/people")
    merged = fairlab.load((with_adapters.merge_and_unload(), tokenizer)).embed(TEXTS)
    assert torch.allclose(merged, found, atol=1e-5)


def test_a_folder_named_like_a_backbone_is_not_passed_over(tiny_folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilm").mkdir()
    for file in tiny_folders["bert"].iterdir():
        (tmp_path / "minilm" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(FairlabError, match=r"minilm is both a backbone of fairlab and a folder .*; write \./minilm"):
        fairlab.load("minilm")
    assert fairlab.load("./minilm").width == 32


def test_settings_of_a_model_decide_what_evaluate_loads(tiny_folders, tmp_path):
    rows = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(5)])
    groups = {"benchmark.cced.sets": [rows]}
    folder = tiny_folders["bert"]
    found = fairlab.evaluate(folder, "cced", settings=groups | {"pooling": "cls", "max_length": 32})
    expected = fairlab.evaluate(fairlab.load(folder, pooling="cls", max_length=32), "cced", settings=groups)
    assert found.record.metrics() == expected.record.metrics()
    with pytest.raises(FairlabError, match="a Backbone has its own settings; leave out pooling"):
        fairlab.evaluate(fairlab.load(folder), "cced", settings={"pooling": "cls"})


def test_attention_and_device_are_settings(tiny_folders):
    folder = tiny_folders["bert"]
    eager, own = fairlab.load(folder, attention="eager", device="cpu"), fairlab.load(folder)
    assert (eager.model.config._attn_implementation, eager.device.type) == ("eager", "cpu")
    assert torch.allclose(eager.embed(TEXTS), own.embed(TEXTS), atol=1e-6)
    assert "attention: eager" in repr(eager)
    with pytest.raises(FairlabError, match=r"attention must be one of eager, sdpa, .* not kernels/of-the-hub"):
        fairlab.load(folder, attention="kernels/of-the-hub")
    with pytest.raises(FairlabError, match=r"device=there cannot be used here \(.*\); omit it, or set device=cpu"):
        fairlab.load(folder, device="there")
    pair = (AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    with pytest.raises(FairlabError, match="a model in memory has its own device; leave device out"):
        fairlab.load(pair, device="cpu")
