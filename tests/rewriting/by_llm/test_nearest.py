"""Examples of a prompt drawn by similarity."""

import json

import pytest

from fairlab.backbones.embedded_encoder import embedded_encoder
from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.by_llm.nearest import nearest_examples
from fairlab.rewriting.group_rewriters import LLMGroups
from fairlab.types import FairlabError
from tests.llm.stub import Stub, said

EXAMPLES = [
    {"text": "Her soup was praised by every cook.", "neutral": "Their soup.", "man": "His soup.", "woman": "Her soup."},
    {"text": "He mined copper in the hills.", "neutral": "They mined.", "man": "He mined.", "woman": "She mined."},
    {"text": "She baked bread for the inn.", "neutral": "They baked.", "man": "He baked.", "woman": "She baked."},
]


def texts_of(chosen):
    return [example["text"] for example in chosen]


def test_the_nearest_come_last_and_a_text_is_no_example_of_itself():
    (cooking, mining, same) = nearest_examples(
        embedded_encoder(),
        ["The chef roasted a goose for dinner.", "The coal was dug from a pit.", EXAMPLES[1]["text"]],
        EXAMPLES,
        2,
    )
    assert EXAMPLES[1] not in cooking
    assert texts_of(mining)[-1] == EXAMPLES[1]["text"]
    assert EXAMPLES[1] not in same
    assert len(cooking) == len(mining) == len(same) == 2


def test_a_model_is_shown_the_nearest_example_alone(tmp_path):
    with Stub(
        lambda payload, nth: said(json.dumps(dict.fromkeys(("neutral", "man", "woman"), "A.") | {"confidence": 1}))
    ) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
        groups = LLMGroups(lexicon=load_lexicon("gender"), llm=llm, examples=EXAMPLES, nearest=1)
        groups.groups(["The coal was dug by her from a pit."])
    (payload,) = stub.payloads
    assert [message["content"] for message in payload["messages"] if message["role"] == "user"] == [
        EXAMPLES[1]["text"],
        "The coal was dug by her from a pit.",
    ]


def test_no_example_is_not_nearest(tmp_path):
    llm = LLM(None, "m", Ledger(tmp_path / "ledger.sqlite"))
    with pytest.raises(FairlabError, match=r"rewriter\.nearest must be at least 1, or null for all examples, not 0"):
        LLMGroups(lexicon=load_lexicon("gender"), llm=llm, nearest=0)
