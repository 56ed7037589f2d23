"""Wherever a language model rewrites a text, a number or a name of it is kept, unless the setting says otherwise."""

import json

import pytest

from fairlab.augmentation.identity import Identity
from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.by_llm.kept_facts import FACT_LOST
from fairlab.rewriting.group_rewriters import LLMGroups
from fairlab.rewriting.labelled.label_keeping import Labelled, LLMLabelled
from fairlab.rewriting.word_rewriters import Selection
from fairlab.types import Row
from tests.llm.stub import Stub, said

SOURCE = "In Orléans she won 3 times."
KEPT, LOST = "In Orléans he won 3 times.", "In Orléans he won 7 times."


def groups(llm, made, facts):
    rewriter = LLMGroups(lexicon=load_lexicon("gender"), llm=llm, facts=facts)
    (found,) = rewriter.groups([SOURCE])
    return getattr(found, "versions", {}).get("man")


def words(llm, made, facts):
    rewriter = LLMGroups(lexicon=load_lexicon("gender"), llm=llm, facts=facts)
    (found,) = rewriter.rewrite_words([SOURCE], [Selection(SOURCE.index("she"), "she", "gender", "woman", "man")])
    return found if isinstance(found, str) else None


def labelled(llm, made, facts):
    (found,) = LLMLabelled(llm, facts=facts).rewrites([Labelled(SOURCE, "SUPPORTS")], 1)
    return found[0] if found else None


def injected(llm, made, facts):
    row = Row("r", SOURCE, {"subgroup": "GenderId:Female"}, "line 1", 1)
    (found,) = Identity(inject="llm", llm=llm, facts=facts).make([row])
    if not found.rows[1:]:
        assert any(FACT_LOST in reason for reason in found.counts)
        return None
    return found.rows[1]["text"]


def answering(made):
    """A model that gives a text in every form that is asked for, if it can read the source with its accent."""

    def act(payload, nth):
        if "Orléans" not in payload["messages"][-1]["content"]:
            return said("{}")
        wanted = payload["response_format"]["json_schema"]["schema"]["properties"]
        answer = {"neutral": SOURCE.replace("she", "they"), "woman": SOURCE, "man": made, "text": made, "confidence": 1}
        answer |= {"flagged": False, "why": ""}
        return said(json.dumps({name: answer[name] for name in wanted}))

    return act


@pytest.mark.parametrize("rewrite", [groups, words, labelled, injected])
@pytest.mark.parametrize(("made", "facts", "expected"), [(KEPT, True, KEPT), (LOST, True, None), (LOST, False, LOST)])
def test_a_changed_number_is_no_rewrite_by_default(rewrite, made, facts, expected, tmp_path):
    with Stub(answering(made)) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
        assert rewrite(llm, made, facts) == expected


@pytest.mark.parametrize("rewriter", [LLMGroups, LLMLabelled, Identity])
def test_facts_are_kept_by_default(rewriter):
    assert rewriter.__init__.__kwdefaults__["facts"] is True


def test_names_and_listed_words_of_a_group_may_change(tmp_path):
    source = "Later Ms Anna Lee won 3 times."
    versions = {"neutral": "Later Mx Sam Lee won 3 times.", "woman": source, "man": "Later Mr Ben Lee won 3 times."}
    with Stub(lambda payload, nth: said(json.dumps(versions | {"confidence": 1}))) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
        (found,) = LLMGroups(lexicon=load_lexicon("gender"), llm=llm).groups([source])
    assert found.versions == versions
