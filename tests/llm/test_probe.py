"""A large job begins with one call, which is kept, and ends there if the model does not answer."""

import logging

import pytest

from fairlab.llm.budget import Forecast, Price
from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome, Reply
from fairlab.llm.ledger import Ledger
from fairlab.llm.probe import expectation
from fairlab.types import FairlabError
from tests.llm.conftest import GOOD, SCHEMA, behind, requests
from tests.llm.stub import Stub, refused, said

pytestmark = pytest.mark.usefixtures("_short_waits")
PROMPT = "prompt 0"


def of(payload):
    return payload["messages"][-1]["content"]


def test_the_first_call_is_made_alone_and_paid_once(ledger_path, caplog):
    caplog.set_level(logging.INFO, "fairlab")
    with Stub(lambda *_: said("fine", delay=0.05)) as stub:
        llm = behind(stub, ledger_path, probe_above=5)
        replies = llm.ask(requests(6), stage="test")
        llm.ask(requests(20), stage="test")
    assert [reply.text for reply in replies] == ["fine"] * 6
    assert len(stub.payloads) == 20  # no request is sent twice
    assert llm.ledger.spent().calls == 20
    (line,) = [record.message for record in caplog.records if "first call" in record.message]  # once for a stage
    # Five prompts of 2 tokens at 1 dollar per million, five replies of 5 tokens at 2 dollars.
    assert "5 more calls" in line
    assert "10 prompt tokens and 25 completion tokens, $0.00" in line


@pytest.mark.parametrize(("count", "above"), [(5, 5), (50, None)])
def test_small_jobs_have_no_first_call(count, above, ledger_path, caplog):
    caplog.set_level(logging.INFO, "fairlab")
    with Stub(lambda *_: said("fine")) as stub:
        behind(stub, ledger_path, probe_above=above).ask(requests(count), stage="test")
    assert "first call" not in caplog.text


def test_recorded_answers_and_replays_need_no_first_call(ledger_path):
    with Stub(lambda *_: said("fine")) as stub:
        behind(stub, ledger_path).ask(requests(6), stage="test")
        assert len(behind(stub, ledger_path, probe_above=5).ask(requests(6), stage="test")) == 6
        assert len(stub.payloads) == 6
    replay = LLM(None, "m", Ledger(ledger_path, read_only=True), probe_above=0)
    assert len(replay.ask(requests(6), stage="test")) == 6


def test_a_model_that_does_not_keep_the_schema_is_asked_no_further(ledger_path):
    with Stub(lambda *_: said("no json")) as stub:
        llm = behind(stub, ledger_path, probe_above=5, repairs=0)
        message = r"^m did not answer the first of 50 calls \(malformed JSON: .*\), so .*llm\.probe_above=null to make"
        with pytest.raises(FairlabError, match=message):
            llm.ask(requests(50, schema=SCHEMA), stage="test")
        assert {of(payload) for payload in stub.payloads} == {"prompt 0", "prompt 1", "prompt 2"}
        remedied = behind(stub, ledger_path, repairs=0).ask(requests(50, schema=SCHEMA), stage="test")
    assert {reply.outcome for reply in remedied} == {ExchangeOutcome.MALFORMED}


def test_one_text_without_an_answer_does_not_end_the_job(ledger_path):
    with Stub(lambda payload, nth: said("no json" if of(payload) == PROMPT else GOOD)) as stub:
        replies = behind(stub, ledger_path, probe_above=5, repairs=0).ask(requests(9, schema=SCHEMA), stage="test")
    assert [reply.ok for reply in replies] == [False] + [True] * 8
    assert len(stub.payloads) == 9


def test_a_server_out_of_order_is_asked_one_text_alone(ledger_path):
    message = r"\(server error: 503: overloaded\)"
    with Stub(lambda *_: refused(503, "overloaded")) as stub, pytest.raises(FairlabError, match=message):
        behind(stub, ledger_path, probe_above=5, retries=1).ask(requests(50), stage="test")
    assert [of(payload) for payload in stub.payloads] == [PROMPT] * 2


def test_no_such_model(ledger_path):
    message = r"no such model; check llm\.model"
    with Stub(lambda *_: refused(404, "no such model")) as stub, pytest.raises(FairlabError, match=message):
        behind(stub, ledger_path, probe_above=5).ask(requests(50), stage="test")
    assert len(stub.payloads) == 1


@pytest.mark.parametrize(
    ("pace", "price", "minutes", "cost"),
    # 120 calls of 2 s by 4 workers are a minute; 12,000 tokens at 3,000 a minute are four.
    [(None, None, "1.0", "cost unknown without llm.price"), (3000, Price(100.0, 200.0), "4.0", "$1.80")],
)
def test_what_is_expected_by_hand(pace, price, minutes, cost):
    probe = Reply(ExchangeOutcome.OK, "x", "", 1, 40, 50, 2.0)
    rest = Forecast(requests=120, recorded=0, calls=120, prompt_tokens=6000, completion_tokens=10**6, dollars=None)
    assert expectation(probe, rest, 4, price, pace) == (
        f"answered a first call in 2.0 s; 120 more calls are expected to take {minutes} minutes, 6000 prompt tokens "
        f"and 6000 completion tokens, {cost}"
    )
