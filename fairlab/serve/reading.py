"""What a client sends, read by a deadline from its first byte, however it dribbles."""

from __future__ import annotations

import io
import math
import socket
import time
from typing import Any


class DeadlineReader(io.RawIOBase):
    """The bytes of a connection, read by a deadline.

    Args:
        connection: Connection that is read.
        seconds: Longest time to wait for the first byte of a request, and again from it to the last one.

    Attributes:
        deadline: when the request must be whole, of the clock ``time.monotonic``; None until its first byte came.
        silence: longest time without a byte, in seconds.
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
        """Read what there is.

        Raises:
            TimeoutError: nothing came in time.
        """
        left = self.seconds if self.deadline is None else self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not come whole in time")
        self.connection.settimeout(min(left, self.silence))
        count = self.connection.recv_into(buffer)
        if self.deadline is None:
            self.deadline = time.monotonic() + self.seconds
        return count
