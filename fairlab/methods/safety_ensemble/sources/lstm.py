"""Bidirectional LSTM over words, with max pooling over time and two dense layers, in NumPy.

Importing torch would take longer than scoring thousands of texts. Texts are stored as columns, so that one matrix
product per step computes the gates of all texts. Shape letters: N texts, T words, H units of a direction, W width of a
word vector, F outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.calibration import sigmoid

Floats = NDArray[np.float32]
STILL = 1e-7  # a state has converged if no unit changes by more than this in a step


@dataclass(frozen=True)
class Direction:
    """Weights of one direction, with gates in the order input, forget, cell, output.

    Attributes:
        kernel: Weights of the word vectors, (4H, W).
        recurrent: Weights of the state, (4H, H).
        bias: Bias of the gates, (4H,).
    """

    kernel: Floats
    recurrent: Floats
    bias: Floats

    @cached_property
    def prepared(self) -> tuple[Floats, Floats, Floats]:
        """Return kernel (4H, W), recurrent (4H, H) and bias (4H, 1), with the sigmoid gates first and halved.

        The sigmoid of x is (1 + tanh(x / 2)) / 2, so one tanh computes all gates.
        """
        into, forget, new, out = np.arange(len(self.bias)).reshape(4, -1)
        order = np.concatenate([into, forget, out, new])
        half = np.where(np.arange(len(order)) < 3 * len(into), 0.5, 1.0).astype(np.float32)[:, None]
        kernel, recurrent = (np.ascontiguousarray(part[order] * half) for part in (self.kernel, self.recurrent))
        return kernel, recurrent, self.bias[order, None] * half


class _Steps:
    """State and cell (H, N) of one direction, overwritten at every step."""

    def __init__(self, direction: Direction, state: Floats, cell: Floats) -> None:
        self.kernel, self.recurrent, self.bias = direction.prepared
        self.state, self.cell = np.array(state), np.array(cell)
        self.gates = np.empty((len(self.bias), state.shape[1]), np.float32)
        units = len(state)
        self.opened, self.new = self.gates[: 3 * units], self.gates[3 * units :]
        self.into, self.forget, self.out = self.opened.reshape(3, units, -1)

    def gate_inputs(self, words_NW: Floats) -> Floats:
        """Return the contribution of words to the gates, (4H, N)."""
        return np.asarray(self.kernel @ words_NW.T + self.bias)

    def step(self, given: Floats) -> Floats:
        """Compute a step from the words' contribution to the gates, and return the state."""
        np.matmul(self.recurrent, self.state, out=self.gates)
        self.gates += given
        np.tanh(self.gates, out=self.gates)
        self.opened += 1
        self.opened *= 0.5
        self.cell *= self.forget
        self.into *= self.new
        self.cell += self.into
        np.tanh(self.cell, out=self.state)
        self.state *= self.out
        return self.state

    def repeated(self, word_W: Floats, steps: int) -> Iterator[Floats]:
        """Yield the states while one word is repeated, for at most ``steps`` steps, until the state converges."""
        given = self.gate_inputs(word_W[None])
        before = np.empty_like(self.state)
        for _ in range(steps):
            np.copyto(before, self.state)
            yield self.step(given)
            if np.abs(np.subtract(before, self.state, out=before), out=before).max(initial=0) <= STILL:
                return


class Network:
    """Network that scores texts with leading zeros as padding, and skips redundant steps on these zeros.

    In the forward direction, all texts begin with the same zeros, so the states after each number of zeros are computed
    once. In the backward direction, the zeros come last, and are skipped once the state has converged.

    Args:
        embedding: Word vectors, (V, W); word 0 is the padding.
        forwards: Weights of the direction from the first word to the last.
        backwards: Weights of the direction from the last word to the first.
        dense: Matrix and bias of each layer after max pooling; the activation is ReLU, and a sigmoid in the last layer.
        length: Number of words and zeros in a padded text.
    """

    def __init__(
        self,
        embedding: Floats,
        forwards: Direction,
        backwards: Direction,
        dense: list[tuple[Floats, Floats]],
        length: int,
    ) -> None:
        self.embedding = embedding
        self.forwards, self.backwards = forwards, backwards
        self.dense = dense
        self.length = length

    def __call__(self, ids_NT: NDArray[np.int64]) -> NDArray[Any]:
        """Return the probabilities (N, F) for word ids (N, T), where T is at most ``length``."""
        words_TNW = self.embedding[ids_NT.T]
        zeros = self.length - ids_NT.shape[1]
        pooled = np.concatenate([self._forwards(words_TNW, zeros), self._backwards(words_TNW, zeros)])
        for matrix, bias in self.dense[:-1]:
            pooled = np.maximum(matrix @ pooled + bias[:, None], 0)
        matrix, bias = self.dense[-1]
        return sigmoid(matrix @ pooled + bias[:, None]).T

    def _forwards(self, words_TNW: Floats, zeros: int) -> Floats:
        """Run the forward direction, and return the maximum of each unit over time, (H, N)."""
        count = words_TNW.shape[1]
        state, cell, highest = (np.repeat(values[zeros][:, None], count, axis=1) for values in self._after_zeros)
        steps = _Steps(self.forwards, state, cell)
        for words_NW in words_TNW:
            np.maximum(highest, steps.step(steps.gate_inputs(words_NW)), out=highest)
        return highest

    def _backwards(self, words_TNW: Floats, zeros: int) -> Floats:
        """Run the backward direction, and return the maximum of each unit over time, (H, N)."""
        nothing = np.zeros((self.backwards.recurrent.shape[1], words_TNW.shape[1]), np.float32)
        steps = _Steps(self.backwards, nothing, nothing)
        highest = np.full_like(nothing, -np.inf)
        for words_NW in words_TNW[::-1]:
            np.maximum(highest, steps.step(steps.gate_inputs(words_NW)), out=highest)
        for state in steps.repeated(self.embedding[0], zeros):
            np.maximum(highest, state, out=highest)
        return highest

    @cached_property
    def _after_zeros(self) -> tuple[Floats, Floats, Floats]:
        """Return the forward state, cell and maximum state, each (length, H), after 0 to ``length`` - 1 zeros."""
        nothing = np.zeros((self.forwards.recurrent.shape[1], 1), np.float32)
        steps = _Steps(self.forwards, nothing, nothing)
        given = steps.gate_inputs(self.embedding[:1])
        found = [(nothing[:, 0], nothing[:, 0])]
        found += [(steps.step(given)[:, 0].copy(), steps.cell[:, 0].copy()) for _ in range(self.length - 1)]
        states, cells = (np.stack(values) for values in zip(*found, strict=True))
        highest = np.full_like(states, -np.inf)
        highest[1:] = np.maximum.accumulate(states[1:])
        return states, cells, highest
