"""Handling of pipes that the reading program closes early, as in ``fairlab ls benchmarks | head``."""

from __future__ import annotations

import logging
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNREAD = 141  # exit status that a shell reports for a program ended by SIGPIPE


@contextmanager
def quiet_when_unread() -> Iterator[None]:
    """End a command silently when the reader of its output has closed the pipe, as shell programs do.

    Any other broken pipe, for example to a server, remains an error. Log lines that cannot be written are dropped,
    because Python would print a traceback for each.
    """
    try:
        before, logging.raiseExceptions = logging.raiseExceptions, False
        try:
            yield
        finally:
            logging.raiseExceptions = before
            sys.stdout.flush()  # short output is buffered until here
    except BrokenPipeError:
        if not nobody_reads():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes the remaining output at exit
        sys.exit(UNREAD)


def nobody_reads() -> bool:
    """Return whether standard output is a pipe that the reader has closed."""
    if not hasattr(select, "poll"):  # Windows
        return True
    asked = select.poll()
    asked.register(sys.stdout.fileno(), select.POLLOUT)
    return any(event & select.POLLERR for _, event in asked.poll(0))
