import pytest

from fairlab.augmentation.cda_text import CDAText
from fairlab.types import FairlabError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He saw a king.", ["He saw a king.", "She saw a queen."]),
        (
            "The king and the queen met his mother.",
            ["The king and the queen met his mother.", "The queen and the king met her father."],
        ),
        ("The river rose.", []),
    ],
)
def test_a_text_and_its_counterpart_or_nothing(text, expected):
    assert CDAText(axis="gender").texts(text) == expected


def test_an_unknown_axis():
    with pytest.raises(FairlabError, match="no lexicon for the axis 'height'"):
        CDAText(axis="height")
