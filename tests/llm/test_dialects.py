"""What servers of 2026 do otherwise: reasoning, parameters they refuse, and what the ledger makes of it."""

import json

import pytest

from fairlab.llm.budget import Price
from fairlab.llm.client import LLM
from fairlab.llm.exchange import (
    ExchangeOutcome,
    Reply,
    answer_log_probability,
    parse_answer,
    without_reasoning,
)
from fairlab.llm.ledger import Ledger, _checksum
from fairlab.types import FairlabError
from tests.llm.conftest import GOOD, SCHEMA, behind, request, requests
from tests.llm.stub import Act, Stub, said

pytestmark = pytest.mark.usefixtures("_short_waits")
ANSWER = {"word": "ok", "sure": 0.5}


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\nA set {{ of things }}.\n</think>\n\n{GOOD}",
        f"No opening tag.\n</think>\n{GOOD}",
        f"<thinking>Once.</thinking> <think>Twice.</think>{GOOD}",
        f"[THINK]Hm.[/THINK]{GOOD}",
        f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}",
        f"Here is the JSON:\n```json\n{GOOD}\n```\nI hope it helps.",
        f"```\n{GOOD}\n```",
        f"Sure! {GOOD} Done.",
        f"\ufeff{GOOD}\n",
    ],
)
def test_only_the_answer_is_read(text):
    assert parse_answer(text) == ANSWER


@pytest.mark.parametrize("text", ["", "<think>never ends", "{ a thing }", "no } or {", f"<think>{GOOD}</think>"])
def test_what_holds_no_json_stays_malformed(text):
    with pytest.raises(ValueError, match=r"Expecting|Extra data"):
        parse_answer(text)


def test_an_answer_may_speak_of_tags():
    spoken = {"word": "the </think> tag", "sure": 1}
    assert parse_answer(json.dumps(spoken)) == spoken
    assert without_reasoning("They left.") == "They left."


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["Yes", "."], -3.0),
        (["<think>", "{ no }", "</think>\n", "Yes"], -8.0),
        (['{"', "a", '": "', "b", '", "', "c", '": "', "d", '"}'], -8.0 - 128.0),  # b and d
        (['{"a": "x\\"', 'y: z", "b": 1}'], -3.0),  # an escaped quote ends nothing
        (["Hm.</think>", '{"a": ["', "b", '", "c"]}'], -12.0),
        (['{"', "a", '":1}'], None),
        ([], None),
    ],
)
def test_the_log_probability_is_that_of_what_is_said(tokens, expected):
    values = [-float(2**k) for k in range(len(tokens))]
    assert answer_log_probability(tokens, values) == expected


@pytest.mark.parametrize("value", [0.5, float("nan"), -float("inf")])
def test_what_is_no_log_probability_gives_none(value):
    assert answer_log_probability(["Yes"], [value]) is None


def reasoned(content, *, field="reasoning_content", finish="stop"):
    """A completion whose reasoning stands in a field of its own."""
    message = {"role": "assistant", "content": content, field: "The user wants ..."}
    return Act(body=json.dumps({"choices": [{"message": message, "finish_reason": finish}]}).encode())


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_reply_of_reasoning_alone_is_asked_for_with_more_room(field, ledger_path):
    def act(payload, nth):
        return reasoned(GOOD if payload["max_tokens"] > 10 else None, field=field)

    with Stub(act) as stub:
        (reply,) = behind(stub, ledger_path).ask([request(schema=SCHEMA, max_tokens=10)], stage="test")
    assert (reply.value, [payload["max_tokens"] for payload in stub.payloads]) == (ANSWER, [10, 20])


def test_no_room_for_the_answer_names_the_settings_and_is_no_answer(ledger_path):
    with Stub(lambda *_: reasoned("")) as stub:
        (reply,) = behind(stub, ledger_path).ask([request(schema=SCHEMA)], stage="test")
    assert (reply.outcome, reply.kept) == (ExchangeOutcome.TRUNCATED, False)
    assert "except for reasoning; raise llm.reply_tokens" in reply.reason


@pytest.mark.parametrize(
    "bad", [said("", usage=False), said("no json"), said('{"word": "x"}'), said('{"word": ', finish="length")]
)
def test_what_is_no_answer_is_asked_again_and_replayed_as_it_was(bad, ledger_path):
    asked = request(schema=SCHEMA)
    with Stub(lambda *_: bad) as stub:
        (failed,) = behind(stub, ledger_path, repairs=0).ask([asked], stage="test")
    replay = LLM(None, "m", Ledger(ledger_path, read_only=True))
    assert replay.ledger.get(replay.address_of(asked)) is None
    assert replay.ask([asked], stage="test") == [failed]
    assert replay.ledger.models() == ["m"]
    with Stub(lambda *_: said(GOOD)) as stub:
        (reply,) = behind(stub, ledger_path).ask([asked], stage="test")
    assert (reply.value, len(stub.payloads)) == (ANSWER, 1)
    assert LLM(None, "m", Ledger(ledger_path, read_only=True)).ask([asked], stage="test") == [reply]


def test_a_ledger_of_an_earlier_version_is_read_and_its_failures_are_asked_again(ledger_path):
    asked, ledger = request(schema=SCHEMA), Ledger(ledger_path)
    llm = LLM(None, "m", ledger)
    key, text = llm.address_of(asked), asked.canonical("m")
    old = Reply(ExchangeOutcome.MALFORMED, "no", "Expecting value", 3, 1, 1, 0.1).dumps()
    ledger.database.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", (key, text, old, _checksum(key, text, old)))
    ledger.database.execute("DROP TABLE failures")
    ledger.close()
    replay = LLM(None, "m", Ledger(ledger_path, read_only=True))
    assert [reply.outcome for reply in replay.ask([asked], stage="test")] == [ExchangeOutcome.MALFORMED]
    assert replay.ledger.models() == ["m"]
    with Stub(lambda *_: said(GOOD)) as stub:
        (reply,) = behind(stub, ledger_path).ask([asked], stage="test")
    assert reply.ok
    assert dict(Ledger(ledger_path).replies()) == {key: reply.dumps()}


def complains(message, param=None):
    return Act(400, json.dumps({"error": {"message": message, "param": param}}).encode())


def of_2026(payload, nth):
    """A model that samples as it likes and calls the longest reply otherwise, in OpenAI's words."""
    if "max_tokens" in payload:
        said_so = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
        return complains(said_so, "max_tokens")
    if "temperature" in payload:
        return complains("Unsupported value: 'temperature' does not support 0 with this model.", "temperature")
    return complains("Unknown parameter: 'seed'.") if "seed" in payload else said(GOOD)


def test_parameters_that_a_server_names_are_left_out_once_and_said(ledger_path, caplog):
    asked = [request(f"prompt {k}", schema=SCHEMA, seed=1) for k in range(4)]
    with Stub(of_2026) as stub:
        replies = behind(stub, ledger_path, concurrency=1).ask(asked, stage="test")
    assert [reply.value for reply in replies] == [ANSWER] * 4
    assert len(stub.payloads) == 3 + 4
    assert set(stub.payloads[-1]) == {"model", "messages", "max_completion_tokens", "response_format"}
    assert stub.payloads[-1]["response_format"]["type"] == "json_schema"  # was not blamed
    refusals = [entry.getMessage() for entry in caplog.records if "refuses the parameter" in entry.getMessage()]
    assert [text.split(" (")[0] for text in refusals] == [
        "m refuses the parameter max_tokens, so max_completion_tokens is used instead",
        "m refuses the parameter temperature, so it is left out",
        "m refuses the parameter seed, so it is left out",
    ]


def test_a_limit_that_is_too_high_is_no_refused_parameter(ledger_path):
    with Stub(lambda *_: complains("max_tokens is too large: 9000 of 4096")) as stub:
        (reply,) = behind(stub, ledger_path).ask([request()], stage="test")
    assert (reply.outcome, len(stub.payloads)) == (ExchangeOutcome.REJECTED, 1)


def test_further_parameters_are_sent_as_they_are_and_are_part_of_the_address(ledger_path):
    extra = {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}}
    with Stub(lambda *_: said("hi")) as stub:
        plain, low = behind(stub, ledger_path), behind(stub, ledger_path, extra=extra)
        low.extra = extra
        assert plain.address_of(request()) != low.address_of(request())
        plain.ask([request()], stage="test")
        low.ask([request()], stage="test")
    assert [payload.get("reasoning_effort") for payload in stub.payloads] == [None, "low"]
    assert stub.payloads[1]["chat_template_kwargs"] == {"enable_thinking": False}
    with pytest.raises(FairlabError, match=r"llm\.extra cannot set 'model'"):
        behind(stub, ledger_path, extra={"model": "other"})


def test_the_room_for_a_reply_is_a_setting(ledger_path):
    with Stub(lambda *_: said("hi")) as stub:
        llm = behind(stub, ledger_path)
        llm.reply_tokens = 5000
        llm.ask([request(max_tokens=10)], stage="test")
    assert stub.payloads[0]["max_tokens"] == 5000
    assert llm.ledger.get(llm.address_of(request(max_tokens=10))).text == "hi"


def test_cached_prompt_tokens_cost_their_own_price(ledger_path):
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}}
    body = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": usage}
    with Stub(lambda *_: Act(body=json.dumps(body).encode())) as stub:
        llm = behind(stub, ledger_path)
        llm.price = Price(2.0, 8.0, cached=0.5)
        llm.ask([request()], stage="test")
    assert llm.ledger.spent().dollars == pytest.approx((200 * 2.0 + 800 * 0.5 + 100 * 8.0) / 1e6)
    assert Price(2.0, 8.0).dollars(1000, 100, 800) == pytest.approx((1000 * 2.0 + 100 * 8.0) / 1e6)
    with pytest.raises(FairlabError, match=r"llm\.price\.cached must be 0 or more dollars, not -1"):
        Price(1.0, 1.0, cached=-1)


@pytest.mark.parametrize(("named", "warnings"), [("m-2026-01", 0), ("org/M", 0), (None, 0), ("other", 1)])
def test_an_answer_of_another_model_is_said_once(named, warnings, ledger_path, caplog):
    body = {"model": named, "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    with Stub(lambda *_: Act(body=json.dumps(body).encode())) as stub:
        replies = behind(stub, ledger_path).ask(requests(3), stage="test")
    assert all(reply.ok for reply in replies)
    assert caplog.text.count("answers as other; answers are recorded under m") == warnings
