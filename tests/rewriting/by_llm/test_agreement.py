"""Where the confidence in versions comes from: tokens, agreeing samples, or the model's own word."""

import json
import math

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.by_llm.llm_rewriter import Versions
from fairlab.rewriting.group_rewriters import LLMGroups
from tests.llm.stub import Act, Stub, said

VERSIONS = {"neutral": "They left.", "man": "He left.", "woman": "She left."}
GOOD = json.dumps(VERSIONS | {"confidence": 1.0})


def groups(stub, folder, **values):
    llm = LLM(Server(stub.url, "m", concurrency=1), "m", Ledger(folder / "ledger.sqlite"), retries=0, repairs=0)
    return LLMGroups(lexicon=load_lexicon("gender"), llm=llm, **values)


def with_tokens(payload, nth):
    content = [{"token": GOOD[:10], "logprob": -0.1}, {"token": GOOD[10:], "logprob": -0.3}]
    choice = {"message": {"content": GOOD}, "finish_reason": "stop", "logprobs": {"content": content}}
    return Act(body=json.dumps({"choices": [choice]}).encode())


def test_the_probability_of_the_answer_is_its_confidence_also_in_a_replay(tmp_path):
    with Stub(with_tokens) as stub:
        (made,) = groups(stub, tmp_path).groups(["She left."])
    assert made == Versions(VERSIONS, pytest.approx(math.exp(-0.3)), "tokens")
    assert (stub.payloads[0]["logprobs"], stub.payloads[0]["temperature"]) == (True, 0)
    llm = LLM(None, "m", Ledger(tmp_path / "ledger.sqlite", read_only=True))
    assert LLMGroups(lexicon=load_lexicon("gender"), llm=llm).groups(["She left."]) == [made]


def test_log_probabilities_can_be_left_out_and_do_not_change_the_address(tmp_path):
    with Stub(with_tokens) as stub:
        (made,) = groups(stub, tmp_path, log_probabilities=False).groups(["She left."])
        assert "logprobs" not in stub.payloads[0]
        assert groups(stub, tmp_path).groups(["She left."])[0].versions == made.versions
    assert len(stub.payloads) == 1  # what was recorded without them is the same answer


def test_agreement_counts_the_samples_with_the_same_versions(tmp_path):
    answers = {1: GOOD, 2: GOOD.replace("They", "It"), 3: "no JSON", 4: GOOD.replace("1.0", "0.2")}

    def act(payload, nth):
        return said(answers.get(payload.get("seed"), GOOD))

    with Stub(act) as stub:
        rewriter = groups(stub, tmp_path)
        (first,) = rewriter.groups(["She left."])
        assert (first.confidence, first.confidence_by) == (1.0, "stated")
        (measured,) = rewriter.agreed([("She left.", first)], 4)
    assert measured == Versions(VERSIONS, 0.5, "samples")
    drawn = [payload for payload in stub.payloads if payload["temperature"] == 0.7]
    assert [payload["seed"] for payload in drawn] == [1, 2, 3, 4]
    assert rewriter.llm.ledger.stages()["groups, samples"].calls == 4
