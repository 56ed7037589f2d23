"""Time limit for third-party code, in any thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooSlow(Exception):
    """Exception for code that exceeded its time limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TooSlow` in a ``with`` block that exceeds the time limit in seconds.

    The exception is raised at the thread's next Python instruction. A call of compiled code is not interrupted; the
    exception is raised when the call returns. Alternatives have disadvantages: a signal would reach only the main
    thread, and a separate process would need copies of all loaded objects.
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
        with lock:  # the interrupt has either happened before or never will
            over = True
        timer.cancel()
