"""Server process that is started when needed, and ends together with the current process."""

from __future__ import annotations

import http.client
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path

from fairlab.backbones.memory import memory_available
from fairlab.llm.program import ServingProgram
from fairlab.types import FairlabError

KEEPER = Path(__file__).with_name("keeper.py")
POLL = 0.1  # seconds between checks of a server that is loading
READY_WITHIN = 300.0  # seconds; weights may come from a slow disk
RESTARTS = 1
SHOWN = 300  # number of final characters of a server's output shown in an error

log = logging.getLogger(__name__)


class OwnServer:
    """Server of a GGUF file on 127.0.0.1.

    The server ends when this object is deleted or the process ends. If the process is killed, a keeper process between
    it and the server detects this and ends the server. Ctrl-C does not reach the server.

    Args:
        program: Program that serves the file.
        weights: GGUF file.
        memory: Bytes of memory that the server needs, or None to skip the check.
        port: Port on 127.0.0.1, or None for a free one.
        context: Maximum number of tokens of a prompt with its reply.
        slots: Number of requests answered concurrently.

    Raises:
        FairlabError: The port is invalid.
    """

    def __init__(
        self, program: ServingProgram, weights: Path, memory: int | None, port: int | None, context: int, slots: int
    ) -> None:
        if port is not None and not 0 < port < 2**16:
            raise FairlabError(f"llm.port must be in 1..65535, or be null for a free one, not {port}")
        self.program = program
        self.weights = weights
        self.memory = memory
        self.port = port or free_port()
        self.context, self.slots = context, slots
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0  # number of times the server became ready

    @property
    def url(self) -> str:
        """Return the base URL of the server, for :class:`fairlab.llm.server.Server`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def ensure(self) -> None:
        """Start the server if it is not running, and wait until it is ready.

        A server that died is restarted once.

        Raises:
            FairlabError: There is not enough memory, the port is taken, or the server does not become ready or has
                died twice.
        """
        if self.process is not None and self.process.poll() is None:
            return
        if self.starts > RESTARTS:
            raise FairlabError(
                f"the server of {self.weights.name} died twice ({self._last_words()}); check for a lack of memory, "
                "and run again to continue"
            )
        if self.starts:
            log.warning("the server of %s died (%s); it is started again", self.weights.name, self._last_words())
        self._start()
        self.starts += 1

    def _start(self) -> None:
        free = memory_available()
        if self.memory is not None and free is not None and free < self.memory:
            raise FairlabError(
                f"serving {self.weights.name} takes about {self.memory / 1e9:.1f} GB of memory, and "
                f"{free / 1e9:.1f} GB are free; end other programs, or choose another llm="
            )
        if is_taken(self.port):
            raise FairlabError(f"port {self.port} of 127.0.0.1 is in use; omit llm.port to use a free one")
        log.info("starting a server of %s at %s", self.weights.name, self.url)
        self.said = tempfile.TemporaryFile()  # noqa: SIM115, read when the server has died
        command = self.program.command(self.weights, self.port, self.context, self.slots)
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(KEEPER), *command],
            stdin=subprocess.PIPE,
            stdout=self.said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        weakref.finalize(self, _end, self.process, os.getpid())
        end = time.monotonic() + READY_WITHIN
        while not self._is_ready():
            if self.process.poll() is not None:
                raise FairlabError(f"{self.program.path} cannot serve {self.weights} ({self._last_words()})")
            if time.monotonic() > end:
                self.end()
                raise FairlabError(f"{self.program.path} was not ready to serve {self.weights} in {READY_WITHIN:g} s")
            time.sleep(POLL)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)  # no proxy is used
        try:
            connection.request("GET", self.program.ready_path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _last_words(self) -> str:
        """Return the server's exit code and the end of its output, on one line."""
        self.said.seek(0, os.SEEK_END)
        self.said.seek(max(0, self.said.tell() - 4 * SHOWN))
        said = " ".join(self.said.read().decode(errors="replace").split())[-SHOWN:]
        code = None if self.process is None else self.process.poll()
        return f"exit code {code}{f', after: {said}' if said else ''}"

    def end(self) -> None:
        """End the server if it is running."""
        if self.process is not None:
            _end(self.process, os.getpid())


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Close the keeper's standard input, which ends the server.

    Only the process that started the server does this; forked processes do not.
    """
    if os.getpid() != owner or process.stdin is None:
        return
    process.stdin.close()
    process.wait()


def free_port() -> int:
    """Return a port on 127.0.0.1 that is not in use."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_taken(port: int) -> bool:
    """Return whether a process listens on a port on 127.0.0.1."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port left by a dead server is free
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
