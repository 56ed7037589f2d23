from pathlib import Path

import pytest

from fairlab.lexicons import Lexicon, LexiconFile, load_lexicon, read_lexicon
from fairlab.lexicons.names import load_names, load_not_people, read_names
from fairlab.types import NEUTRAL, FairlabError


def test_every_row_has_a_neutral_form_and_one_per_attribute():
    lexicon = load_lexicon("gender")
    assert lexicon.attributes == ("man", "woman")
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in lexicon.rows)


def test_no_form_marks_both_attributes_or_is_neutral():
    lexicon = load_lexicon("gender")
    man, woman = lexicon.terms("man"), lexicon.terms("woman")
    neutral = {row[0].casefold() for row in lexicon.rows}
    assert not man & woman
    assert not (man | woman) & neutral


def test_first_row_decides_the_counterpart():
    lexicon = Lexicon("gender", ("man", "woman"), (("their", "his", "her"), ("them", "him", "her")))
    assert lexicon.counterparts("woman", "man") == {"her": "his"}
    assert lexicon.counterparts("man", "woman") == {"his": "her", "him": "her"}
    assert lexicon.counterparts("man", NEUTRAL) == {"his": "their", "him": "them"}


def test_a_form_equal_to_the_neutral_one_marks_nothing():
    lexicon = Lexicon("gender", ("man", "woman"), (("actor", "actor", "actress"),))
    assert lexicon.terms("man") == set()
    assert lexicon.counterparts("woman", "man") == {"actress": "actor"}


def test_an_unknown_axis_names_those_there_are():
    with pytest.raises(
        FairlabError, match="no lexicon for the axis 'shoe size'; there are lexicons for: age, disability, ethnicity"
    ):
        load_lexicon("shoe size")


ATTRIBUTES = {
    "age": ("child", "young", "middle-aged", "senior", "adult"),
    "race": ("asian", "black", "hispanic", "native-american", "pacific-islander", "white"),
    "gender": ("man", "woman"),
}


@pytest.mark.parametrize(
    "axis", ["age", "disability", "ethnicity", "gender", "nationality", "orientation", "race", "religion"]
)
def test_every_built_in_lexicon_is_sound(axis):
    lexicon = load_lexicon(axis)
    assert lexicon.attributes == ATTRIBUTES.get(axis, lexicon.attributes)
    assert all(len(entry.forms) == len(lexicon.attributes) + 1 for entry in lexicon.entries)
    assert all(entry.source and entry.licence in ("CC0-1.0", "Apache-2.0") for entry in lexicon.entries)
    assert {entry.pos for entry in lexicon.entries} <= {"pronoun", "noun", "adjective", "title", "name"}


def test_further_words_do_not_reach_swapping():
    lexicon = load_lexicon("gender")
    assert not {"dude", "airman", "sir"} & {form for row in lexicon.rows for form in row} - {"sir"}
    assert any("airman" in entry.forms for entry in lexicon.entries)


def test_a_word_like_another_takes_its_place_in_one_row_of_each_part_of_speech(tmp_path):
    words = (
        "words: {a: [['', feline, canine]], n: [[animal, feline, dog], [pet, feline, hound]]}\npos: {a: adjective}\n"
    )
    lexicon = load_lexicon(
        write(tmp_path, f"axis: pets\nattributes: [cat, dog]\n{words}alike: {{feline: [tabby], animal: [beast]}}\n")
    )
    expected = [("", "tabby", "canine"), ("animal", "tabby", "dog"), ("beast", "feline", "dog")]
    assert [entry.forms for entry in lexicon.alike] == expected
    assert [entry.pos for entry in lexicon.alike] == ["adjective", "noun", "noun"]
    assert not any("tabby" in entry.forms for entry in lexicon.entries)
    plain = load_lexicon(write(tmp_path, f"axis: pets\nattributes: [cat, dog]\n{words}"))
    assert plain.sha256 != lexicon.sha256


def write(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_users_give_a_path(tmp_path):
    path = write(tmp_path, "axis: pets\nattributes: [cat, dog]\nwords: {people: [[animal, cat, dog]]}\n")
    lexicon = load_lexicon(path)
    assert lexicon.rows == (("animal", "cat", "dog"),)
    assert lexicon.entries[0].licence == "unknown"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axis: x\n", "it needs the keys axis, attributes and words"),
        ("[", "is not YAML"),
        ("axis: x\nattributes: [a, b]\nwords: {}\n", "is empty; give it"),
        ("axis: x\nattributes: [a, b]\nwords: {s: []}\n", "is empty; give it"),
        ("axis: x\nattributes: [a, b]\nwords: [[n, one, two]]\n", "words must be values by name"),
        ("axis: x\nattributes: a\nwords: {s: [[n, one]]}\n", "attributes must be a list of texts, not a"),
        ("axis: x\nattributes: [a]\nwords: {s: [[n, one]]}\n", "has only the attribute 'a'; give at least two"),
        ("axis: x\nattributes: [a, neutral]\nwords: {s: [[n, one, two]]}\n", "give every attribute a different name"),
        ("axis: x\nattributes: [a, a]\nwords: {s: [[n, one, two]]}\n", "give every attribute a different name"),
        ("axis: x\nattributes: [a, b]\nwords: {s: [[n, '?!', two]]}\n", "has a form without letters"),
        ("axis: x\nattributes: [a, b]\nwords: {s: [[n, n, n]]}\n", "no form differs from its neutral one"),
        ("axis: x\nattributes: [a, b]\nwords: {s: [[n, one]]}\n", "must hold 3 forms"),
        ("axis: x\nattributes: [a, b]\nwords: {}\nnames: [[n, Jo, Al], [n, JO, Ed]]\n", "'JO' is in two rows"),
        ("axis: x\nattributes: [a, b]\nwords: {s: [[n, one, one]]}\n", "'one' marks both a and b"),
        (
            "axis: x\nattributes: [a, b]\nwords: {s: [[n, one, two]]}\nalike: {six: [uno]}\n",
            "'six', which is in no",
        ),
        ("axis: x\nattributes: [a, b]\nwords: {s: [[n, one, two]]}\nalike: {one: [Two]}\n", "'Two' is like 'one' but"),
        ("axis: x\nattributes: [a, b]\nwords: {s: [[n, one, two], [two, three, four]]}\n", "contradicts itself: 'two'"),
    ],
)
def test_a_bad_lexicon_is_one_sentence(tmp_path, text, message):
    with pytest.raises(FairlabError, match=message) as caught:
        load_lexicon(write(tmp_path, text))
    assert "\n" not in str(caught.value)


KEYS = sorted(LexiconFile.__annotations__)
WRONG = (
    "5",
    "[a]",
    "[[n, [cat], dog]]",
    "{a: [5]}",
    "{a: {b: c}}",
    "true",
    "{1: 2}",
    "2001-01-01",
    "''",
    "!!binary aGk=",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_key_of_a_lexicon_of_another_type_is_one_sentence_that_names_it(tmp_path, key, wrong):
    lines = {"axis": "pets", "attributes": "[cat, dog]", "words": "{a: [[n, cat, dog]]}"} | {key: wrong}
    path = write(tmp_path, "".join(f"{name}: {value}\n" for name, value in lines.items()))
    if (key, wrong) in {("alone", "''"), ("idioms", "[a]"), ("judged", "[a]"), ("people", "[a]"), ("returning", "[a]")}:
        assert load_lexicon(path).axis == "pets"
        return
    with pytest.raises(FairlabError) as caught:
        load_lexicon(path)
    assert "\n" not in str(caught.value)
    assert path in str(caught.value)
    assert key.removesuffix("s") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: &a [1]\n"
            + "".join(
                f"b{k}: &b{k} [{', '.join([f'*{chr(97)}' if not k else f'*b{k - 1}'] * 9)}]\n" for k in range(11)
            ),
            "through its aliases",
        ),
        ("a: &a [*a]\n", "nested more than"),
        ("a: &a {<<: *a}\n", "nested more than|is not YAML"),
        ("[" * 101, "is not YAML"),
        ("[" * 101 + "]" * 101, "nested more than 100 levels"),
        ("[" * 50_000, "nested too deeply"),
        ("a: " + "9" * 5_000, "is not YAML"),
        ("a: 2001-99-99\n", "is not YAML"),
        ("? [a]\n: b\n", "is not YAML"),
        ("!!python/object/apply:os.system [ls]\n", "is not YAML"),
        ("a: 1\n---\nb: 2\n", "is not YAML"),
        ("\0", "is not YAML"),
        ("a: '" + "x" * (1 << 20) + "'", "has more than 1,048,576 bytes"),
    ],
    ids=range(13),
)
def test_yaml_that_is_a_bomb_or_damaged_is_one_sentence(tmp_path, text, message):
    with pytest.raises(FairlabError, match=message) as caught:
        load_lexicon(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_names_carry_gender_and_race():
    names = load_names()
    assert names["james"].gender == "man"
    assert names["keisha"].race == "black"
    assert names["casey"].gender == "both"
    assert names["paris"].other_sense == "place"
    assert names["german"].other_sense == names["soon"].other_sense == "rarely"
    assert {"Hong Kong", "Nova Scotia", "Ray Ban"} <= load_not_people()
    assert {name.race for name in names.values()} - {""} == set(ATTRIBUTES["race"])


def test_some_attributes_of_an_axis():
    religion = load_lexicon("religion")
    two = religion.only(["muslim", "christian"])
    assert two.attributes == ("muslim", "christian")
    assert two.terms("christian") == religion.terms("christian")
    assert two.counterparts("muslim", "christian")["muslim"] == "Christian"
    assert two.sha256 != religion.sha256 == load_lexicon("religion").sha256
    for wrong in (["muslim"], ["muslim", "muslim"], ["muslim", "robot"]):
        with pytest.raises(FairlabError, match=r"attributes must name at least two|has no attribute 'robot'"):
            religion.only(wrong)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name,gender,race,other_sense,source\nJo,both,,,x\nJO,man,,,x\n",
            "line 3: the name 'JO' is empty or listed twice",
        ),
        ("name,gender,race,other_sense,source\nJo,both,martian,,x\n", "line 2: the race 'martian' of Jo is unknown"),
        ("name,gender,race,other_sense,source\nJo,robot,,,x\n", "the gender 'robot' of Jo is unknown"),
        ("name,gender,race,other_sense,source\nJo,both,,,x,y\n", "names.csv, line 2 does not have 5 columns"),
        ("name,gender,race,other_sense,source\nAl,man,,,x\nJo,both\n", "names.csv, line 3 does not have 5 columns"),
        ("name,gender\nJo,both\n", "is not a list of names; its columns must be name, gender, race"),
    ],
)
def test_a_bad_list_of_names_is_one_sentence(tmp_path, text, message):
    path = tmp_path / "names.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FairlabError, match=message) as caught:
        read_names(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ages: {kitten: [1]}", "ages.kitten must be a list of whole numbers that holds 2, not \\[1\\]"),
        ("figures: {cow: [1, 2]}", "'figures' names cow, which is not one of cat, dog"),
    ],
)
def test_ages_of_a_lexicon_are_checked(tmp_path, line, message):
    text = f"axis: pets\nattributes: [cat, dog]\nwords: {{people: [[animal, cat, dog]]}}\n{line}\n"
    with pytest.raises(FairlabError, match=message):
        load_lexicon(write(tmp_path, text))


@pytest.mark.parametrize(
    ("neutral", "message"),
    [
        ("{before_person: ''}", "give 'alone' too, the form if no noun follows"),
        ("{alone: '', before_person: x}", "give 'alone' too"),
        (
            "{alone: x, before_verb: y}",
            "give the keys alone, before_person, before_noun, not 'before_verb'",
        ),
        ("{alone: x, before_noun: 5}", "before_noun must be a text"),
        ("{alone: x, before_noun: cat}", "contradicts itself: 'cat' marks cat but is also a neutral form"),
        ("{alone: x, before_noun: '?'}", "has a form without letters"),
    ],
)
def test_a_neutral_form_by_context_is_checked(tmp_path, neutral, message):
    path = write(tmp_path, f"axis: pets\nattributes: [cat, dog]\nwords: {{people: [[{neutral}, cat, dog]]}}\n")
    with pytest.raises(FairlabError, match=message) as caught:
        load_lexicon(path)
    assert "\n" not in str(caught.value)


def test_neutral_forms_by_context_belong_to_an_entry():
    religion = load_lexicon("religion")
    jewish = next(entry for entry in religion.entries if "Jewish" in entry.forms)
    assert jewish.neutral_forms == ("religious", "")
    assert (jewish.before_person, jewish.before_noun) == ("", None)
    assert religion.only(["muslim", "jewish"]).entries[0].before_person == ""
    assert religion.counterparts("jewish", "neutral")["jewish"] == "religious"  # word lists see no syntax


OWN = {
    "axis": "hearing",
    "attributes": ["deaf", "hearing"],
    "words": {"adjectives": [["", "deaf", "hearing"]]},
    "pos": {"adjectives": "adjective"},
}


def test_a_lexicon_says_how_often_its_rewrites_were_wrong():
    assert read_lexicon(OWN, Path("own.yaml")).error_rate == "unmeasured"
    assert read_lexicon({**OWN, "wrong": [4, 100]}, Path("own.yaml")).error_rate == "4 of 100 wrong"
    assert load_lexicon("gender").error_rate != "unmeasured"
    assert load_lexicon("orientation").error_rate == "unmeasured"


@pytest.mark.parametrize("given", [[5, 4], [-1, 4], [0, 0]])
def test_a_rate_that_is_none_is_refused(given):
    with pytest.raises(
        FairlabError, match=r"own\.yaml: 'wrong' is .*; give two numbers: wrong rewrites, and rewrites read"
    ):
        read_lexicon({**OWN, "wrong": given}, Path("own.yaml"))


def test_a_lexicon_may_add_nouns_for_persons():
    assert read_lexicon({**OWN, "people": ["Seamstress"]}, Path("own.yaml")).people == {"seamstress"}


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (["tea lady"], "'people' is not a list of single words"),
        (["deaf"], "'deaf' is a word of the axis, so 'people' cannot list it as well"),
    ],
)
def test_people_that_cannot_be_are_refused(people, message):
    with pytest.raises(FairlabError, match=rf"own\.yaml: {message}"):
        read_lexicon({**OWN, "people": people}, Path("own.yaml"))


def test_a_changed_file_is_read_again(tmp_path):
    form = "axis: pets\nattributes: [cat, dog]\nwords: {{people: [[animal, {}]]}}\n"
    assert load_lexicon(write(tmp_path, form.format("cat, dog"))).rows[0] == ("animal", "cat", "dog")
    assert load_lexicon(write(tmp_path, form.format("kitten, puppy"))).rows[0] == ("animal", "kitten", "puppy")
