import pytest

pytest.importorskip("spacy")
import torch

from fairlab.lexicons import load_lexicon, read_lexicon
from fairlab.rewriting.english.people_judge import LAYERS, PeopleJudge, token_vectors
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.types import FairlabError


@pytest.fixture(scope="module")
def rewriters():
    return {axis: RuleRewriter(load_lexicon(axis)) for axis in ("religion", "nationality")}


@pytest.mark.parametrize(
    ("axis", "target", "text", "wanted"),
    [
        ("nationality", "brazilian", "A French teacher saw a French film.", "A Brazilian teacher saw a French film."),
        ("nationality", "brazilian", "He was a Chinese American cook.", "He was a Brazilian cook."),
        ("nationality", "brazilian", "The Chinese Americans left.", "The Brazilians left."),
        ("nationality", "brazilian", "The Italian government spoke of the Bank of Italy.", None),
        ("nationality", "brazilian", "Three Germans speak English at home.", "Three Brazilians speak English at home."),
        (
            "nationality",
            "swedish",
            "It is the German who wrote, and this German left.",
            "It is the Swede who wrote, and this Swede left.",
        ),
        (
            "nationality",
            "swedish",
            "The Germans met the German's son at the German Embassy.",
            "The Swedes met the Swede's son at the German Embassy.",
        ),
        ("religion", "muslim", "The Hindu Kush lies in the north.", None),
        ("religion", "muslim", "A Catholic school stands beside the church.", None),
        ("religion", "muslim", "My Christian neighbour goes to church.", "My Muslim neighbour goes to mosque."),
        ("religion", "muslim", "Two Buddhists and a Sikh came.", "Two Muslims and a Muslim came."),
    ],
)
def test_people_are_turned_and_things_are_left(rewriters, axis, target, text, wanted):
    assert rewriters[axis](text, target) == (wanted or text)


def test_vectors_are_those_of_the_sentence_whatever_stands_around_it():
    sentence = "A French teacher came."
    around = f"It rained all day. {sentence} It stopped."
    start = around.index("French")
    alone, within = token_vectors([sentence], [(2, 8)]), token_vectors([around], [(start, start + 6)])
    assert alone.shape == (1, 384 * len(LAYERS))
    assert alone.equal(within)


def test_what_the_encoder_did_not_read_is_nobody():
    text = "and " * 400 + "a French teacher came"
    start = text.index("French")
    assert PeopleJudge("nationality", ["adjectives"]).people(text, [(start, start + 6)]) == frozenset()


def test_an_axis_without_a_judge_and_an_unknown_section_are_one_sentence(tmp_path):
    content = {"axis": "pets", "attributes": ["cat", "dog"], "words": {"animals": [["pet", "cat", "dog"]]}}
    with pytest.raises(FairlabError, match=r"needs an axis of .*, not 'pets'; remove 'judged'"):
        RuleRewriter(read_lexicon({**content, "judged": ["animals"]}, tmp_path / "pets.yaml"))
    with pytest.raises(FairlabError, match="'judged' names birds, which is not one of animals"):
        read_lexicon({**content, "judged": ["birds"]}, tmp_path / "pets.yaml")


def test_a_word_is_a_person_s_with_a_probability_above_one_half(monkeypatch):
    judge = PeopleJudge("nationality", ["adjectives"])
    judge.weight, judge.bias = torch.tensor([2.0]), 1.0
    vectors = torch.tensor([[-0.5], [-0.25], [-1.0], [torch.nan]])  # logits of 0, 0.5, -1 and none
    monkeypatch.setattr("fairlab.rewriting.english.people_judge.token_vectors", lambda texts, spans: vectors)
    assert judge.people("text", [(k, k + 1) for k in range(4)]) == {1}


def test_a_vector_is_that_of_the_words_in_its_span_alone():
    text = "A non-French-speaking man left."
    vectors = token_vectors([text] * 5, [(6, 12), (7, 11), (6, 13), (5, 12), (31, 31)])
    whole, within, after, before, empty = vectors
    assert whole.equal(within)
    assert not whole.equal(after)
    assert not whole.equal(before)
    assert empty.isnan().all()


def test_the_first_word_of_a_sentence_has_the_vector_of_its_sentence():
    sentence, before = "French cooks came.", "It rained all day. "
    start = len(before)
    assert token_vectors([sentence], [(0, 6)]).equal(token_vectors([before + sentence], [(start, start + 6)]))
