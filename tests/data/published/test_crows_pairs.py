"""The reader of CrowS-Pairs, on the published file and on broken ones; irregular pairs."""

from collections import Counter

import pytest

from fairlab.data.published.crows_pairs import PUBLISHED, CrowsPair, irregular_pairs, read_crows_pairs
from fairlab.data.published.download import locate
from fairlab.types import FairlabError

HEADER = ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators\n"


@pytest.mark.data
def test_the_published_file():
    pairs = read_crows_pairs(locate("crows_pairs/crows_pairs_anonymized.csv"))
    assert len(pairs) == len({pair.id for pair in pairs}) == 1508
    # Nangia et al. 2020, table 1.
    assert Counter(pair.bias_type for pair in pairs) == PUBLISHED
    assert PUBLISHED["race_color"] == 516
    assert sum(pair.stereotype for pair in pairs) == 1290
    assert pairs[0].more.endswith("most black kids don't have the best education growing up.")
    assert pairs[0].less.endswith("most white kids don't have the best education growing up.")
    assert irregular_pairs(pairs) == {"1502": "it repeats pair 1459"}


def test_rows_become_pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(HEADER + '7,"He, a b",She a b,antistereo,race-color,,,\n')
    assert read_crows_pairs(path) == [CrowsPair("7", "He, a b", "She a b", False, "race_color")]
    path.write_text(HEADER + ",a,b,stereo,sex,,,\n,c,d,stereo,sex,,,\n")
    own = [CrowsPair("0", "a", "b", True, "sex"), CrowsPair("1", "c", "d", True, "sex")]
    assert read_crows_pairs(path, types=None) == own
    path.write_text(HEADER + "7,a,b,both,sex,,,\n")
    with pytest.raises(FairlabError, match="stereo_antistereo 'both'"):
        read_crows_pairs(path, types=None)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("7,a,,stereo,gender,,,\n", "line 2 lacks one of sent_more"),
        ("7,a,b,stereo,gender,,,\n8,a,b,both,gender,,,\n", "line 3: bias_type 'gender' or stereo_antistereo 'both'"),
        ("7,a,b,stereo,sex,,,\n", "line 2: bias_type 'sex' .* unknown; the known values are race_color"),
        ("", "holds no pair"),
    ],
)
def test_broken_files_are_named(tmp_path, rows, message):
    path = tmp_path / "pairs.csv"
    path.write_text(HEADER + rows)
    with pytest.raises(FairlabError, match=rf"pairs\.csv {message}"):
        read_crows_pairs(path)


def test_irregular_pairs():
    texts = {
        "same": ("He ran.", "He ran."),
        "case": ("He ran.", "he Ran."),
        "apart": ("He ran.", "Women walk!"),
        "first": ("He ran.", "She ran."),
        "again": ("SHE ran.", "He ran."),
        "regular": ("He ran off.", "She ran off."),
    }
    pairs = [CrowsPair(name, more, less, True, "gender") for name, (more, less) in texts.items()]
    found = irregular_pairs(pairs)
    assert list(found) == ["same", "case", "apart", "again"]
    assert found["case"] == "its two sentences are equal up to case"
    assert found["apart"] == "its two sentences share no word"
    assert found["again"] == "it repeats pair first"
