"""A moderation endpoint behind a stub."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from fairlab.llm import pending
from fairlab.methods.safety_ensemble.sources import moderation
from fairlab.methods.safety_ensemble.sources.moderation import Moderation
from fairlab.types import FairlabError

KEY = "sk-not-a-real-key"


class Stub(BaseHTTPRequestHandler):
    busy = 0
    status = 200
    retry_after = ""
    result = None
    asked: list[list[str]] = []  # noqa: RUF012

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = Stub.status
        if Stub.busy:
            Stub.busy, status = Stub.busy - 1, 429
        elif any("refuse" in text for text in body["input"]):
            status = 400
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            status = 401
        Stub.asked.append(body["input"])
        results = [Stub.result or {"category_scores": {"hate": len(text) / 100}} for text in body["input"]]
        reply = json.dumps({"results": results}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(reply)))
        if status == 429 and Stub.retry_after:
            self.send_header("Retry-After", Stub.retry_after)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def source(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)
    monkeypatch.setattr(pending, "FIRST_WAIT", 0.0)
    Stub.busy, Stub.status, Stub.retry_after, Stub.asked = 0, 200, "", []
    server = HTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    yield Moderation(base_url=url, model="m", outputs=["hate", "other"], api_key_env="STUB_KEY")
    server.shutdown()
    server.server_close()


def test_scores_are_taken_by_name_in_batches(source, monkeypatch):
    monkeypatch.setattr(moderation, "AT_ONCE", 2)
    scores = source.score(["a", "bb", "ccc"])
    np.testing.assert_array_equal(scores, [[0.01, np.nan], [0.02, np.nan], [0.03, np.nan]])
    assert Stub.asked == [["a", "bb"], ["ccc"]]
    assert KEY not in repr(vars(source))


def test_thirty_two_texts_are_sent_together(source):
    assert source.score(["a"] * 33).shape == (33, 2)
    assert [len(texts) for texts in Stub.asked] == [32, 1]
    assert source.score([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"category_scores": {"hate": "x"}}, r'there must be a number per label, not \{"hate": "x"\}'),
        ({"category_scores": {}}, r".*not \{\}"),
        ({"scores": 1}, "there must be a number per label"),
    ],
)
def test_a_reply_without_scores_stops_the_source(source, monkeypatch, result, said):
    monkeypatch.setattr(Stub, "result", result)
    with pytest.raises(
        FairlabError, match=rf"returns no scores \({said}.*; check the source's model, the source's base_url"
    ):
        source.score(["a"])


def test_a_category_without_a_score_is_missing(source, monkeypatch):
    monkeypatch.setattr(Stub, "result", {"category_scores": {"hate": None, "other": 0.5}})
    np.testing.assert_array_equal(source.score(["a"]), [[np.nan, 0.5]])


def test_a_text_that_is_refused_costs_no_other(source):
    scores = source.score(["a", "refuse me", "bb"])
    np.testing.assert_array_equal(scores[:, 0], [0.01, np.nan, 0.02])


def test_a_busy_server_is_asked_again_and_an_absent_one_given_up(source):
    Stub.busy = 2
    assert source.score(["a"])[0, 0] == 0.01
    Stub.status = 503
    with pytest.raises(
        FairlabError, match=r"gave no answer for \d+ s, with 4 retries \(503: .*\); try .*the source's retries"
    ):
        source.score(["a"])


def test_a_wrong_key_is_said_without_it(source, monkeypatch):
    monkeypatch.setenv("STUB_KEY", "wrong")
    with pytest.raises(FairlabError, match="refuses the key in STUB_KEY \\(401\\)") as caught:
        source.score(["a"])
    assert "wrong" not in str(caught.value)
    monkeypatch.delenv("STUB_KEY")
    with pytest.raises(FairlabError, match="STUB_KEY, which is not set"):
        Moderation(base_url="http://127.0.0.1:1", model="m", outputs=["hate"], api_key_env="STUB_KEY")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "check the source's model, the source's base_url"),
        (302, "302: the address redirects; give the server's final address"),
    ],
)
def test_another_address_is_said_at_once(source, status, words):
    Stub.status = status
    with pytest.raises(FairlabError, match=words):
        source.score(["a", "b"])
    assert len(Stub.asked) == 1


def test_a_wait_that_the_server_asks_for_is_obeyed(source):
    Stub.busy, Stub.retry_after = 1, "0.2"
    began = time.monotonic()
    assert source.score(["a"])[0, 0] == 0.01
    assert time.monotonic() - began >= 0.2
