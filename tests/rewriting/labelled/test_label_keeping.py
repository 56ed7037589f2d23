"""Requests for rewrites of labelled texts: what the model is shown."""

import json

from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.labelled.label_keeping import Labelled, LLMLabelled
from tests.llm.stub import Stub, said

PROMPT = """
version: 1
task: Rewrite it.
examples:
  - {text: It rained., label: REFUTES, new: Rain fell.}
  - {text: It snowed., label: SUPPORTS, new: Snow fell., context: It was cold.}
"""


def test_examples_of_a_prompt_are_earlier_turns(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(PROMPT)
    with Stub(lambda payload, nth: said(json.dumps({"text": "Wind blew."}))) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(tmp_path / "ledger"))
        rewriter = LLMLabelled(llm, prompt=str(file))
        found = rewriter.rewrites([Labelled("It blew.", "REFUTES", "It was calm.")], 1)
    assert found == [["Wind blew."]]
    (body,) = stub.payloads
    turns = [(one["role"], one["content"]) for one in body["messages"]]
    assert turns[0] == ("system", "Rewrite it.")
    assert [(role, json.loads(content)) for role, content in turns[1:]] == [
        ("user", {"text": "It rained.", "label": "REFUTES"}),
        ("assistant", {"text": "Rain fell."}),
        ("user", {"text": "It snowed.", "label": "SUPPORTS", "context": "It was cold."}),
        ("assistant", {"text": "Snow fell."}),
        ("user", {"text": "It blew.", "label": "REFUTES", "context": "It was calm."}),
    ]
