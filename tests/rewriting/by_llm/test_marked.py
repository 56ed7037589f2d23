"""Words of an axis that are marked in a text, and versions from what a model says of each."""

import json

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.llm_rewriter import LLMRewriter, Versions
from fairlab.rewriting.by_llm.marked import answered_line, counterparts, marked_spans, span_names, with_marks
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.rewriting.group_rewriters import LLMGroups
from fairlab.rewriting.replacements import replaced
from fairlab.text.words import Span
from fairlab.types import FairlabError
from tests.llm.stub import Stub, said

NAMES = ("neutral", "man", "woman")
FINDER = Polarity(load_lexicon("gender")).finder


def test_each_word_is_marked_once_but_her_and_his_wherever_they_stand():
    text = "He told her that he had seen her boy."
    spans = marked_spans(text, FINDER)
    assert with_marks(text, spans) == "[He] told [her] that he had seen [her] [boy]."
    assert span_names(text, spans) == ["He", "her", "her 2", "boy"]


def test_counterparts_of_words_among_other_changes():
    text = "She's late, and her uncle waits."
    versions = {"neutral": "They're late, and their relative waits a bit.", "man": "He's late, and his uncle waits."}
    assert counterparts(text, marked_spans(text, FINDER), versions) == [
        ["She", "They", "He"],
        ["her", "their", "his"],
        ["uncle", "relative", "uncle"],
    ]


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        ("That _she_ knew.", "That _they_ knew.", [["she", "they"]]),  # emphasis in plain text
        ("*She* knew.", "*They* knew.", [["She", "They"]]),
        ("--_her who loves you best_.", "--_them who loves you best_.", [["her", "them"]]),
        ("<i>She</i> knew&nbsp;him.", "<i>They</i> knew&nbsp;them.", [["She", "They"], ["him", "them"]]),
        ("s\u200bhe knew.", "they knew.", [["s\u200bhe", "they"]]),
    ],
)
def test_counterparts_of_words_in_markup(text, version, expected):
    assert counterparts(text, list(FINDER.find(text)), {"neutral": version}) == expected


def test_a_span_may_begin_inside_a_word():
    assert counterparts(r"Yes\nhe won", [Span(5, 7, "he")], {"woman": r"Yes\nshe won"}) == [["he", ""]]


def test_examples_of_the_prompt_come_back_from_their_words():
    for example in load_prompt("counterfactual_marked").examples:
        versions = {name: example[name] for name in NAMES}
        lines = counterparts(example["text"], marked_spans(example["text"], FINDER), versions)
        assert replaced(example["text"], lines, NAMES) == versions


@pytest.mark.parametrize(("text", "new", "written"), [("he", "They", "they"), ("Chairman", "chair", "Chair")])
def test_the_first_letter_is_that_of_the_text(text, new, written):
    (span,) = FINDER.find(text)
    assert answered_line(text, span, {"neutral": new}, ["neutral"]) == [text, written]


def test_a_text_by_a_model_that_is_shown_its_words(tmp_path):
    def act(payload, nth):
        return said(json.dumps({"words": {"His": {"neutral": "their", "woman": "her"}}, "confidence": 1}))

    with Stub(act) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
        groups = LLMGroups(lexicon=load_lexicon("gender"), llm=llm, prompt="counterfactual_marked")
        (made,) = groups.groups(["His dog barks."])
    assert made == Versions(
        dict(zip(NAMES, ("Their dog barks.", "His dog barks.", "Her dog barks."), strict=True)), 1.0, "stated"
    )
    messages = stub.payloads[0]["messages"]
    assert messages[-1]["content"] == "[His] dog barks."
    assert json.loads(messages[2]["content"])["words"]["Her"] == {"neutral": "Their", "man": "His"}
    schema = stub.payloads[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["words"]["required"] == ["His"]
    his = schema["properties"]["words"]["properties"]["His"]
    assert his["required"] == ["neutral", "woman"]
    assert his["properties"]["woman"] == {"type": "string", "maxLength": 40}


def test_a_prompt_with_marked_words_needs_words(tmp_path):
    llm = LLM(None, "m", Ledger(tmp_path / "ledger.sqlite"))
    with pytest.raises(FairlabError, match="marks words, but no words of the axis were given"):
        LLMRewriter(llm, group_prompt="counterfactual_marked")
