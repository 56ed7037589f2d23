"""A chat model as a judge, behind a stub."""

from __future__ import annotations

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.judge import Judge
from fairlab.types import FairlabError
from tests.llm.stub import Stub
from tests.llm.stub import first_tokens as reply

HATE = "Negative or hateful comments"


def judge(stub, tmp_path, **more):
    return Judge(base_url=stub.url, model="m", ledger=str(tmp_path / "ledger.sqlite"), **more)


def test_probabilities_come_from_the_first_token_and_are_asked_once(tmp_path):
    def act(payload, nth):
        about_hate = HATE in payload["messages"][0]["content"]
        return (
            reply("Yes", {"Yes": 0.6, " yes": 0.2, "No": 0.2}) if about_hate else reply("No.", {"No": 0.9, "Yes": 0.1})
        )

    with Stub(act) as stub:
        source = judge(stub, tmp_path)
        np.testing.assert_allclose(source.score(["a {text}", "b"]), [[0.8, 0.1]] * 2, atol=1e-9)
        assert len(stub.payloads) == 4
        sent = stub.payloads[0]
        assert (sent["logprobs"], sent["top_logprobs"], sent["max_tokens"]) == (True, 20, 24)
        assert any("a {text}" in one["messages"][0]["content"] for one in stub.payloads)
        again = judge(stub, tmp_path)
        np.testing.assert_allclose(again.score(["b"]), [[0.8, 0.1]], atol=1e-9)
        assert len(stub.payloads) == 4  # the ledger holds the answers and their probabilities
        assert again.version == source.version != judge(stub, tmp_path, template="shieldgemma").version
        assert source.score([]).shape == (0, 2)
        assert np.isnan(Sources([source]).score(["turned"], turned=True)).all()
        assert len(stub.payloads) == 4  # rewrites are not asked about, since every request costs money


def test_shieldgemma_asks_one_question_per_policy_and_is_cut_after_its_answer(tmp_path):
    with Stub(lambda payload, nth: reply("Yes\n\nThe text", None, "length")) as stub:
        source = judge(stub, tmp_path, template="shieldgemma", harms=["violence"])
        assert source.score(["kick them"]).tolist() == [[1.0]]
        content = stub.payloads[0]["messages"][0]["content"]
        assert content.startswith("You are a policy expert")
        assert "Human Question: kick them\n<end_of_turn>" in content
        assert "inflict pain" in content


def test_llama_guard_gets_the_text_alone_and_names_categories(tmp_path):
    def act(payload, nth):
        assert payload["messages"] == [{"role": "user", "content": payload["messages"][0]["content"]}]
        bad = "kill" in payload["messages"][0]["content"]
        return reply("\n\nunsafe\nS1,S10", {"unsafe": 0.75, "safe": 0.25}) if bad else reply("safe", {"safe": 1.0})

    with Stub(act) as stub:
        source = judge(stub, tmp_path, template="llama_guard")
        first, second = source.score(["kill them", "hello"])
        found = dict(zip(source.outputs, first, strict=True))
        assert {name: value for name, value in found.items() if value} == {"unsafe": 0.75, "s1": 1.0, "s10": 1.0}
        assert second.tolist() == [0.0] * 15
    with Stub(lambda payload, nth: reply("safe" if payload["messages"][0]["content"] == "clear" else "x" * 99)) as stub:
        source = judge(stub, tmp_path, template="llama_guard")
        with pytest.raises(FairlabError, match=r'answers "x{60}", not \'safe\' or \'unsafe\''):
            source.score(["unclear"])
        rows = source.score(["unclear", "clear"])
        assert np.isnan(rows[0]).all()
        assert rows[1].tolist() == [0.0] * 15


def test_prose_is_no_judgement(tmp_path):
    with (
        Stub(lambda payload, nth: reply("It depends on the reader")) as stub,
        pytest.raises(
            FairlabError,
            match="the judge m answers \"It depends on the reader\", not 'Yes' or 'No'; use another model",
        ),
    ):
        judge(stub, tmp_path).score(["a", "b"])

    def act(payload, nth):
        return reply("It depends" if "odd" in payload["messages"][0]["content"] else "No")

    with Stub(act) as stub:
        scores = judge(stub, tmp_path, harms=["hate"]).score(["odd", "plain"])
        assert np.isnan(scores[0, 0])
        assert scores[1, 0] == 0


def test_what_cannot_be(tmp_path):
    for values, message in (
        ({"template": "x"}, r"source\.judge\.template must be policy, llama_guard, shieldgemma, refusal, not x"),
        ({"harms": ["spam"]}, "there is no policy for spam; there are: hate, toxicity, sexual, violence"),
    ):
        with pytest.raises(FairlabError, match=message):
            Judge(base_url="http://localhost:1/v1", model="m", ledger=str(tmp_path / "l.sqlite"), **values)
