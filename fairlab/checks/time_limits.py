"""Time limit for foreign code, in any thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooSlow(Exception):
    """Error of code that exceeded its time limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TooSlow` in the block if it exceeds the limit, at the thread's next Python step.

    A signal would only reach the main thread, and a separate process would need copies of all loaded objects. A single
    call of compiled code is not interrupted; the limit takes effect when it returns.

    Args:
        seconds: Maximum time inside the block.
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
