"""What is asked once is never asked again: resuming, sharing, damage, replay, and what may never be written."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fairlab.llm.client import LLM
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Reply, address
from fairlab.llm.ledger import Ledger
from fairlab.llm.loading import load_replay
from fairlab.types import FairlabError
from tests.llm.conftest import GOOD, SCHEMA, behind, request, requests
from tests.llm.stub import Stub, refused, said, wait_until

pytestmark = pytest.mark.usefixtures("_short_waits")
ROOT = Path(__file__).parents[2]


def echo(payload, nth):
    """An answer that differs from prompt to prompt and from call to call."""
    return said(f"{payload['messages'][-1]['content']}, call {nth}")


def start(stub, ledger, count, out):
    command = [sys.executable, "-m", "tests.llm.asker", stub.url, str(ledger), str(count), str(out)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def edit(path, statement):
    """Change a ledger behind its back."""
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()


def test_the_address_is_that_of_model_messages_and_parameters():
    asked = request("a", schema={"type": "object", "x": 1})
    turned = request("a", schema={"x": 1, "type": "object"})
    assert asked.canonical("m") == turned.canonical("m")
    others = [request("b"), request("a", temperature=0.1), request("a", seed=1), request("a", max_tokens=1)]
    others += [request("a", schema=SCHEMA), request("a", top_p=0.5)]
    assert len({address(other.canonical("m")) for other in [request("a"), *others]}) == 7
    assert request("a").canonical("m") != request("a").canonical("n")


def test_a_recorded_answer_is_not_asked_again_and_equal_requests_are_asked_once(ledger_path):
    with Stub(echo) as stub:
        first = behind(stub, ledger_path).ask([*requests(3), *requests(2)], stage="test")
        again = behind(stub, ledger_path).ask(requests(3), stage="test")
    assert len(stub.payloads) == 3
    assert [reply.text for reply in first] == [f"prompt {k}, call 0" for k in (0, 1, 2, 0, 1)]
    assert again == first[:3]


def test_a_refusal_is_kept_like_an_answer(ledger_path):
    with Stub(lambda *_: said(None, refusal="no")) as stub:
        first = behind(stub, ledger_path, repairs=0).ask([request(schema=SCHEMA)], stage="test")
        assert behind(stub, ledger_path).ask([request(schema=SCHEMA)], stage="test") == first
    assert len(stub.payloads) == 1
    assert not first[0].ok


@pytest.mark.parametrize("act", [said("no json"), said("{", finish="length")])
def test_what_is_no_answer_is_asked_once_by_an_object_and_again_by_the_next(act, ledger_path):
    with Stub(lambda *_: act) as stub:
        llm = behind(stub, ledger_path, repairs=0)
        first = llm.ask([request(schema=SCHEMA)], stage="test")
        assert llm.ask([request(schema=SCHEMA)], stage="test") == first
        assert len(stub.payloads) == 1
        (again,) = behind(stub, ledger_path, repairs=0).ask([request(schema=SCHEMA)], stage="test")
    assert (again.outcome, again.reason) == (first[0].outcome, first[0].reason)
    assert len(stub.payloads) == 2


@pytest.mark.slow
def test_a_process_killed_half_way_goes_on_without_asking_anything_again(ledger_path, tmp_path):
    count, out = 120, tmp_path / "out.json"
    with Stub(lambda payload, nth: said(payload["messages"][-1]["content"].upper(), delay=0.01)) as stub:
        process = start(stub, ledger_path, count, out)
        wait_until(lambda: len(stub.payloads) >= count // 2)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert not out.exists()
        ledger = Ledger(ledger_path)
        recorded = [item.messages[0]["content"] for item in requests(count) if ledger.get(address(item.canonical("m")))]
        assert count // 2 - 4 <= len(recorded) < count
        assert start(stub, ledger_path, count, out).wait() == 0
        assert {stub.seen[prompt] for prompt in recorded} == {1}  # what was answered is not asked again
        assert count <= len(stub.payloads) <= count + 4  # at most the four in flight were lost
        assert len(stub.seen) == count
    with Stub(lambda payload, nth: said(payload["messages"][-1]["content"].upper())) as stub:
        never_killed = behind(stub, tmp_path / "other.sqlite").ask(requests(count), stage="test")
    assert json.loads(out.read_text()) == [reply.text for reply in never_killed]


@pytest.mark.slow
def test_two_processes_share_one_ledger_and_its_work(ledger_path, tmp_path):
    count, both_here = 80, threading.Barrier(8)  # four calls of each

    def act(payload, nth):
        if len(stub.payloads) <= 8:
            both_here.wait(30)
        return said(f"{payload['messages'][-1]['content']}, call {nth}", delay=0.01)

    with Stub(act) as stub:
        outs = [tmp_path / name for name in ("a.json", "b.json")]
        processes = [start(stub, ledger_path, count, out) for out in outs]
        assert [process.wait() for process in processes] == [0, 0]
        assert stub.most_in_flight == 8
    assert len(stub.payloads) == count
    assert outs[0].read_text() == outs[1].read_text()
    assert Ledger(ledger_path).spent().calls == count


def test_a_claim_holds_against_others_until_it_is_given_up_or_its_process_is_gone(ledger_path):
    ours, theirs = Ledger(ledger_path), Ledger(ledger_path)
    assert ours.claim("a")
    assert ours.claim("a")
    assert not theirs.claim("a")
    ours.release("a")
    assert theirs.claim("a")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    edit(ledger_path, f"UPDATE claims SET pid = {gone.pid}")
    assert ours.claim("a")
    edit(ledger_path, "UPDATE claims SET until = 0")
    assert theirs.claim("a")


@pytest.mark.parametrize("hours", [-30, 30])
def test_a_clock_that_jumps_loses_no_answer_and_blocks_nobody(ledger_path, monkeypatch, hours):
    ours, theirs = Ledger(ledger_path), Ledger(ledger_path)
    assert ours.claim("a")
    now = time.time() + 3600 * hours
    monkeypatch.setattr("fairlab.llm.ledger.time.time", lambda: now)
    # Set back, a claim holds while its process lives; set forward, another asks as well.
    assert theirs.claim("a") is (hours > 0)
    answers = [Reply(ExchangeOutcome.OK, text, "", 1, 1, 1, 0.0) for text in "ab"]
    assert [ledger.put("a", "{}", answer) for ledger, answer in zip((ours, theirs), answers, strict=True)] == [
        answers[0]
    ] * 2
    ours.release("a")
    theirs.release("a")
    assert theirs.claim("b")


def test_a_failed_call_leaves_no_claim_behind(ledger_path):
    with Stub(lambda *_: refused(500)) as stub:
        behind(stub, ledger_path, retries=0).ask([request()], stage="test")
    assert Ledger(ledger_path).claim(address(request().canonical("m")))


def test_an_earlier_intact_answer_is_never_replaced(ledger_path):
    ledger = Ledger(ledger_path)
    first, second = (Reply(ExchangeOutcome.OK, text, "", 1, 1, 1, 0.0) for text in "ab")
    assert ledger.put("k", "{}", first) == first
    assert ledger.put("k", "{}", second) == first
    assert ledger.get("k") == first


@pytest.mark.parametrize("column", ["reply", "request", "checksum"])
def test_a_damaged_entry_is_found_and_asked_again(column, ledger_path):
    with Stub(echo) as stub:
        behind(stub, ledger_path).ask(requests(3), stage="test")
        key = address(request("prompt 1").canonical("m"))
        edit(ledger_path, f"UPDATE answers SET {column} = {column} || ' ' WHERE key = '{key}'")
        llm = behind(stub, ledger_path)
        replies = llm.ask(requests(3), stage="test")
        assert llm.ledger.corrupt == {key}
        assert [reply.text for reply in replies] == ["prompt 0, call 0", "prompt 1, call 1", "prompt 2, call 0"]
        assert behind(stub, ledger_path).ask(requests(3), stage="test") == replies
    assert len(stub.payloads) == 4


def test_an_entry_that_is_no_text_is_damaged_too(ledger_path):
    with Stub(echo) as stub:
        behind(stub, ledger_path).ask([request()], stage="test")
        edit(ledger_path, "UPDATE answers SET reply = CAST(X'ff00fe' AS TEXT)")
        assert behind(stub, ledger_path).ask([request()], stage="test")[0].text == "hello, call 1"


def test_a_ledger_replays_offline(ledger_path):
    with Stub(lambda *_: said(GOOD)) as stub:
        llm = behind(stub, ledger_path)
        recorded = llm.ask(requests(5, schema=SCHEMA), stage="test")
        llm.ledger.close()
    before = ledger_path.read_bytes()
    replayed = load_replay(ledger=str(ledger_path), model=None).ask(requests(5, schema=SCHEMA), stage="test")
    assert replayed == recorded
    assert replayed[0].value == {"word": "ok", "sure": 0.5}
    assert ledger_path.read_bytes() == before
    assert [path.name for path in ledger_path.parent.iterdir()] == [ledger_path.name]


def test_a_ledger_replays_while_it_is_being_written(ledger_path):
    with Stub(echo) as stub:
        llm = behind(stub, ledger_path)  # stays open, its log beside it
        recorded = llm.ask(requests(5), stage="test")
    assert load_replay(ledger=str(ledger_path), model="m").ask(requests(5), stage="test") == recorded


def test_a_miss_in_replay_names_the_ledger_and_the_first_missing_prompt(ledger_path):
    with Stub(echo) as stub:
        behind(stub, ledger_path).ask(requests(2), stage="test")
    missing = request("a prompt that was\nnever asked " + "x" * 100)
    with pytest.raises(FairlabError) as error:
        load_replay(ledger=str(ledger_path), model=None).ask([*requests(2), missing, request("b")], stage="test")
    sentence = str(error.value)
    assert str(ledger_path) in sentence
    assert f"no answer to the call {address(missing.canonical('m'))[:12]} of m" in sentence
    assert '"a prompt that was never asked xxx' in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


def test_damage_in_replay_is_said(ledger_path):
    with Stub(echo) as stub:
        behind(stub, ledger_path).ask([request()], stage="test")
    edit(ledger_path, "UPDATE answers SET checksum = ''")
    with pytest.raises(FairlabError, match="has a damaged answer to the call"):
        load_replay(ledger=str(ledger_path), model=None).ask([request()], stage="test")


def test_replay_of_what_cannot_be_replayed(ledger_path, tmp_path):
    with pytest.raises(FairlabError, match="there is no ledger"):
        load_replay(ledger=str(ledger_path), model=None)
    Ledger(ledger_path).close()
    with pytest.raises(FairlabError, match="holds answers of no model"):
        load_replay(ledger=str(ledger_path), model=None)
    ledger = Ledger(ledger_path)
    for name in "ab":
        ledger.put(name, request().canonical(name), Reply(ExchangeOutcome.OK, "x", "", 1, 1, 1, 0.0))
    with pytest.raises(FairlabError, match=r"holds answers of a, b; choose one as llm\.model"):
        load_replay(ledger=str(ledger_path), model=None)


@pytest.mark.parametrize("read_only", [False, True])
def test_other_files_are_no_ledger(read_only, tmp_path):
    text, database = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("some notes " * 100)
    edit(database, "CREATE TABLE t (x)")
    for path in (text, database):
        before = path.read_bytes()
        with pytest.raises(FairlabError, match=r"choose another llm\.ledger"):
            Ledger(path, read_only=read_only)
        assert path.read_bytes() == before


def test_a_copy_of_a_ledger_works_like_the_ledger(ledger_path, tmp_path):
    with Stub(echo) as stub:
        llm = behind(stub, ledger_path)
        recorded = llm.ask(requests(3), stage="test")
        llm.ledger.close()
    shutil.copy(ledger_path, tmp_path / "copy.sqlite")
    assert load_replay(ledger=str(tmp_path / "copy.sqlite"), model=None).ask(requests(3), stage="x") == recorded


def test_totals_by_stage(ledger_path):
    ledger = Ledger(ledger_path)
    for stage, tokens in (("a", 1), ("b", 2), ("a", 3)):
        ledger.spend(
            "k", stage, Attempt(ExchangeOutcome.OK, prompt_tokens=tokens, completion_tokens=10, seconds=0.5), 0.25
        )
    stages = ledger.stages()
    assert (stages["a"].calls, stages["a"].prompt_tokens, stages["a"].completion_tokens) == (2, 4, 20)
    assert (stages["a"].seconds, stages["a"].dollars) == (1.0, 0.5)
    assert ledger.spent().tokens == 36
    assert ledger.outcomes("a") == {"ok": 2}


SECRET = "sk-very-secret-0123456789"


def test_the_key_is_sent_and_is_found_in_no_file_error_or_reply(ledger_path, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("MY_OWN_NAME", SECRET)
    acts = {
        "prompt 0": said(f"your header was Bearer {SECRET}"),
        "prompt 1": refused(400, f"bad {SECRET}"),
        "prompt 2": said(None, refusal=f"no, {SECRET}"),
        "prompt 3": refused(500, f"{SECRET} " * 50),
    }
    caplog.set_level("DEBUG")
    with Stub(lambda payload, nth: acts[payload["messages"][-1]["content"]]) as stub:
        llm = behind(stub, ledger_path, api_key_env="MY_OWN_NAME", retries=1)
        replies = llm.ask(requests(4), stage="test")
        assert set(stub.keys) == {f"Bearer {SECRET}"}
    with Stub(lambda *_: refused(401, f"wrong key {SECRET}")) as stub:
        llm = behind(stub, ledger_path, api_key_env="MY_OWN_NAME")
        with pytest.raises(FairlabError, match=r"refuses the key in MY_OWN_NAME \(401\)") as error:
            llm.ask([request("other")], stage="test")
    texts = [str(error.value), repr(error.value), repr(llm), repr(llm.model), repr(vars(llm.model)), caplog.text]
    texts += [repr(replies), "".join(str(reply.text) for reply in replies)]
    assert not any(SECRET in text for text in texts)
    assert replies[0].text == "your header was Bearer <MY_OWN_NAME>"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert ledger_path in files
    assert len(files) > 1  # the log beside it
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path


def test_a_key_that_is_not_set_is_said_when_it_is_needed_not_before(ledger_path, monkeypatch):
    with Stub(echo) as stub:
        recorded = behind(stub, ledger_path).ask([request()], stage="test")
        monkeypatch.delenv("NO_SUCH_KEY", raising=False)
        llm = behind(stub, ledger_path, api_key_env="NO_SUCH_KEY")
        assert llm.ask([request()], stage="test") == recorded
        with pytest.raises(FairlabError, match="environment variable NO_SUCH_KEY, which is not set; export it"):
            llm.ask([request("new")], stage="test")
        monkeypatch.setenv("NO_SUCH_KEY", "schlüssel")
        with pytest.raises(FairlabError, match="the key in NO_SUCH_KEY has characters") as error:
            llm.ask([request("new")], stage="test")
    assert "schl" not in str(error.value)


def test_an_event_loop_that_is_running_already_is_no_obstacle(ledger_path):
    import asyncio

    async def cell():
        with Stub(echo) as stub:
            return behind(stub, ledger_path).ask([request()], stage="test")

    assert asyncio.run(cell())[0].text == "hello, call 0"


def test_a_model_is_needed_only_for_what_is_missing(ledger_path):
    with Stub(echo) as stub:
        behind(stub, ledger_path).ask([request()], stage="test")
    assert LLM(None, "m", Ledger(ledger_path)).ask([request()], stage="test")[0].ok
