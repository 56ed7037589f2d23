"""Reading target words out of hidden states, by hand and against a table of one-hot rows as the official code has."""

import pytest
import torch

from fairlab.backbones.hidden_states import hidden_states, target_vectors


def official(hidden, positions):
    """One-hot rows, a row of zeros before them once a target has several subwords, positions padded with 0."""
    longest = max(map(len, positions))
    table = torch.eye(hidden.shape[1], dtype=hidden.dtype)
    if longest > 1:
        table = torch.cat([torch.zeros(1, hidden.shape[1], dtype=hidden.dtype), table])
    padded = torch.tensor([[*places, *[0] * (longest - len(places))] for places in positions])
    rows = table[padded].sum(dim=1)
    return (hidden * rows[:, :, None, None]).sum(dim=1) / longest


def marked(positions, length):
    targets = torch.zeros(len(positions), length, dtype=torch.bool)
    for row, places in enumerate(positions):
        targets[row, places] = True
    return targets


def test_single_subwords_are_read_where_they_stand_in_either_way():
    hidden = torch.arange(24.0).reshape(2, 4, 3, 1)
    targets = marked([[1], [3]], 4)
    for shifted in (False, True):
        vectors = target_vectors(hidden, targets, shifted=shifted)
        assert vectors[..., 0].tolist() == [[3.0, 4.0, 5.0], [21.0, 22.0, 23.0]]


def test_several_subwords_by_hand():
    # Tokens hold 10, 11, ... in the one layer; the second target has two subwords.
    hidden = torch.arange(10.0, 15.0).reshape(1, 5, 1, 1).expand(2, 5, 1, 1)
    targets = marked([[2], [3, 4]], 5)
    assert target_vectors(hidden, targets, shifted=False).flatten().tolist() == [12.0, 13.5]
    assert target_vectors(hidden, targets, shifted=True).flatten().tolist() == [11.0 / 2, (12.0 + 13.0) / 2]


@pytest.mark.parametrize("positions", [[[1], [4], [2]], [[1, 2, 3], [5], [2, 3]], [[0], [1, 2], [3]]])
def test_the_shifted_reading_is_that_of_the_official_table(positions):
    hidden = torch.randn(3, 6, 2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    vectors = target_vectors(hidden, marked(positions, 6), shifted=True)
    torch.testing.assert_close(vectors, official(hidden, positions))
    own = torch.stack([hidden[row, places].mean(dim=0) for row, places in enumerate(positions)])
    torch.testing.assert_close(target_vectors(hidden, marked(positions, 6), shifted=False), own)


def test_hidden_states_are_those_of_transformers_layer_by_layer(tiny):
    ids = torch.tensor([[101, 2027, 2387, 102]])
    states = hidden_states(tiny.transformer, ids, torch.ones_like(ids))
    expected = tiny.model(input_ids=ids, output_hidden_states=True).hidden_states
    assert states.shape == (1, 4, 3, 32)
    for layer, state in enumerate(expected):
        torch.testing.assert_close(states[:, :, layer], state)
