"""Moderation requests are answered as OpenAI documents it, whatever else comes; the server goes on."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fairlab.serve.moderation_server import Moderations, ServerBounds, texts_of


class Scorer:
    """Scores by length; waits where it is told to, and fails on a word."""

    def __init__(self):
        self.go, self.called = threading.Event(), []
        self.go.set()

    def __call__(self, texts):
        self.go.wait(10)
        self.called.append(len(texts))
        if "fail" in texts:
            raise ValueError("no")
        return [{"hate": len(text) / 10, "violence": 0.2, "hate_label": 0} for text in texts]


@pytest.fixture
def serving(request):
    scorer = Scorer()
    bounds = ServerBounds(body=1000, waiting=2, connections=8, seconds=getattr(request, "param", 1))
    server = Moderations(scorer, {"hate": 0.5, "violence": 0.5}, "mine", 0, bounds)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    scorer.go.set()
    server.end()
    thread.join()


def ask(server, body=b'{"input": "abcdef"}', path="/v1/moderations", method="POST", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply, json.loads(content)


def test_a_reply_is_as_documented(serving):
    reply, content = ask(serving, b'{"input": ["abc", "abcdef"], "model": "omni-moderation-latest"}')
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    assert set(content) == {"id", "model", "results"}
    assert (content["id"][:5], content["model"]) == ("modr-", "mine")
    assert content["results"] == [
        {
            "flagged": flagged,
            "categories": {"hate": flagged, "violence": False},
            "category_scores": {"hate": score, "violence": 0.2},
            "category_applied_input_types": {"hate": ["text"], "violence": ["text"]},
        }
        for flagged, score in ((False, 0.3), (True, 0.6))
    ]
    assert ask(serving)[1]["results"] == content["results"][1:]
    assert ask(serving, None, "/health", "GET")[1] == {"status": "ok", "model": "mine", "harms": ["hate", "violence"]}


def test_the_openai_client_reads_it(serving):
    openai = pytest.importorskip("openai", reason="the openai client is not installed")
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{serving.port}/v1", api_key="none", max_retries=0)
    (result,) = client.moderations.create(input="abcdef").results
    assert result.flagged
    assert result.category_scores.hate == 0.6
    with pytest.raises(openai.BadRequestError, match="at least one"):
        client.moderations.create(input=[])


def test_parts_are_one_text():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert texts_of(json.dumps({"input": parts, "model": "omni-moderation-latest"}).encode()) == ["a\nb"]
    assert texts_of(b'{"input": ["a", "b"]}') == ["a", "b"]
    assert texts_of(b'{"input": "a"}') == ["a"]


WRONG = {
    "no JSON": (b"input=text", "the body is not JSON"),
    "no UTF-8": (b'{"input": "\xe9"}', "the body is not JSON"),
    "nested": (b"[" * 400 + b"]" * 400, "the body is not JSON (nested too deeply)"),
    "nothing": (b"", "the body is not JSON"),
    "a list": (b'["text"]', "the body must be an object with 'input'"),
    "no input": (b'{"texts": "a"}', "the body must be an object with 'input'"),
    "a number": (b'{"input": 5}', "'input' must be a text or a list of texts"),
    "numbers": (b'{"input": ["a", 5]}', "'input' must be a text or a list of texts"),
    "an image": (b'{"input": [{"type": "image_url", "image_url": {"url": "x"}}]}', "this server reads only texts"),
    "another part": (b'{"input": [{"type": "text"}]}', 'must be {"type": "text", "text": ...}'),
    "parts and texts": (b'{"input": ["a", {"type": "text", "text": "b"}]}', "'input' must be a text or a list"),
    "no text": (b'{"input": []}', "at least one"),
    "another model": (b'{"input": "a", "model": 5}', "'model' must be a text"),
    "half a pair": (b'{"input": "\\ud800"}', "half a surrogate pair"),
}


@pytest.mark.parametrize(("body", "sentence"), WRONG.values(), ids=WRONG)
def test_a_wrong_body_is_a_bad_request(serving, body, sentence):
    reply, content = ask(serving, body)
    assert reply.status == 400
    assert sentence in content["error"]["message"]
    assert set(content["error"]) == {"message", "type", "param", "code"}
    assert ask(serving)[0].status == 200


def test_other_places_methods_and_hosts_are_refused(serving):
    assert ask(serving, path="/v1/chat/completions")[0].status == 404
    reply, _ = ask(serving, None, method="GET")
    assert (reply.status, reply.headers["Allow"]) == (405, "POST")
    assert ask(serving, method="DELETE")[0].status == 405
    assert ask(serving, Host="elsewhere.example:80")[0].status == 403
    assert ask(serving, method="BREW")[0].status == 405
    assert ask(serving)[0].status == 200


def test_a_body_that_is_too_large_is_refused_whatever_comes_of_it(serving):
    reply, content = ask(serving, b"x" * 200_000)
    assert (reply.status, content["error"]["message"]) == (413, "the body is longer than 1,000 bytes")
    assert ask(serving, b"", **{"Content-Length": "100000000", "Expect": "100-continue"})[0].status == 413
    chunk = b"4b0\r\n" + b"x" * 1200 + b"\r\n0\r\n\r\n"
    assert ask(serving, chunk, **{"Transfer-Encoding": "chunked"})[0].status == 413
    assert ask(serving)[0].status == 200


def test_a_body_that_does_not_come_ends_in_time(serving):
    with socket.create_connection(("127.0.0.1", serving.port), timeout=10) as one:
        host = f"Host: 127.0.0.1:{serving.port}"
        one.sendall(f"POST /v1/moderations HTTP/1.1\r\n{host}\r\nContent-Length: 50\r\n\r\n{{".encode())
        assert one.recv(100).startswith(b"HTTP/1.1 408 ")
    with socket.create_connection(("127.0.0.1", serving.port), timeout=10) as one:
        one.sendall(b"\x16\x03\x01\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 400 ")
    assert ask(serving)[0].status == 200


@pytest.mark.parametrize("twice", ["Host: elsewhere.example:80", "Content-Length: 3", "Content-Length: -5"])
def test_a_head_that_can_be_read_in_two_ways_is_refused(serving, twice):
    body = b'{"input": "a"}'
    head = f"Host: 127.0.0.1:{serving.port}\r\nContent-Length: {len(body)}\r\n{twice}"
    with socket.create_connection(("127.0.0.1", serving.port), timeout=10) as one:
        one.sendall(f"POST /v1/moderations HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
        assert one.recv(100).startswith(b"HTTP/1.1 400 ")


def wait_until(happened):
    deadline = time.monotonic() + 5
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_line_is_bounded_and_what_waits_is_scored_together(serving):
    scorer = serving.line.scorer
    scorer.go.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask, serving)
        wait_until(lambda: serving.line.unanswered == 1 and not serving.line.pieces)
        others = [pool.submit(ask, serving, b'{"input": ["a", "b"]}') for _ in range(2)]
        wait_until(lambda: len(serving.line.pieces) == 2)
        reply, _ = ask(serving)
        assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
        scorer.go.set()
        assert [one.result()[0].status for one in (first, *others)] == [200] * 3
    assert scorer.called == [1, 4]
    scorer.go.clear()
    assert ask(serving)[0].status == 504
    scorer.go.set()
    assert ask(serving)[0].status == 200


def test_one_that_fails_takes_no_other_with_it(serving, caplog):
    scorer = serving.line.scorer
    scorer.go.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask, serving)
        wait_until(lambda: serving.line.unanswered == 1 and not serving.line.pieces)
        others = [pool.submit(ask, serving, body) for body in (b'{"input": "fail"}', b'{"input": "abcdef"}')]
        wait_until(lambda: len(serving.line.pieces) == 2)
        scorer.go.set()
        assert [one.result()[0].status for one in (first, *others)] == [200, 500, 200]


@pytest.mark.parametrize("serving", [0.2], indirect=True)
@pytest.mark.parametrize("drop", [b"X: a\r\n", b"X", b"\r\n", b"GET "])
def test_a_client_that_dribbles_is_closed(serving, drop):
    with socket.create_connection(("127.0.0.1", serving.port), timeout=10) as one:
        started = time.monotonic()
        closed = False
        while not closed and time.monotonic() - started < 5:
            time.sleep(0.05)
            try:
                one.sendall(drop)
            except OSError:
                closed = True
        assert closed
    assert ask(serving)[0].status == 200


def test_a_body_that_dribbles_is_refused_in_time(serving):
    with socket.create_connection(("127.0.0.1", serving.port), timeout=10) as one:
        host = f"Host: 127.0.0.1:{serving.port}\r\n"
        one.sendall(f"POST /v1/moderations HTTP/1.1\r\n{host}".encode())
        one.sendall(b"Content-Length: 100\r\n\r\n")
        started = time.monotonic()
        with contextlib.suppress(OSError):
            for _ in range(19):
                one.sendall(b"a")
                time.sleep(0.05)
        assert one.recv(100).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 1.8


def test_those_who_only_hold_connections_make_room(serving):
    held = [socket.create_connection(("127.0.0.1", serving.port)) for _ in range(8)]
    wait_until(lambda: len(serving.server.server_state.connections) == 8)
    assert [ask(serving)[0].status for _ in range(3)] == [200] * 3
    assert len(serving.server.server_state.connections) <= 8
    with contextlib.suppress(ConnectionResetError):
        assert held[0].recv(1) == b""  # the one that waited longest
    for one in held:
        one.close()


def test_a_large_request_lets_small_ones_pass_and_is_not_forgotten(serving):
    scorer = serving.line.scorer
    scorer.go.clear()
    large = json.dumps({"input": ["a" * 90] * 9}).encode()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask, serving)
        wait_until(lambda: serving.line.unanswered == 1 and not serving.line.pieces)
        slow = pool.submit(ask, serving, large)
        wait_until(lambda: len(serving.line.pieces) == 1)
        fast = pool.submit(ask, serving, b'{"input": "ab"}')
        wait_until(lambda: len(serving.line.pieces) == 2)
        assert serving.line.pieces[0].texts == ["ab"]
        scorer.go.set()
        assert [one.result()[0].status for one in (first, slow, fast)] == [200] * 3
    assert len(slow.result()[1]["results"]) == 9
