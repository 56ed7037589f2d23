"""BiLSTMs as sources, on random weights."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict

import h5py
import numpy as np
import pytest

from fairlab.methods.safety_ensemble.sources.bilstm import PACKAGES, BiLSTM
from fairlab.methods.safety_ensemble.sources.lstm import Direction, Network
from fairlab.types import DataUnavailable, FairlabError

WORDS, WIDTH, UNITS, LENGTH = 60, 7, 5, 100


def random_network():
    rng = np.random.default_rng(0)

    def some(*shape):
        return rng.normal(0, 0.5, shape).astype(np.float32)

    def direction():
        return Direction(some(4 * UNITS, WIDTH), some(4 * UNITS, UNITS), some(4 * UNITS))

    dense = [(some(4, 2 * UNITS), some(4)), (some(6, 4), some(6))]
    return Network(some(WORDS, WIDTH), direction(), direction(), dense, LENGTH)


def gate(value):
    return 1 / (1 + np.exp(-value))


def by_steps(network, ids):
    """Keras, word by word and zero by zero: gates input, forget, cell, output; maximum over time of both directions."""

    def run(inputs, of):
        hidden, cell, states = np.zeros(UNITS), np.zeros(UNITS), []
        for one in inputs:
            into, forget, new, out = np.split(of.kernel @ one + of.recurrent @ hidden + of.bias, 4)
            cell = gate(forget) * cell + gate(into) * np.tanh(new)
            hidden = gate(out) * np.tanh(cell)
            states.append(hidden)
        return np.max(states, axis=0)

    inputs = network.embedding.astype(np.float64)[[0] * (LENGTH - len(ids)) + list(ids)]
    pooled = np.concatenate([run(inputs, network.forwards), run(inputs[::-1], network.backwards)])
    (first, first_bias), (last, last_bias) = network.dense
    return gate(last @ np.maximum(first @ pooled + first_bias, 0) + last_bias)


@pytest.mark.parametrize("length", [1, 3, 40, 99, 100])
def test_the_network_is_kerass_step_by_step(length):
    network = random_network()
    ids = np.random.default_rng(length).integers(1, WORDS, (3, length))
    expected = np.stack([by_steps(network, one) for one in ids])
    np.testing.assert_allclose(network(ids), expected, atol=1e-5)


def test_a_text_has_one_score_beside_any_others():
    """Shorter texts have zeros before their words; those that come to rest later decide for all."""
    network = random_network()
    ids = np.random.default_rng(1).integers(1, WORDS, (3, 100))
    ids[0, :97] = 0
    ids[1, :60] = 0
    together = network(ids)
    for number, words in enumerate((3, 40, 100)):
        np.testing.assert_allclose(network(ids[number : number + 1, -words:])[0], together[number], atol=1e-6)


class Tokenizer:
    """As Keras pickles one: what counts words is there beside what numbers them."""

    def __init__(self):
        self.word_counts = OrderedDict(awful=9, day=2)
        self.word_docs = defaultdict(int, awful=9)
        self.word_index = {"awful": 1, "day": 2, "edge": 19_999, "rare": 20_000}


class TokenSequencer:
    """As tox-block pickles one: the tokenizer is inside."""

    def __init__(self):
        self.length, self.tokenizer = 100, Tokenizer()


@pytest.mark.parametrize("package", PACKAGES)
def test_files_of_a_package(tmp_path, package):
    """Weights and vocabulary are read where they lie; words beyond the 20,000 and unknown ones are passed over."""
    weights, vocabulary, names = PACKAGES[package]
    rng = np.random.default_rng(0)
    units, width = 4, 3
    shapes = {"forward": [(width, 4 * units), (units, 4 * units), (4 * units,)], "dense": [(2 * units, 5), (5,)]}
    shapes |= {"backward": shapes["forward"], "dense_1": [(5, 6), (6,)]}
    folder = tmp_path / package
    (folder / weights).parent.mkdir(parents=True)
    parts = range(3) if package == "toxic_classifier" else ("kernel", "recurrent_kernel", "bias")
    with h5py.File(folder / weights, "w") as file:
        file[names["embedding"]] = rng.normal(size=(20, width))
        for name, some in shapes.items():
            of_layer = parts if len(some) == 3 else (parts[0], parts[1] if package == "toxic_classifier" else "bias")
            for part, shape in zip(of_layer, some, strict=True):
                file[names[name].format(part)] = rng.normal(size=shape)
    (folder / vocabulary).write_bytes(pickle.dumps(Tokenizer() if package == "toxic_classifier" else TokenSequencer()))
    source = BiLSTM(package=package, folder=str(tmp_path))
    assert source.words == {"awful": 1, "day": 2, "edge": 19_999}
    scores = source.score(["Awful day!", "awful, day", "an awful rare day", "day awful", ""])
    assert scores.shape == (5, 6)
    assert (scores[0] == scores[1]).all()
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-6)
    assert np.abs(scores[3] - scores[0]).max() > 1e-4
    np.testing.assert_allclose(source.score(["day awful", ""]), scores[3:], atol=1e-6)
    np.testing.assert_allclose(source.score([""]), scores[4:], atol=1e-6)
    days = ["awful " + "day " * 100, "day " * 100, "awful " + "day " * 99]
    cut, last, whole = source.score(days)
    assert (cut == last).all()  # the last 100 words are read
    assert np.abs(whole - last).max() > 1e-6
    for content in ({"awful": 1}, Counter(), [Tokenizer]):
        (folder / vocabulary).write_bytes(pickle.dumps(content))
        with pytest.raises(FairlabError, match="vocabulary"):
            BiLSTM(package=package, folder=str(tmp_path))


def test_a_bilstm_that_is_not_there_is_said(tmp_path):
    with pytest.raises(DataUnavailable, match="pip install --no-deps tox-block"):
        BiLSTM(package="tox_block", folder=str(tmp_path))
    with pytest.raises(DataUnavailable, match="needs its package: pip install --no-deps tox-block"):
        BiLSTM(package="tox_block")
    with pytest.raises(FairlabError, match="no BiLSTM is known"):
        BiLSTM(package="other")


def test_the_source_does_not_load_torch():
    """Importing torch would take longer than scoring thousands of texts."""
    code = "import sys, fairlab.methods.safety_ensemble.sources.bilstm; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
