import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.english.rules import RuleRewriter, _all_capitals
from fairlab.types import FairlabError

GENDER = load_lexicon("gender")
SYNTAX, LEXICAL = RuleRewriter(GENDER), RuleRewriter(GENDER, mode="lexical")
BOTH = pytest.mark.parametrize("rewriter", [SYNTAX, LEXICAL], ids=["syntax", "lexical"])

CASES = [
    # case of pronouns
    ("I saw her.", "man", "I saw him."),
    ("I saw her dog.", "man", "I saw his dog."),
    ("She gave her the book and took her coat.", "man", "He gave him the book and took his coat."),
    ("The red one is hers.", "man", "The red one is his."),
    ("The red one is his.", "woman", "The red one is hers."),
    ("He hurt himself.", "woman", "She hurt herself."),
    ("He hurt himself.", "neutral", "They hurt themself."),
    ("His car hit him.", "neutral", "Their car hit them."),
    # agreement with singular they
    ("He is tired.", "neutral", "They are tired."),
    ("She was late.", "neutral", "They were late."),
    ("He has gone home.", "neutral", "They have gone home."),
    ("She walks to work.", "neutral", "They walk to work."),
    ("He never watches films.", "neutral", "They never watch films."),
    ("She will walk.", "neutral", "They will walk."),
    ("Is he late?", "neutral", "Are they late?"),
    ("Does she know?", "neutral", "Do they know?"),
    ("He isn't here.", "neutral", "They aren't here."),
    ("She doesn't know.", "neutral", "They don't know."),
    ("She's tired.", "neutral", "They're tired."),
    ("She's been here.", "neutral", "They've been here."),
    ("She's lost her keys; she's lost.", "neutral", "They've lost their keys; they're lost."),
    ("He'll go and he'd stay.", "neutral", "They'll go and they'd stay."),
    ("He was tired and was late.", "neutral", "They were tired and were late."),
    ("She cooks and cleans.", "neutral", "They cook and clean."),
    ("Where's he going?", "neutral", "Where're they going?"),
    ("Wasn't she there?", "neutral", "Weren't they there?"),
    ("Who does she think she is?", "neutral", "Who do they think they are?"),
    ("HE IS HERE.", "neutral", "THEY ARE HERE."),
    ("If he were rich, he'd walk.", "neutral", "If they were rich, they'd walk."),
    # alternatives
    ("If he or she is late, his or her nurse calls.", "neutral", "If they are late, their nurse calls."),
    ("If he or she is late, call him or her.", "woman", "If she is late, call her."),
    ("Is he/she late? Ask him/herself.", "man", "Is he late? Ask himself."),
    # and back
    ("The nurse said they are late.", "man", "The nurse said he is late."),
    ("The nurse said they walk home.", "woman", "The nurse said she walks home."),
    ("The nurse said they've lost their keys.", "woman", "The nurse said she's lost her keys."),
    ("The nurses said they are late.", "man", "The nurses said they are late."),
    # nouns, articles, possessives, capitals
    ("An actress met a waiter.", "man", "An actor met a waiter."),
    ("She is an heiress.", "man", "He is an heir."),
    ("The actresses' hats", "man", "The actors' hats"),
    ("The women's team", "man", "The men's team"),
    ("HER MOTHER LEFT.", "man", "HIS FATHER LEFT."),
    ("The Policewoman and the boys", "man", "The Policeman and the boys"),
    ("Her father-in-law's hat", "woman", "Her mother-in-law's hat"),
    # titles and names
    ("Mr. Smith and Mr Jones", "woman", "Ms. Smith and Ms Jones"),
    ("Mrs. King arrived.", "man", "Mr. King arrived."),
    ("Michael and Michael's dog", "woman", "Michelle and Michelle's dog"),
    ("LeBron James met Mr. James.", "woman", "LeBron James met Ms. James."),
    ("First Lady Mary Smith", "man", "First Gentleman Marcus Smith"),
    # other senses, compounds, quotation, code
    ("Sailors man the boats.", "woman", "Sailors man the boats."),
    ("I miss you.", "man", "I miss you."),
    ("A man-made lake", "woman", "A man-made lake"),
    ("A man-eating tiger ate the all-male crew.", "woman", "A man-eating tiger ate the all-female crew."),
    ("Mary left King Street for Charlotte Airport.", "man", "Marcus left King Street for Charlotte Airport."),
    ("The word “he” in “The King and I”, he said.", "woman", "The word “he” in “The King and I”, she said."),
    ("her “husband”", "woman", "her “wife”"),
    ("“He left,” she said.", "woman", "“She left,” she said."),
    ("See https://x.org/his and `he`: he left.", "woman", "See https://x.org/his and `he`: she left."),
    ("Don't go.", "woman", "Don't go."),
    # nothing to do, odd input
    ("", "man", ""),
    ("The river is long.", "woman", "The river is long."),
    ("Он сказал 她说 he said 🙂", "woman", "Он сказал 她说 she said 🙂"),
    ("he\x00she", "woman", "she\x00she"),
]


@BOTH
@pytest.mark.parametrize(("text", "target", "expected"), CASES)
def test_gender(rewriter, text, target, expected):
    assert rewriter(text, target) == expected


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("He walks, talks, and sings.", "neutral", "They walk, talk, and sing."),
        ("She dances, sings and acts on stage.", "neutral", "They dance, sing and act on stage."),
        ("When he arrives, guests and hosts leave.", "neutral", "When they arrive, guests and hosts leave."),
        ("She gets up and sings loudly.", "neutral", "They get up and sing loudly."),
        ("He, who is old, likes to sing.", "neutral", "They, who are old, like to sing."),
        ("Her leaving hurt; I watched her go home.", "man", "His leaving hurt; I watched him go home."),
        ("Jonathan Hobhouse wrote; Hobhouse was ill.", "woman", "Ashley Hobhouse wrote; Hobhouse was ill."),
        ("Dan Lewis left. Lewis never did.", "woman", "Christina Lewis left. Lewis never did."),
    ],
)
def test_what_needs_a_parse(text, target, expected):
    assert SYNTAX(text, target) == expected


AXES = [
    ("race", "The black man drove a black car.", "asian", "The Asian man drove a black car."),
    ("race", "An Asian doctor", "white", "A white doctor"),
    ("race", "A black doctor in a white coat", "asian", "An Asian doctor in a white coat"),
    ("race", "An Asian doctor", "neutral", "A doctor"),
    ("race", "She is black.", "neutral", "She is of some background."),
    ("race", "Two Asian Americans", "black", "Two African Americans"),
    ("race", "black-and-white film, White House", "asian", "black-and-white film, White House"),
    ("age", "An old man in an old house", "young", "A young man in an old house"),
    ("age", "The teenagers sang.", "senior", "The pensioners sang."),
    ("age", "A young nurse", "middle-aged", "A middle-aged nurse"),
    ("race", "A Mexican man ate Mexican food in Hong Kong.", "asian", "A Chinese man ate Mexican food in Hong Kong."),
    ("race", "The German laughed; Chinese imports rose.", "black", "The German laughed; Chinese imports rose."),
    ("age", "I would be eleven years old in March.", "young", "I would be eighteen years old in March."),
    ("age", "The 70-year-old retiree met a toddler.", "child", "The 17-year-old teen met a toddler."),
    ("age", "A 3-year-old toddler in a 12-year-old car", "senior", "An 80-year-old octogenarian in a 12-year-old car"),
    ("age", "A 9-year-old boy ran.", "senior", "A 65-year-old man ran."),
    ("age", "Two nine-year-old boys ran.", "adult", "Two eighteen-year-old men ran."),
    ("age", "A young, tall girl sang.", "middle-aged", "A middle-aged, tall woman sang."),
    ("age", "Her baby boy has an old friend.", "senior", "Her baby boy has an old friend."),
    ("age", "He sold the baby food to a baby.", "senior", "He sold the baby food to a senior."),
    ("age", "She is older than the older man.", "child", "She is older than the boy."),
    ("age", "A man in his late 70s left in the 70s.", "young", "A man in his late 30s left in the 70s."),
    ("age", "She is in her teens.", "senior", "She is in her sixties."),
    ("race", "A Negro teacher left the Negro district.", "asian", "An Asian teacher left the Negro district."),
    ("gender", "The King laughed.", "woman", "The Queen laughed."),
    ("race", "He speaks Samoan and Tongan.", "white", "He speaks Samoan and Tongan."),
    ("race", "The Mexican laughed.", "white", "The white person laughed."),
    ("race", "South Africans met Africans and two Eskimos.", "asian", "South Africans met Asians and two Asians."),
    ("disability", "A man in a wheelchair met the deaf.", "blind", "A blind man met the blind."),
    ("disability", "He lowered the blind for the blind man.", "deaf", "He lowered the blind for the deaf man."),
    ("disability", "People with disabilities work here.", "deaf", "Deaf people work here."),
    ("religion", "A Muslim and an imam at the mosque", "jewish", "A Jew and a rabbi at the synagogue"),
    ("religion", "A Muslim family", "jewish", "A Jewish family"),
    ("orientation", "A straight line", "gay", "A straight line"),
    ("orientation", "A gay doctor", "neutral", "A doctor"),
    ("nationality", "An Irish nurse flew to Italy.", "american", "An American nurse flew to Italy."),
    ("nationality", "Two Danes", "swedish", "Two Swedes"),
]


@pytest.mark.parametrize(("axis", "text", "target", "expected"), AXES)
def test_other_axes(axis, text, target, expected):
    assert RuleRewriter(load_lexicon(axis))(text, target) == expected


@pytest.mark.parametrize(
    ("text", "word", "target", "expected"),
    [
        ("John told Mary that he saw her.", "John", "woman", "Joan told Mary that she saw her."),
        ("John told Mary that he saw her.", "Mary", "man", "John told Marcus that he saw him."),
        ("He confronted the woman.", "He", "woman", "She confronted the woman."),
        ("She dreamed of being a mother.", "She", "man", "He dreamed of being a father."),
        ("She saw her husband.", "She", "man", "He saw his husband."),
        ("Women do not work as hard as men.", "Women", "man", "Men do not work as hard as men."),
        ("A person left.", "person", "woman", "A woman left."),
        # two of one surname, and a possessive beside whom it belongs to
        ("Ann Smith is an aunt of Carol Smith.", "Carol", "man", "Ann Smith is an aunt of Timothy Smith."),
        ("His first son, Tom, sold the farm.", "His", "woman", "Her first son, Tom, sold the farm."),
        # who a relative clause tells of, and a noun that is part of another
        ("They met a man in Rome who sold his boat.", "man", "woman", "They met a woman in Rome who sold her boat."),
        (
            "A young woman chess player lost her queen.",
            "her",
            "neutral",
            "A young person chess player lost their queen.",
        ),
        ("She did her very best.", "She", "man", "He did his very best."),
        # nobody who is named in a clause is meant by its subject, nor by an object beside a pronoun for them
        ("She said that Ann left.", "She", "man", "He said that Ann left."),
        ("My father thought that he had hurt him.", "father", "woman", "My mother thought that she had hurt him."),
        ("A person lost her bag.", "her", "man", "A person lost his bag."),
        # who has the attribute keeps their name
        ("Desmond left.", "Desmond", "man", "Desmond left."),
        # a name that is taken for something else, but for the pronoun or the same name before
        ("Betty Meggers was praised for her book.", "her", "neutral", "Charlie Meggers was praised for their book."),
    ],
)
def test_one_entity(text, word, target, expected):
    assert SYNTAX.rewrite_entity(text, word, target) == expected
    assert SYNTAX.rewrite_entity(text, text.index(word), target) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Herb and spice shops closed early.",
        "The treaty was signed by Frederick William, Elector of Brandenburg.",
        'The nurse met Walker "Rusty" Hayes.',
        "The students heard the Rachel Miller Memorial Lecture; it rained.",
        "The choir of Notre Dame sang.",
        "It takes a bachelor of education to teach here.",
    ],
)
def test_names_of_no_person_are_left_alone(text):
    assert SYNTAX(text, "woman") == SYNTAX(text, "man") == text


def test_names_may_be_kept():
    assert RuleRewriter(GENDER, names="keep")("Michael saw his son.", "woman") == "Michael saw her daughter."


@BOTH
def test_names_stay_the_same_throughout_a_text(rewriter):
    first, second = (rewriter(text, "woman") for text in ("Desmond met Keith.", "Keith met Desmond."))
    assert first.split()[0] == second.split()[2].strip(".")
    made = rewriter("Desmond saw Keith. Desmond's dog bit Keith; Mr. Keith left.", "woman")
    desmond, keith = made.split()[0], made.split()[2].strip(".")
    assert made == f"{desmond} saw {keith}. {desmond}'s dog bit {keith}; Ms. Keith left."
    assert desmond != keith


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_quotations_may_be_kept(mode):
    keeping = RuleRewriter(GENDER, mode=mode, quotations="keep")
    assert keeping('He said, "She saw him," to his aunt.', "woman") == 'She said, "She saw him," to her aunt.'
    assert keeping("``He left,'' said John.", "neutral") == "``He left,'' said Jordan."


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_a_lexicon_of_ones_own_rewrites(mode, tmp_path):
    path = tmp_path / "pets.yaml"
    words = "{pets: [[animal, cat, owl], [animals, cats, owls]], rooms: [[bed, cat basket, owl perch]]}"
    path.write_text(f"axis: pets\nattributes: [cat, owl]\nwords: {words}\n", encoding="utf-8")
    rewriter = RuleRewriter(load_lexicon(str(path)), mode=mode)
    assert rewriter("A cat's toy; CATS, and a cat basket.", "owl") == "An owl's toy; OWLS, and an owl perch."
    assert rewriter("An owl sleeps.", "neutral") == "An animal sleeps."
    assert rewriter("He saw her cat.", "cat") == "He saw her cat."


@pytest.mark.slow
def test_equal_seeds_give_equal_names_and_no_name_of_the_text():
    text = "Shaquille met Keith."
    assert RuleRewriter(GENDER, seed=3)(text, "woman") == RuleRewriter(GENDER, seed=3)(text, "woman")
    assert len({RuleRewriter(GENDER, seed=seed)(text, "woman") for seed in range(8)}) > 1


def test_swapping_exchanges_both():
    assert SYNTAX.swap_all(["He saw her."]) == ["She saw him."]
    with pytest.raises(FairlabError, match="has 6 attributes, but only two can be exchanged"):
        RuleRewriter(load_lexicon("race")).swap_all(["x"])


def test_bad_requests_are_one_sentence():
    with pytest.raises(FairlabError, match="has no attribute 'female'; it has neutral, man, woman"):
        SYNTAX("He left.", "female")
    with pytest.raises(FairlabError, match="the word 'Bob' does not occur"):
        SYNTAX.rewrite_entity("He left.", "Bob", "woman")
    with pytest.raises(FairlabError, match="modes syntax and lexical, not 'fast'"):
        RuleRewriter(GENDER, mode="fast")
    with pytest.raises(FairlabError, match="mode=lexical cannot rewrite one person of a text"):
        LEXICAL.rewrite_entity("He left.", "He", "woman")


def test_a_lexicon_with_some_pronouns_only_is_refused(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(
        "axis: x\nattributes: [a, b]\npos: {pronouns: pronoun}\nwords: {pronouns: [[n, one, two]]}\n", encoding="utf-8"
    )
    with pytest.raises(FairlabError, match="has 1 rows of pronouns; rules need 5"):
        RuleRewriter(load_lexicon(str(path)))


@pytest.mark.slow
@BOTH
def test_time_grows_with_length_alone(rewriter):
    sentence = "He told his mother that Michael loves her garden. "
    rewriter(sentence, "woman")
    seconds = []
    for size in (10_000, 100_000):
        text, tries = sentence * (size // len(sentence)), []
        for _ in range(1 if rewriter is SYNTAX else 5):
            start = time.process_time()
            made = rewriter(text, "woman")
            tries.append(time.process_time() - start)
        seconds.append(min(tries))
    assert made.startswith("She told her mother that Michelle loves her garden.")
    assert seconds[1] < 30 * seconds[0]


ANY = st.text(max_size=40) | st.lists(
    st.sampled_from(["he", "Her", "his", "they", "-", "'s", "Mr.", "King", "a", "man", "ma'am", "\x00", "’", "John"]),
    max_size=10,
).map(" ".join)


@BOTH
@settings(max_examples=60)
@given(text=ANY, target=st.sampled_from(["man", "woman", "neutral"]))
@pytest.mark.slow
def test_any_text_is_rewritten_the_same_way_twice(rewriter, text, target):
    assert rewriter(text, target) == rewriter(text, target)


PLAIN = ["the", "river", "old", "sings", "to", ",", "house", "runs", "slowly", "and"]


@BOTH
@settings(max_examples=40)
@given(words=st.lists(st.sampled_from(PLAIN), max_size=12), target=st.sampled_from(["man", "woman", "neutral"]))
def test_other_words_stay(rewriter, words, target):
    assert rewriter(" ".join(words), target) == " ".join(words)


MEN = ["he", "himself", "the father", "the king", "a waiter", "sees the boy", ",", "and", "John", "the house"]


@BOTH
@settings(max_examples=40)
@given(words=st.lists(st.sampled_from(MEN), max_size=10))
def test_what_fits_stays(rewriter, words):
    text = " ".join(words)
    assert rewriter(text, "man") == text


@settings(max_examples=40)
@given(words=st.lists(st.sampled_from(MEN), max_size=10))
def test_there_and_back_is_the_identity_by_neighbours_even_on_no_sentences(words):
    text = " ".join(words)
    assert LEXICAL(LEXICAL(text, "woman"), "man") == text


# A parse tells nothing sure of what is no sentence, so the syntax mode promises the way back of sentences.
CLAUSES = [
    f"{subject} {predicate}"
    for subject in ("he", "the father", "the king", "a waiter", "John", "the boy")
    for predicate in (
        "sees the boy",
        "has left the house",
        "blames himself",
        "is a waiter",
        "gave the king his coat",
        "told John the news",
        "smiles",
    )
]


@BOTH
def test_there_and_back_is_the_identity_on_sentences(rewriter):
    one = [f"{clause[0].upper()}{clause[1:]}." for clause in CLAUSES]
    two = [f"{first[:-1]}, and {clause}." for first, clause in zip(one, CLAUSES[5:] + CLAUSES[:5], strict=True)]
    texts = one + two
    women = rewriter.rewrite_all(texts, ["woman"] * len(texts))
    assert not set(women) & set(texts)
    assert rewriter.rewrite_all(women, ["man"] * len(texts)) == texts


@pytest.mark.data
@BOTH
def test_winogender(rewriter, data_folder):
    from fairlab.data.published.winogender import read_winogender

    groups = read_winogender(data_folder / "winogender/all_sentences.tsv")
    floors = {"man": 0.99, "woman": 0.99, "neutral": 0.99}
    for source, target in (("man", "woman"), ("woman", "man"), ("man", "neutral"), ("woman", "neutral")):
        made = rewriter.rewrite_all([group.versions[source] for group in groups], [target] * len(groups))
        right = sum(text == group.versions[target] for text, group in zip(made, groups, strict=True))
        assert right >= floors[target] * len(groups)


@pytest.mark.data
def test_neutral_winogender_becomes_gendered(data_folder):
    from fairlab.data.published.winogender import read_winogender

    groups = read_winogender(data_folder / "winogender/all_sentences.tsv")
    for target in ("man", "woman"):
        made = SYNTAX.rewrite_all([group.versions["neutral"] for group in groups], [target] * len(groups))
        right = sum(text == group.versions[target] for text, group in zip(made, groups, strict=True))
        assert right >= 0.97 * len(groups)


@pytest.mark.slow
@BOTH
def test_union_polarity_of_the_embedded_gold_groups(rewriter):
    from fairlab.data.groups import read_groups

    polarity = Polarity(GENDER)
    gold = [group for group in read_groups("embedded/people") if group.extra["gold"]]
    texts = [group.versions["man"] for group in gold]
    made = {name: rewriter.rewrite_all(texts, [name] * len(texts)) for name in ("neutral", "man", "woman")}
    right = sum(all(polarity(made[name][index]) == name for name in made) for index in range(len(gold)))
    assert right >= 0.97 * len(gold)


CONTEXTS = [
    ("The Jewish teacher met an atheist student.", "religion", "The teacher met a student."),
    ("Muslim nurses work here.", "religion", "Nurses work here."),
    ("He went to a Jewish school.", "religion", "He went to a religious school."),
    ("She is Jewish.", "religion", "She is religious."),
    ("My neighbour is Hindu and tall.", "religion", "My neighbour is religious and tall."),
    ("The teacher who spoke last is Muslim.", "religion", "The teacher who spoke last is religious."),
    ("A blind lawyer and a deaf actor spoke.", "disability", "A lawyer and an actor spoke."),
    ("A blind actor spoke.", "disability", "An actor spoke."),
]
OWN = {"religion": "religion", "disability": str(Path(__file__).parents[3] / "docs" / "own_axis" / "disability.yaml")}


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
@pytest.mark.parametrize(("text", "axis", "neutral"), CONTEXTS)
def test_the_neutral_form_follows_its_context(text, axis, neutral, mode):
    assert RuleRewriter(load_lexicon(OWN[axis]), mode=mode)(text, "neutral") == neutral


def test_a_noun_and_an_adjective_of_one_form_are_told_apart_by_syntax():
    rewriter = RuleRewriter(load_lexicon("religion"))
    assert (
        rewriter("My neighbour is Christian and works here.", "neutral") == "My neighbour is religious and works here."
    )
    assert rewriter("My neighbour is a Christian.", "neutral") == "My neighbour is a believer."
    assert rewriter("They are Muslims.", "neutral") == "They are believers."


def test_an_axis_of_ones_own_is_rewritten_beside_people_alone():
    rewriter = RuleRewriter(load_lexicon(OWN["disability"]))
    turned = rewriter.rewrite_all(["My doctor is blind.", "A blind corner and a blind date."], ["neutral"] * 2)
    assert turned == ["My doctor is disabled.", "A blind corner and a blind date."]
    assert rewriter("The deaf nurse has a hearing aid.", "paraplegic") == "The paraplegic nurse has a wheelchair."
    assert rewriter("The deaf nurse has a hearing aid.", "neutral") == "The nurse has an aid."


def test_a_form_that_an_attribute_lacks_is_the_neutral_one_of_its_context(tmp_path):
    words = '{s: [[{alone: x, before_person: ""}, red, blue, ""]]}'
    path = tmp_path / "own.yaml"
    path.write_text(
        f"axis: a\nattributes: [r, b, g]\nwords: {words}\n  \nfurther: {{t: [[y, rr, bb, gg]]}}\n"
        "pos: {s: adjective}\n"
    )
    assert RuleRewriter(load_lexicon(str(path)))("A red teacher is red.", "g") == "A teacher is x."


@BOTH
@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        # names of both genders that the census counts too few of
        ("Rowan has slept. Their keyworker left.", "man", "Rowan has slept. His keyworker left."),
        ("The monitor, Remy, earns their chalk money.", "woman", "The monitor, Remy, earns her chalk money."),
        # the first word of a longer term, *rose-seller* or *Jamie-Lee*, and a surname leave the neutral word free
        ("Before swearing, Jamie lost the pen they had.", "man", "Before swearing, Jamie lost the pen he had."),
        ("Jilted by their notary, the milliner rose.", "woman", "Jilted by her notary, the milliner rose."),
        ("Coach Baptiste was calm. They wrote the score.", "woman", "Coach Baptiste was calm. She wrote the score."),
    ],
)
def test_neutral_words_beside_words_that_show_nothing(rewriter, text, target, expected):
    assert rewriter(text, target) == expected


def test_a_listed_term_of_several_words_keeps_neutral_words_beside_it():
    text = "The father-in-law said that they left."
    assert LEXICAL(text, "woman") == "The mother-in-law said that they left."


def test_the_pronoun_of_a_title_follows_the_person_it_names():
    assert SYNTAX("People read Jane Austen and Her Art today.", "man").endswith(" Austen and His Art today.")
    assert SYNTAX("People saw the comedy His Girl Friday today.", "woman").endswith("His Girl Friday today.")


def test_a_capital_after_dear_is_an_address():
    assert SYNTAX("The tree bears at last, dear Parent, and well.", "man") == (
        "The tree bears at last, dear Father, and well."
    )


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
@pytest.mark.parametrize(
    ("text", "right"),
    [("They fell into it.", "She fell into it."), ("They lay there.", "She lay there."), ("They walk.", "She walks.")],
)
def test_a_past_verb_keeps_its_form(mode, text, right):
    assert RuleRewriter(load_lexicon("gender"), mode=mode)(text, "woman") == right


@pytest.mark.parametrize("word", ["the", "she", "quickly", "everything", "butter", "dogs", "someone"])
def test_a_lexicon_that_calls_something_else_a_person_is_refused(word):
    lexicon = replace(GENDER, people=frozenset(("seamstress", word)))
    with pytest.raises(FairlabError, match=f"lists '{word}' in 'people', which is no noun for persons; remove it"):
        RuleRewriter(lexicon)


def test_a_lexicon_may_name_ten_thousand_persons():
    ends = [f"{first}{second}" for first in "bcdfgklmnprstvz" for second in "aeiou"]
    people = frozenset([f"{one}{other}zx" for one in ends for other in ends] + ["barista", "podcaster", "nurse"])
    assert RuleRewriter(replace(GENDER, people=people)).vocabulary.lexicon.people == people


@BOTH
def test_firms_and_brands_keep_their_names(rewriter):
    assert rewriter("He wore his Ray Ban glasses.", "woman") == "She wore her Ray Ban glasses."
    assert rewriter("He left Novi Sad.", "woman") == "She left Novi Sad."
    assert rewriter("he wore his ray ban glasses.", "woman") == "she wore her ray ban glasses."


@pytest.mark.parametrize(
    ("axis", "text", "target", "right"),
    [
        # two adjectives that would become the same word
        ("religion", "The Christian and Hindu faiths", "jewish", "The Christian and Hindu faiths"),
        ("religion", "Muslim, Hindu and Christian teachers", "jewish", "Muslim, Hindu and Christian teachers"),
        ("religion", "A Jewish & Christian school", "jewish", "A Jewish & Christian school"),
        ("religion", "A Christian nurse and Hindu cooks", "jewish", "A Jewish nurse and Jewish cooks"),
        # names of several parts before a word for a place
        ("gender", "In Ann-Marie Park, Ann-Marie slept.", "man", "In Ann-Marie Park, Craig slept."),
        ("gender", "The Mary Ann Street fair bored Mary.", "man", "The Mary Ann Street fair bored Marcus."),
    ],
)
def test_equal_adjectives_and_long_names_of_places_stay(axis, text, target, right):
    assert RuleRewriter(load_lexicon(axis), mode="lexical")(text, target) == right


def test_one_letter_is_no_word_in_capitals():
    assert [_all_capitals(word) for word in ("I", "HE", "He", "he")] == [False, True, False, False]


def test_texts_selections_and_parses_come_in_equal_numbers():
    with pytest.raises(ValueError, match="zip"):
        SYNTAX.rewrite_all(["He left."], ["woman", "man"])
    for selections, docs in (([], None), ([], []), ([[("He", "woman")]], [])):
        with pytest.raises(ValueError, match="zip"):
            SYNTAX.turn_people(["He left."], selections, docs)


@pytest.mark.parametrize(
    ("text", "man"),
    [
        ("Miss America waved.", "Miss America waved."),
        ("Miss Lee waved.", "Mr Lee waved."),
        ("We read the MS today.", "We read the MS today."),
    ],
)
def test_a_title_is_that_of_a_person(text, man):
    assert SYNTAX(text, "man") == man
