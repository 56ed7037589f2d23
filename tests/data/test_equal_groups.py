"""Groups on which nothing can be learned."""

from fairlab.data.equal_groups import equal_groups
from fairlab.types import Group


def _groups(*texts):
    return [Group(str(k), "gender", {"neutral": neutral, "man": man}) for k, (neutral, man) in enumerate(texts)]


def test_versions_that_are_one_text_are_said():
    found = equal_groups(_groups(("A boat.", "a  boat."), ("A clock.", "A clock."), ("They ran.", "He ran.")))
    assert found == "in 2 of 3 training groups all versions are the same text, so no learning is possible"


def test_one_group_repeated_is_said():
    assert equal_groups(_groups(*[("They ran.", "He ran.")] * 12)) == "the 12 training groups are 1 in truth, repeated"


def test_different_groups_and_a_single_one_are_not():
    assert not equal_groups(_groups(("They ran.", "He ran."), ("They sat.", "He sat.")))
    assert not equal_groups(_groups(("They ran.", "He ran.")))
