"""Identities turned into the same few groups."""

from __future__ import annotations

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.references import References

SINGLE = ("a black person", "a Muslim", "a gay person", "a woman")


@pytest.fixture(scope="module")
def references():
    return References()


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("I like deaf women.", ["I like black people.", "I like Muslims.", "I like gay people.", "I like women."]),
        ("Immigrants sing", ["Black people sing", "Muslims sing", "Gay people sing", "Women sing"]),
        (
            "is he an Indian man?",
            [f"is he {one}?" for one in ("a black person", "a Muslim", "a gay person", "a woman")],
        ),
        ("my Jewish aunt", ["my black aunt", "my Muslim aunt", "my gay aunt", "my female aunt"]),
        ("a Mexican car", ["a black car", "a Muslim car", "a gay car", "a female car"]),
        ("he came as refugee", [f"he came as {one}" for one in ("black person", "Muslim", "gay person", "woman")]),
        ("she is a Mexican", [f"she is {one}" for one in SINGLE]),
        ("Being old is fun", ["Being black is fun", "Being Muslim is fun", "Being gay is fun", "Being female is fun"]),
    ],
)
def test_a_word_becomes_the_form_of_its_kind(references, text, turned):
    assert references.versions(text) == turned


@pytest.mark.parametrize("text", ["", "the old black car", "go straight ahead", "People sing.", "womenswear"])
def test_a_text_without_an_identity_stays(references, text):
    assert references.versions(text) == [text]


def test_texts_about_different_groups_become_one(references):
    groups = (
        "women",
        "Muslims",
        "trans people",
        "disabled people",
        "immigrants",
        "Black men",
        "lesbians",
        "the elderly",
    )
    assert len({tuple(references.versions(f"Many {group} work here.")) for group in groups}) == 1


def test_every_subgroup_of_a_named_lexicon_is_turned(tmp_path):
    """Words of one's own are turned too, and change the hash that an export keeps."""
    file = tmp_path / "castes.yaml"
    file.write_text(
        "axis: caste\nattributes: [high, low]\nlicence: CC0-1.0\nsource: test\npos: {adjectives: adjective}\n"
        'words:\n  adjectives:\n    - ["", Brahmin, Shudra]\n  people:\n    - [people, Brahmins, Shudras]\n'
    )
    own = References((str(file),))
    assert own.versions("two Shudras")[1] == "two Muslims"
    assert own.versions("a Brahmin cook")[1] == "a Muslim cook"
    assert own.sha256 != References().sha256
    lexicon = load_lexicon("disability")
    named = [form for row in lexicon.entries if row.section == "people" for form in row.forms[1:]]
    assert all(len(References().versions(f"with {form}")) == 4 for form in named)
