"""The ledger: every answer of a model on disk, addressed by what was asked, and everything spent on it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from fairlab.llm.budget import Spent
from fairlab.llm.exchange import Attempt, Reply
from fairlab.types import FairlabError

FORMAT = 1
LEASE = 3600.0  # seconds after which a claim of a process that seems alive lapses; its number may have been reused
FAILURES = """CREATE TABLE IF NOT EXISTS failures
(key TEXT PRIMARY KEY, request TEXT, reply TEXT, checksum TEXT) WITHOUT ROWID;"""
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


class Ledger:
    """An SQLite file that processes of one machine may share.

    Every answer and every amount spent is committed on its own before the next call, so a process killed at any point
    loses at most the calls in flight. After a power cut the last few may be missing; the file stays readable. Write-
    ahead logging needs a local disk, not a network share. No key is ever written: a request is messages, parameters
    and the model's name.

    Args:
        path: path of the file, which is made with its folder where it is missing.
        read_only: whether the ledger is only replayed; the file must then be there and is never changed.

    Raises:
        FairlabError: the file is missing (read-only), no ledger, or of another format.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self.owner = uuid.uuid4().hex
        self.corrupt: set[str] = set()  # addresses of entries found damaged
        if read_only and not self.path.is_file():
            raise FairlabError(f"there is no ledger {self.path}; give the file of a recorded run as llm.ledger")
        with self._one_sentence():
            self.database = self._open()
            version = self.database.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT:
                raise FairlabError(f"{self.path} is no ledger of this version of fairlab; choose another llm.ledger")
            if not read_only:
                self.database.execute(FAILURES)  # ledgers of earlier versions have no such table

    def _open(self) -> sqlite3.Connection:
        if self.read_only:
            # Without a log beside it the file is complete, and may lie where nothing can be written.
            immutable = not self.path.with_name(self.path.name + "-wal").exists()
            name = f"{self.path.resolve().as_uri()}?mode=ro{'&immutable=1' * immutable}"
        else:
            self._make()
            name = self.path.resolve().as_uri()
        database = sqlite3.connect(name, uri=True, timeout=60, isolation_level=None, check_same_thread=False)
        database.text_factory = lambda text: text.decode("utf-8", "replace")  # damage is for the checksum to find
        if not self.read_only:
            database.execute("PRAGMA synchronous=NORMAL")
        return database

    def _make(self) -> None:
        """Make the file where it is missing: whole, and by one process only, whichever comes first."""
        if self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f".{self.path.name}.{self.owner}")
        try:
            with closing(sqlite3.connect(new)) as database:
                database.executescript(f"PRAGMA journal_mode=WAL; {TABLES} {FAILURES} PRAGMA user_version={FORMAT};")
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
        """Return the answer recorded under an address, or None if there is none or its checksum is wrong.

        Ledgers of earlier versions hold replies that are no answers beside the others; these are not returned.
        """
        reply = self._read("answers", key)
        return reply if reply is not None and reply.kept else None

    def replies(self) -> Iterator[tuple[str, str]]:
        """Yield address and JSON of every reply, failures included, in the order of the addresses."""
        found: dict[str, str] = {}
        with self._one_sentence():
            for table in reversed(self._tables()):  # an answer stands, whatever failed before it
                found |= self.database.execute(f"SELECT key, reply FROM {table}").fetchall()
        yield from sorted(found.items())

    def failure(self, key: str) -> Reply | None:
        """Return the last reply under an address that was no answer, such as one that was cut; None without one."""
        return next(filter(None, (self._read(table, key) for table in reversed(self._tables()))), None)

    def _tables(self) -> list[str]:
        """Tables of replies; a file of an earlier version that is only replayed has no failures."""
        query = "SELECT name FROM sqlite_master WHERE name IN ('answers', 'failures') ORDER BY name"
        with self._one_sentence():
            return [name for (name,) in self.database.execute(query)]

    def _read(self, table: str, key: str) -> Reply | None:
        with self._one_sentence():
            query = f"SELECT request, reply, checksum FROM {table} WHERE key = ?"
            row = self.database.execute(query, (key,)).fetchone()
        if row is None:
            return None
        request, reply, checksum = row
        if checksum != _checksum(key, request, reply):
            self.corrupt.add(key)
            return None
        return Reply.loads(reply)

    def claim(self, key: str) -> bool:
        """Take a call for this process; False while another that is alive has it, or when it has been answered."""
        now = time.time()
        with self._transaction() as database:
            held = database.execute("SELECT owner, pid, until FROM claims WHERE key = ?", (key,)).fetchone()
            if held and held[0] != self.owner and held[2] > now and _alive(held[1]):
                return False
            if self.get(key) is not None:
                return False
            row = (key, self.owner, os.getpid(), now + LEASE)
            database.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", row)
        return True

    def release(self, key: str) -> None:
        """Give up a claim of this process, answered or not."""
        with self._one_sentence():
            self.database.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self.owner))

    def spend(self, key: str, stage: str, attempt: Attempt, dollars: float) -> None:
        """Note an attempt and add it to the totals of its stage."""
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
        """Record a reply and give up the claim.

        A reply that is no answer is kept apart, for a replay of the run alone.

        Returns:
            The reply that stands: an earlier intact answer is never replaced.
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

    def spent(self) -> Spent:
        """Everything ever spent, by all processes."""
        with self._one_sentence():
            return Spent(*self.database.execute(f"SELECT {SUMS} FROM totals").fetchone())

    def stages(self) -> dict[str, Spent]:
        """What each stage spent."""
        with self._one_sentence():
            rows = self.database.execute(f"SELECT stage, {SUMS} FROM totals GROUP BY stage ORDER BY stage").fetchall()
        return {stage: Spent(*sums) for stage, *sums in rows}

    def outcomes(self, stage: str) -> dict[str, int]:
        """Attempts of a stage by outcome."""
        query = "SELECT outcome, COUNT(*) FROM attempts WHERE stage = ? GROUP BY outcome ORDER BY outcome"
        with self._one_sentence():
            return dict(self.database.execute(query, (stage,)).fetchall())

    def models(self) -> list[str]:
        """Names of the models whose answers it holds."""
        names = " UNION ".join(
            f"SELECT json_extract(request, '$.model') FROM {table} WHERE json_valid(request)"
            for table in self._tables()
        )
        with self._one_sentence():
            return [name for (name,) in self.database.execute(f"{names} ORDER BY 1")]

    def close(self) -> None:
        """Close the file; the last process to do so leaves it without a log beside it."""
        self.database.close()


def _checksum(key: str, request: str, reply: str) -> str:
    return hashlib.sha256(f"{key}\n{request}\n{reply}".encode()).hexdigest()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
