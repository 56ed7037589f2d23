"""What stands beside the page on a small language model: its answers without what was asked."""

from contextlib import closing

from experiments.llm import answers
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request
from fairlab.llm.ledger import Ledger
from fairlab.llm.loading import load_replay
from fairlab.llm.server import Server
from tests.llm.stub import Stub, said

ASKED = [Request(({"role": "user", "content": f"A text of theirs, {k}."},)) for k in range(3)]


def test_saved_answers_hold_no_question_and_are_replayed(tmp_path):
    with Stub(lambda payload, nth: said("Robin")) as stub, closing(Ledger(tmp_path / "first.sqlite")) as ledger:
        first = LLM(Server(stub.url, "m"), "m", ledger).ask(ASKED, stage="test")
    saved, again = tmp_path / "answers.jsonl.xz", tmp_path / "again.sqlite"
    assert answers.save(tmp_path / "first.sqlite", saved) == 3
    bytes_of_first = saved.read_bytes()
    assert answers.restore(saved, again) == 3
    assert b"theirs" not in again.read_bytes()
    replayed = load_replay(ledger=str(again), model=None).ask(ASKED, stage="test")
    assert [one.text for one in replayed] == [one.text for one in first] == ["Robin"] * 3
    assert answers.save(again, saved) == 3
    assert saved.read_bytes() == bytes_of_first
