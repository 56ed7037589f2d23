"""Rewriters of groups: what they ask a language model for, what they refuse, and what they say of themselves."""

from types import SimpleNamespace

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.llm.exchange import ExchangeOutcome
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten, Versions
from fairlab.rewriting.group_rewriters import LLMGroups, RuleGroups, WordSwapGroups
from fairlab.rewriting.word_rewriters import Selection
from fairlab.types import FairlabError

GENDER = load_lexicon("gender")


def selection(word, source, target):
    return Selection(0, word, "gender", source, target)


def test_rules_by_word_lists_and_by_neighbours_turn_the_selected_attribute():
    texts, chosen = ["He met her."], [selection("He", "man", "woman")]
    lexical = RuleGroups(lexicon=GENDER, mode="lexical", names="keep")
    assert WordSwapGroups(lexicon=GENDER).rewrite_words(texts, chosen) == ["She met her."]
    assert lexical.rewrite_words(texts, chosen) == ["She met her."]
    assert RuleGroups(lexicon=GENDER).rewrite_words(texts, chosen) == ["She met her."]
    assert lexical.groups(["John saw her."])[0].versions["man"] == "John saw him."
    assert lexical.provenance == {"rewriter": "rules", "seed": 0}
    for rewriter in (WordSwapGroups(lexicon=GENDER), lexical):
        with pytest.raises(ValueError, match="zip"):
            rewriter.rewrite_words(texts, [])
    for setting in ("mode", "names"):
        with pytest.raises(FairlabError, match=rf"rewriter\.{setting} must be"):
            RuleGroups(lexicon=GENDER, **{setting: "x"})


class Model:
    """A language model that gives one reply to every request."""

    name = "m"

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    def ask(self, requests, *, stage):
        self.asked += [request.messages[-1]["content"] for request in requests]
        return [self.reply for _ in requests]


def reply(outcome="", **value):
    return SimpleNamespace(ok=not outcome, outcome=outcome, reason="no", value=value, log_probability=None)


def test_a_neutral_target_is_asked_for_as_non_binary():
    model = Model(reply(text="They left."))
    made = LLMGroups(lexicon=GENDER, llm=model).rewrite_words(
        ["He left."] * 2,
        [
            selection("He", "man", "neutral"),
            selection("He", "man", "woman"),
        ],
    )
    assert made == ["They left."] * 2
    with pytest.raises(ValueError, match="zip"):
        LLMGroups(lexicon=GENDER, llm=model).rewrite_words(["He left."], [])
    assert [one.partition('"target":')[2] for one in model.asked] == ['"non-binary"}', '"woman"}']


@pytest.mark.parametrize(("outcome", "stops"), [(ExchangeOutcome.REFUSED, False), ("the server is gone", True)])
def test_only_a_text_without_any_answer_stops_the_run_unless_it_is_to_be_left_out(outcome, stops):
    asked = ["He left."], [selection("He", "man", "woman")]
    rewriter = LLMGroups(lexicon=GENDER, llm=Model(reply(outcome)))
    if stops:
        for call in (lambda: rewriter.groups(asked[0]), lambda: rewriter.rewrite_words(*asked)):
            with pytest.raises(FairlabError, match="1 of 1 calls got no answer"):
                call()
    else:
        assert rewriter.groups(asked[0]) == [NotRewritten(outcome, "no")]
    lenient = LLMGroups(lexicon=GENDER, llm=Model(reply(outcome)), unanswered="reject")
    assert lenient.groups(asked[0]) == lenient.rewrite_words(*asked) == [NotRewritten(outcome, "no")]


def test_a_model_is_named_and_its_answers_are_versions():
    versions = {"neutral": "They left.", "man": "He left.", "woman": "She left."}
    rewriter = LLMGroups(lexicon=GENDER, llm=Model(reply(**versions, confidence=0.5)))
    assert rewriter.groups(["He left."]) == [Versions(versions, 0.5, "stated")]
    assert rewriter.provenance["model"] == "m"
    file = rewriter.rewriter.group_prompt.sha256
    assert rewriter.prompt_sha256(None) == file
    assert rewriter.prompt_sha256([{"text": "é"}]) not in (file, rewriter.prompt_sha256([]))
    with pytest.raises(FairlabError, match=r"rewriter\.unanswered must be stop or reject"):
        LLMGroups(lexicon=GENDER, llm=Model(None), unanswered="x")
    with pytest.raises(FairlabError, match="needs a language model"):
        LLMGroups(lexicon=GENDER, llm=None)
