"""Toxicity scores from bidirectional LSTMs with the weights of tox-block and toxic-comment-classifier.

Both packages need TensorFlow, so only their installed files are read (``pip install --no-deps``) and their code is not
run. The network is reimplemented in NumPy. The pickled vocabulary is read with an unpickler that supports dictionaries
only.
"""

from __future__ import annotations

import importlib.util
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.trust import loading
from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.lstm import Direction, Floats, Network
from fairlab.types import DataUnavailable, FairlabError, need_extra

OUTPUTS = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
WORDS, LENGTH = 20_000, 100
TEXTS = 512  # texts per forward pass
# characters that Keras' tokenizer replaces by a space
FILTERED = re.compile(r"[!\"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\t\n]")
KERAS_2 = {  # names of the weights in tox-block's file
    "embedding": "model_weights/embedding/embedding/embeddings:0",
    "forward": "model_weights/bidirectional/bidirectional/forward_lstm/{}:0",
    "backward": "model_weights/bidirectional/bidirectional/backward_lstm/{}:0",
    "dense": "model_weights/dense/dense/{}:0",
    "dense_1": "model_weights/dense_1/dense_1/{}:0",
}
KERAS_3 = {
    "embedding": "layers/embedding/vars/0",
    "forward": "layers/bidirectional/forward_layer/cell/vars/{}",
    "backward": "layers/bidirectional/backward_layer/cell/vars/{}",
    "dense": "layers/dense/vars/{}",
    "dense_1": "layers/dense_1/vars/{}",
}
# by package: weights, vocabulary, names of the weights
PACKAGES = {
    "tox_block": ("trained_models/lstm_model_0.1.2.h5", "trained_models/encoder_0.1.2.pkl", KERAS_2),
    "toxic_classifier": ("model/model.weights.h5", "model/tokenizer.pickle", KERAS_3),
}
PIP = {"tox_block": "tox-block==0.1.2", "toxic_classifier": "toxic-comment-classifier==0.3.0"}


class BiLSTM(Source):
    """Source of six toxicity probabilities from one of the two networks.

    Args:
        package: Name of the package, ``tox_block`` or ``toxic_classifier``.
        folder: Folder that holds a package that is not installed; None uses the installed package.

    Raises:
        DataUnavailable: The package is missing.
        FairlabError: The package's files differ from the expected ones, or cannot be read because h5py is missing.
    """

    title = "toxicity according to a bidirectional LSTM"
    limits = (
        "A small network for 20,000 English words, trained on Wikipedia comments; only the end of long texts is read."
    )
    citation = """@misc{jigsaw2018toxic,
  title = {Toxic Comment Classification Challenge},
  author = {{Jigsaw} and {Conversation AI}},
  howpublished = {Kaggle},
  year = {2018}
}"""
    paths = ("folder",)
    outputs = OUTPUTS

    def __init__(self, *, package: str, folder: str | None = None) -> None:
        if package not in PACKAGES:
            raise FairlabError(f"no BiLSTM is known in the package '{package}'; there are: {', '.join(PACKAGES)}")
        need_extra("safety", f"the source {package}", "h5py")
        root = Path(folder) / package if folder is not None else _find_package(package)
        weights, vocabulary, names = PACKAGES[package]
        for file in (root / weights, root / vocabulary):
            if not file.is_file():
                raise DataUnavailable(f"{file} does not exist; pip install --no-deps {PIP[package]}, or give folder=")
        self.name = package
        self.version = sha256(root / weights, root / vocabulary)
        self.words = {word: k for word, k in _vocabulary(root / vocabulary).items() if k < WORDS}
        self.network = read_network(root / weights, names)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the six scores of each text, (N, 6), in [0, 1]."""
        ids = [self._ids(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda k: len(ids[k]))
        scores = np.empty((len(ids), len(OUTPUTS)))
        for start in range(0, len(order), TEXTS):
            part = order[start : start + TEXTS]
            longest = max(1, len(ids[part[-1]]))
            scores[part] = self.network(np.array([[0] * (longest - len(ids[k])) + ids[k] for k in part]))
        return scores

    def _ids(self, text: str) -> list[int]:
        """Return the ids of the last 100 known words in a text.

        Keras pads shorter texts with leading zeros.
        """
        found = (self.words.get(word) for word in FILTERED.sub(" ", text.lower()).split(" "))
        return [number for number in found if number is not None][-LENGTH:]


def read_network(file: Path, names: Mapping[str, str]) -> Network:
    """Load the network from a file of weights.

    tox-block was trained with a piecewise linear gate; this network approximates it by a sigmoid.
    """
    import h5py

    numbered = names is KERAS_3
    kernel, recurrent, bias = ("0", "1", "2") if numbered else ("kernel", "recurrent_kernel", "bias")
    dense_bias = "1" if numbered else "bias"
    with h5py.File(file) as held:

        def read(name: str, part: str = "") -> Floats:
            return np.asarray(held[names[name].format(part)][()], dtype=np.float32)

        forwards, backwards = (
            Direction(read(name, kernel).T, read(name, recurrent).T, read(name, bias))
            for name in ("forward", "backward")
        )
        dense = [(read(name, kernel).T, read(name, dense_bias)) for name in ("dense", "dense_1")]
        return Network(read("embedding"), forwards, backwards, dense, LENGTH)


class _Stub:
    """Stub that replaces the tokenizer classes of the packages. It accepts state and runs no code."""

    def __setstate__(self, state: Any) -> None:
        self.__dict__ = state if isinstance(state, dict) else {}


def _dict(*_: Any) -> dict[Any, Any]:
    """Return a plain dictionary instead of an ordered or default dictionary.

    Filling a plain dictionary is several times as fast.
    """
    return {}


class _DictsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = {"OrderedDict": _dict, "defaultdict": _dict, "int": int}
        if (module in ("collections", "builtins")) and name in known:
            return known[name]
        if name in ("Tokenizer", "TokenSequencer"):
            return _Stub
        raise FairlabError(f"a vocabulary must not contain {module}.{name}; reinstall the package")


def _vocabulary(file: Path) -> dict[str, int]:
    with loading(f"the vocabulary {file}"), file.open("rb") as stored:
        content = _DictsOnly(stored).load()
    while not hasattr(content, "word_index"):
        if not isinstance(content, _Stub):
            raise FairlabError(f"{file} holds no vocabulary; reinstall the package")
        inner = [value for value in vars(content).values() if isinstance(value, _Stub)]
        if not inner:
            raise FairlabError(f"{file} holds no vocabulary; reinstall the package")
        content = inner[0]
    return dict(content.word_index)


def _find_package(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise DataUnavailable(
            f"the source {package} needs its package: pip install --no-deps {PIP[package]} (TensorFlow is not needed)"
        )
    return Path(spec.origin).parent
