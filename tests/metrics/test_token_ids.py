"""Token ids by hand."""

import numpy as np
import pytest

from fairlab.metrics import token_ids
from fairlab.metrics.token_ids import TokenIds


def made(texts):
    return TokenIds(texts, str.split)


@pytest.mark.parametrize("block", [16_384, 2])
def test_ids_are_numbered_in_order_and_counted_once_a_document(monkeypatch, block):
    monkeypatch.setattr(token_ids, "BLOCK", block)
    tokens = made(["a b a", "", "c b", "a"])
    assert tokens.vocabulary == {"a": 0, "b": 1, "c": 2}
    assert [tokens.of(k).tolist() for k in range(len(tokens))] == [[0, 1, 0], [], [2, 1], [0]]
    assert tokens.frequency.tolist() == [2, 2, 1]
    rows, ids = tokens.some(np.array([2, 1, 0]))
    assert (rows.tolist(), ids.tolist()) == ([0, 0, 2, 2, 2], [2, 1, 0, 1, 0])


def test_a_replacement_moves_the_others_and_changes_the_counts():
    tokens = made(["a b a", "", "c b", "a"])
    new = tokens.encode("d b d d")
    assert (new.tolist(), tokens.frequency.tolist()) == ([3, 1, 3, 3], [2, 2, 1, 0])
    for document, ids, counts in ((0, new, [1, 2, 1, 1]), (2, new[:0], [1, 1, 0, 1]), (1, new[:1], [1, 1, 0, 2])):
        tokens.put(document, ids)
        assert tokens.frequency.tolist() == counts
    assert [tokens.of(k).tolist() for k in range(4)] == [[3, 1, 3, 3], [3], [], [0]]


def test_documents_without_tokens_have_no_ids():
    assert made(["", ""]).ids.tolist() == []
