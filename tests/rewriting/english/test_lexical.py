"""Sentences that are rewritten from their words alone, without a parse."""

from functools import cache

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter


@cache
def lexical(axis, **options):
    return RuleRewriter(load_lexicon(axis), mode="lexical", **options)


@pytest.mark.parametrize(
    ("axis", "target", "text", "expected"),
    [
        # names in small letters
        ("gender", "man", "mary saw her", "marcus saw him"),
        ("gender", "man", "The news.\n\nmary left her home", "The news.\n\nmarcus left his home"),
        ("gender", "man", "grace okafor left her bag", "charles okafor left his bag"),
        ("gender", "man", "we gave grace her bag", "we gave grace his bag"),
        ("gender", "man", "It rained.\n\nmary left early.", "It rained.\n\nmarcus left early."),
        ("gender", "man", "Court Jails Mary Young After Long Trial", "Court Jails Marcus Young After Long Trial"),
        # neutral words are those of several people if these come before them
        ("gender", "man", "They said the nurses left.", "He said the nurses left."),
        ("gender", "man", "The nurses said they left.", "The nurses said they left."),
        ("gender", "man", "They told the king.", "They told the king."),
        ("gender", "woman", "They met Will-Chapman there.", "They met Will-Chapman there."),
        ("gender", "woman", "The police officer left.", "The police officer left."),
        # titles and words with another sense
        ("gender", "woman", "The King laughed.", "The Queen laughed."),
        ("gender", "woman", "Then Dan King left.", "Then Christina King left."),
        ("gender", "woman", "Sir, I left.", "Madam, I left."),
        ("gender", "woman", "Dear Sir,", "Dear Madam,"),
        ("gender", "man", "Dame Judi left.", "Sir Christopher left."),
        ("gender", "woman", "Lord, help us.", "Lord, help us."),
        ("gender", "woman", "Lord Grantham left.", "Lady Grantham left."),
        ("gender", "woman", "The lord left.", "The dame left."),
        ("gender", "man", "Miss Lee left.", "Mr Lee left."),
        ("gender", "man", "We miss Lee.", "We miss Lee."),
        ("gender", "woman", "We need to man it.", "We need to man it."),
        ("gender", "woman", "We man it.", "We man it."),
        ("gender", "woman", "We saw a man near it.", "We saw a woman near it."),
        ("age", "young", "An old house fell.", "An old house fell."),
        ("age", "young", "Days-old nurses slept.", "Days-old nurses slept."),
        ("age", "young", "Old nurses slept.", "Youthful nurses slept."),
        ("age", "young", "I like old, dark rooms.", "I like old, dark rooms."),
        ("age", "young", "She is old.", "She is youthful."),
        ("age", "young", "It is old.", "It is old."),
        ("age", "young", "I am old.", "I am youthful."),
        ("age", "young", "They're old.", "They're youthful."),
        ("age", "young", "She's old.", "She's youthful."),
        ("age", "young", "It's old.", "It's old."),
        ("race", "asian", "Blacks left.", "Asians left."),
        ("race", "asian", "He saw Blacks.", "He saw Asians."),
        ("race", "asian", "We saw blacks.", "We saw blacks."),
        ("race", "asian", "A black nurse left.", "An Asian nurse left."),
        ("race", "asian", "She is black, and it is black.", "She is Asian, and it is black."),
        # a word without a new form takes its space with it and leaves its capital
        ("race", "neutral", "Asian doctors came.", "Doctors came."),
        ("race", "neutral", "He left. Asian doctors came.", "He left. Doctors came."),
        ("race", "neutral", "He left; Asian doctors came.", "He left; doctors came."),
        ("race", "neutral", "The Asian doctor left.", "The doctor left."),
        # articles and possessives
        ("gender", "man", "The ladies' hats", "The gentlemen's hats"),
        ("gender", "woman", "The gentlemen's hats", "The ladies' hats"),
        ("gender", "man", "The 'ladies'.", "The 'gentlemen'."),
        ("gender", "man", "The ladies' (old) hats", "The gentlemen's (old) hats"),
        ("gender", "man", "The lady'd left.", "The gentleman'd left."),
        ("gender", "man", "My mother-in-law saw her son and her.", "My father-in-law saw his son and him."),
        ("gender", "woman", "A father in town left.", "A mother in town left."),
        ("gender", "man", "Mary Ann's dog left.", "Marcus's dog left."),
        ("gender", "man", "the mother-in-law's hat", "the father-in-law's hat"),
        # names
        ("gender", "man", "Then Hope said no.", "Then Gary said no."),
        ("gender", "man", "Hope said no.", "Hope said no."),
        ("gender", "woman", "Then Scott said no.", "Then Judith said no."),
        ("gender", "man", "Then Paris said no.", "Then Paris said no."),
        ("gender", "man", "We met Hope.", "We met Hope."),
        ("gender", "man", "We met Hope Okafor.", "We met Gary Okafor."),
        ("gender", "man", "We met Sarah Helen Okafor.", "We met Stephen Henry Okafor."),
        ("gender", "man", "We met Zorb Mary Okafor.", "We met Zorb Mary Okafor."),
        ("gender", "man", "We met Mary", "We met Marcus"),
        ("gender", "man", "We met Mary Ann", "We met Marcus"),
        ("gender", "man", "Mary, Ann left.", "Marcus, Chad left."),
        ("gender", "woman", "He met Jean-Luc.", "She met Jennifer."),
        # of two names, one is in the lexicon and keeps its counterpart, the other takes the next one
        ("gender", "woman", "John met Joan.", "Joan met Joan."),
        ("gender", "woman", "Desmond left.", "Lillian left."),
        ("gender", "woman", "Desmond met Lillian.", "Emily met Lillian."),
        ("gender", "man", "MARY Okafor left the Room.", "MARCUS Okafor left the Room."),
        ("gender", "man", "Nurse Mary left.", "Nurse Marcus left."),
        ("gender", "man", "Spaniard Mary left.", "Spaniard Marcus left."),
        ("gender", "man", "Aunt Mary left.", "Uncle Marcus left."),
        ("gender", "man", "D'Anna left.", "D'Anna left."),
        ("gender", "man", "Anna-Lena left.", "Fred left."),
        # pronouns in brackets and quotation marks
        ("gender", "man", "I saw (her) bag.", "I saw (his) bag."),
        ("gender", "man", "I saw 'her' bag.", "I saw 'his' bag."),
        ("gender", "man", "I saw {her} bag.", "I saw {him} bag."),
        ("gender", "man", "(Her) bag fell.", "(His) bag fell."),
        ("gender", "man", "(I saw her) bags fell.", "(I saw him) bags fell."),
        ("gender", "man", "We know her past life.", "We know his past life."),
        ("gender", "man", "mail her@home.org, and her bag", "mail her@home.org, and his bag"),
        ("gender", "neutral", "US troops told us that she left.", "US troops told us that they left."),
        # alternatives and compounds
        ("gender", "man", "his or her aunt or uncle", "his uncle"),
        ("gender", "man", "He/she/they left; he/she stayed.", "He left; he stayed."),
        ("gender", "neutral", "HE OR SHE IS LATE.", "THEY ARE LATE."),
        ("gender", "neutral", "He OR she left early.", "They left early."),
        ("gender", "man", "The queen-mother left.", "The queen-mother left."),
        ("gender", "woman", "The he-man left.", "The he-man left."),
        ("gender", "woman", "a king's son's boy", "a queen's daughter's girl"),
        # the verb of a question
        ("gender", "woman", "Where did they go?", "Where did she go?"),
        ("gender", "woman", "Don't they know?", "Doesn't she know?"),
        ("gender", "woman", "Don met them.", "Sarah met them."),
        ("gender", "woman", "Do they sing? They need to.", "Does she sing? She needs to."),
        ("religion", "neutral", "A Muslim said so.", "A believer said so."),
        ("religion", "neutral", "A Muslim family left.", "A family left."),
        ("religion", "neutral", "He is Muslim, nurses say.", "He is religious, nurses say."),
    ],
)
def test_words_by_their_neighbours(axis, target, text, expected):
    assert lexical(axis)(text, target) == expected


def test_both_of_two_alternatives_stay_in_a_swap():
    assert lexical("gender").swap_all(["He or she is late.", "A man saw his aunt."]) == [
        *("She or he is late.", "A woman saw her uncle.")
    ]


def test_names_and_quotations_may_be_kept():
    assert lexical("gender", names="keep")("Mary Ann said she left.", "man") == "Mary Ann said he left."
    assert lexical("gender", quotations="keep")('"She left," she said.', "man") == '"She left," he said.'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man saw her.", "A person saw her."),
        ("She saw a man.", "She saw a person."),
        ("He left.", "They left."),
        ("A father-in-law saw her mother-in-law.", "A parent-in-law saw her mother-in-law."),
    ],
)
def test_one_attribute_alone_may_be_rewritten(text, expected):
    assert lexical("gender").lexical.rewrite(text, "neutral", "man") == expected


def test_texts_and_targets_come_in_pairs():
    with pytest.raises(ValueError, match="zip"):
        lexical("gender").rewrite_all(["He left."], ["woman", "man"])
