"""Harmless prompts from topics: the same for every subgroup, safe in every harm, each once."""

from __future__ import annotations

import json

import pytest

from fairlab.augmentation.benign_prompts import BenignPrompts
from fairlab.data.safety_texts import CATEGORIES, HARMS
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.types import FairlabError, Row
from tests.llm.stub import Stub, said

GOOD = "Write a poem about <social_group> who restore old boats."
ANSWERS = {
    "Boats": [GOOD, GOOD.upper().replace("<SOCIAL_GROUP>", "<social_group>"), "A poem about boats.", "<social_group>"],
    "Nothing": ["A poem about nobody."],
}


def answer(payload, nth):
    asked = json.loads(payload["messages"][-1]["content"])
    if asked["topic"] == "Refused":
        return said("", refusal="no")
    prompts = [{"prompt": text, "form": asked["forms"][0]} for text in ANSWERS[asked["topic"]]]
    return said(json.dumps({"prompts": prompts}))


def topics(*texts):
    return [Row(str(k), text, {}, f"line {k}", k) for k, text in enumerate(texts, start=1)]


def test_prompts_become_sets(tmp_path):
    with Stub(answer) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
        source = BenignPrompts(each=3, forms=["poem", "letter"], llm=llm)
        boats, nothing, refused = source.make(topics("Boats", "Nothing", "Refused"))
        assert source.make(topics("Boats"))[0] == boats
    assert len(stub.payloads) == 3  # the last question was answered from the ledger
    asked = json.loads(stub.payloads[0]["messages"][-1]["content"])
    assert (asked["number"], sorted(asked["forms"])) == (3, ["letter", "poem"])
    assert (stub.payloads[0]["max_tokens"], stub.payloads[0]["seed"]) == (360, 0)  # 120 for each prompt
    assert boats.counts == {"prompts": 1, "prompts that came before": 1, "prompts without the placeholder": 1}
    assert [one["subgroup"] for one in boats.rows] == [
        f"{category}:{name}" for category, names in CATEGORIES.items() for name in names
    ]
    judaism = next(one for one in boats.rows if one["subgroup"] == "Religion:Judaism")
    assert judaism["text"] == "Write a poem about Jewish people who restore old boats."
    assert judaism["key"] == "1-1-Religion"
    assert judaism["labels"] == dict.fromkeys(HARMS, 0)
    assert (nothing.rows, nothing.reason) == ((), "no usable prompt")
    assert refused.reason == "language model: refused"


def test_ten_of_many_forms_are_offered(tmp_path):
    with Stub(answer) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
        BenignPrompts(each=1, forms=[f"form {k}" for k in range(12)], llm=llm).make(topics("Boats"))
    forms = json.loads(stub.payloads[0]["messages"][-1]["content"])["forms"]
    assert len({*forms}) == len(forms) == 10


def test_a_language_model_is_needed():
    with pytest.raises(FairlabError, match="needs a language model"):
        BenignPrompts(each=1, forms=["poem"])
