"""Toxicity by the bidirectional LSTMs whose weights lie in the packages tox-block and toxic-comment-classifier.

The packages need TensorFlow; here their files are read where they are installed (``pip install --no-deps``) and their
code is not run. The network is rebuilt in torch: embedding, LSTM in both directions, maximum over time, dense layers.
The pickled vocabulary is read with an unpickler that knows dictionaries only.
"""

from __future__ import annotations

import importlib.util
import pickle
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairlab.backbones.trust import loading
from fairlab.files import sha256
from fairlab.types import DataUnavailable, FairlabError, need_extra

OUTPUTS = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
WORDS, WIDTH, HIDDEN, LENGTH = 20_000, 50, 50, 100
TEXTS = 512  # in a forward pass
FILTERED = re.compile(r"[!\"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\t\n]")  # what Keras' tokenizer takes for a blank
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
# package -> (weights, vocabulary, names of the weights)
PACKAGES = {
    "tox_block": ("trained_models/lstm_model_0.1.2.h5", "trained_models/encoder_0.1.2.pkl", KERAS_2),
    "toxic_classifier": ("model/model.weights.h5", "model/tokenizer.pickle", KERAS_3),
}
PIP = {"tox_block": "tox-block==0.1.2", "toxic_classifier": "toxic-comment-classifier==0.3.0"}


class BiLSTM:
    """Six probabilities of toxicity by one of the two networks.

    Args:
        package: name of the package, ``tox_block`` or ``toxic_classifier``.
        folder: folder that holds the package where it is not installed; None takes the installed one.

    Raises:
        DataUnavailable: the package is not there.
        FairlabError: its files are not those expected, or cannot be read for want of h5py.
    """

    outputs = OUTPUTS

    def __init__(self, *, package: str, folder: str | None = None) -> None:
        if package not in PACKAGES:
            raise FairlabError(f"no BiLSTM is known in the package '{package}'; there are: {', '.join(PACKAGES)}")
        need_extra("safety", f"the source {package}", "h5py")
        root = Path(folder) / package if folder is not None else _installed(package)
        weights, vocabulary, names = PACKAGES[package]
        for file in (root / weights, root / vocabulary):
            if not file.is_file():
                raise DataUnavailable(f"{file} is not there; pip install --no-deps {PIP[package]}, or give folder=")
        self.name = package
        self.version = sha256(root / weights, root / vocabulary)
        self.words = {word: k for word, k in _vocabulary(root / vocabulary).items() if k < WORDS}
        self.network = _network(root / weights, names)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Scores (N, 6) in [0, 1]."""
        ids = [self._ids(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda k: len(ids[k]))
        scores = np.empty((len(ids), len(OUTPUTS)))
        with torch.inference_mode():
            for start in range(0, len(order), TEXTS):
                part = order[start : start + TEXTS]
                longest = max(1, len(ids[part[-1]]))
                padded = torch.tensor([[0] * (longest - len(ids[k])) + ids[k] for k in part])
                scores[part] = self.network(padded).double().numpy()
        return scores

    def _ids(self, text: str) -> list[int]:
        """The last 100 known words, before which Keras puts zeros up to 100."""
        found = (self.words.get(word) for word in FILTERED.sub(" ", text.lower()).split(" "))
        return [number for number in found if number is not None][-LENGTH:]


class _Network(nn.Module):
    """The network on N texts of T words, before which zeros stand up to 100, without running through all zeros.

    Forwards, all texts begin with the same zeros: the states after them are computed once for any number of them.
    Backwards the zeros come last and cannot be left out, but as the same input at every step they need no products of
    their own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, HIDDEN, batch_first=True, bidirectional=True)
        self.dense = nn.Linear(2 * HIDDEN, 50)
        self.dense_1 = nn.Linear(50, len(OUTPUTS))

    def forward(self, ids_NT: Tensor) -> Tensor:
        count, zeros = len(ids_NT), LENGTH - ids_NT.shape[1]
        state, cell, highest = (values[zeros].expand(count, -1) for values in self._after_zeros)
        still = torch.zeros_like(state)
        begun = torch.stack([state, still]), torch.stack([cell, still])
        states_NTH, (last, cells) = self.lstm(self.embedding(ids_NT), begun)
        forwards, backwards = states_NTH.amax(dim=1).split(HIDDEN, dim=1)
        for state, _ in _through_zeros(self, "_reverse", last[1], cells[1], zeros):
            backwards = torch.maximum(backwards, state)
        pooled = torch.cat([torch.maximum(forwards, highest), backwards], dim=1)
        return torch.sigmoid(self.dense_1(torch.relu(self.dense(pooled))))

    @cached_property
    def _after_zeros(self) -> tuple[Tensor, Tensor, Tensor]:
        """Forward state, cell, and highest state so far, each (100, 50), after 0 to 99 zeros."""
        nothing = torch.zeros(1, HIDDEN)
        found = [(nothing, nothing)]
        found += [(state.clone(), cell.clone()) for state, cell in _through_zeros(self, "", *found[0], LENGTH - 1)]
        states, cells = (torch.cat(values) for values in zip(*found, strict=True))
        highest = torch.cat([torch.full((1, HIDDEN), -torch.inf), states[1:].cummax(dim=0).values])
        return states, cells, highest


def _through_zeros(
    network: _Network, suffix: str, state_NH: Tensor, cell_NH: Tensor, steps: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """States and cells (N, 50) of one direction after every further word 0; a step writes over those before it.

    Texts lie in columns and the gates that a sigmoid opens side by side, so that few calls do a step.
    """
    kernel, recurrent, bias, more = (
        getattr(network.lstm, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    into, forget, new, out = torch.arange(4 * HIDDEN).split(HIDDEN)  # torch's order
    order = torch.cat([into, forget, out, new])
    recurrent = recurrent[order].contiguous()
    given = (kernel @ network.embedding.weight[0] + bias + more)[order, None]
    state, cell = (values.T.clone(memory_format=torch.contiguous_format) for values in (state_NH, cell_NH))
    gates = torch.empty(4 * HIDDEN, state.shape[1])
    opened, news = gates[: 3 * HIDDEN], gates[3 * HIDDEN :]
    entering, kept, shown = opened.split(HIDDEN)
    for _ in range(steps):
        torch.mm(recurrent, state, out=gates).add_(given)
        opened.sigmoid_()
        news.tanh_()
        cell.mul_(kept).add_(entering.mul_(news))
        torch.tanh(cell, out=state).mul_(shown)
        yield state.T, cell.T


def _network(file: Path, names: Mapping[str, str]) -> _Network:
    """The network with a file's weights; Keras and torch order an LSTM's gates alike: input, forget, cell, output.

    tox-block was trained with a piecewise linear gate, which torch's LSTM has not; its sigmoid is close to it.
    """
    import h5py

    numbered = "0" in names["embedding"].rpartition("/")[2]
    kernel, recurrent, bias = (
        ("0", "1", "2") if numbered and names is KERAS_3 else ("kernel", "recurrent_kernel", "bias")
    )
    dense_bias = "1" if names is KERAS_3 else "bias"
    with h5py.File(file) as held:

        def read(name: str, part: str = "") -> Tensor:
            return torch.from_numpy(held[names[name].format(part)][()]).float()

        state = {"embedding.weight": read("embedding")}
        for direction, suffix in (("forward", ""), ("backward", "_reverse")):
            state |= {
                f"lstm.weight_ih_l0{suffix}": read(direction, kernel).T,
                f"lstm.weight_hh_l0{suffix}": read(direction, recurrent).T,
                f"lstm.bias_ih_l0{suffix}": read(direction, bias),
                f"lstm.bias_hh_l0{suffix}": torch.zeros(4 * HIDDEN),
            }
        for layer in ("dense", "dense_1"):
            state |= {f"{layer}.weight": read(layer, kernel).T, f"{layer}.bias": read(layer, dense_bias)}
    network = _Network()
    network.load_state_dict(state)
    return network.eval()


class _Stub:
    """Stands for every class but dictionaries; it takes state and runs nothing."""

    def __setstate__(self, state: Any) -> None:
        self.__dict__ = state if isinstance(state, dict) else {}


class _DictsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = {"OrderedDict": OrderedDict, "defaultdict": defaultdict, "int": int}
        if (module in ("collections", "builtins")) and name in known:
            return known[name]
        if name in ("Tokenizer", "TokenSequencer"):
            return _Stub
        raise FairlabError(f"a vocabulary may hold no {module}.{name}; reinstall the package")


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


def _installed(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise DataUnavailable(
            f"the source {package} needs its package: pip install --no-deps {PIP[package]} (TensorFlow is not needed)"
        )
    return Path(spec.origin).parent
