"""A server of batch jobs as OpenAI documents them, with answers by a function of the payload.

The objects are those of https://platform.openai.com/docs/api-reference/batch and /docs/guides/batch: a file with the
purpose ``batch``, a batch with its status, counts and files, lines of answers with ``response`` or ``error``, and the
line of a request that a job did not come to (``batch_expired``).
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EXPIRED = {
    "code": "batch_expired",
    "message": "This request could not be executed before the completion window expired.",
}


class BatchStub:
    """Server whose ``act(payload, nth)`` answers the nth line of all jobs with a :class:`tests.llm.stub.Act`, or None.

    Attributes:
        polls: Number of questions after a job until it ends.
        ends: Status in which jobs end; a line without an answer is then left out, or expired.
        failure: Error of the whole job, if ``ends`` is ``failed``.
        uploads: Lines of every uploaded file.
        direct: Payloads sent without a job.
        lost: Paths whose next request is answered by a cut connection, after it was carried out.
    """

    def __init__(self, act, polls=2, ends="completed", failure=None):
        self.act, self.polls, self.ends, self.failure = act, polls, ends, failure
        self.uploads, self.direct, self.jobs, self.files, self.lost = [], [], {}, {}, []
        self.asked = 0
        self.calls = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                stub.handle(self, b"")

            def do_POST(self):
                stub.handle(self, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def handle(self, handler, body):
        path = handler.path.removeprefix("/v1")
        self.calls.append((handler.command, path))
        status, content = self.answer(handler.command, path, body)
        if path in self.lost:
            self.lost.remove(path)
            handler.connection.close()
            handler.close_connection = True
            return
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    def answer(self, method, path, body):
        if path == "/chat/completions":
            payload = json.loads(body)
            self.direct.append(payload)
            act = self.act(payload, 0)
            return act.status, act.body
        if path == "/files":
            assert b'name="purpose"\r\n\r\nbatch' in body
            content = body[body.index(b'{"custom_id"') : body.rindex(b"}\n") + 2]
            self.uploads.append([json.loads(line) for line in content.splitlines()])
            name = f"file-{len(self.uploads)}"
            self.files[name] = content
            return 200, {"id": name, "object": "file", "bytes": len(content), "purpose": "batch"}
        if path == "/batches":
            order = json.loads(body)
            assert order["completion_window"] == "24h"
            assert order["endpoint"] == "/v1/chat/completions"
            name = f"batch_{len(self.jobs) + 1}"
            self.jobs[name] = {"id": name, "object": "batch", **order, "status": "validating", "polled": 0}
            return 200, self.jobs[name]
        if path.startswith("/batches?"):
            return 200, {"object": "list", "data": list(self.jobs.values()), "has_more": False}
        if path.endswith("/content"):
            return 200, self.files[path.split("/")[2]]
        name = path.rpartition("/")[2]
        if name not in self.jobs:
            return 404, {"error": {"message": f"No batch found with id '{name}'."}}
        return 200, self.polled(self.jobs[name])

    def polled(self, job):
        job["polled"] += 1
        job["status"] = "in_progress" if job["polled"] < self.polls else self.ends
        if job["status"] == "failed":
            job["errors"] = {"object": "list", "data": [self.failure]}
        elif job["status"] == self.ends and "output_file_id" not in job:
            self.run(job)
        return job

    def run(self, job):
        output, errors = [], []
        for line in map(json.loads, self.files[job["input_file_id"]].splitlines()):
            act = self.act(line["body"], self.asked)
            self.asked += 1
            common = {"id": f"batch_req_{self.asked}", "custom_id": line["custom_id"]}
            if act is None:
                if self.ends == "expired":
                    errors.append({**common, "response": None, "error": EXPIRED})
                continue
            response = {"status_code": act.status, "request_id": "req_1", "body": json.loads(act.body)}
            (output if act.status == 200 else errors).append({**common, "response": response, "error": None})
        for name, lines in (("output_file_id", output), ("error_file_id", errors)):
            if lines:
                job[name] = f"{name}-of-{job['id']}"
                self.files[job[name]] = "".join(json.dumps(one) + "\n" for one in reversed(lines)).encode()
        job["request_counts"] = {"total": len(output) + len(errors), "completed": len(output), "failed": len(errors)}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
