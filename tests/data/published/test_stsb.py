import pytest

from fairlab.data.published.download import locate
from fairlab.data.published.stsb import read_sts
from fairlab.types import FairlabError


@pytest.mark.data
def test_the_published_pairs():
    pairs = read_sts(locate("glue/STS-B/dev.tsv"))
    assert len(pairs) == 1500
    assert pairs[0].first == "A man with a hard hat is dancing."
    assert pairs[0].score == 5.0
    assert all(0 <= pair.score <= 5 for pair in pairs)


def test_quotes_in_tsv_are_text(tmp_path):
    sts = tmp_path / "sts.tsv"
    sts.write_text('sentence1\tsentence2\tscore\n"a\tb\t1.0\nc\td"\t2\n')
    assert [pair.first for pair in read_sts(sts)] == ['"a', "c"]


def test_broken_files_are_named(tmp_path):
    sts = tmp_path / "sts.tsv"
    sts.write_text("sentence1\tsentence2\tscore\n")
    with pytest.raises(FairlabError, match="holds no sentence pair"):
        read_sts(sts)
    sts.write_text("sentence1\tsentence2\tscore\na\tb\t1.0\nc\td\tx\n")
    with pytest.raises(FairlabError, match="line 3 lacks"):
        read_sts(sts)
