"""Requests for rewrites of labelled texts: what the model is shown."""

import json
from types import SimpleNamespace

from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.labelled.label_keeping import Labelled, LLMLabelCheck, LLMLabelled
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


class Model:
    """A language model that gives the same replies to every item and remembers what it was asked."""

    name = "fake"

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def ask(self, requests, *, stage):
        self.asked += requests
        for k, _ in enumerate(requests):
            text = self.texts[k % len(self.texts)]
            yield SimpleNamespace(ok=text is not None, value={"text": text}, outcome="refused")


def test_every_sample_is_asked_for_with_the_defaults_and_its_own_seed():
    model = Model("It cost 3 pounds.")
    LLMLabelled(model).rewrites([Labelled("It cost 3 pounds, I think.", "x", "Earlier.")], 3)
    settings = {(one.temperature, one.top_p, one.max_tokens) for one in model.asked}
    assert settings == {(0.7, 0.9, 2 * 7 + 100)}  # 26 characters are about seven tokens
    assert [one.seed for one in model.asked] == [0, 1, 2]
    assert json.loads(model.asked[0].messages[-1]["content"])["context"] == "Earlier."


def test_rewrites_are_distinct_whole_and_keep_facts():
    texts = (" It cost 3. ", "It cost 3.", "It cost 4.", "", None)
    item = Labelled("The price was 3.", "x")
    assert LLMLabelled(Model(*texts)).rewrites([item, item], 5) == [["It cost 3."]] * 2
    assert LLMLabelled(Model(*texts), facts=False).rewrites([item], 5) == [["It cost 3.", "It cost 4."]]


def test_a_check_names_the_labels_to_choose_from():
    model = Model(None)
    assert LLMLabelCheck(model, ["a", "b"]).faults([Labelled("x", "a")], ["y"]) == ["no verdict (refused)"]
    (request,) = model.asked
    assert json.loads(request.messages[-1]["content"]) == {"text": "y", "labels": ["a", "b"]}
    assert request.max_tokens == 100
