"""An OpenAI-like server in a thread that misbehaves on request and counts what it sees."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Act:
    """What the server does with one call; ``cut`` breaks the connection off inside the body."""

    status: int = 200
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


def said(text, *, finish="stop", refusal=None, usage=True, delay=0.0):
    """An ordinary chat completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    content = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    if usage:
        content["usage"] = {"prompt_tokens": 10, "completion_tokens": 5}
    return Act(body=json.dumps(content).encode(), delay=delay)


def first_tokens(text, first=None, finish="stop"):
    """A chat completion, with the probabilities of candidates for its first token after a blank one."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    if first is not None:
        candidates = [{"token": token, "logprob": math.log(value)} for token, value in first.items()]
        candidates.sort(key=lambda one: -one["logprob"])
        blank = {"token": "\n\n", "logprob": 0.0, "top_logprobs": []}
        choice["logprobs"] = {"content": [blank, candidates[0] | {"top_logprobs": candidates}]}
    return Act(body=json.dumps({"choices": [choice]}).encode())


def refused(status, message="no", **headers):
    """An error as OpenAI words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act(status, json.dumps({"error": {"message": message}}).encode(), named)


class Stub:
    """A server whose ``act(payload, nth)`` says what to do with the nth call of the same last message, from 0.

    Attributes:
        payloads: of every call, in order of arrival.
        keys: Authorization headers.
        most_in_flight: calls being handled at the same time, at most.
    """

    def __init__(self, act, listed=("m",)):
        self.act = act
        listing = json.dumps({"object": "list", "data": [{"id": name} for name in listed]}).encode()
        self.listing = Act(body=listing)  # what GET /v1/models answers
        self.payloads, self.keys = [], []
        self.seen = Counter()
        self.in_flight = self.most_in_flight = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                stub.keys.append(self.headers.get("Authorization"))
                stub.write(self, stub.listing)

            def do_POST(self):
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.answer(self, payload)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, *_):
                pass  # clients that hang up are part of the tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, handler, payload):
        prompt = payload["messages"][-1]["content"] if "messages" in payload else json.dumps(payload)
        with self.lock:
            self.payloads.append(payload)
            self.keys.append(handler.headers.get("Authorization"))
            nth = self.seen[prompt]
            self.seen[prompt] += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            act = self.act(payload, nth)
            self.stopping.wait(act.delay)
        finally:
            with self.lock:
                self.in_flight -= 1
        self.write(handler, act)

    def write(self, handler, act):
        head = f"HTTP/1.1 {act.status} X\r\nContent-Type: application/json\r\nContent-Length: {len(act.body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in act.headers.items())
        handler.wfile.write(head.encode() + b"\r\n" + act.body[: len(act.body) // 2 if act.cut else None])
        if act.cut:
            handler.close_connection = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()


def wait_until(condition, seconds=20.0):
    """Poll until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "gave up waiting"
        time.sleep(0.01)
