"""What an augmentation from outside the package returns."""

import re
from types import SimpleNamespace

import pytest

from fairlab.data.applying import groups_of_augmentation, texts_of_augmentation
from fairlab.types import FairlabError
from tests.conftest import make_groups


def test_what_an_augmentation_returns_is_taken_if_it_is_a_list_of_the_right_type():
    groups = make_groups(3)
    assert groups_of_augmentation(SimpleNamespace(groups=lambda given: given[1:]), groups) == groups[1:]
    assert texts_of_augmentation(SimpleNamespace(texts=lambda text: [text, text.upper()]), "a") == ["a", "A"]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "returned an object of type NoneType; let it return a list of str"),
        ("ab", "returned an object of type str; let it return a list of str"),
        (["a", 1], "returned a list with an object of type int; let it return a list of str"),
    ],
)
def test_anything_else_is_named_in_a_sentence(returned, said):
    with pytest.raises(FairlabError, match=re.escape(f"the method texts of the augmentation SimpleNamespace {said}")):
        texts_of_augmentation(SimpleNamespace(texts=lambda text: returned), "a")
