"""Offline rewrites of labelled texts and the check of them."""

from types import SimpleNamespace

import pytest

from fairlab.backbones.loading import load_backbone
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.rewriting.labelled.paraphrase import LexicalEntailment, Paraphrase, lists, synonyms
from fairlab.text.surface_tokens import negations, surface_tokens


def rewrites(text, count=4, **values):
    return Paraphrase(**values).rewrites([Labelled(text, "x")], count)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We did not book ahead.", "We refrained from booking ahead."),
        ("The room has no lift.", "The room lacks any lift."),
        ("I never eat breakfast.", "I always refrain from eating breakfast."),
        ("Nobody was in the queue.", "Hardly anyone was in the queue."),
        ("She isn't a doctor.", "She is anything but a doctor."),
        ("He did not show up.", "He stayed away."),
        ("They can't sing.", "They can hardly sing."),
        ("It has not rained since May.", "It has yet to rain since May."),
        ("Don't order the fish.", "Avoid ordering the fish."),
        ("The heater failed to start.", "The heater stopped short of starting."),
        ("It doesn’t contain nuts.", "It lacks nuts."),
        ("It does not have to be cheap.", "It hardly has to be cheap."),
        ("He did not win, and nothing was left.", "He lost, and precious little was left."),
        ("The shop wasn't open.", "The shop was closed."),
        ("Our bus was not late.", "Our bus was on time."),
        ("It is not far away.", "It is close."),
        ("She did not forget it.", "She remembered it."),
        ("They failed to catch it.", "They missed it."),
    ],
)
def test_negations_are_said_without_a_negation(text, expected):
    made = rewrites(text)
    assert made[0] == expected
    assert all(negations(surface_tokens(one)) == 0 for one in made)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The shop was closed.", "The shop was not open."),
        ("It's on time.", "It's not late."),
        ("She forgot the address.", "She did not remember the address."),
        ("They forbid dogs.", "They do not allow dogs."),
        ("She has forgotten it.", None),
        ("He left off.", None),
        ("The soup was cold.", None),
    ],
)
def test_a_word_is_said_by_the_negation_of_its_opposite(text, expected):
    made = rewrites(text, negate=True)
    assert [one for one in made if negations(surface_tokens(one))] == ([expected] if expected else [])
    assert not any(negations(surface_tokens(one)) for one in rewrites(text))
    if expected:
        assert LexicalEntailment().faults([Labelled(text, "x")], [expected]) == [None]


@pytest.mark.parametrize(
    "text", ["Not only was it long, it was dull.", "There is no doubt.", "No, thanks.", "Why not?"]
)
def test_what_no_rule_knows_keeps_its_negation(text):
    assert all(negations(surface_tokens(one)) == 1 for one in rewrites(text))


def test_rewrites_are_distinct_and_the_same_again():
    made = rewrites("We did not book ahead, and the soup was cold.", count=6)
    assert len(made) == len(set(made)) >= 4
    assert made == rewrites("We did not book ahead, and the soup was cold.", count=6)
    assert rewrites("The soup was cold.", count=1) == []


def test_the_masked_lm_exchanges_synonyms_of_the_list_alone(tiny_folders):
    model = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=64, normalize=False)
    text = "The film was very long and the people were happy."
    (made,) = rewrites(text, count=1, language_model=model) or [text]
    old, new = surface_tokens(text), surface_tokens(made)
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(changed) <= 1
    assert all(b in synonyms()[a] for a, b in changed)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("He did not win.", "He lost.", None),
        ("He did not win.", "He won.", "turned around"),
        ("He won.", "He did not win.", "turned around"),
        ("The film was big.", "The movie was large.", None),
        ("The film was big.", "The film was small.", "'big' has no counterpart"),
        ("Anna lives in Oslo.", "In fact, Anna lives in Oslo.", None),
        ("Anna lives in Oslo.", "Anna lives in Rome.", "names differ"),
        ("It cost 30 pounds.", "It cost 40 pounds.", "numbers differ"),
        ("It rained.", "It rained a lot today.", "'lot' has no counterpart"),
        ("It rained.", " ", "empty"),
        ("It was a zorb.", "It was zorbs.", "'zorb' has no counterpart"),
        ("Not only was it good, it was great.", "It was good and great.", "'only' has no counterpart"),
    ],
)
def test_the_lexical_check_by_hand(old, new, fault):
    assert LexicalEntailment().faults([Labelled(old, "x")], [new]) == [fault]


def test_lists_are_whole():
    said = lists()
    assert all(isinstance(word, str) for words in said["synonyms"] for word in words)
    assert all(isinstance(term, str) for term in [*said["turning"], *said["idle"], *said["openers"]])
    assert all(isinstance(one, str) for pair in said["complements"].items() for one in pair)


@pytest.mark.parametrize(
    ("text", "after"), [("The cat sat.", "the cat sat."), ("I sat.", "I sat."), ("Rome fell.", "Rome fell.")]
)
def test_a_text_after_an_opener_loses_the_capital_of_a_common_word(text, after):
    opener, _, rest = Paraphrase._add_opener(SimpleNamespace(seed=0), text, 1).partition(", ")
    assert (opener in lists()["openers"], rest) == (True, after)
    assert Paraphrase._add_opener(SimpleNamespace(seed=0), text, 0) == text


def test_the_likeliest_other_synonym_takes_the_place_of_a_word():
    word = min(word for word, others in synonyms().items() if others - {word})
    other = min(synonyms()[word] - {word})
    model = SimpleNamespace(mask="[MASK]", fillers=lambda queries, top: [(["xylophone", word.upper(), other],)])
    assert Paraphrase._substitute(SimpleNamespace(model=model, seed=0), [f"- {word} -"]) == [f"- {other} -"]
