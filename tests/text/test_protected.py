import pytest

from fairlab.text.protected import protected_spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://x.org/his-page now", ["https://x.org/his-page"]),
        ("run `he = 1` here", ["`he = 1`"]),
        ("mail her@home.org", ["her@home.org"]),
        ("@she said #MeToo", ["@she", "#MeToo"]),
        ("<b class='his'>he</b>", ["<b class='his'>", "</b>"]),
        ("his_value and her()", ["his_value", "her()"]),
        ("open /home/her/file.txt", ["/home/her/file.txt"]),
        ("called it ``one note''. He left ``soon''.", []),
        ("either/or, his/her", []),
        ("plain text", []),
    ],
)
def test_spans(text, expected):
    assert [text[start:end] for start, end in protected_spans(text)] == expected
