"""Morphs by a language model: what it is shown, what its answers may change, and what is said where there is none."""

import json
from types import SimpleNamespace

import pytest

from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.by_llm.llm_morphs import LLMMorph, fault, hidden, unhidden
from fairlab.text.words import TermFinder
from fairlab.types import FairlabError
from tests.llm.stub import Stub, said

HELD = TermFinder(["Swede", "Swedes", "Swedish", "Indian", "Indians", "Chinese people"])


def held(text):
    return [(span.start, span.end) for span in HELD.find(text)]


def spoken(texts, answers, shift, tmp_path):
    """What a model that answers so makes of texts, and what it was sent."""

    def act(payload, nth):
        return said(json.dumps({"text": answers[payload["messages"][-1]["content"]]}))

    with Stub(act) as stub:
        morph = LLMMorph(LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite")), shift, held)
        return morph(texts), stub.payloads


def test_members_are_hidden_and_share_one_question(tmp_path):
    texts = ["An Indian met a friend.", "A Swede met a friend.", "Nobody came."]
    answers = {"A [A] met a friend.": "The [A] was tired.", "Nobody came.": "It was late."}
    made, payloads = spoken(texts, answers, "upshift", tmp_path)
    assert made == [
        "An Indian met a friend. The Indian was tired.",
        "A Swede met a friend. The Swede was tired.",
        "Nobody came. It was late.",
    ]
    assert [payload["max_tokens"] for payload in payloads] == [2 * 5 + 64, 2 * 3 + 64]  # of 19 and 12 characters
    assert "never an instruction" in payloads[0]["messages"][0]["content"]
    assert not any("Indian" in json.dumps(payload) for payload in payloads)


def test_copies_are_asked_about_alike_whatever_their_forms(tmp_path):
    """A Swede is no Swedish, but an Indian is Indian: letters go by place."""
    asked = {hidden(text, held(text))[0] for text in ("An Indian team met an Indian.", "A Swedish team met a Swede.")}
    assert asked == {"A [A] team met a [B]."}


def test_words_come_back_with_their_article():
    text, words = hidden("An Indian and a Swede met.", [(3, 9), (16, 21)])
    assert (text, words) == ("A [A] and a [B] met.", {"A": "Indian", "B": "Swede"})
    assert unhidden(text, words) == "An Indian and a Swede met."
    assert unhidden("[A]s and [C] at [A]'s.", {"A": "Swede"}) == "Swedes and [C] at Swede's."


def test_brackets_that_a_text_has_stay(tmp_path):
    made, _ = spoken(["[A]ll Swedes came"], {"[A]ll [B] came": "It was late."}, "upshift", tmp_path)
    assert made == ["[A]ll Swedes came. It was late."]


@pytest.mark.parametrize("answer", ["Indians were pleased.", "Robert was pleased.", "The garden pleased an Indian."])
def test_an_answer_that_names_anybody_is_none(answer, tmp_path):
    made, _ = spoken(["A Swede came."], {"A [A] came.": answer}, "upshift", tmp_path)
    assert made == [""]


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("It was a rainy day.", ""),
        ("The [B] women were tired.", "new letters in brackets"),
        ("Anna paid 50 crowns again.", "new numbers"),
        ("They met Eva there.", "new names"),
        ("Anna paid women crowns.", "nothing new"),
        ("They did.", "wrong length"),
        ("Then I did as well.", ""),  # *I* is no name
        ("They went off.", ""),
        ("they went " * 12 + "off", ""),
        ("they went " * 13, "wrong length"),
    ],
)
def test_faults_of_an_upshift(added, said):
    before = "[A] women paid 40 crowns to Anna, and [A] men did as well."
    assert fault(before, added, "upshift") == said


@pytest.mark.parametrize(("after", "said"), [("Nobody came.", ""), ("", "wrong length")])
def test_faults_of_a_summary_of_a_text_without_letters(after, said):
    assert fault("Nobody came late.", after, "summary") == said


@pytest.mark.parametrize(("outcome", "made"), [(ExchangeOutcome.REFUSED, [""]), ("the server is gone", None)])
def test_a_text_that_gets_no_answer_stops_the_run_and_a_refusal_does_not(outcome, made):
    llm = SimpleNamespace(ask=lambda requests, stage: [SimpleNamespace(ok=False, outcome=outcome, reason="x")])
    morph = LLMMorph(llm, "upshift", held)
    if made is not None:
        assert morph(["Nobody came."]) == made
        return
    with pytest.raises(FairlabError, match="1 of 1 upshifts got no answer"):
        morph(["Nobody came."])


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("[A] women paid Anna.", ""),
        ("Women paid Anna.", "lost letters in brackets"),
        ("[A] women paid Eva.", "new names"),
        ("[A] women paid 50 crowns.", "new numbers"),
        ("[A] women paid 40 crowns to Anna in Lund, and that was a lot.", "wrong length"),
        ("[A] women paid 40 crowns to Anna in Lund they say.", "wrong length"),
        ("[A] women paid 40 crowns to Anna in Lund they.", ""),
        ("", "lost letters in brackets"),
    ],
)
def test_faults_of_a_summary(after, said):
    assert fault("[A] women paid 40 crowns to Anna in Lund, they say.", after, "summary") == said


def test_a_faulty_answer_is_none(tmp_path):
    made, _ = spoken(
        ["Two Swedes came in 1990."],
        {json.dumps({"text": "Two [A] came in 1990.", "about": "[A]"}): "Swedes came."},
        "summary",
        tmp_path,
    )
    assert made == [""]


def test_without_a_model():
    with pytest.raises(FairlabError, match=r"augmentation\.summary=llm needs a language model"):
        LLMMorph(None, "summary", held)


def test_letters_with_accents_are_sent_as_they_are(tmp_path):
    sent = '{"text": "Two [A] came to Åre late.", "about": "[A]"}'
    made, _ = spoken(["Two Swedes came to Åre late."], {sent: "[A] came to Åre."}, "summary", tmp_path)
    assert made == ["Swedes came to Åre."]
