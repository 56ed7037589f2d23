"""Sources: shapes, batches, the cache, and faults."""

from __future__ import annotations

import time

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from fairlab.backbones.trust import loading
from fairlab.methods.safety_ensemble.sources import combined as module
from fairlab.methods.safety_ensemble.sources.base import LONGEST, Source
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.profanity import Profanity
from fairlab.methods.safety_ensemble.sources.score_cache import IN_MEMORY
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.methods.safety_ensemble.sources.word_list import WordList
from fairlab.rewriting.identities import Identities
from fairlab.types import DataUnavailable, FairlabError


class Lengths:
    """Scores a text by its length, and fails on texts as told."""

    name, version, outputs = "lengths", "1", ("length", "half")

    def __init__(self, missing: str = "", deadly: str = "") -> None:
        self.missing, self.deadly, self.asked = missing, deadly, []

    def score(self, texts):
        if self.deadly in texts:
            raise ConnectionError("gone")
        self.asked += texts
        return np.array([[np.nan] * 2 if text == self.missing else [len(text), len(text) / 2] for text in texts])


def test_scores_stand_side_by_side_and_repeated_texts_are_asked_once():
    lengths = Lengths()
    both = Sources([lengths, Sentiment()])
    scores = both.score(["ab", "abcd", "ab"])
    assert both.features[:3] == ["lengths.length", "lengths.half", "sentiment.negative"]
    assert scores[:, :2].tolist() == [[2, 1], [4, 2], [2, 1]]
    assert lengths.asked == ["ab", "abcd"]
    assert both.score([]).shape == (0, 6)


def test_batches_change_nothing(monkeypatch):
    texts = [f"A {word} day for everyone" for word in "good bad nice awful lovely dull".split()]
    whole = Sources([Sentiment(), Profanity()]).score(texts)
    monkeypatch.setattr(module, "BATCH", 2)
    np.testing.assert_array_equal(Sources([Sentiment(), Profanity()]).score(texts), whole)


def test_a_cache_in_memory_serves_later_calls_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lengths = Lengths()
    both = Sources([lengths], cache=IN_MEMORY)
    both.score(["a", "bb"])
    assert both.score(["bb", "ccc"])[:, 0].tolist() == [2, 3]
    assert lengths.asked == ["a", "bb", "ccc"]
    assert list(tmp_path.iterdir()) == []


def test_the_cache_is_read_by_content_and_version(tmp_path):
    path = tmp_path / "cache" / "scores"
    Sources([Lengths()], cache=path).score(["a", "bb"])
    again = Lengths()
    assert Sources([again], cache=path).score(["bb", "ccc", "a"])[:, 0].tolist() == [2, 3, 1]
    assert again.asked == ["ccc"]
    newer = Lengths()
    newer.version = "2"
    Sources([newer], cache=path).score(["a"])
    assert newer.asked == ["a"]
    assert b"ccc" not in path.read_bytes()


def test_a_text_without_scores_is_missing_and_asked_again(tmp_path):
    sources = Sources([Lengths(missing="bad")], cache=tmp_path / "c")
    scores = sources.score(["bad", "good"])
    assert np.isnan(scores[0]).all()
    assert scores[1].tolist() == [4, 2]
    assert sources.missing == {"lengths": 1}
    assert Sources([Lengths()], cache=tmp_path / "c").score(["bad"]).tolist() == [[3, 1.5]]


def test_a_source_that_dies_is_named_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 1)
    with pytest.raises(FairlabError, match=r"the source lengths failed on 1 texts \(ConnectionError: gone"):
        Sources([Lengths(deadly="bb")], cache=tmp_path / "c").score(["a", "bb"])
    healthy = Lengths()
    Sources([healthy], cache=tmp_path / "c").score(["a", "bb"])
    assert healthy.asked == ["bb"]


def test_wrong_shapes_names_and_long_texts(tmp_path):
    wrong = Lengths()
    wrong.outputs = ("length",)
    with pytest.raises(FairlabError, match=r"scores of shape \(1, 2\)"):
        Sources([wrong]).score(["a"])
    for bad in ([], [Lengths(), Lengths()]):
        with pytest.raises(FairlabError, match="needs sources of different names"):
            Sources(bad)
    sources = Sources([Lengths()])
    assert sources.score(["x" * 1_000_000]).tolist() == [[LONGEST, LONGEST / 2]]
    sources.score(["x" * LONGEST])
    assert sources.cut == 1
    asked = Lengths()
    asked.score = lambda texts: (asked.asked.append(len(texts)), Lengths().score(texts))[1]
    Sources([asked]).score(["a", "x" * 2000, "y" * 2001, "b", "z" * 2001])
    assert asked.asked == [3, 1, 1]  # long texts alone


def test_stored_scores(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("text,hate,threat\na,0.5,\nb,0.25,1\na,0.5,\n", encoding="utf-8")
    stored = StoredScores(path=str(path), name="api", version="2026-01")
    assert (stored.outputs, stored.version) == (("hate", "threat"), "2026-01")
    scores = stored.score(["b", "a", "unheard"])
    np.testing.assert_array_equal(scores, [[0.25, 1], [0.5, np.nan], [np.nan, np.nan]])
    table = pyarrow.table({"text": ["a"], "hate": [0.5]})
    pyarrow.parquet.write_table(table, tmp_path / "s.parquet")
    assert StoredScores(path=str(tmp_path / "s.parquet")).score(["a"]).tolist() == [[0.5]]
    assert StoredScores(path=str(path), outputs=["threat"]).score(["b"]).tolist() == [[1]]
    with pytest.raises(FairlabError, match="has no column 'x'"):
        StoredScores(path=str(path), outputs=["hate", "x"])
    assert [stored.covers(texts) for texts in (["c", "a"], ["c"], [])] == [True, False, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,hate\na,0.5\na,0.6\n", "row 2: an earlier row has other scores for this text"),
        ("text,hate\na,high\n", "row 1, column hate: a score must be a number, not 'high'"),
        ("text,hate\na,inf\n", "row 1, column hate: a score must be a number, not 'inf'"),
        ("text,hate\na,1\n,0.5\n", "row 2 has no text in the column 'text'"),
        ("prompt,hate\na,1\n", "must hold rows with the column 'text'"),
    ],
)
def test_bad_stored_scores_are_named(tmp_path, content, message):
    (tmp_path / "s.csv").write_text(content, encoding="utf-8")
    with pytest.raises(FairlabError, match=message):
        StoredScores(path=str(tmp_path / "s.csv"))
    with pytest.raises(DataUnavailable, match="is not a file of scores"):
        StoredScores(path=str(tmp_path / "none.csv"))


def test_a_word_list_by_hand(tmp_path):
    (tmp_path / "words.txt").write_text("kettle\ngarden gate\n\n", encoding="utf-8")
    listed = WordList(path=str(tmp_path / "words.txt"))
    scores = listed.score(["The kettle by the garden gate.", "Nothing here.", ""])
    np.testing.assert_allclose(scores, [[2 / 6, 1], [0, 0], [0, 0]])


def test_the_list_of_violence_names_no_group_and_its_head_is_no_term(tmp_path):
    listed = WordList(path="violence", name="violence")
    assert (listed.name, listed.outputs) == ("violence", ("share", "any"))
    scores = listed.score(["They murdered him.", "Words of violence, by hand.", "A quiet garden."])
    np.testing.assert_allclose(scores, [[1 / 3, 1], [1 / 5, 1], [0, 0]])
    swaps = Identities().swaps
    assert not [term for term in listed.finder.terms.values() if any(term in swap.marks for swap in swaps)]
    (tmp_path / "empty.txt").write_text("# nothing\n\n", encoding="utf-8")
    with pytest.raises(FairlabError, match="contains no terms"):
        WordList(path=str(tmp_path / "empty.txt"))
    with pytest.raises(DataUnavailable, match="is not a word list"):
        WordList(path=str(tmp_path / "none.txt"))


def test_the_packages_give_sane_scores():
    texts = ["The garden is lovely today.", "You are a stupid idiot."]
    profane = Profanity().score(texts)[:, 0]
    assert profane[0] < 0.2 < 0.8 < profane[1]
    negative = Sentiment().score(texts)[:, 0]
    assert negative[0] == 0 < negative[1]


class Stumbling(Lengths):
    """Breaks on every text that holds a word, whatever else it is asked for."""

    def score(self, texts):
        if any("bad" in text for text in texts):
            raise ValueError("cannot read it")
        return super().score(texts)


def test_a_source_that_breaks_on_one_text_scores_the_others(tmp_path):
    sources = Sources([Stumbling()], cache=tmp_path / "c")
    scores = sources.score(["good", "bad", "fine ", "so", "a"])
    assert np.isnan(scores).any(axis=1).tolist() == [False, True, False, False, False]
    assert scores[0].tolist() == [4, 2]
    assert sources.missing == {"lengths": 1}
    with pytest.raises(FairlabError, match=r"failed on 1 texts \(ValueError: cannot read it"):
        sources.score(["bad"])  # of all texts that were asked, not one has a score
    many = [f"bad {k}" for k in range(20)] + ["good"]
    with pytest.raises(FairlabError, match="the source lengths failed on"):
        Sources([Stumbling()]).score(many)
    assert np.isnan(Sources([Stumbling()]).score([*many[:10], "good"])).any(axis=1).sum() == 10
    with pytest.raises(FairlabError, match="the source lengths failed on"):
        Sources([Stumbling()]).score([*many[:11], "good"])


@pytest.mark.slow
def test_weights_that_take_long_to_read_are_not_called_damaged():
    """On a busy machine the first text waits for the weights; the time limit goes on from there."""
    waits = [1.0, 0.0, 0.0]

    class Heavy(Source):
        name, version, outputs = "heavy", "1", ("length",)

        def score(self, texts):
            with loading("the weights"):
                time.sleep(waits.pop(0))
            return np.array([[float(len(text))] for text in texts])

    sources = Sources([Heavy()])
    sources.seconds = 0.2
    assert sources.score(["four"]).tolist() == [[4.0]]
    assert waits == []
