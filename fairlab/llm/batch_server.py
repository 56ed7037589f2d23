"""Client that sends requests to a server as batch jobs, which cost half as much and are answered within a day.

Sources: OpenAI, "Batch API" (https://platform.openai.com/docs/guides/batch), and its API reference for batches and
files (https://platform.openai.com/docs/api-reference/batch), whose format other providers follow.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from fairlab.llm.budget import SHARE
from fairlab.llm.endpoint import Answer, TooLong
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Request, StillAtWork, address
from fairlab.llm.ledger import Ledger, RecordedJob
from fairlab.llm.server import Server
from fairlab.types import FairlabError

log = logging.getLogger(__name__)
MOST_REQUESTS, MOST_BYTES = 50_000, 200 * 10**6  # per job
LONGEST_FILE = 2**30  # maximum bytes read of a file of answers
WINDOW = "24h"
POLL = 30.0  # seconds between queries about a job
WAITS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0)  # seconds before retries of a lost question
ENDED = ("completed", "failed", "expired", "cancelled")
FILES_OF_ANSWERS = ("output_file_id", "error_file_id")


class BatchServer(Server):
    """Client that sends several requests as one batch job.

    A single request is sent directly. The identifier of a job is stored in the ledger until its answers are recorded.
    If a run is killed, the next run therefore finds the jobs and collects their answers instead of paying for new jobs.

    Args:
        base_url, model: Address of the server, and name of the model on it.
        ledger: Ledger that stores the identifiers of the jobs.
        settings: Further arguments of :class:`fairlab.llm.server.Server`.

    Raises:
        FairlabError: The address or another value is invalid.
    """

    batch_size = MOST_REQUESTS
    in_jobs = True

    def __init__(self, base_url: str, model: str, *, ledger: Ledger, **settings: Any) -> None:
        super().__init__(base_url, model, **settings)
        self.workers = 1
        self.ledger = ledger
        self.root = self.url.removesuffix(self.path)
        self.endpoint = f"/{self.root.rpartition('/')[2]}{self.path}"  # as the lines of a job name it
        self.collected: list[RecordedJob] = []  # ended jobs with the requests that were not asked for

    async def __aexit__(self, *error: object) -> None:
        if not any(error):
            self._forget_collected()
        await super().__aexit__(*error)

    def _forget_collected(self) -> None:
        """Remove requests from the recorded jobs after the caller has recorded their answers."""
        while self.collected:
            job = self.collected.pop()
            if job.keys:
                self.ledger.keep_job(job)
            else:
                self.ledger.forget_job(job)

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Send the requests as batch jobs, wait until the jobs have ended, and return one attempt per request.

        Raises:
            StillAtWork: This process is interrupted, or the server cannot be reached, while a job is running.
            FairlabError: The server rejects a job, or does not offer batch jobs.
        """
        self._forget_collected()
        asked = {self._id_of(request): request for request in requests}
        jobs = [job for job in self.ledger.jobs(self.url) if not asked.keys().isdisjoint(job.keys)]
        if len(asked) == 1 and not jobs:
            return await super().send(requests)
        left = {key: asked[key] for key in asked if not any(key in job.keys for job in jobs)}
        try:
            jobs = [job if job.id else await self._find_or_create(job) for job in jobs]
            jobs += [await self._submit_job(part) for part in self._parts(left)]
            found: dict[str, Attempt] = {}
            for job in jobs:
                found |= await self._collect_attempts(job, asked)
        except asyncio.CancelledError as error:
            raise StillAtWork(f"interrupted while batch jobs still run at {self.root}") from error
        return [found[self._id_of(request)] for request in requests]

    def _id_of(self, request: Request) -> str:
        """Return the identifier of a request within its job."""
        return address(request.canonical(self.name, self.extra))

    def _form(self, request: Request) -> str:
        return self.forms[0] if request.schema is not None else ""

    def _parts(self, asked: Mapping[str, Request]) -> Iterator[dict[str, str]]:
        """Split requests into jobs within the server's limits, and yield the lines of each job by request."""
        part, size = dict[str, str](), 0
        for key, request in asked.items():
            body = self._payload(request, self._form(request))
            content = {"custom_id": key, "method": "POST", "url": self.endpoint, "body": body}
            line = json.dumps(content, ensure_ascii=False) + "\n"
            length = len(line.encode())
            if part and (len(part) == MOST_REQUESTS or size + length > MOST_BYTES):
                yield part
                part, size = {}, 0
            part[key] = line
            size += length
        if part:
            yield part

    async def _submit_job(self, lines: Mapping[str, str]) -> RecordedJob:
        """Upload the lines of a job and create it.

        The ledger stores the identifier of the file first, and then the identifier of the job.
        """
        content = "".join(lines.values()).encode()
        form = {"files": {"file": ("requests.jsonl", content, "application/jsonl")}, "data": {"purpose": "batch"}}
        uploaded = await self._object("POST", "/files", **form)
        job = RecordedJob(_id_in(uploaded), self.url, "", frozenset(lines))
        self.ledger.keep_job(job)
        return await self._created(job)

    async def _created(self, job: RecordedJob) -> RecordedJob:
        order = {"input_file_id": job.file, "endpoint": self.endpoint, "completion_window": WINDOW}
        # a second request would be charged again
        made = await self._object("POST", "/batches", retried=False, json=order)
        job = replace(job, id=_id_in(made))
        self.ledger.keep_job(job)
        log.info("batch job %s of %d requests is running; a restarted run collects it", job.id, len(job.keys))
        return job

    async def _find_or_create(self, job: RecordedJob) -> RecordedJob:
        """Return a job whose creation was not confirmed: the server's job with the same file, or a new one."""
        after = ""
        while True:
            listed = await self._object("GET", f"/batches?limit=100{after}")
            data = [one for one in listed.get("data") or [] if isinstance(one, dict)]
            for one in data:
                if one.get("input_file_id") == job.file:
                    job = replace(job, id=_id_in(one))
                    self.ledger.keep_job(job)
                    return job
            if not (data and listed.get("has_more")):
                return await self._created(job)
            after = f"&after={quote(_id_in(data[-1]), safe='')}"

    async def _collect_attempts(self, job: RecordedJob, asked: Mapping[str, Request]) -> dict[str, Attempt]:
        """Wait until a job has ended, and return its attempts for the given requests."""
        ended = await self._wait_until_ended(job)
        if ended["status"] == "failed":
            self.ledger.forget_job(job)
            raise FairlabError(f"{self.root} refuses the batch job {job.id}: {self.clean(_faults(ended))}")
        lines: dict[str, Any] = {}
        for name in FILES_OF_ANSWERS:
            if isinstance(file := ended.get(name), str) and file:
                answer = await self._call("GET", f"/files/{quote(file, safe='')}/content")
                if answer.status != 200:
                    raise FairlabError(f"{self.root} returns no answers of the batch job {job.id}: {self.said(answer)}")
                lines |= dict(_lines(answer.content))
        self.collected.append(replace(job, keys=job.keys - asked.keys()))
        held = [key for key in asked if key in job.keys]
        return {key: self._attempt(asked[key], lines.get(key), ended["status"]) for key in held}

    async def _wait_until_ended(self, job: RecordedJob) -> dict[str, Any]:
        """Wait until a job has ended, and return the server's description of it.

        Raises:
            StillAtWork: The server can no longer be reached.
            FairlabError: The server has no such job.
        """
        told = ""
        while True:
            answer = await self._call("GET", f"/batches/{quote(job.id, safe='')}", lost=StillAtWork)
            if answer.status == 404:
                self.ledger.forget_job(job)
                raise FairlabError(f"{self.root} no longer has the batch job {job.id}; run again to send its requests")
            found = self._checked_object(answer)
            counts = found.get("request_counts")
            answered = counts.get("completed", 0) if isinstance(counts, dict) else 0
            now = f"{found.get('status')}, {answered} of {len(job.keys)} requests are answered"
            if now != told:
                log.info("batch job %s: %s", job.id, self.clean(now))
            if found.get("status") in ENDED:
                return found
            told = now
            await asyncio.sleep(POLL)

    def _attempt(self, request: Request, line: Any, status: str) -> Attempt:
        """Convert a line of a job's answers to an attempt.

        No cost is recorded for a request without an answer.
        """
        response = line.get("response") if isinstance(line, dict) else None
        error = line.get("error") if isinstance(line, dict) else None
        if isinstance(response, dict) and isinstance(code := response.get("status_code"), int):
            form = self._form(request)
            answer = Answer(code, None, json.dumps(response.get("body")).encode())
            try:
                return replace(self._read(answer, request, self._payload(request, form), form, 0.0), share=SHARE)
            except FairlabError as refusal:  # the other lines of the job are answers
                return Attempt(ExchangeOutcome.REJECTED, reason=str(refusal))
        said = self.clean(str(error.get("message") or error.get("code"))) if isinstance(error, dict) else ""
        if status == "expired":
            return Attempt(ExchangeOutcome.TIMED_OUT, reason=said or "the batch job expired")
        if status == "cancelled":
            return Attempt(ExchangeOutcome.REJECTED, reason=said or "the batch job was cancelled")
        return Attempt(ExchangeOutcome.SERVER_ERROR, reason=said or "the batch job contains no answer to this request")

    async def _object(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        return self._checked_object(await self._call(method, path, **content))

    def _checked_object(self, answer: Answer) -> dict[str, Any]:
        """Return the JSON object in a response.

        Raises:
            FairlabError: The server rejected the request, or the response is not a JSON object.
        """
        if answer.status in (401, 403):
            self.refusal(answer, 0.0)
        if answer.status not in (200, 201) or not isinstance(answer.body, dict):
            raise FairlabError(
                f"{self.root} does not accept batch jobs ({answer.status}: {self.said(answer)}); set llm.batch=false "
                "to send requests one by one"
            )
        return dict(answer.body)

    async def _call(
        self, method: str, path: str, *, retried: bool = True, lost: type[FairlabError] = FairlabError, **content: Any
    ) -> Answer:
        """Send an HTTP request and return the response.

        Requests lost by the network or the server are retried.

        Raises:
            FairlabError: Every retry was lost (an error of the class ``lost``), or the response is too long.
        """
        import httpx2

        reason, began = "", time.monotonic()
        for wait in (0.0, *(WAITS if retried else ())):
            await asyncio.sleep(wait)
            try:
                answer = await self._receive(method, self.root + path, LONGEST_FILE, **content)
            except TooLong as error:
                raise FairlabError(f"{self.root} sent more than {LONGEST_FILE:,} bytes; request fewer texts") from error
            except (httpx2.RequestError, httpx2.TimeoutException) as error:
                reason = self.clean(str(error) or type(error).__name__)
                continue
            if answer.status != 429 and answer.status != 408 and answer.status < 500:
                return answer
            reason = f"{answer.status}: {self.said(answer)}"
        raise lost(
            f"{self.root} has not answered about batch jobs for {time.monotonic() - began:.0f} s ({reason}); run again "
            "to collect their results, or set llm.batch=false"
        )


def _id_in(found: Mapping[str, Any]) -> str:
    """Return the identifier in the server's description of a file or a job, or raise an error if it is missing."""
    if not isinstance(value := found.get("id"), str) or not value:
        raise FairlabError("the server's description of a batch job lacks 'id'; set llm.batch=false")
    return value


def _faults(job: Mapping[str, Any]) -> str:
    """Return the first error message of a failed job."""
    errors = job.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    first = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
    line = f", line {first['line']} of its file" if isinstance(first.get("line"), int) else ""
    return f"{first.get('message') or first.get('code') or 'it does not say why'}{line}"


def _lines(content: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of an answer file with the identifiers of their requests.

    Damaged lines are skipped.
    """
    for line in content.splitlines():
        try:
            found = json.loads(line)
            yield str(found["custom_id"]), found
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
