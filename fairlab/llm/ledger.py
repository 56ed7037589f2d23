"""Ledger: a file of all answers by models, which are looked up by their requests, and of all spending."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.llm.budget import Spent
from fairlab.llm.exchange import Attempt, Reply
from fairlab.types import FairlabError

LEDGER = "outputs/llm_ledger.sqlite"  # file that is used if no other is given
FORMAT = 1
LEASE = 3600.0  # seconds until the claim of an apparently live process lapses; its pid may have been reused
FAILURES = """CREATE TABLE IF NOT EXISTS failures
(key TEXT PRIMARY KEY, request TEXT, reply TEXT, checksum TEXT) WITHOUT ROWID;"""
JOBS = """CREATE TABLE IF NOT EXISTS jobs
(file TEXT PRIMARY KEY, url TEXT, id TEXT, keys TEXT) WITHOUT ROWID;"""
TABLES = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT, reply TEXT, checksum TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    key TEXT, stage TEXT, at REAL, outcome TEXT, reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
    seconds REAL, dollars REAL
);
CREATE TABLE IF NOT EXISTS totals (
    stage TEXT PRIMARY KEY, calls INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER, seconds REAL, dollars REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT, pid INTEGER, until REAL) WITHOUT ROWID;
"""
SUMS = "COALESCE(SUM(calls),0), COALESCE(SUM(prompt_tokens),0), COALESCE(SUM(completion_tokens),0), \
COALESCE(SUM(seconds),0), COALESCE(SUM(dollars),0)"


@dataclass(frozen=True)
class RecordedJob:
    """Batch job on a server whose answers are not recorded yet.

    Attributes:
        file: Identifier of the job's request file on the server.
        url: Address that the requests are sent to.
        id: Identifier of the job, or an empty string before its creation is confirmed.
        keys: Identifiers of the requests in the job.
    """

    file: str
    url: str
    id: str
    keys: frozenset[str]


class Ledger:
    """SQLite file of answers, which several processes on one machine may share.

    Every answer and all spending are committed before the next call, so a process killed at any point loses at most the
    calls in flight. After a power failure, the last few commits may be missing, but the file stays readable.
    Write-ahead logging requires a local disk and does not work on a network share. API keys are never written, because
    a request contains only messages, parameters and the model's name.

    Args:
        path: Path of the file, which is created with its folder if it is missing.
        read_only: Whether the ledger is only replayed; the file must then exist and is never changed.

    Raises:
        FairlabError: The file of a replay is missing, or the file is not a ledger or has another format.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self.owner = uuid.uuid4().hex
        self.corrupt: set[str] = set()  # addresses of damaged entries
        if read_only and not self.path.is_file():
            raise FairlabError(f"there is no ledger {self.path}; give the file of a recorded run as llm.ledger")
        with self._one_sentence():
            self.database = self._open()
            version = self.database.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT:
                raise FairlabError(f"{self.path} is not a ledger of this version of fairlab; choose another llm.ledger")
            if not read_only:
                self.database.execute(FAILURES)  # ledgers of earlier versions lack these tables
                self.database.execute(JOBS)

    def _open(self) -> sqlite3.Connection:
        if self.read_only:
            # Without a write-ahead log the file is complete, and its folder may be read-only.
            immutable = not self.path.with_name(self.path.name + "-wal").exists()
            name = f"{self.path.resolve().as_uri()}?mode=ro{'&immutable=1' * immutable}"
        else:
            self._make()
            name = self.path.resolve().as_uri()
        database = sqlite3.connect(name, uri=True, timeout=60, isolation_level=None, check_same_thread=False)
        database.text_factory = lambda text: text.decode("utf-8", "replace")  # the checksum detects damage
        if not self.read_only:
            database.execute("PRAGMA synchronous=NORMAL")
        return database

    def _make(self) -> None:
        """Create the complete file if it is missing.

        If several processes try this, only one of them creates the file.
        """
        if self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f".{self.path.name}.{self.owner}")
        try:
            with closing(sqlite3.connect(new)) as database:
                database.executescript(
                    f"PRAGMA journal_mode=WAL; {TABLES} {FAILURES} {JOBS} PRAGMA user_version={FORMAT};"
                )
            with suppress(FileExistsError):
                os.link(new, self.path)
        finally:
            new.unlink(missing_ok=True)

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise FairlabError(f"the ledger {self.path} cannot be used: {error}; choose another llm.ledger") from error

    def _rows(self, query: str, *values: object) -> list[Any]:
        """Execute a statement, and return the resulting rows."""
        with self._one_sentence():
            return self.database.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._one_sentence():
            self.database.execute("BEGIN IMMEDIATE")
            try:
                yield self.database
                self.database.execute("COMMIT")
            finally:
                if self.database.in_transaction:
                    self.database.execute("ROLLBACK")

    def get(self, key: str) -> Reply | None:
        """Return the answer recorded under an address, or None if it is missing or its checksum is wrong.

        Ledgers of earlier versions store failed replies among the answers; failed replies are not returned.
        """
        reply = self._read("answers", key)
        return reply if reply is not None and reply.kept else None

    def replies(self) -> Iterator[tuple[str, str]]:
        """Yield the address and the JSON of every reply, including failures, in the order of the addresses."""
        found: dict[str, str] = {}
        for table in reversed(self._tables()):  # an answer takes precedence over earlier failures
            found |= self._rows(f"SELECT CAST(key AS TEXT), CAST(reply AS TEXT) FROM {table}")
        yield from sorted(found.items())

    def failure(self, key: str) -> Reply | None:
        """Return the last failed reply under an address, such as a truncated one, or None if there is none."""
        return next(filter(None, (self._read(table, key) for table in reversed(self._tables()))), None)

    def _tables(self) -> list[str]:
        """Return the names of the tables that hold replies.

        The table of failures may be absent: ledgers of earlier versions do not have one.
        """
        query = "SELECT name FROM sqlite_master WHERE name IN ('answers', 'failures') ORDER BY name"
        return [name for (name,) in self._rows(query)]

    def _read(self, table: str, key: str) -> Reply | None:
        rows = self._rows(f"SELECT request, reply, checksum FROM {table} WHERE key = ?", key)
        if not rows:
            return None
        ((request, reply, checksum),) = rows
        try:
            found = Reply.loads(reply) if checksum == _checksum(key, request, reply) else None
        except (ValueError, KeyError, TypeError):  # the file may come from someone else
            found = None
        if found is None:
            self.corrupt.add(key)
        return found

    def claim(self, key: str) -> bool:
        """Claim a call unless another live process has claimed it or it has an answer; return whether this worked."""
        now = time.time()
        with self._transaction() as database:
            query = "SELECT owner, CAST(pid AS INTEGER), CAST(until AS REAL) FROM claims WHERE key = ?"
            held = database.execute(query, (key,)).fetchone()
            if held and held[0] != self.owner and (held[2] or 0) > now and _alive(held[1] or 0):
                return False
            if self.get(key) is not None:
                return False
            row = (key, self.owner, os.getpid(), now + LEASE)
            database.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", row)
        return True

    def release(self, key: str) -> None:
        """Release a claim of this process."""
        self._rows("DELETE FROM claims WHERE key = ? AND owner = ?", key, self.owner)

    def spend(self, key: str, stage: str, attempt: Attempt, dollars: float) -> None:
        """Record an attempt and add it to the totals of its stage."""
        used = (attempt.prompt_tokens, attempt.completion_tokens, attempt.seconds, dollars)
        with self._transaction() as database:
            row = (key, stage, time.time(), attempt.outcome, attempt.reason, *used)
            database.execute("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            database.execute(
                "INSERT INTO totals VALUES (?, 1, ?, ?, ?, ?) ON CONFLICT (stage) DO UPDATE SET calls = calls + 1, "
                "prompt_tokens = prompt_tokens + excluded.prompt_tokens, seconds = seconds + excluded.seconds, "
                "completion_tokens = completion_tokens + excluded.completion_tokens, "
                "dollars = dollars + excluded.dollars",
                (stage, *used),
            )

    def put(self, key: str, request: str, reply: Reply) -> Reply:
        """Record a reply and release the claim on its call.

        A failed reply is stored separately, only for a replay of the run.

        Returns:
            Valid reply: the earlier answer if there is an intact one, because answers are never replaced; else the
                given reply.
        """
        text = reply.dumps()
        with self._transaction() as database:
            standing = self.get(key)
            if standing is None:
                row = (key, request, text, _checksum(key, request, text))
                table = "answers" if reply.kept else "failures"
                database.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", row)
            database.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self.owner))
        return standing or reply

    def keep_job(self, job: RecordedJob) -> None:
        """Record a batch job, or update its record."""
        row = (job.file, job.url, job.id, json.dumps(sorted(job.keys)))
        self._rows("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", *row)

    def forget_job(self, job: RecordedJob) -> None:
        """Remove a batch job whose answers are recorded, or which has no answers."""
        self._rows("DELETE FROM jobs WHERE file = ?", job.file)

    def jobs(self, url: str) -> list[RecordedJob]:
        """Return the recorded batch jobs for an address."""
        rows = self._rows("SELECT * FROM jobs WHERE url = ? ORDER BY file", url)
        return [RecordedJob(file, at, id, frozenset(json.loads(keys))) for file, at, id, keys in rows]

    def spent(self) -> Spent:
        """Return the total spending of all processes."""
        (sums,) = self._rows(f"SELECT {SUMS} FROM totals")
        return Spent(*sums)

    def stages(self) -> dict[str, Spent]:
        """Return the total spending per stage."""
        rows = self._rows(f"SELECT stage, {SUMS} FROM totals GROUP BY stage ORDER BY stage")
        return {stage: Spent(*sums) for stage, *sums in rows}

    def outcomes(self, stage: str) -> dict[str, int]:
        """Return the number of attempts in a stage, by outcome."""
        query = "SELECT outcome, COUNT(*) FROM attempts WHERE stage = ? GROUP BY outcome ORDER BY outcome"
        return dict(self._rows(query, stage))

    def models(self) -> list[str]:
        """Return the names of the models with answers in the ledger."""
        names = " UNION ".join(
            f"SELECT CAST(json_extract(request, '$.model') AS TEXT) AS model FROM {table} WHERE json_valid(request)"
            for table in self._tables()
        )
        return [name for (name,) in self._rows(f"{names} ORDER BY 1") if name is not None]

    def close(self) -> None:
        """Close the file.

        The last process that closes it removes the write-ahead log.
        """
        self.database.close()


def _checksum(key: str, request: str, reply: str) -> str:
    return hashlib.sha256(f"{key}\n{request}\n{reply}".encode()).hexdigest()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # process of another user
        return True
    return True
