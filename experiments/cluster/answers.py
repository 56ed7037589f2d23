"""Stub server of a language model, whose rule-based answers have the requested JSON form."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.types import NEUTRAL

WRONG = 7  # one text in this many is left unchanged, so that a prompt search finds mistakes


@contextmanager
def server() -> Iterator[str]:
    """Run the stub server within the context, and yield its address."""
    swap = WordSwap(load_lexicon("gender"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            schema = asked["response_format"]["json_schema"]["schema"]
            said = json.dumps(answer(asked["messages"][-1]["content"], schema, swap))
            usage = {"prompt_tokens": 100, "completion_tokens": 20}
            choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
    finally:
        listening.shutdown()
        listening.server_close()


def answer(said: str, schema: dict[str, Any], swap: WordSwap) -> dict[str, Any]:
    """Return an answer that matches the schema.

    The answer is the versions of a text made by word swapping, another wording of the text, or the first label.

    Args:
        said: Last message of the request: a text, or a JSON object that contains the text under ``text``.
        schema: JSON schema of the answer.
        swap: Word swap that rewrites a text for an attribute.
    """
    keys = schema["properties"]
    if "label" in keys:
        return {"label": keys["label"]["enum"][0]}
    if NEUTRAL not in keys:
        return {"text": f"In other words, {json.loads(said)['text']}"}
    attributes = [key for key in keys if key != "confidence"]
    wrong = sum(said.encode()) % WRONG == 0
    return {key: said if wrong else swap(said, key) for key in attributes} | {"confidence": 0.9}
