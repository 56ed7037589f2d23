"""Texts turned to another subgroup: agreement, cases, and what is left alone."""

from __future__ import annotations

import pytest

from fairlab.lexicons import FOLDER, load_lexicon
from fairlab.rewriting.english.subgroup_swap import NAMED_ALREADY, NO_COUNTERPART, NO_WORD, SubgroupSwap
from fairlab.rewriting.identities import Identities
from fairlab.types import FairlabError

SWAPS = {
    name: SubgroupSwap(load_lexicon(str(FOLDER / "subgroups" / f"{name}.yaml")))
    for name in ("gender_identity", "race_ethnicity", "religion", "sexual_orientation")
}


@pytest.mark.parametrize(
    ("lexicon", "source", "target", "text", "expected"),
    [
        ("gender_identity", "Male", "NonCisgender", "He is late and he's tired.", "They are late and they're tired."),
        ("gender_identity", "Male", "NonCisgender", "Is he at his desk?", "Are they at their desk?"),
        ("gender_identity", "Female", "Male", "Her friend saw her.", "His friend saw him."),
        ("gender_identity", "Male", "Female", "He is late.", "She is late."),
        ("gender_identity", "Male", "Female", "It is his and her bag.", "It is her and her bag."),
        ("gender_identity", "Male", "Female", "His friend says it is his.", "Her friend says it is hers."),
        ("gender_identity", "NonCisgender", "Male", "a trans woman and two trans people", "a man and two men"),
        ("gender_identity", "Male", "Female", "HE MET HIS WIFE", "SHE MET HER WIFE"),
        ("religion", "Islam", "Judaism", "I met a Muslim.", "I met a Jewish person."),
        ("religion", "Islam", "Judaism", "I met a Muslim and left.", "I met a Jewish person and left."),
        ("religion", "Islam", "Judaism", "I met a Muslim, who left.", "I met a Jewish person, who left."),
        ("religion", "Islam", "Judaism", "I met the Muslim.", "I met the Jewish."),
        ("religion", "Islam", "Judaism", "It is for a Muslim.", "It is for a Jewish."),
        ("religion", "Islam", "Judaism", "a Muslim's shop", "a Jewish person's shop"),
        ("religion", "Islam", "Judaism", "a Muslim/x", "a Jewish/x"),
        ("religion", "Islam", "Judaism", "a Muslim-specific shop of a Muslim baker", None),
        ("religion", "Christianity", "Islam", "They pray in a church.", "They pray in a mosque."),
        ("race_ethnicity", "Asian", "Black", "An East Asian film.", "An African film."),
        ("race_ethnicity", "Biracial", "LatinX", "against members of a biracial.", "against members of a Latino."),
        ("sexual_orientation", "NonHeterosexual", "Heterosexual", "My sister is gay.", "My sister is straight."),
        ("sexual_orientation", "NonHeterosexual", "Heterosexual", "as an asexual person", "as an heterosexual person"),
    ],
)
def test_words_turn_and_verbs_agree(lexicon, source, target, text, expected):
    expected = expected or "a Jewish-specific shop of a Jewish baker"
    assert SWAPS[lexicon].turned(text, source, target).text == expected


@pytest.mark.parametrize(
    ("lexicon", "source", "target", "text", "reason"),
    [
        ("religion", "Christianity", "Atheism", "Christians go to church.", NO_COUNTERPART),
        ("religion", "Judaism", "Islam", "Jews and Zionism.", NO_COUNTERPART),
        ("sexual_orientation", "Heterosexual", "NonHeterosexual", "straight or gay", NAMED_ALREADY),
        ("race_ethnicity", "Black", "White", "Black and white people.", NAMED_ALREADY),
        ("religion", "Islam", "Judaism", "Nothing of it.", NO_WORD),
        ("religion", "Islam", "Judaism", "", NO_WORD),
    ],
)
def test_nothing_is_deleted_and_nothing_named_twice(lexicon, source, target, text, reason):
    turned = SWAPS[lexicon].turned(text, source, target)
    assert (turned.text, turned.reason) == ("", reason)


def test_pronouns_and_kin_of_the_other_subgroup_may_stay():
    assert SWAPS["gender_identity"].turned("he met her", "Male", "Female").text == "she met her"


def test_an_unknown_subgroup_is_refused():
    with pytest.raises(FairlabError, match="there is no subgroup 'Mars'"):
        SWAPS["religion"].turned("A Muslim.", "Islam", "Mars")


def test_identities_of_any_text():
    identities = Identities()
    assert identities.blinded("My sister is  gay.") == "My sibling is ."
    assert identities.blinded("an old Muslim baker") == "an old Religious baker"
    assert identities.blinded("a  quiet  garden") == "a  quiet  garden"
    assert set(identities.versions("My sister is gay.")) == {
        "My brother is gay.",
        "My transgender sibling is gay.",
        "My sister is straight.",
    }
