"""Commands whose output is read by another program, such as ``fairlab ls benchmarks | head``."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNREAD = 141  # how a shell names the end of a program by SIGPIPE


@contextmanager
def quiet_when_unread() -> Iterator[None]:
    """Around a command: once nobody reads what it prints, it ends without a word, as programs of the shell do.

    A pipe of its own that breaks, to a server for example, stays an error.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # what is short is kept back until here
    except BrokenPipeError:
        if not nobody_reads():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes out what is left as it ends
        sys.exit(UNREAD)


def nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has gone."""
    if not hasattr(select, "poll"):  # Windows
        return True
    asked = select.poll()
    asked.register(sys.stdout.fileno(), select.POLLOUT)
    return any(event & select.POLLERR for _, event in asked.poll(0))
