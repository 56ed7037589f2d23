import pytest

from fairlab.llm import pending
from fairlab.llm.budget import Price
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "sure": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["word", "sure"],
    "additionalProperties": False,
}
GOOD = '{"word": "ok", "sure": 0.5}'


def request(text="hello", **values):
    return Request(({"role": "user", "content": text},), **values)


def requests(count, **values):
    return [request(f"prompt {k}", **values) for k in range(count)]


def behind(stub, path, **values):
    """An LLM at a stub, with its ledger at a path; keywords of the server and of the LLM."""
    names = ("budget", "retries", "repairs", "tokens_per_minute", "probe_above")
    of_llm = {name: values.pop(name) for name in names if name in values}
    server = Server(stub.url, "m", **{"concurrency": 4, **values})
    return LLM(server, "m", Ledger(path), price=Price(1.0, 2.0), **of_llm)


@pytest.fixture
def ledger_path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def _short_waits(monkeypatch):
    monkeypatch.setattr(pending, "FIRST_WAIT", 0.01)
