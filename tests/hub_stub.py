"""A hub in a thread that takes repositories and commits, as far as huggingface_hub asks."""

from __future__ import annotations

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0"  # of the form of the hub's, and of nobody


class HubStub:
    """A hub of one user.

    Attributes:
        repositories: files by their names, by kind and name of the repository.
        calls: method and path of every call.
        tokens: Authorization headers that came.
    """

    def __init__(self, user="me", *, commits=True):
        self.user, self.commits = user, commits
        self.repositories, self.calls, self.tokens = {}, [], set()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.answer({})

            def do_GET(self):
                stub.noted(self)
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    self.answer({"error": f"bad token {self.headers.get('Authorization')}"}, 401)
                    return
                self.answer({"name": stub.user, "type": "user", "orgs": [{"name": "lab"}]})

            def do_POST(self):
                stub.noted(self)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.answer(*stub.posted(self.path, body))

            def answer(self, content, status=200):
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def noted(self, request):
        self.calls.append(f"{request.command} {request.path}")
        self.tokens.add(request.headers.get("Authorization"))

    def posted(self, path, body):
        """Answer and status of a call."""
        if path == "/api/repos/create":
            asked = json.loads(body)
            kind, name = asked.get("type", "model"), "/".join(filter(None, (asked.get("organization"), asked["name"])))
            name = name if "/" in name else f"{self.user}/{name}"
            self.repositories.setdefault((kind, name), {})
            return {"url": f"{self.url}/{'datasets/' if kind == 'dataset' else ''}{name}"}, 200
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}, 200
        found = re.fullmatch(r"/api/(\w+)s/([^/]+/[^/]+)/(preupload|commit)/main", path)
        if found is None:
            return {"error": f"no such place {path}"}, 404
        kind, name, what = found.groups()
        if what == "preupload":
            files = json.loads(body)["files"]
            return {
                "files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]
            }, 200
        if not self.commits:
            return {"error": f"you may not write here with {TOKEN}"}, 403
        for line in map(json.loads, body.decode().splitlines()):
            if line["key"] == "file":
                self.repositories[kind, name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        return {"commitUrl": f"{self.url}/{name}/commit/1", "commitOid": "1" * 40, "success": True}, 200

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
