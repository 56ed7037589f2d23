import numpy as np
import pytest

from fairlab.judge.pairing import Pairing, pair_items
from fairlab.judge.scores import TaskScores
from fairlab.types import FairlabError


def scores(ids, texts=()):
    return TaskScores("sums", "acc", tuple(ids), np.zeros(len(ids)), texts=tuple(texts))


def test_items_are_joined_by_identifier_and_the_rest_is_counted():
    found = pair_items(scores("abcd"), scores("dbx"))
    assert (found.first, found.second, found.by) == ([1, 3], [1, 0], "id")
    assert (found.only_first, found.only_second, found.conflicts) == (2, 1, 0)


def test_an_item_with_the_same_identifier_and_another_input_is_left_out():
    found = pair_items(scores("abc", ["text:1", "text:2", "text:3"]), scores("abc", ["text:1", "text:2", "text:9"]))
    assert (found.first, found.conflicts) == ([0, 1], 1)
    half = pair_items(scores("abx", ["text:1", "text:2", "text:3"]), scores("ab", ["text:1", "text:4"]))
    assert half == Pairing([0], [0], "id", 1, 0, 1)


def test_identifiers_that_mean_other_items_give_way_to_inputs():
    found = pair_items(scores("abc", ["text:1", "text:2", "text:2"]), scores("abc", ["text:2", "text:1", "text:2"]))
    assert found.by == "text"
    assert (found.first, found.second) == ([0, 1, 2], [1, 0, 2])  # of two equal inputs, the first with the first
    assert (found.only_first, found.only_second, found.conflicts) == (0, 0, 0)
    other = pair_items(scores("ab", ["text:1", "text:2"]), scores("xyz", ["text:2", "text:2", "text:3"]))
    assert other == Pairing([1], [0], "text", 1, 2, 0)


def test_hashes_of_other_things_are_not_compared():
    for others in (["text:7", "text:8"], []):
        found = pair_items(scores("ab", ["document:1", "document:2"]), scores("ab", others))
        assert (found.first, found.by, found.conflicts) == ([0, 1], "id", 0)
    assert pair_items(scores("a", ["text:1"]), scores("a", ["text:1"])) == Pairing([0], [0], "id", 0, 0, 0)


def test_nothing_in_common():
    with pytest.raises(FairlabError, match=r"share no item of sums: their first identifiers are .a. and .c.; write"):
        pair_items(scores("ab"), scores("cd"))
    with pytest.raises(FairlabError, match="share 2 identifiers of sums, but no input: their data, splits, languages"):
        pair_items(scores("ab", ["text:1", "text:2"]), scores("ab", ["text:3", "text:4"]))


@pytest.mark.parametrize("other", ["Zoe\u0308", "Zo\u00eb ", "\ufeffZo\u00eb", "Zo\u200b\u00eb"])
def test_identifiers_that_look_alike_are_named_with_their_difference(other):
    """The same name in NFC and in NFD, with a blank, a byte-order mark or an invisible character."""
    found = pair_items(scores(["a", "Zo\u00eb", "b"]), scores(["a", other, "c"]))
    assert (found.first, found.only_first, found.only_second, found.alike) == ([0], 2, 2, 1)
    assert pair_items(scores(["a", "Zo\u00eb"]), scores(["a", "Zo\u00eb", other])).alike == 0  # it has its partner
    with pytest.raises(FairlabError) as error:
        pair_items(scores(["Zo\u00eb"]), scores([other]))
    assert f"1 identifiers look alike: 'Zo\\xeb' and {other!a} differ in their Unicode form" in str(error.value)
