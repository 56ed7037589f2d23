"""Batch jobs against a stub of their published form: half the price, one job, and nothing paid twice after a kill."""

import signal
import subprocess
import sys

import pytest

from fairlab.llm import batch_server
from fairlab.llm.batch_server import BatchServer
from fairlab.llm.budget import Budget, Price
from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome, StillAtWork
from fairlab.llm.ledger import Ledger, RecordedJob
from fairlab.llm.loading import load_server
from fairlab.types import FairlabError
from tests.llm.batch_stub import BatchStub
from tests.llm.conftest import GOOD, SCHEMA, request, requests
from tests.llm.stub import refused, said, wait_until
from tests.llm.test_dialects import of_2026

pytestmark = pytest.mark.usefixtures("_short_waits")


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch):
    monkeypatch.setattr(batch_server, "POLL", 0.01)
    monkeypatch.setattr(batch_server, "WAITS", (0.01, 0.01))


def echo(payload, nth):
    return said(payload["messages"][-1]["content"].upper())


def batched(stub, path, **values):
    ledger = Ledger(path)
    return LLM(BatchServer(stub.url, "m", ledger=ledger), "m", ledger, price=Price(1.0, 2.0), **values)


def test_requests_go_as_one_job_and_cost_half(ledger_path, caplog):
    caplog.set_level("INFO")
    with BatchStub(echo) as stub:
        llm = batched(stub, ledger_path)
        replies = llm.ask([*requests(5), *requests(2)], stage="test")
    assert [reply.text for reply in replies] == [f"PROMPT {k}" for k in (0, 1, 2, 3, 4, 0, 1)]
    assert [len(lines) for lines in stub.uploads] == [5]
    (first, *_) = stub.uploads[0]
    assert (first["method"], first["url"]) == ("POST", "/v1/chat/completions")
    assert first["body"] == {
        "model": "m",
        "messages": [{"role": "user", "content": "prompt 0"}],
        "max_tokens": 1024,
    } | {"temperature": 0.0}
    assert stub.direct == []
    spent = llm.ledger.spent()
    assert (spent.calls, spent.tokens) == (5, 5 * 15)
    assert spent.dollars == pytest.approx(0.5 * 5 * (10 * 1.0 + 5 * 2.0) / 1e6)
    assert llm.ledger.jobs(llm.model.url) == []
    assert "batch job batch_1 of 5 requests is running" in caplog.text
    assert "batch job batch_1: completed, 5 of 5 requests are answered" in caplog.text


def test_a_single_request_is_sent_directly_at_the_full_price(ledger_path):
    with BatchStub(echo) as stub:
        llm = batched(stub, ledger_path)
        assert llm.ask([request()], stage="test")[0].text == "HELLO"
    assert (len(stub.direct), stub.uploads) == (1, [])
    assert llm.ledger.spent().dollars == pytest.approx((10 * 1.0 + 5 * 2.0) / 1e6)


def test_a_killed_run_collects_its_job(ledger_path):
    with BatchStub(echo, polls=10**9) as stub:
        command = [sys.executable, "-m", "tests.llm.batch_asker", stub.url, str(ledger_path), "4"]
        process = subprocess.Popen(command)
        wait_until(lambda: any(path == "/batches/batch_1" for _, path in stub.calls), 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stub.polls = 1
        llm = batched(stub, ledger_path)
        replies = llm.ask(requests(6), stage="test")  # two more go as a job of their own
    assert [reply.text for reply in replies] == [f"PROMPT {k}" for k in range(6)]
    assert [len(lines) for lines in stub.uploads] == [4, 2]
    assert llm.ledger.spent().calls == 6
    assert llm.ledger.jobs(llm.model.url) == []


def test_a_job_whose_creation_was_not_heard_of_is_found_by_its_file(ledger_path):
    with BatchStub(echo) as stub:
        stub.lost = ["/batches"]
        with pytest.raises(FairlabError, match=r"has not answered about batch jobs for \d+ s \(.*llm\.batch=false"):
            batched(stub, ledger_path).ask(requests(3), stage="test")
        assert len(stub.jobs) == 1
        llm = batched(stub, ledger_path)
        assert all(reply.ok for reply in llm.ask(requests(3), stage="test"))
    assert (len(stub.jobs), len(stub.uploads)) == (1, 1)


def test_what_a_smaller_run_does_not_ask_for_stays_to_be_collected(ledger_path):
    with BatchStub(echo, polls=10**9) as stub:
        server = batched(stub, ledger_path).model
        lines = {server._id_of(one): one for one in requests(4)}
        server.ledger.keep_job(RecordedJob("file-1", server.url, "batch_1", frozenset(lines)))
        stub.answer("POST", "/files", _upload(server, lines))
        stub.answer(
            "POST",
            "/batches",
            b'{"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"}',
        )
        stub.polls = 1
        assert len(batched(stub, ledger_path).ask(requests(2), stage="test")) == 2
        (left,) = server.ledger.jobs(server.url)
        assert len(left.keys) == 2
        assert batched(stub, ledger_path).ask(requests(4), stage="test")[3].text == "PROMPT 3"
        assert server.ledger.jobs(server.url) == []
    assert len(stub.jobs) == 1


def _upload(server, asked):
    (part,) = server._parts(asked)
    return b'name="purpose"\r\n\r\nbatch\r\n' + "".join(part.values()).encode()


def test_refused_parameters_and_repairs_go_as_jobs_of_their_own(ledger_path):
    with BatchStub(of_2026) as stub:
        replies = batched(stub, ledger_path).ask([request(f"p {k}", schema=SCHEMA) for k in range(3)], stage="test")
    assert [reply.value["word"] for reply in replies] == ["ok"] * 3
    assert [len(lines) for lines in stub.uploads] == [3, 3, 3]
    assert set(stub.uploads[-1][0]["body"]) == {"model", "messages", "max_completion_tokens", "response_format"}

    def cut(payload, nth):
        return said(GOOD) if payload["max_tokens"] > 10 or "p 0" in str(payload) else said('{"wo', finish="length")

    other = ledger_path.with_name("other.sqlite")
    asked = [request(f"p {k}", schema=SCHEMA, max_tokens=10) for k in range(3)]
    with BatchStub(cut) as stub:
        assert all(reply.ok for reply in batched(stub, other).ask(asked, stage="test"))
    assert [len(lines) for lines in stub.uploads] == [3, 2]


def test_expired_requests_are_asked_again_and_cost_nothing(ledger_path):
    def late(payload, nth):
        return None if nth == 1 else echo(payload, nth)

    with BatchStub(late, ends="expired") as stub:
        llm = batched(stub, ledger_path)
        assert [reply.text for reply in llm.ask(requests(3), stage="test")] == ["PROMPT 0", "PROMPT 1", "PROMPT 2"]
    assert [len(lines) for lines in stub.uploads] == [3]
    assert len(stub.direct) == 1  # one left goes directly
    assert llm.ledger.outcomes("test") == {"ok": 3, "timed out": 1}
    assert llm.ledger.spent().tokens == 3 * 15


def test_a_cancelled_job_keeps_what_it_answered(ledger_path):
    with BatchStub(lambda payload, nth: None if nth else echo(payload, nth), ends="cancelled") as stub:
        llm = batched(stub, ledger_path)
        first, second = llm.ask(requests(2), stage="test")
    assert (first.text, second.outcome) == ("PROMPT 0", ExchangeOutcome.REJECTED)
    assert second.reason == "the batch job was cancelled"
    assert llm.ledger.get(llm.address_of(requests(2)[0])).text == "PROMPT 0"


def test_a_line_that_ends_everything_else_leaves_the_others_their_answers(ledger_path):
    def act(payload, nth):
        return refused(404, "no such model") if nth == 1 else echo(payload, nth)

    with BatchStub(act) as stub:
        replies = batched(stub, ledger_path).ask(requests(3), stage="test")
    assert [reply.outcome for reply in replies] == ["ok", "request rejected", "ok"]
    assert "returned 404 for the model m: no such model" in replies[1].reason


def test_a_job_that_the_server_refuses_is_one_sentence(ledger_path):
    failure = {"code": "invalid_json_line", "message": "This line is not parseable as valid JSON.", "line": 2}
    with BatchStub(echo, ends="failed", failure=failure) as stub:
        llm = batched(stub, ledger_path)
        with pytest.raises(FairlabError) as raised:
            llm.ask(requests(2), stage="test")
    said_so = str(raised.value)
    assert "refuses the batch job batch_1: This line is not parseable as valid JSON., line 2 of its file" in said_so
    assert "0 of 2 calls were answered" in said_so
    assert llm.ledger.jobs(llm.model.url) == []  # the next run sends another one


def test_a_job_that_is_gone_is_said_and_sent_again_by_the_next_run(ledger_path):
    with BatchStub(echo) as stub:
        llm = batched(stub, ledger_path)
        keys = frozenset(llm.model._id_of(one) for one in requests(2))
        llm.ledger.keep_job(RecordedJob("file-9", llm.model.url, "batch_9", keys))
        with pytest.raises(FairlabError, match="no longer has the batch job batch_9; run again"):
            llm.ask(requests(2), stage="test")
        assert all(reply.ok for reply in batched(stub, ledger_path).ask(requests(2), stage="test"))


def test_a_server_without_batch_jobs_is_said(ledger_path):
    with BatchStub(echo) as stub:
        whole = stub.answer
        stub.answer = lambda method, path, body: (404, b"<html>") if path == "/files" else whole(method, path, body)
        with pytest.raises(FairlabError, match=r"does not accept batch jobs \(404: <html>\); set llm\.batch=false"):
            batched(stub, ledger_path).ask(requests(2), stage="test")


def test_a_server_that_is_lost_while_a_job_goes_on_costs_nothing(ledger_path):
    with BatchStub(echo, polls=10**9) as stub:
        llm = batched(stub, ledger_path)
        whole = stub.answer
        stub.answer = lambda *asked: (503, b"") if asked[1].startswith("/batches/") else whole(*asked)
        with pytest.raises(FairlabError, match=r"\(503: \); run again to collect their results") as raised:
            llm.ask(requests(2), stage="test")
        assert isinstance(raised.value.__cause__, StillAtWork)
        assert (llm.ledger.spent().calls, len(llm.ledger.jobs(llm.model.url))) == (0, 1)
        stub.answer, stub.polls = whole, 1
        assert all(reply.ok for reply in batched(stub, ledger_path).ask(requests(2), stage="test"))
    assert len(stub.jobs) == 1


@pytest.mark.parametrize(
    ("budget", "bound"),
    [(Budget(dollars=0.001), r"llm\.budget\.dollars=0\.001"), (Budget(tokens=100), r"llm\.budget\.tokens=100")],
)
def test_a_budget_that_does_not_cover_a_job_sends_none(budget, bound, ledger_path):
    told = rf"{bound} is spent .* up to 2052 tokens, \$0\.0021 for a batch job"
    with BatchStub(echo) as stub, pytest.raises(FairlabError, match=told):
        batched(stub, ledger_path, budget=budget).ask(requests(2), stage="test")
    assert stub.calls == []


def test_jobs_are_parted_by_requests_and_bytes(ledger_path, monkeypatch):
    with BatchStub(echo) as stub:
        monkeypatch.setattr(batch_server, "MOST_REQUESTS", 3)
        batched(stub, ledger_path).ask(requests(7), stage="test")
        assert [len(lines) for lines in stub.uploads] == [3, 3, 1]
        monkeypatch.setattr(batch_server, "MOST_BYTES", 700)
        batched(stub, ledger_path.with_name("other.sqlite")).ask(requests(3), stage="test")
    assert [len(lines) for lines in stub.uploads[3:]] == [2, 1]


def test_damaged_and_strange_lines_are_no_answers(ledger_path):
    with BatchStub(echo) as stub:
        run = stub.run

        def damaged(job):
            run(job)
            lines = stub.files[job["output_file_id"]].splitlines()
            stub.files[job["output_file_id"]] = b"\n".join([b"{", b"[1]", b'{"custom_id": "x"}', *lines[1:], lines[1]])

        stub.run = damaged
        llm = batched(stub, ledger_path, retries=0)
        replies = llm.ask(requests(2), stage="test")
    assert [reply.outcome for reply in replies] == [ExchangeOutcome.OK, ExchangeOutcome.SERVER_ERROR]
    assert replies[1].reason == "the batch job contains no answer to this request"


def test_the_setting_gives_such_a_server(ledger_path):
    values = {"base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": None, "concurrency": 2}
    values |= {"token_limit_key": "max_tokens", "price": None, "budget": {}, "ledger": str(ledger_path)}
    assert isinstance(load_server(**values, batch=True).model, BatchServer)
    assert not load_server(**values).model.in_jobs
