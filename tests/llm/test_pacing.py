"""No minute holds more tokens than allowed, and what a call did not use is free at once."""

import asyncio
import time

import pytest

from fairlab.llm import pacing
from fairlab.llm.exchange import Attempt, ExchangeOutcome
from fairlab.llm.pacing import TokenPace
from fairlab.types import FairlabError
from tests.llm.conftest import behind, request, requests
from tests.llm.stub import Stub, refused, said

SIXTY = [request("x" * 40, max_tokens=50)]  # 40 characters are 10 tokens, and 50 are for the reply


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleeping moves."""
    now = [1000.0]
    monkeypatch.setattr(pacing.time, "monotonic", lambda: now[0])

    async def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(pacing.asyncio, "sleep", sleep)
    return now


def reserve(pace, asked=SIXTY, stopped=lambda: False):
    return asyncio.run(pace.reserve(asked, stopped))


def test_calls_wait_for_a_minute_to_pass(clock):
    pace = TokenPace(150)
    times = [reserve(pace).at for _ in range(5)]
    assert times == pytest.approx([1000, 1000, 1060, 1060, 1120], abs=0.2)  # two of 60 tokens fit into 150


def test_an_answer_frees_what_it_did_not_use(clock):
    pace = TokenPace(100)
    reserve(pace).correct([Attempt(ExchangeOutcome.OK, prompt_tokens=12, completion_tokens=8)])
    assert reserve(pace).at == 1000.0  # 20 + 60
    assert reserve(pace).at == pytest.approx(1060, abs=0.2)  # 20 + 60 + 60


def test_an_answer_longer_than_estimated_counts_in_full(clock):
    pace = TokenPace(100)
    reserve(pace).correct([Attempt(ExchangeOutcome.OK, prompt_tokens=45, completion_tokens=0)])
    assert reserve(pace).at == pytest.approx(1060, abs=0.2)  # 45 + 60


def test_a_batch_counts_as_its_sum(clock):
    assert reserve(TokenPace(1000), SIXTY * 3).tokens == 180


def test_a_call_beyond_the_limit_is_sent_alone(clock):
    pace = TokenPace(10)
    assert [reserve(pace).at for _ in range(2)] == pytest.approx([1000, 1060], abs=0.2)


def test_no_limit_keeps_nothing(clock):
    pace = TokenPace(None)
    assert {reserve(pace).at for _ in range(100)} == {1000.0}
    assert not pace.reserved


def test_a_stopped_run_does_not_wait(clock):
    pace = TokenPace(60)
    reserve(pace)
    assert reserve(pace, stopped=lambda: True).at == 1000.0


@pytest.mark.parametrize("limit", [0, -5, float("nan")])
def test_a_limit_below_one_is_refused(limit):
    with pytest.raises(FairlabError, match=r"llm\.tokens_per_minute must be at least 1 or null, not"):
        TokenPace(limit)


def test_calls_to_a_server_are_paced(ledger_path, monkeypatch):
    monkeypatch.setattr(pacing, "WINDOW", 0.5)
    times = []

    def act(payload, nth):
        times.append(time.monotonic())
        return said("fine")  # 10 tokens of the prompt and 5 of the reply

    with Stub(act) as stub:
        # Two calls of 2 + 40 tokens fit into 90. Once answered they count 15 each, so others follow while 42 are free.
        llm = behind(stub, ledger_path, tokens_per_minute=90)
        assert all(reply.ok for reply in llm.ask(requests(8, max_tokens=40), stage="test"))
    windows = [sum(start <= other < start + 0.4 for other in times) for start in times]
    assert len(times) == 8
    assert max(windows) <= 6  # 6 answers are 90 tokens
    assert times[-1] - times[0] >= 0.4


def test_workers_that_wait_end_with_the_run(ledger_path):
    with Stub(lambda *_: refused(401, delay=0.1)) as stub:
        llm = behind(stub, ledger_path, tokens_per_minute=60)
        started = time.monotonic()
        with pytest.raises(FairlabError, match="requires a key"):
            llm.ask(requests(4, max_tokens=50), stage="test")
    assert len(stub.payloads) == 1
    assert time.monotonic() - started < 10
