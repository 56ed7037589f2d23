"""Stream for reading requests with a deadline that starts at their first byte."""

from __future__ import annotations

import io
import math
import socket
import time
from typing import Any


class DeadlineReader(io.RawIOBase):
    """Stream of the bytes received on a connection, with a deadline per request.

    Args:
        connection: Connection to read from.
        seconds: Maximum time to wait for the first byte of a request, and maximum time from its first byte to its last.

    Attributes:
        deadline: Time by which the request must be complete, on the clock ``time.monotonic``; None until its first
            byte.
        silence: Maximum time without a byte, in seconds.
    """

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        super().__init__()
        self.connection, self.seconds = connection, seconds
        self.deadline: float | None = None
        self.silence = math.inf

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes into a buffer, and return their number.

        Raises:
            TimeoutError: No byte arrived in time.
        """
        left = self.seconds if self.deadline is None else self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not arrive completely in time")
        self.connection.settimeout(min(left, self.silence))
        count = self.connection.recv_into(buffer)
        if self.deadline is None:
            self.deadline = time.monotonic() + self.seconds
        return count
