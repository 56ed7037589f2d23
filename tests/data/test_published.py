"""Readers of published data, on the data themselves and on broken files."""

import pytest

from fairlab.data.published.sources import FILES, locate
from fairlab.data.published.stsb import read_sts
from fairlab.data.published.winogender import read_winogender
from fairlab.files import sha256
from fairlab.types import DataUnavailable, FairlabError


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_local_files_are_those_the_download_would_check(name):
    assert sha256(locate(name)) == FILES[name][1]


@pytest.mark.data
def test_winogender():
    groups = read_winogender(locate("winogender/all_sentences.tsv"))
    assert len(groups) == 240
    assert groups[0].versions == {
        "neutral": "The technician told the customer that they could pay with cash.",
        "man": "The technician told the customer that he could pay with cash.",
        "woman": "The technician told the customer that she could pay with cash.",
    }
    assert all(group.attributes == ("man", "woman") for group in groups)


@pytest.mark.data
def test_stsb():
    pairs = read_sts(locate("glue/STS-B/dev.tsv"))
    assert len(pairs) == 1500
    assert pairs[0].first == "A man with a hard hat is dancing."
    assert pairs[0].score == 5.0
    assert all(0 <= pair.score <= 5 for pair in pairs)


@pytest.mark.parametrize("name", {name.rpartition("/")[0]: name for name in FILES}.values())
def test_data_that_cannot_be_had_says_all_that_was_tried(monkeypatch, tmp_path, name):
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataUnavailable) as error:
        locate(name)
    for part in ("no path given", "FAIRLAB_DATA", "could not be fetched", name):
        assert part in str(error.value)
    monkeypatch.delenv("FAIRLAB_DATA")
    with pytest.raises(DataUnavailable, match="FAIRLAB_DATA is not set"):
        locate(name)


def test_an_explicit_path_wins(tmp_path):
    (tmp_path / "mine.tsv").touch()
    assert locate("glue/STS-B/dev.tsv", tmp_path / "mine.tsv") == tmp_path / "mine.tsv"
    with pytest.raises(DataUnavailable, match="is not a file"):
        locate("glue/STS-B/dev.tsv", tmp_path / "none.tsv")


def test_broken_files_are_named(tmp_path):
    wino = tmp_path / "wino.tsv"
    wino.write_text("sentid\tsentence\na.b.0.male.txt\tHe.\na.b.0.female.txt\tShe.\n")
    with pytest.raises(FairlabError, match=r"a\.b\.0 lacks a version"):
        read_winogender(wino)
    wino.write_text("sentid\tsentence\na.b.0.robot.txt\tIt.\n")
    with pytest.raises(FairlabError, match="does not end in male, female or neutral"):
        read_winogender(wino)
    for content in ("", "version https://git-lfs.github.com/spec/v1\n"):
        wino.write_text(content)
        with pytest.raises(FairlabError, match="no columns sentid and sentence"):
            read_winogender(wino)
    wino.write_text("sentid\tsentence\n")
    with pytest.raises(FairlabError, match="holds no sentence"):
        read_winogender(wino)
    sts = tmp_path / "sts.tsv"
    sts.write_text("sentence1\tsentence2\tscore\n")
    with pytest.raises(FairlabError, match="holds no sentence pair"):
        read_sts(sts)
    sts.write_text("sentence1\tsentence2\tscore\na\tb\t1.0\nc\td\tx\n")
    with pytest.raises(FairlabError, match="line 3 lacks"):
        read_sts(sts)


def test_quotes_in_tsv_are_text(tmp_path):
    sts = tmp_path / "sts.tsv"
    sts.write_text('sentence1\tsentence2\tscore\n"a\tb\t1.0\nc\td"\t2\n')
    assert [pair.first for pair in read_sts(sts)] == ['"a', "c"]
