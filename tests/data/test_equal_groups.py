"""Groups on which nothing can be learned."""

from fairlab.data.equal_groups import equal_groups
from fairlab.types import Group


def _groups(*texts):
    return [Group(str(k), "gender", {"neutral": neutral, "man": man}) for k, (neutral, man) in enumerate(texts)]


def test_versions_that_are_one_text_are_said():
    found = equal_groups(_groups(("A boat.", "a  boat."), ("A clock.", "A clock."), ("They ran.", "He ran.")))
    assert found == "in 2 of 3 training groups all attributes have the same text, so no learning is possible"


def test_one_group_repeated_is_said():
    assert (
        equal_groups(_groups(*[("They ran.", "He ran.")] * 12))
        == "the 12 training groups are only 1 distinct groups, repeated"
    )


def test_attributes_of_one_text_are_said_whatever_the_neutral_version_is():
    versions = {"neutral": "They ran.", "man": "He ran.", "woman": "He ran!"}
    assert equal_groups([Group("a", "gender", versions)]).startswith("in 1 of 1 training groups all attributes have")
    assert not equal_groups([Group("a", "gender", versions | {"woman": "She ran."})])


def test_repeats_that_differ_in_punctuation_are_said():
    found = equal_groups(_groups(*[("They ran" + "!" * k, "He ran" + "!" * k) for k in range(8)]))
    assert found == "the 8 training groups are only 1 distinct groups, repeated"


def test_half_of_the_groups_may_be_equal_but_not_repeated():
    apart = [("They ran.", "He ran."), ("They sat.", "He sat.")]
    assert equal_groups(_groups(("A boat.", "A boat."), apart[0])) == ""
    assert equal_groups(_groups(*apart, *apart)) == "the 4 training groups are only 2 distinct groups, repeated"
    assert equal_groups(_groups(*apart, apart[0])) == ""


def test_different_groups_and_a_single_one_are_not():
    assert equal_groups([]) == ""
    assert not equal_groups(_groups(("They ran.", "He ran."), ("They sat.", "He sat.")))
    assert not equal_groups(_groups(("They ran.", "He ran.")))
