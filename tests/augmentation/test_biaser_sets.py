"""Sets of biasers from a language model."""

import json

import pytest

from fairlab.augmentation.biaser_sets import AskedSet
from fairlab.lexicons import load_lexicon
from fairlab.llm import pending
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.types import FairlabError
from tests.llm.stub import Stub, said


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(pending, "FIRST_WAIT", 0.01)


def answer(*members):
    rows = [dict(zip(("adjective", "person", "people"), member, strict=True)) for member in members]
    return lambda payload, nth: said(json.dumps({"biasers": rows}))


DANISH, FINNISH, THAI = ("Danish", "Dane", "Danes"), ("Finnish", "Finn", "Finns"), ("Thai", "Thai", "Thais")


def asked(stub, folder, size=2):
    return AskedSet(llm=LLM(Server(stub.url, "m"), "m", Ledger(folder / "ledger.sqlite")), size=size)


def test_a_set_is_a_lexicon_in_the_run_and_asked_for_once(tmp_path):
    with Stub(answer(DANISH, ("danish", "Dane", "Danes"), FINNISH, THAI)) as stub:
        path = asked(stub, tmp_path)("ethnicity", tmp_path)
        lexicon = load_lexicon(str(path))
        path.unlink()
        assert asked(stub, tmp_path)("ethnicity", tmp_path) == path
    assert len(stub.payloads) == 1
    assert json.loads(stub.payloads[0]["messages"][-1]["content"]) == {"category": "ethnicity", "number": 2}
    assert (stub.payloads[0]["max_tokens"], stub.payloads[0]["seed"]) == (80, 0)  # 40 for each member
    assert AskedSet(llm="any").size == 20
    assert lexicon.axis == "ethnicity"
    assert lexicon.attributes == ("danish", "finnish")
    assert lexicon.entries[0].source.startswith("m, prompt biasers version 1, ")


def test_too_few_members_or_none(tmp_path):
    with Stub(answer(DANISH, DANISH)) as stub, pytest.raises(FairlabError, match="returned 1 different biasers"):
        asked(stub, tmp_path)("race", tmp_path)
    assert not (tmp_path / "biasers.yaml").exists()
    with pytest.raises(FairlabError, match="needs a language model"):
        AskedSet(llm=None)
    with Stub(answer(DANISH)) as stub, pytest.raises(FairlabError, match=r"biaser_set\.size must be at least 2, not 1"):
        asked(stub, tmp_path, size=1)
