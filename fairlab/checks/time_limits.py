"""A limit on the time that code of others may take, in whatever thread it runs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooSlow(Exception):
    """Code took longer than it may."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TooSlow` inside if it takes longer, at the next step of Python that the thread does.

    A signal would reach the main thread alone, and a process of its own would have to be given whatever is loaded.
    A single call of compiled code is not cut short; the limit is noticed as soon as it returns.

    Args:
        seconds: Longest time inside.
    """
    thread, lock, over = ctypes.c_ulong(threading.get_ident()), threading.Lock(), False

    def interrupt() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TooSlow))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:  # either it was interrupted before, or it never will be
            over = True
        timer.cancel()
