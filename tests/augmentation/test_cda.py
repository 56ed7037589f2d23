from collections import Counter

import pytest

from fairlab.augmentation.cda import CDA
from fairlab.data.groups import read_groups
from fairlab.types import FairlabError, Group
from tests.conftest import make_groups


def test_groups_are_rebuilt_from_one_text():
    made = CDA()(make_groups(40))
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
    forwards = {group.id: group for group in CDA()(groups)}
    backwards = {group.id: group for group in CDA()(groups[::-1])}
    assert forwards == backwards


def test_groups_without_a_listed_word_are_dropped_and_counted():
    plain = Group("plain", "gender", {"neutral": "a river", "man": "the river", "woman": "one river"})
    cda = CDA()
    assert [group.id for group in cda([plain, *make_groups(2)])] == ["g0", "g1"]
    assert cda.dropped == 1
    with pytest.raises(FairlabError, match="cda found no word of the lexicon in any of the 1 texts"):
        cda([plain])


def test_on_real_sentences_it_is_worse_than_the_human_versions():
    human = read_groups("embedded/people")[:200]
    made = CDA()(human)
    same = sum(
        group.versions["neutral"] == original.versions["neutral"] for group, original in zip(made, human, strict=True)
    )
    assert 0 < same < 0.7 * len(human)
