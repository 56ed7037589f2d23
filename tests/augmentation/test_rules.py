import pytest

from fairlab.augmentation.cda import CDA
from fairlab.augmentation.rules import Rules
from fairlab.data.groups import read_groups
from fairlab.types import FairlabError, Group
from tests.conftest import make_groups

GROUP = Group(
    "g1",
    "gender",
    {"neutral": "They love their child.", "man": "He loves his child.", "woman": "She loves her child."},
    {"split": "train"},
)


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_a_group_is_rebuilt_from_its_source(mode):
    (made,) = Rules(mode=mode).groups([GROUP])
    assert made.versions == GROUP.versions
    assert made.extra == {"split": "train", "augmentation": "rules", "source": GROUP.source}


def test_it_starts_from_the_same_texts_as_word_swapping_in_the_same_order():
    groups = make_groups(12)
    ours, swapped = Rules(mode="lexical").groups(groups), CDA().groups(groups)
    assert [(group.id, group.source) for group in ours] == [(group.id, group.source) for group in groups]
    assert [group.extra["source"] for group in ours] == [group.extra["source"] for group in swapped]
    for group, made in zip(groups, ours, strict=True):
        assert made.versions[group.source] == group.versions[group.source]


@pytest.mark.slow
def test_groups_of_wrong_polarity_are_dropped():
    river = Group("plain", "gender", {"neutral": "a river", "man": "the river", "woman": "one river"})
    rules = Rules(mode="lexical")
    assert [group.id for group in rules.groups([river, GROUP])] == ["g1"]
    with pytest.raises(FairlabError, match="rules made no group of the right polarity from any of the 1 texts"):
        rules.groups([river])


def test_attributes_the_lexicon_lacks_are_named():
    group = Group("x", "gender", {"neutral": "they", "female": "she", "male": "he"})
    with pytest.raises(FairlabError, match="the axis 'gender' has no attribute 'female'"):
        Rules().groups([group])


def test_most_embedded_groups_come_out():
    groups = [group for group in read_groups("embedded/people") if group.extra["split"] == "validation"]
    made = Rules(mode="lexical").groups(groups)
    assert len(made) > 0.9 * len(groups)
