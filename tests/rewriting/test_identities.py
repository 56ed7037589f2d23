"""The subgroup that a text is about."""

import pytest

from fairlab.rewriting.identities import Identities, identity_lexicons
from fairlab.types import FairlabError


@pytest.fixture(scope="module")
def identities():
    return Identities()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Muslim baker came.", "Religion:Islam"),
        ("A Muslim baker lost her hat.", "Religion:Islam"),  # a pronoun counts last
        ("A Muslim met a Jewish baker.", ""),
        ("A baker came.", ""),
    ],
)
def test_a_text_is_about_the_only_subgroup_of_a_category(identities, text, expected):
    assert identities.named(text) == expected


def test_categories_must_differ():
    assert [lexicon.axis for lexicon in identity_lexicons(["gender", "religion"])] == ["gender", "religion"]
    for names in ([], ["gender", "gender"]):
        with pytest.raises(FairlabError, match="need lexicons of different categories"):
            identity_lexicons(names)
