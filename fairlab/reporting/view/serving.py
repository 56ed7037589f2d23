"""Small local server that provides the page of all runs and the details of single runs."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fairlab.checks.redaction import without_secrets
from fairlab.reporting.view.browsing import Browser, view_page

LOCAL = "127.0.0.1"
RUN = re.compile(r"/run/(\d+)")


def server(browser: Browser, port: int) -> ThreadingHTTPServer:
    """Return a server, not started yet, that answers only requests from this machine; port 0 is any free port."""
    page = without_secrets(view_page(browser, served=True)).encode()

    class Answers(BaseHTTPRequestHandler):
        """Request handler that sends the page for ``/`` and the details of a run for ``/run/NUMBER``."""

        def do_GET(self) -> None:
            # A foreign page could make its own host name resolve to this machine; its requests would then carry that
            # name.
            host = self.headers.get("Host", "").rpartition(":")[0]
            found = RUN.fullmatch(self.path)
            if host not in (LOCAL, "localhost"):
                self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"not this host")
            elif self.path == "/":
                self._answer(HTTPStatus.OK, "text/html; charset=utf-8", page)
            elif found and int(found[1]) < len(browser.records):
                details = json.dumps(browser.details(int(found[1]), page=False))
                self._answer(HTTPStatus.OK, "application/json", details.encode())
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there is no such page")

        def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    return ThreadingHTTPServer((LOCAL, port), Answers)
