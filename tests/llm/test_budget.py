"""What is forecast, and that no budget is exceeded by more than the calls in flight."""

import pytest

from fairlab.llm.budget import Budget, Price, Spent
from fairlab.llm.client import LLM
from fairlab.llm.exchange import estimated_tokens
from fairlab.llm.ledger import Ledger
from fairlab.types import FairlabError
from tests.llm.conftest import SCHEMA, behind, request, requests
from tests.llm.stub import Stub, said

pytestmark = pytest.mark.usefixtures("_short_waits")
CONCURRENCY = 8
# The stub counts 10 prompt tokens and 5 completion tokens a call; at 1 and 2 dollars per million that is 20e-6.
BUDGETS = [Budget(calls=20), Budget(tokens=300), Budget(dollars=400e-6)]


def test_dollars_by_hand():
    assert Price(input=0.5, output=1.5).dollars(2_000_000, 1_000_000) == 2.5


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_stops_the_run_and_keeps_what_was_answered(budget, ledger_path):
    with Stub(lambda *_: said("fine", delay=0.01)) as stub:
        llm = behind(stub, ledger_path, concurrency=CONCURRENCY, budget=budget)
        with pytest.raises(FairlabError) as error:
            llm.ask(requests(100), stage="test")
        allowed = 20 if budget.calls else 20 + CONCURRENCY - 1
        assert 20 <= len(stub.payloads) <= allowed
        spent = llm.ledger.spent()
        assert spent.calls == len(stub.payloads)
        assert f"{spent.calls} of 100 calls were answered and are kept in {ledger_path}" in str(error.value)
        before = len(stub.payloads)
        again = behind(stub, ledger_path, concurrency=CONCURRENCY, budget=budget)
        with pytest.raises(FairlabError, match=r"the budget llm\.budget\..* is spent .*; raise it and run again"):
            again.ask(requests(100), stage="test")  # the budget is the ledger's, not the run's
        assert len(stub.payloads) == before
        replies = behind(stub, ledger_path).ask(requests(100), stage="test")
    assert all(reply.ok for reply in replies)
    assert len(stub.payloads) == 100


def test_failed_calls_and_repairs_are_spent_too(ledger_path):
    with Stub(lambda *_: said("no json")) as stub:
        llm = behind(stub, ledger_path, concurrency=1, budget=Budget(calls=4))
        with pytest.raises(FairlabError, match=r"llm\.budget\.calls=4 is spent"):
            llm.ask(requests(3, schema=SCHEMA), stage="test")
    assert len(stub.payloads) == 4


@pytest.mark.parametrize("value", [-1, float("nan")])
@pytest.mark.parametrize("name", ["calls", "tokens", "dollars"])
def test_a_budget_that_bounds_nothing_is_refused(name, value):
    with pytest.raises(FairlabError, match=rf"llm\.budget\.{name} must be at least 0 or null, not"):
        Budget(**{name: value})


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_none_is_refused(value):
    with pytest.raises(FairlabError, match=r"llm\.price\.output must be 0 or more dollars, not"):
        Price(input=1.0, output=value)


def test_a_budget_of_nothing_asks_nothing(ledger_path):
    with Stub(lambda *_: said("fine")) as stub:
        for budget in (Budget(calls=0), Budget(tokens=0), Budget(dollars=0.0)):
            with pytest.raises(FairlabError, match="0 of 1 calls"):
                behind(stub, ledger_path, budget=budget).ask([request()], stage="test")
    assert not stub.payloads


def test_what_is_recorded_costs_nothing(ledger_path):
    with Stub(lambda *_: said("fine")) as stub:
        behind(stub, ledger_path).ask(requests(3), stage="test")
        assert len(behind(stub, ledger_path, budget=Budget(calls=0)).ask(requests(3), stage="test")) == 3


def test_tokens_are_estimated_where_a_server_does_not_count_them(ledger_path):
    with Stub(lambda *_: said("12345", usage=False)) as stub:
        (reply,) = behind(stub, ledger_path).ask([request("123456789")], stage="test")
    assert (reply.prompt_tokens, reply.completion_tokens) == (3, 2)
    assert estimated_tokens("") == 0


def test_a_forecast_asks_nothing_and_knows_what_is_recorded(ledger_path):
    with Stub(lambda *_: said("fine")) as stub:
        llm = behind(stub, ledger_path)
        llm.ask(requests(2), stage="test")
        asked = [*requests(5, max_tokens=1024), request("prompt 4", max_tokens=1024)]
        forecast = llm.forecast(asked)
        assert len(stub.payloads) == 2
    # "prompt 2" is 8 characters, so 2 tokens; three such calls, each with up to 1,024 tokens back.
    assert (forecast.requests, forecast.recorded, forecast.calls) == (5, 2, 3)
    assert (forecast.prompt_tokens, forecast.completion_tokens) == (6, 3072)
    assert forecast.dollars == pytest.approx((6 * 1.0 + 3072 * 2.0) / 1e6)
    assert str(forecast) == (
        "5 requests, 2 of them recorded; 3 calls to make, about 6 prompt tokens, at most 3072 completion tokens, "
        "at most $0.01"
    )


def test_a_forecast_without_a_price_says_so(ledger_path):
    forecast = LLM(None, "m", Ledger(ledger_path)).forecast([request()])
    assert forecast.dollars is None
    assert str(forecast).endswith("cost unknown without llm.price")


def test_money_needs_a_price(ledger_path):
    with pytest.raises(FairlabError, match=r"llm\.budget\.dollars needs a price"):
        LLM(None, "m", Ledger(ledger_path), budget=Budget(dollars=1.0))


def test_a_budget_below_zero():
    with pytest.raises(FairlabError, match=r"llm\.budget\.tokens must be at least 0 or null, not -1"):
        Budget(tokens=-1)


def test_calls_are_bounded_exactly():
    assert Budget(calls=5).reached(Spent(calls=3), sending=2) == ""
    assert Budget(calls=5).reached(Spent(calls=3), sending=3) == "llm.budget.calls=5"
