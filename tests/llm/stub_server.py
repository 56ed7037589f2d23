"""Stands for llama.cpp's ``llama-server``: run as a program, told by the weights file how to misbehave.

The file holds JSON: ``die_at``, the numbers of calls, counted from 1 over all starts, at which the server dies before
it answers; ``fail``, whether it cannot load the model. Calls are counted in a file beside it, by a byte each.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

REPLY = {"choices": [{"message": {"content": '{"word": "ok", "sure": 0.5}'}, "finish_reason": "stop"}]}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        calls = WEIGHTS.with_suffix(".calls")
        with calls.open("ab") as counted:
            counted.write(b".")
        if calls.stat().st_size in ACTS.get("die_at", []):
            print("out of luck", flush=True)
            os._exit(3)
        body = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    given = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    WEIGHTS = Path(given["--model"])
    ACTS = json.loads(WEIGHTS.read_text())
    WEIGHTS.with_suffix(".pid").write_text(str(os.getpid()))
    if ACTS.get("fail"):
        sys.exit("no such tensor")
    HTTPServer((given["--host"], int(given["--port"])), Handler).serve_forever()
