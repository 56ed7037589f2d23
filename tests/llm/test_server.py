"""What the client makes of everything a server can do wrong."""

import threading
import time

import pytest

from fairlab.llm.client import LLM
from fairlab.llm.endpoint import retry_after
from fairlab.llm.exchange import ExchangeOutcome
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import SCHEMA_FORMS, Server
from fairlab.types import FairlabError
from tests.llm.conftest import GOOD, SCHEMA, behind, request, requests
from tests.llm.stub import Act, Stub, refused, said

pytestmark = pytest.mark.usefixtures("_short_waits")


def outcome_of(act, path, asked=None, **values):
    """The reply to one request, and the stub that gave it."""
    with Stub(act) as stub:
        (reply,) = behind(stub, path, **values).ask([asked or request()], stage="test")
    return reply, stub


def first(act, then=None):
    """A stub's behaviour: ``act`` on the first call of a prompt, then an ordinary answer."""
    return lambda payload, nth: act if nth == 0 else then or said("fine")


def test_an_ordinary_answer(ledger_path):
    reply, stub = outcome_of(lambda *_: said("hi"), ledger_path, request("hello", max_tokens=7, top_p=0.9, seed=3))
    assert (reply.outcome, reply.text, reply.attempts) == (ExchangeOutcome.OK, "hi", 1)
    assert (reply.prompt_tokens, reply.completion_tokens) == (10, 5)
    assert stub.payloads == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 7,
            "temperature": 0.0,
            "top_p": 0.9,
            "seed": 3,
        }
    ]
    assert stub.keys == [None]


def test_an_answer_in_parts(ledger_path):
    parts = [{"type": "reasoning", "text": "so"}, {"type": "text", "text": "h"}, {"type": "text", "text": "i"}]
    reply, _ = outcome_of(lambda *_: said(parts), ledger_path)
    assert (reply.outcome, reply.text) == (ExchangeOutcome.OK, "hi")


def test_what_is_left_to_the_server_is_not_sent(ledger_path):
    asked = request(temperature=None)
    _, stub = outcome_of(lambda *_: said("hi"), ledger_path, asked, token_limit_key="max_completion_tokens")
    assert set(stub.payloads[0]) == {"model", "messages", "max_completion_tokens"}


@pytest.mark.parametrize(
    "act", [refused(500), refused(503), Act(200, b"<html>"), Act(200, b'{"choices": []}'), refused(408)]
)
def test_a_passing_server_error_is_tried_again(act, ledger_path):
    reply, stub = outcome_of(first(act), ledger_path)
    assert (reply.outcome, reply.text, reply.attempts) == (ExchangeOutcome.OK, "fine", 2)
    assert len(stub.payloads) == 2


def test_a_lasting_server_error_is_given_up_after_the_retries_and_asked_again_by_the_next_run(ledger_path):
    reply, stub = outcome_of(lambda *_: refused(500, "out of order"), ledger_path, retries=3)
    assert (reply.outcome, reply.reason, reply.attempts) == (ExchangeOutcome.SERVER_ERROR, "500: out of order", 4)
    assert len(stub.payloads) == 4
    reply, _ = outcome_of(lambda *_: said("fine"), ledger_path)
    assert reply.ok


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_loses_every_call_ends_the_run_within_the_retries_of_three_calls(concurrency, ledger_path):
    message = r"m gave no answer for \d+ s, with 2 retries of a call \(server error: 500: out .*llm\.retries"
    with Stub(lambda *_: refused(500, "out of order")) as stub, pytest.raises(FairlabError, match=message):
        behind(stub, ledger_path, concurrency=concurrency, retries=2).ask(requests(50), stage="test")
    assert 9 <= len(stub.payloads) <= 3 * (2 + concurrency)  # what is in flight is not broken off


def test_lost_calls_among_answered_ones_do_not_end_the_run(ledger_path):
    def act(payload, _):
        return said(GOOD) if payload["messages"][-1]["content"] in ("prompt 2", "prompt 5") else refused(500)

    with Stub(act) as stub:
        replies = behind(stub, ledger_path, concurrency=1, retries=1).ask(requests(8, schema=SCHEMA), stage="test")
    assert [reply.ok for reply in replies] == [k in (2, 5) for k in range(8)]


def test_a_rate_limit_holds_back_every_call_for_as_long_as_the_server_says(ledger_path):
    times = []

    def act(payload, nth):
        times.append(time.monotonic())
        return refused(429, Retry_After="0.7") if len(times) == 1 else said("fine")

    with Stub(act) as stub:
        replies = behind(stub, ledger_path, concurrency=1).ask(requests(3), stage="test")
    assert [reply.attempts for reply in replies] == [2, 1, 1]
    assert times[1] - times[0] >= 0.7


def test_other_workers_wait_out_a_rate_limit_too(ledger_path):
    limited_at, later = [], []

    def act(payload, nth):
        if payload["messages"][-1]["content"] == "prompt 0" and nth == 0:
            limited_at.append(time.monotonic())
            return refused(429, Retry_After="0.6")
        if limited_at:
            later.append(time.monotonic() - limited_at[0])
        return said("fine", delay=0.1)

    with Stub(act) as stub:
        behind(stub, ledger_path, concurrency=2).ask(requests(6), stage="test")
    # A call that was under way when the 429 came may arrive at once; all others come after the wait.
    assert sum(seconds < 0.55 for seconds in later) <= 1
    assert len(later) >= 5


def test_a_rate_limit_without_an_end_is_named(ledger_path):
    reply, stub = outcome_of(lambda *_: refused(429), ledger_path, retries=2)
    assert (reply.outcome, len(stub.payloads)) == (ExchangeOutcome.RATE_LIMITED, 3)


def test_a_wait_of_hours_is_not_waited_for(ledger_path):
    reply, stub = outcome_of(lambda *_: refused(429, Retry_After="7200"), ledger_path)
    assert (reply.outcome, len(stub.payloads)) == (ExchangeOutcome.RATE_LIMITED, 1)


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("x", None)]
)
def test_retry_after(value, seconds):
    assert retry_after(value) == seconds


def test_retry_after_a_date_ahead():
    assert retry_after("Fri, 01 Jan 2100 00:00:00 GMT") > 1e9


def test_silence_is_timed_out_and_tried_again(ledger_path):
    with Stub(first(said("late", delay=5))) as stub:
        llm = behind(stub, ledger_path)
        llm.model.timeout.read = 0.2
        (reply,) = llm.ask([request()], stage="test")
    assert (reply.text, reply.attempts) == ("fine", 2)
    assert llm.ledger.outcomes("test") == {"ok": 1, "timed out": 1}


def test_the_total_time_of_a_call_is_bounded_and_charged_as_if_answered(ledger_path):
    with Stub(lambda *_: said("late", delay=5)) as stub:
        llm = behind(stub, ledger_path, total_timeout=0.2, retries=1)
        (reply,) = llm.ask([request("abcdefgh", max_tokens=9)], stage="test")
    assert (reply.outcome, reply.attempts) == (ExchangeOutcome.TIMED_OUT, 2)
    assert reply.reason == "no complete answer within 0.2 s"
    assert (llm.ledger.spent().prompt_tokens, llm.ledger.spent().completion_tokens) == (4, 18)


def test_a_cut_connection_is_tried_again_then_named(ledger_path):
    cut = Act(200, said("x").body, cut=True)
    reply, _ = outcome_of(first(cut), ledger_path)
    assert (reply.text, reply.attempts) == ("fine", 2)
    reply, _ = outcome_of(lambda *_: cut, ledger_path, request("other"), retries=1)
    assert (reply.outcome, reply.attempts) == (ExchangeOutcome.CUT_OFF, 2)


def test_a_refusal_stands(ledger_path):
    reply, stub = outcome_of(lambda *_: said(None, refusal="I will not."), ledger_path, request(schema=SCHEMA))
    assert (reply.outcome, reply.reason, len(stub.payloads)) == (ExchangeOutcome.REFUSED, "I will not.", 1)
    reply, _ = outcome_of(lambda *_: said("", finish="content_filter"), ledger_path, request("other"))
    assert (reply.outcome, reply.reason) == (ExchangeOutcome.REFUSED, "content filter")


def test_a_reply_cut_short_is_asked_for_with_twice_the_length(ledger_path):
    def act(payload, nth):
        return said('{"word": ', finish="length") if payload["max_tokens"] < 40 else said(GOOD)

    reply, stub = outcome_of(act, ledger_path, request(schema=SCHEMA, max_tokens=10))
    assert reply.value == {"word": "ok", "sure": 0.5}
    assert [payload["max_tokens"] for payload in stub.payloads] == [10, 20, 40]
    assert (reply.prompt_tokens, reply.completion_tokens) == (30, 15)


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("They are.", ExchangeOutcome.MALFORMED, "Expecting value"),
        ('{"word": "x", "sure": NaN}', ExchangeOutcome.MALFORMED, "NaN is not a JSON number"),
        ("", ExchangeOutcome.MALFORMED, "the reply is empty"),
        ('{"word": "x"}', ExchangeOutcome.WRONG_SCHEMA, "'sure' is a required property"),
        ('{"word": "x", "sure": 2}', ExchangeOutcome.WRONG_SCHEMA, "sure: 2 is greater than the maximum of 1"),
        ('{"word": "x", "sure": 1, "more": 1}', ExchangeOutcome.WRONG_SCHEMA, "Additional properties"),
        ('["x"]', ExchangeOutcome.WRONG_SCHEMA, "is not of type 'object'"),
        ("[" * 100_000, ExchangeOutcome.MALFORMED, ""),
        ('{"word": "\\ud83d", "sure": 1}', ExchangeOutcome.MALFORMED, "surrogates not allowed"),
    ],
)
def test_what_is_not_the_json_asked_for_is_shown_to_the_model_and_then_named(text, outcome, reason, ledger_path):
    reply, stub = outcome_of(lambda *_: said(text), ledger_path, request(schema=SCHEMA))
    assert (reply.outcome, reply.attempts) == (outcome, 3)
    assert reason in reply.reason
    first, second, third = (payload["messages"] for payload in stub.payloads)
    assert second[:1] == first
    assert second[1] == {"role": "assistant", "content": text}
    assert reply.reason in second[2]["content"]
    assert len(third) == 3  # the last mistake alone


def test_a_mended_reply_counts_all_its_attempts(ledger_path):
    def act(payload, nth):
        return said(GOOD) if len(payload["messages"]) == 3 else said("no json")

    reply, _ = outcome_of(act, ledger_path, request(schema=SCHEMA))
    assert reply.value["word"] == "ok"
    assert (reply.attempts, reply.completion_tokens) == (2, 10)


def test_half_a_surrogate_pair_does_not_stop_the_run(ledger_path):
    reply, _ = outcome_of(lambda *_: said("ok \ud83d"), ledger_path)
    assert (reply.outcome, reply.text) == (ExchangeOutcome.OK, "ok ?")


NO_USAGE = ["null", '"many"', "[]", "{}", "-7", "0", "1e999", "NaN", "true", "1" + "0" * 30, '{"prompt_tokens": null}']
NO_USAGE += [f'{{"prompt_tokens": {value}, "completion_tokens": {value}}}' for value in NO_USAGE]


@pytest.mark.parametrize("usage", NO_USAGE)
def test_a_usage_that_is_none_is_estimated(usage, ledger_path):
    body = f'{{"choices": [{{"message": {{"content": "a reply"}}}}], "usage": {usage}}}'.encode()
    with Stub(lambda *_: Act(200, body)) as stub:
        llm = behind(stub, ledger_path)
        (reply,) = llm.ask([request("hello, hello")], stage="test")
        assert (reply.outcome, reply.text) == (ExchangeOutcome.OK, "a reply")
        assert (reply.prompt_tokens, reply.completion_tokens) == (3, 2)  # 12 and 7 characters
        assert (llm.ledger.spent().calls, llm.ledger.spent().tokens) == (1, 5)


@pytest.mark.parametrize("body", [b"<html>a page</html>", b"", b"[" * 100_000, b"{}", b'{"choices": []}', b"9" * 5000])
def test_what_is_no_chat_completion_is_counted_as_if_answered(body, ledger_path):
    """A 200 was charged for, whatever it says."""
    reply, _ = outcome_of(lambda *_: Act(200, body), ledger_path, request("hello, hello", max_tokens=50), retries=0)
    assert (reply.outcome, reply.reason) == (ExchangeOutcome.SERVER_ERROR, "the answer is not a chat completion")
    assert (reply.prompt_tokens, reply.completion_tokens) == (3, 50)


def test_a_body_without_an_end_is_not_read_to_it(ledger_path, monkeypatch):
    monkeypatch.setattr("fairlab.llm.endpoint.LONGEST_BODY", 10_000)
    asked = request("hello, hello", max_tokens=50)
    reply, _ = outcome_of(lambda *_: said("x" * 20_000), ledger_path, asked, retries=0)
    assert (reply.outcome, reply.reason) == (ExchangeOutcome.SERVER_ERROR, "the answer is longer than 10,000 bytes")
    assert (reply.prompt_tokens, reply.completion_tokens) == (3, 50)


def test_a_code_fence_is_taken_off(ledger_path):
    reply, _ = outcome_of(lambda *_: said(f"```json\n{GOOD}\n```"), ledger_path, request(schema=SCHEMA))
    assert reply.value == {"word": "ok", "sure": 0.5}


def form(payload):
    kind = payload.get("response_format", {"type": "prompt alone"})
    return "json_object with schema" if "schema" in kind else kind["type"]


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("speaks", SCHEMA_FORMS)
def test_the_form_of_the_schema_a_server_speaks_is_found_and_remembered(speaks, status, ledger_path):
    def act(payload, nth):
        return said(GOOD) if form(payload) == speaks else refused(status, "unknown")

    with Stub(act) as stub:
        llm = behind(stub, ledger_path, concurrency=1)
        replies = llm.ask(requests(5, schema=SCHEMA), stage="test")
    assert all(reply.ok for reply in replies)
    # A bare 500 may be a passing one, so each form gets a second chance; a 400 is an answer.
    wrong = SCHEMA_FORMS.index(speaks) * (2 if status == 500 else 1)
    assert [form(payload) == speaks for payload in stub.payloads] == [False] * wrong + [True] * 5
    sent = stub.payloads[-1].get("response_format")
    if speaks == "prompt alone":
        assert sent is None
    elif speaks == "json_schema":
        assert sent["json_schema"] == {"name": "answer", "strict": True, "schema": SCHEMA}
    elif speaks != "json_object":
        assert sent == {"type": "json_object", "schema": SCHEMA}


def test_the_form_is_found_once_by_many_at_a_time(ledger_path):
    def act(payload, nth):
        return said(GOOD) if form(payload) == "json_object with schema" else refused(400)

    with Stub(act) as stub:
        replies = behind(stub, ledger_path, concurrency=16).ask(requests(64, schema=SCHEMA), stage="test")
    assert all(reply.ok for reply in replies)
    assert len(stub.payloads) <= 64 + 16


def test_a_500_of_a_server_whose_form_is_known_is_a_server_error(ledger_path):
    def act(payload, nth):
        return refused(500) if payload["messages"][-1]["content"] == "prompt 1" else said(GOOD)

    with Stub(act) as stub:
        replies = behind(stub, ledger_path, concurrency=1, retries=3).ask(requests(2, schema=SCHEMA), stage="test")
    assert [reply.outcome for reply in replies] == [ExchangeOutcome.OK, ExchangeOutcome.SERVER_ERROR]
    assert {form(payload) for payload in stub.payloads} == {"json_schema"}


def test_a_request_that_no_form_saves_is_rejected(ledger_path):
    reply, stub = outcome_of(lambda *_: refused(400, "context too long"), ledger_path, request(schema=SCHEMA))
    assert (reply.outcome, reply.reason) == (ExchangeOutcome.REJECTED, "400: context too long")
    assert len(stub.payloads) == len(SCHEMA_FORMS)


def test_a_server_that_rejects_everything_is_not_asked_over_and_over(ledger_path):
    with Stub(lambda *_: refused(400, "no")) as stub:
        replies = behind(stub, ledger_path, concurrency=16).ask(requests(16, schema=SCHEMA), stage="test")
    assert {reply.reason for reply in replies} == {"400: no"}
    assert len(stub.payloads) <= 9 * 16


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (refused(401, "bad key"), "requires a key"),
        (refused(404, "no such model"), "returned 404 for the model m: no such model; check llm.model"),
        (refused(429, "insufficient_quota"), "check llm.model, llm.base_url and the remaining quota"),
    ],
)
def test_what_no_call_can_survive_stops_the_run_at_once(act, message, ledger_path):
    with Stub(lambda *_: act) as stub:
        llm = behind(stub, ledger_path, concurrency=2)
        with pytest.raises(FairlabError, match=message) as error:
            llm.ask(requests(50), stage="test")
        assert llm.ledger.spent().calls == len(stub.payloads)  # those turned down, too
    assert "0 of 50 calls were answered" in str(error.value)
    assert len(stub.payloads) <= 2


def test_a_call_that_is_broken_off_is_counted(ledger_path):
    class Broken:
        name, workers, batch_size, in_jobs = "m", 1, 1, False

        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            pass

        async def send(self, requests):
            raise KeyboardInterrupt

    llm = LLM(Broken(), "m", Ledger(ledger_path))
    with pytest.raises(KeyboardInterrupt):
        llm.ask([request("hello, hello", max_tokens=50)], stage="test")
    spent = llm.ledger.spent()
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (1, 3, 50)


def test_a_server_that_is_not_running_is_said_soon(ledger_path):
    with Stub(None) as stub:
        pass
    with pytest.raises(FairlabError, match=r"m cannot be reached \(.*\); start its server, or give another address"):
        behind(stub, ledger_path).ask(requests(10), stage="test")


def test_many_calls_are_in_flight_at_a_time(ledger_path):
    together = threading.Barrier(40)

    def act(payload, nth):
        together.wait(20)  # breaks, and the connection with it, unless 40 calls are here at once
        return said("fine")

    with Stub(act) as stub:
        replies = behind(stub, ledger_path, concurrency=40, retries=0).ask(requests(80), stage="test")
    assert all(reply.ok for reply in replies)
    assert stub.most_in_flight == 40


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://x/v1", "http://", "", "http://user:secret@x/v1", "http://x/v1?key=secret"]
)
def test_addresses_that_cannot_be_used(url):
    with pytest.raises(FairlabError, match=r"llm\.base_url") as error:
        Server(url, "m")
    assert "secret" not in str(error.value)


def test_concurrency_out_of_range():
    with pytest.raises(FairlabError, match=r"llm\.concurrency must be at least 1"):
        Server("http://x/v1", "m", concurrency=0)
