import os
import subprocess
import sys
from collections import Counter

import pytest

from fairlab.augmentation.cda import CDA
from fairlab.data.groups import read_groups
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.group_rewriters import WordSwapGroups
from fairlab.text.fields import join_fields
from fairlab.types import FairlabError, Group, Row
from tests.conftest import make_groups


def test_groups_are_rebuilt_from_one_text():
    made = CDA().groups(make_groups(40))
    assert len(made) == 40
    for group in made:
        source = group.extra["source"]
        assert group.versions[source].startswith("he" if source == "man" else "she")
        assert group.versions["neutral"].startswith("they saw")
        assert group.attributes == ("man", "woman")
    sources = Counter(group.extra["source"] for group in made)
    assert min(sources.values()) > 8


def test_the_choice_of_source_does_not_depend_on_order():
    groups = make_groups(10)
    forwards = {group.id: group for group in CDA().groups(groups)}
    backwards = {group.id: group for group in CDA().groups(groups[::-1])}
    assert forwards == backwards


def test_groups_without_a_listed_word_are_dropped():
    plain = Group("plain", "gender", {"neutral": "a river", "man": "the river", "woman": "one river"})
    cda = CDA()
    assert [group.id for group in cda.groups([plain, *make_groups(2)])] == ["g0", "g1"]
    with pytest.raises(FairlabError, match="cda found no word of the lexicon in any of the 1 texts"):
        cda.groups([plain])


def test_attributes_the_lexicon_lacks_are_named():
    group = Group("x", "gender", {"neutral": "they", "female": "she", "male": "he"})
    with pytest.raises(
        FairlabError, match=r"cda knows man, woman on the axis 'gender', but not .* female, male of group"
    ):
        CDA().groups([group])


@pytest.mark.slow
def test_the_texts_do_not_depend_on_the_hash_seed():
    code = (
        "from fairlab.lexicons import load_lexicon; from fairlab.rewriting.english.word_swap import WordSwap;"
        "print(WordSwap(load_lexicon('gender'))('Mr. Smith met Mr Jones and his mother-in-law.', 'woman'))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in range(4)
    }
    assert texts == {"Ms. Smith met Ms Jones and her mother-in-law."}


def test_on_real_sentences_it_is_worse_than_the_human_versions():
    human = read_groups("embedded/people")[:200]
    made = CDA().groups(human)
    same = sum(
        group.versions["neutral"] == original.versions["neutral"] for group, original in zip(made, human, strict=True)
    )
    assert 0 < same < 0.7 * len(human)


@pytest.mark.parametrize(("output", "kept"), [("add", ["1", "1-cda"]), ("replace", ["1-cda"])])
def test_the_fields_of_a_pair_each_get_their_own_text_back(output, kept):
    parts = (("premise", "She left the room."), ("hypothesis", "She is gone."))
    pair = Row("1", join_fields([text for _, text in parts]), {"label": "neutral"}, "line 1", 1, "premise", parts)
    cda = CDA(output=output, rewriter=WordSwapGroups(lexicon=load_lexicon("gender")))
    (made,) = cda.make([pair])
    assert [row["id"] for row in made.rows] == kept
    swapped = made.rows[-1]
    assert (swapped["premise"], swapped["hypothesis"]) == ("He left the room.", "He is gone.")
    assert swapped["label"] == "neutral"
    rain = (("premise", "It rained."), ("hypothesis", "It was wet."))
    (plain,) = cda.make([Row("2", "It rained. <SEP> It was wet.", {}, "line 2", 2, "premise", rain)])
    assert plain.rows == ({"id": "2", "premise": "It rained.", "hypothesis": "It was wet."},)
