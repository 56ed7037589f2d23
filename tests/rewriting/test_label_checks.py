"""Checks of labelled rewrites: by a language model's verdicts, by facts, and several together."""

import json

import pytest

from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.labelled.label_keeping import AllOf, Labelled, LLMLabelCheck, LLMVerdictCheck
from fairlab.rewriting.labelled.paraphrase import LexicalEntailment
from fairlab.rewriting.labelled.same_facts import SameFacts
from tests.llm.stub import Stub, refused, said

LABELS = ["REFUTES", "SUPPORTS"]
# The model finds everything supported but what says "not"; it is wrong about the second claim, and reads no "odd" one.
ITEMS = [Labelled("It rained.", "SUPPORTS", "e"), Labelled("It snowed.", "REFUTES", "e"), Labelled("odd", "REFUTES")]
MADE = ["Rain fell.", "Snow fell.", "Odd still."]
TURNED = ["It did not rain.", "It did not snow.", "Odd still."]


def verdict(payload, nth):
    asked = json.loads(payload["messages"][-1]["content"])
    if asked["text"] == "odd":
        return refused(400)
    return said(json.dumps({"label": "REFUTES" if " not " in asked["text"] else "SUPPORTS"}))


def faults(check, tmp_path, made):
    with Stub(verdict) as stub:
        llm = LLM(Server(stub.url, "m", concurrency=1), "m", Ledger(tmp_path / "ledger.sqlite"))
        found = check(llm, LABELS).faults(ITEMS, made)
        return found, {json.loads(one["messages"][-1]["content"])["text"] for one in stub.payloads}


def test_equation_13_asks_for_the_label_it_should_have(tmp_path):
    assert faults(LLMLabelCheck, tmp_path, MADE)[0] == [None, "another label", "another label"]
    assert faults(LLMLabelCheck, tmp_path, TURNED)[0] == ["another label", None, "another label"]


def test_the_verdict_on_the_original_is_what_a_rewrite_has_to_keep(tmp_path):
    found, asked = faults(LLMVerdictCheck, tmp_path, MADE)
    assert found == [None, None, "no verdict (request rejected)"]
    assert asked == {item.text for item in ITEMS} | set(MADE)
    found, asked = faults(LLMVerdictCheck, tmp_path, TURNED)
    assert found == ["another label", "another label", "no verdict (request rejected)"]
    assert asked == {*TURNED[:2], "odd"}  # the ledger answers for the rest; what was refused is asked again


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Anna lives in Oslo.", "The home of Anna is in Oslo.", None),
        ("Anna lives in Oslo.", "Anna lives in Norway.", "names differ"),
        ("Anna lives there.", "Anna lives there with Ole.", "names differ"),
        ("It cost 30 pounds.", "It cost 40 pounds.", "numbers differ"),
        ("It cost 30 pounds.", "The price of 30 pounds was paid for it.", "4 words and 9"),
        ("The price of it was as much as 30 pounds.", "It cost 30 pounds.", "4 words and 10"),
        ("It rained.", "It rained a lot again.", None),  # three words more are free
        ("It rained.", "It rained a lot today again.", "2 words and 6"),
        ("It rained.", " ", "empty"),
    ],
)
def test_facts_and_length(old, new, fault):
    assert SameFacts().faults([Labelled(old, "x")], [new]) == [fault]


class Ends:
    """Objects to texts that end in a letter, and says what it was shown."""

    def __init__(self, letter):
        self.name, self.letter, self.shown = letter, letter, []

    def faults(self, items, made):
        self.shown += [(item.text, text) for item, text in zip(items, made, strict=True)]
        return [f"ends in {self.letter}" if text.endswith(self.letter) else None for text in made]


def test_of_several_checks_the_first_that_objects_speaks_and_the_others_are_spared():
    first, second = Ends("a"), Ends("b")
    check = AllOf([first, second])
    items = [Labelled(text, "x") for text in "123"]
    assert check.name == "a and b"
    assert check.faults(items, ["a", "b", "c"]) == ["ends in a", "ends in b", None]
    assert second.shown == [("2", "b"), ("3", "c")]
    assert AllOf([first, second]).faults(items[:1], ["a"]) == ["ends in a"]
    assert second.shown == [("2", "b"), ("3", "c")]


class Silent:
    """A language model that is asked before its answers are compared."""

    def ask(self, requests, *, stage):
        return list(requests)


@pytest.mark.parametrize(
    "check", [SameFacts(), LexicalEntailment(), LLMLabelCheck(Silent(), LABELS), LLMVerdictCheck(Silent(), LABELS)]
)
def test_items_and_rewrites_come_in_pairs(check):
    with pytest.raises(ValueError, match="zip"):
        check.faults(ITEMS[:1], [])
