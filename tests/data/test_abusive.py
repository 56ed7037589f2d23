"""Comparison sets."""

import pytest

from fairlab.data.abusive import NAME, read_comparison
from fairlab.types import FairlabError

HEADER = ",count,hate_speech,offensive_language,neither,class,tweet\n"


def test_the_tweets_that_are_neither_are_left_out(tmp_path, monkeypatch):
    folder = tmp_path / NAME
    folder.parent.mkdir()
    folder.write_text(HEADER + "0,3,3,0,0,0,one\n1,3,0,3,0,1,two\n2,3,0,0,3,2,three\n")
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    comparison = read_comparison()
    assert comparison.texts == ["one", "two"]
    assert comparison.categories == ["hate", "offensive"]


@pytest.mark.data
def test_the_published_counts():
    categories = read_comparison().categories
    assert (categories.count("hate"), categories.count("offensive")) == (1430, 19190)


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"body": "a", "kind": "x"}\n{"body": "b", "kind": "y"}\n{"body": "c", "kind": "x"}\n')
    assert read_comparison(str(path), field="body").categories == ["all"] * 3
    comparison = read_comparison(str(path), field="body", category="kind")
    assert comparison.categories == ["x", "y", "x"]
    some = comparison.sample(2, seed=0)
    assert len(some.texts) == 2
    assert set(zip(some.texts, some.categories, strict=True)) < {("a", "x"), ("b", "y"), ("c", "x")}
    assert comparison.sample(2, seed=0) == some
    assert comparison.sample(None, seed=0) == comparison.sample(3, seed=0) == comparison


def test_what_is_no_comparison_set(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"body": "a"}\n')
    with pytest.raises(FairlabError, match="holds no text in the field 'text'; give a file of abusive entries"):
        read_comparison(str(path))
    with pytest.raises(FairlabError, match="line 1: no category in the field 'kind'"):
        read_comparison(str(path), field="body", category="kind")
    path.write_text("")
    with pytest.raises(FairlabError, match="holds no text"):
        read_comparison(str(path))
