"""Whether a person can be turned as a whole, by hand."""

from types import SimpleNamespace

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.one_person import (
    People,
    _differ,
    _follows_in_brackets,
    _is_joined_to_another,
    _is_one,
    _names_member,
)
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.perturbable_words import PerturbableWords
from tests.rewriting.english.trees import token, tree

WORDS = PerturbableWords([load_lexicon("gender")])
REWRITER = RuleRewriter(load_lexicon("gender"))


def chosen(text):
    return {one.word for one in WORDS.selections([text])[0]}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Dick was an idea guy and a people guy.", "guy"),  # Dick would stay
        ("If mr . Zhang's subject is American , his approach is not .", "his"),  # and so would mr
        ("James Madison was an American statesman and Founding Father.", "James"),
        ("His daughters, Margaret and Martha, live in Ohio.", "Martha"),  # daughters would stay
        ("Jonah Hex volume 2 was canceled and Jonah left.", "Jonah"),
        ("The William Bryant Homestead, his boyhood home, is now a museum.", "his"),
        ("Hedwig Eva Maria Kiesler was born in Vienna.", "Maria"),  # Eva would stay
        ("Natalie Clifford Barney was a poet.", "Clifford"),  # a woman's middle name
        ("Also memorable are scenes of Lloyd waiting for his truck.", "his"),  # Lloyd would stay
        ("The actors and actresses are beautiful.", "actresses"),  # actors and actors
    ],
)
def test_nobody_is_chosen_of_whom_something_would_stay(text, word):
    assert word not in chosen(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Everyone who knows either Susan or Laura likes her.", "Susan"),
        ("His granddaughter Susan Foreman (Carole Ann Ford) loved her teachers.", "Carole"),
        ("Danny Kennedy said that in the Scott Parkin case they must prove that he is a danger.", "he"),
        ('Eminem names Ace in his book, saying, "his thoughts were vivid".', "his"),
        ("My cousin sent him a photo because he admires him.", "he"),
    ],
)
def test_nobody_is_chosen_where_a_pronoun_may_mean_another(text, word):
    assert word not in chosen(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man in a pink shirt holds a flag behind him.", {"man", "him"}),
        ("John told Mary that he had seen her.", {"John", "Mary", "he", "her"}),
        ("Her aunt left early.", {"Her", "aunt"}),  # nobody is their own aunt
        ("Austin Nichols is an actor known for his role as Julian Baker.", {"Austin", "his", "Julian"}),
        ("Margaret Wayne sings.", {"Margaret"}),  # a surname may stay
        ("A man met Queen Victoria.", {"man"}),
        ("Susan and Laura left early.", {"Susan", "Laura"}),  # and no pronoun may mean either
    ],
)
def test_people_who_can_be_turned_as_a_whole_are_chosen(text, words):
    assert chosen(text) == words


def test_words_of_other_senses_do_not_keep_people_of_other_axes_from_being_turned():
    words = PerturbableWords([load_lexicon("race"), load_lexicon("age")])
    (found,) = words.selections(["A white man with white hair sat in an old house with an old friend."])
    assert {(one.word, one.axis) for one in found} == {("white", "race")}
    (found,) = words.selections(["An old man lives in that old house."])
    assert {(one.word, one.axis) for one in found} == {("old man", "age")}


def test_a_name_at_birth_is_turned_with_the_other():
    made = REWRITER.rewrite_entity("Alan Gifford, born John Lennox, was an actor.", "John", "woman")
    assert "Alan" not in made
    assert "John" not in made


def test_who_speaks_is_nobody_in_the_quotation():
    text = '"A marriage of a man and a woman," he said.'
    assert REWRITER.rewrite_entity(text, "he", "woman") == '"A marriage of a man and a woman," she said.'


def test_a_name_after_and_begins_another_clause():
    text = "Bugs is still his rascally self, and Elmer is funny."
    assert REWRITER.rewrite_entity(text, "his", "woman") == "Bugs is still her rascally self, and Elmer is funny."


def test_nobody_is_given_a_name_that_the_text_holds():
    made = REWRITER.rewrite_entity("John said that Joan saw somebody.", "Joan", "man")
    assert made.count("John") == 1
    assert "Joan" not in made


@pytest.mark.parametrize(
    "text",
    [
        "Fred Meyer is a chain of stores.",
        "We heard of Justine Bateman Designs.",
        "They read Harry Potter and the Deathly Hallows.",
        "The King and I is based on a novel.",
        "Girl is written by somebody.",
        "The court of the Duke of Brunswick moved.",
        "It ran in the comedy His Girl Friday.",
        "They liked Mr. Holland's Opus.",
        "It is known from the series Monk.",
        "Both were destroyed by Norman invaders.",
        "It was made by the company Adam & Eve.",
        "The mine lies near Alice Springs.",
        "Nelson , 27 , is being tried.",
        "They were hit by cyclone Monica and cyclone Tracy.",
    ],
)
def test_works_firms_places_and_surnames_are_nobody(text):
    assert chosen(text) == set()


def test_a_field_begins_like_a_sentence():
    text = "Two men make tea. <SEP> Men in matching shirts work."
    made = "Two women make tea. <SEP> Women in matching shirts work."
    assert REWRITER.rewrite_entity(text, "men", "woman") == made


def test_a_noun_that_is_rewritten_in_one_field_is_rewritten_in_the_others_alone():
    both = "A man runs. <SEP> A man moves."
    assert REWRITER.rewrite_entity(both, 2, "woman") == "A woman runs. <SEP> A woman moves."
    assert REWRITER.rewrite_entity(both, both.rindex("man"), "woman") == "A woman runs. <SEP> A woman moves."
    assert REWRITER.rewrite_entity("A man runs. <SEP> A boy moves.", 2, "woman") == "A woman runs. <SEP> A boy moves."
    two = "A man sees a man. <SEP> A man moves."
    assert REWRITER.rewrite_entity(two, 2, "woman") == "A woman sees a man. <SEP> A woman moves."


@pytest.mark.parametrize(
    ("pair", "word", "right"),
    [
        ("A man sleeps. <SEP> He rests.", "man", "A woman sleeps. <SEP> She rests."),
        ("A man sleeps <SEP> He rests", "He", "A woman sleeps <SEP> She rests"),
        ("He rests. <SEP> A man sleeps.", "He", "She rests. <SEP> A woman sleeps."),
        ("He sleeps. <SEP> He rests.", "He", "She sleeps. <SEP> She rests."),
        ("Mr. Smith sleeps. <SEP> He rests.", "He", "Ms. Smith sleeps. <SEP> She rests."),
        ("John sleeps. <SEP> His hat is red.", "His", "Joan sleeps. <SEP> Her hat is red."),
        ("Why is he famous? <SEP> Why is John famous?", "he", "Why is she famous? <SEP> Why is Joan famous?"),
        ("A man has a dog. <SEP> A man walks his dog.", "his", "A woman has a dog. <SEP> A woman walks her dog."),
        ("A woman talks to a man. <SEP> He smiles at her.", "He", "A woman talks to a woman. <SEP> She smiles at her."),
        ("It rains. <SEP> He works. <SEP> A boy works.", "boy", "It rains. <SEP> She works. <SEP> A girl works."),
        ("Men sleep. <SEP> They rest.", "Men", "Women sleep. <SEP> They rest."),
        ("A man sleeps. <SEP> John rests.", "man", "A woman sleeps. <SEP> John rests."),
        ("He saw two men. <SEP> He met two men.", "He", "She saw two men. <SEP> She met two men."),
    ],
)
def test_pronouns_refer_to_the_only_person_of_another_field(pair, word, right):
    assert word in chosen(pair)
    assert REWRITER.rewrite_entity(pair, word, "woman") == right


def test_fields_are_rewritten_there_and_back():
    pair = "He rests. <SEP> A man sleeps with his hat on."
    there = REWRITER.rewrite_entity(pair, "man", "woman")
    assert there == "She rests. <SEP> A woman sleeps with her hat on."
    assert REWRITER.rewrite_entity(there, "She", "man") == pair


@pytest.mark.parametrize(
    "pair",
    [
        "A man sees a man. <SEP> He rests.",
        "John and Peter talk. <SEP> He laughs.",
        "A man walks with his son. <SEP> He laughs.",
        "Two men talk. <SEP> He laughs.",
        "He laughs. <SEP> Two men talk.",
        "He told him a joke. <SEP> A man told a joke.",
    ],
)
def test_pronouns_stay_in_doubt_if_another_field_mentions_several_people(pair):
    assert chosen(pair) == set()


def test_a_person_s_own_word_counts_and_one_that_shows_another_does_not():
    def mention(start, end, pos, attribute):
        return SimpleNamespace(start=start, end=end, found="", sense=SimpleNamespace(pos=pos, attribute=attribute))

    he, they, son = mention(0, 2, "pronoun", "man"), mention(5, 9, "pronoun", "neutral"), mention(12, 15, "noun", "man")
    chained = SimpleNamespace(marked_with=lambda start: {0, 5, 12})
    people = SimpleNamespace(mentions=[he, they, son], doubtful=[], coreference=chained)
    assert People.mentions_at(people, 0) == [he, son]
    assert People.mentions_at(people, 5) == [he, they, son]


def mention(token=None, pos="name", attribute="man"):
    sense = SimpleNamespace(pos=pos, attribute=attribute)
    return SimpleNamespace(token=token, start=token.idx if token is not None else 0, sense=sense)


@pytest.mark.parametrize(
    ("pos", "attribute", "selected", "expected"),
    [
        ("pronoun", "neutral", "man", True),
        ("pronoun", "man", "man", False),
        ("pronoun", "woman", "man", False),
        ("pronoun", "neutral", "neutral", False),
        ("noun", "woman", "man", True),
        ("noun", "man", "man", False),
        ("noun", "neutral", "man", False),
        ("noun", "woman", "neutral", False),
    ],
)
def test_a_word_may_show_that_it_is_another_s(pos, attribute, selected, expected):
    assert _differ(mention(None, pos, attribute), mention(None, "noun", selected)) is expected


@pytest.mark.parametrize(
    ("pos", "tag", "expected"),
    [
        ("name", "NNS", True),
        ("title", "NNS", True),
        ("noun", "NN", True),
        ("noun", "NNP", True),
        ("noun", "NNS", False),
        ("pronoun", "NN", False),
    ],
)
def test_a_name_a_title_or_a_singular_means_one_person(pos, tag, expected):
    assert _is_one(mention(token(f"*x/{tag}"), pos)) is expected


GROUP = "His daughters/NNS/ROOT , "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{GROUP} *Ann/NNP/appos/daughters", True),
        (f"{GROUP} Ann/NNP/appos/daughters and *Eva/NNP/conj/Ann", True),
        (f"{GROUP} ann/NN/appos/daughters and *Eva/NNP/conj/ann", False),
        (f"{GROUP} *Ann/NNP/nsubj/daughters", False),
        (f"{GROUP} came/VBD *Ann/NNP/appos/came", False),
    ],
)
def test_a_name_may_be_one_of_several_that_a_plural_means(text, expected):
    name = token(text)
    assert _names_member(name, name.doc[1]) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Susan/NNP ( *Carole/NNP", True),
        ("girl/NN ( *Carole/NNP", False),
        ("Susan/NNP , *Carole/NNP", False),
        ("( *Carole/NNP", False),
        ("saw Susan/NNP ( *Carole/NNP", True),
    ],
)
def test_a_name_in_brackets_after_another(text, expected):
    assert _follows_in_brackets(token(text)) is expected


@pytest.mark.parametrize(
    ("text", "pos", "expected"),
    [
        ("Susan/NNP/ROOT or *Laura/NNP/conj/Susan", "name", True),
        ("*Susan/NNP/ROOT or Laura/NNP/conj/Susan", "name", True),
        ("*Susan/NNP/compound/Lee Lee/NNP/ROOT or Laura/NNP/conj/Lee", "name", True),
        ("Susan/NNP/compound/Lee Lee/NNP/ROOT or *Laura/NNP/conj/Lee", "name", True),
        ("*Susan/NNP/compound/lee lee/NN/ROOT or Laura/NNP/conj/lee", "name", False),
        ("Susan/NNP/ROOT or *Laura/NNP/appos/Susan", "name", False),
        ("Susan/NNP/ROOT or *Laura/NNP/conj/Susan", "pronoun", False),
    ],
)
def test_a_name_may_be_joined_to_another(text, pos, expected):
    name = token(text)
    alike = [mention(one, pos) for one in name.doc if one.text in ("Susan", "Laura")]
    assert _is_joined_to_another(name, alike) is expected


@pytest.mark.parametrize(
    ("text", "attribute", "expected"),
    [
        ("Natalie/NNP *Clifford/NNP", "man", True),
        ("Natalie/NNP *Clifford/NNP", "woman", False),
        ("natalie/NN *Clifford/NNP", "man", False),
        ("Xyz/NNP *Clifford/NNP", "man", False),
        ("*Clifford/NNP", "man", False),
    ],
)
def test_a_middle_name_may_be_of_the_other_gender(text, attribute, expected):
    assert People._is_middle_name(None, mention(token(text), "name", attribute)) is expected


@pytest.mark.parametrize(
    ("text", "refers", "expected"),
    [
        ("Ann/NNP/nsubj/saw saw/VBD/ROOT *her/PRP$/poss/dog dog/NN/dobj/saw", "Ann", True),
        ("Ann/NNP/nsubj/saw saw/VBD/ROOT *her/PRP$/poss/dog dog/NN/dobj/saw", "x", False),
        ("Ann/NNP/dobj/saw saw/VBD/ROOT *her/PRP$/poss/dog dog/NN/dobj/saw", "Ann", False),
        ("Ann/NNP/nsubj/saw saw/VBD/dep/dog *her/PRP$/poss/dog dog/NN/ROOT", "Ann", False),
        ("Ann/NNP/compound/Lee Lee/NNP/nsubj/saw saw/VBD/ROOT *her/PRP/dobj/saw", "Ann", True),
        ("saw/VBD/ROOT *her/PRP$/poss/Ann Ann/NNP/dobj/saw", "x", True),
        ("saw/VBD/ROOT *her/PRP$/nmod/Ann Ann/NNP/dobj/saw", "Ann", False),
    ],
)
def test_a_pronoun_is_clear_if_it_means_the_last_subject(text, refers, expected):
    pronoun = token(text)
    named = [one for one in pronoun.doc if one.text == "Ann"]
    meant = {pronoun.idx: refers, named[0].idx: "Ann"}
    people = SimpleNamespace(coreference=SimpleNamespace(at=meant.__getitem__))
    assert People._is_plain(people, mention(pronoun, "pronoun"), named) is expected


def test_a_person_inside_and_outside_a_quotation():
    words = tree("a b c")
    people = SimpleNamespace(coreference=SimpleNamespace(quoted=[True, False, False]))
    found = [[0, 1], [1, 2], [0]]
    own = [[mention(words[place]) for place in some] for some in found]
    assert [People._is_quoted_in_part(people, some) for some in own] == [True, False, False]
