"""A server process of this process's own: started when it is needed, ended with whoever started it."""

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
POLL = 0.1  # seconds between looks at a server that is loading
READY_WITHIN = 300.0  # seconds; weights may come from a slow disk
RESTARTS = 1
SHOWN = 300  # last characters of what a server said that an error repeats

log = logging.getLogger(__name__)


class OwnServer:
    """Serves a GGUF file on 127.0.0.1.

    The server is ended when this object goes, when the process ends, and also when the process is killed: a keeper
    between the two sees it go. A Ctrl-C does not reach the server.

    Args:
        program: what serves.
        weights: the GGUF file.
        memory: bytes of memory that it takes; None is not checked.
        port: port on 127.0.0.1; None takes a free one.
        context: tokens of the longest prompt with its reply.
        slots: number of requests answered side by side.

    Raises:
        FairlabError: the port is no port.
    """

    def __init__(
        self, program: ServingProgram, weights: Path, memory: int | None, port: int | None, context: int, slots: int
    ) -> None:
        if port is not None and not 0 < port < 2**16:
            raise FairlabError(f"llm.port must lie in 1..65535, or be null for a free one, not {port}")
        self.program = program
        self.weights = weights
        self.memory = memory
        self.port = port or free_port()
        self.context, self.slots = context, slots
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0  # how often it got ready

    @property
    def url(self) -> str:
        """Base address of the server, as :class:`fairlab.llm.server.Server` takes it."""
        return f"http://127.0.0.1:{self.port}/v1"

    def ensure(self) -> None:
        """Have the server running and ready; one that died is started again once.

        Raises:
            FairlabError: too little memory, a taken port, a server that does not get ready, or one that died again.
        """
        if self.process is not None and self.process.poll() is None:
            return
        if self.starts > RESTARTS:
            raise FairlabError(
                f"the server of {self.weights.name} died twice ({self._last_words()}); see whether memory is short, "
                "and run again to go on"
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
                f"{free / 1e9:.1f} GB are free; end other programs, or take another llm="
            )
        if is_taken(self.port):
            raise FairlabError(f"port {self.port} of 127.0.0.1 is taken; leave llm.port out, which takes a free one")
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
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)  # no proxy stands between
        try:
            connection.request("GET", self.program.ready_path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _last_words(self) -> str:
        """What the server said last, on one line, or its exit code."""
        self.said.seek(0, os.SEEK_END)
        self.said.seek(max(0, self.said.tell() - 4 * SHOWN))
        said = " ".join(self.said.read().decode(errors="replace").split())[-SHOWN:]
        code = None if self.process is None else self.process.poll()
        return f"exit code {code}{f', after: {said}' if said else ''}"

    def end(self) -> None:
        """End the server, where it runs."""
        if self.process is not None:
            _end(self.process, os.getpid())


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Let go of the keeper; a process that was forked off leaves it to the one that started it."""
    if os.getpid() != owner or process.stdin is None:
        return
    process.stdin.close()
    process.wait()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_taken(port: int) -> bool:
    """Whether somebody listens at a port of 127.0.0.1."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that a dead server left is free
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
