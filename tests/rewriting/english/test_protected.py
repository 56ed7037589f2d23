import pytest

from fairlab.rewriting.english.pieces import split_words, with_gaps
from fairlab.rewriting.english.protected import is_within_thing_name, names_of_things, protected_spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://x.org/his-page now", ["https://x.org/his-page"]),
        ("see www.her.org today", ["www.her.org"]),
        ("run `he = 1` here", ["`he = 1`"]),
        ("`_`", ["`_`"]),
        ("her() left", ["her()"]),
        ("mail her@home.org", ["her@home.org"]),
        ("@she said #MeToo", ["@she", "#MeToo"]),
        ("<b class='his'>he</b>", ["<b class='his'>", "</b>"]),
        ("his_value and her()", ["his_value", "her()"]),
        ("open /home/her/file.txt", ["/home/her/file.txt"]),
        ("called it ``one note''. He left ``soon''.", []),
        ("said ``he left ``in haste'' and ``left", []),
        ("run ``his`` and ``her + 1 `` here", ["``his``", "``her + 1 ``"]),
        ("either/or, his/her", []),
        ("plain text", []),
        ("“She left,” he said of “The Man Who Left” and ``Dear Mary''", ["“The Man Who Left”", "``Dear Mary''"]),
        ('the pronoun "he" and her "husband"', ['"he"']),
        ('"Mary," "HE IS HERE"', []),
        ("“The End,” “Go Home.” “and Then” “The man left” “Catch 22”", ["“The End,”", "“Catch 22”"]),
        ("“Ab Cd Ef Gh Ij Kl Mn Op Qr St” “Ab Cd Ef Gh Ij Kl Mn Op Qr St Uv”", ["“Ab Cd Ef Gh Ij Kl Mn Op Qr St”"]),
    ],
)
def test_spans(text, expected):
    assert [text[start:end] for start, end in protected_spans(text)] == expected


def test_all_quotations():
    text = "“She left,” he said; ``so'' it is, a 5\" screen and 'his' \"own\""
    spans = protected_spans(text, quotations=True)
    assert [text[start:end] for start, end in spans] == ["“She left,”", "``so''", '"own"']


def test_names_of_things_in_pieces():
    text = "Ray wore his Ray Ban by Ben & Jerry's, Ben and Ban."
    pieces = with_gaps(text, split_words(text))
    found = [place for place in range(0, len(pieces), 2) if is_within_thing_name(pieces, place)]
    assert "".join(pieces[found[0] : found[1] + 1]) == "Ray Ban"
    assert [pieces[place] for place in found] == ["Ray", "Ban", "Ben", "Jerry"]
    assert is_within_thing_name(["Ray", " ", "Ban"], 2)
    assert not is_within_thing_name(["Ban", " ", "Ray"], 0)


def test_the_longest_name_of_a_thing_is_found():
    text = "They saw the John Hancock Center and the John Hancock."
    assert [text[start:end] for start, end in names_of_things(text)] == ["John Hancock Center", "John Hancock"]
