"""The reader of WinoBias, on the published files and on broken ones."""

from collections import Counter

import pytest

from fairlab.data.published.download import locate
from fairlab.data.published.winobias import SPLITS, TYPES, read_winobias
from fairlab.types import FairlabError

PRO = "1 [The cook] saw the nurse and [he] left.\n2 The cook saw [the nurse]  and she lost [her] hat.\n"
ANTI = "1 [The cook] saw the nurse and [she] left.\n2 The cook saw [the  nurse] and he lost [his] hat.\n"


def write(tmp_path, pro, anti):
    paths = [tmp_path / "pro_stereotyped_type1.txt.dev", tmp_path / "anti_stereotyped_type1.txt.dev"]
    for path, text in zip(paths, (pro, anti), strict=True):
        path.write_text(text)
    return paths


def test_pairs_by_hand(tmp_path):
    pairs, left_out = read_winobias(*write(tmp_path, PRO, ANTI))
    assert left_out == []
    assert [pair.pro.pronouns for pair in pairs] == [("he",), ("she", "her")]
    assert [pair.anti.pronouns for pair in pairs] == [("she",), ("he", "his")]
    assert pairs[0].pro.text == "The cook saw the nurse and he left."
    assert pairs[0].cluster == pairs[1].cluster
    more = "3 [The cook] met the nurse since [he] left.\n", "3 [The cook] met the nurse because [she] left.\n"
    again = "4 [The cook] told the nurse that [he] left.\n", "4 [The cook] told the nurse that [she] left.\n"
    pairs, left_out = read_winobias(*write(tmp_path, PRO + more[0] + again[0], ANTI + more[1] + again[1]))
    assert left_out == ["The cook met the nurse since he left."]
    assert len({pair.cluster for pair in pairs}) == 2  # a pair left out moves no other into another cluster


def test_broken_files_are_named(tmp_path):
    with pytest.raises(FairlabError, match=r"has 2 lines and .* 1"):
        read_winobias(*write(tmp_path, PRO, ANTI.split("\n")[0]))
    with pytest.raises(FairlabError, match=r"type1\.txt\.dev line 1"):
        read_winobias(*write(tmp_path, "the cook left\n", ANTI))
    with pytest.raises(FairlabError, match="is empty"):
        read_winobias(*write(tmp_path, "", ""))


@pytest.mark.data
def test_the_published_files():
    counts, sizes, genders = [], Counter(), Counter()
    for kind in TYPES:
        for split in SPLITS:
            files = (locate(f"winobias/{side}_stereotyped_{kind}.txt.{split}") for side in ("pro", "anti"))
            pairs, left_out = read_winobias(*files)
            assert len(pairs) + len(left_out) == 396
            counts.append(len(left_out))
            sizes += Counter(Counter(pair.cluster for pair in pairs).values())
            genders += Counter(pair.pro.pronouns[0] in ("he", "him", "his") for pair in pairs)
    assert counts == [2, 5, 7, 5]
    assert sizes == {2: 774, 1: 17}
    assert genders == {True: 779, False: 786}
