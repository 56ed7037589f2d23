import pytest

from experiments.shared.repetition import repeated_share, repeated_whole


def test_whole_texts_are_compared_by_their_words():
    found = repeated_whole(["The film, won!", "the film", "film the won", ""], ["the Film won", "x"])
    assert found.tolist() == [1, 0, 0, 0]


def test_runs_of_words():
    shares = repeated_share(["a b c d e", "x y", "c d e"], ["b c d", "z c d e"], 3)
    assert shares.tolist() == pytest.approx([2 / 3, 0, 1])
