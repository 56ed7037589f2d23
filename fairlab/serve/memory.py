"""Memory use of a process that serves requests for a long time."""

from __future__ import annotations

import ctypes
from contextlib import suppress

LARGE = 1 << 17  # bytes; glibc's own initial threshold
M_MMAP_THRESHOLD = -3  # number of the parameter in glibc's malloc.h


def return_large_buffers() -> None:
    """Make the C library give every freed block of at least :data:`LARGE` bytes back to the system at once.

    By default, glibc raises the threshold to the size of the largest freed block, up to 32 MiB. The buffers of forward
    passes, which differ in size from request to request, then fragment its heap, so that memory keeps growing slowly.
    A threshold that is set stays. Nothing happens if the C library has no such parameter.
    """
    with suppress(AttributeError, OSError, TypeError):  # not glibc
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)
