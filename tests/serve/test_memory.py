"""Memory use of a serving process."""

import platform
import subprocess
import sys

import pytest

# The break of the heap moves if a block of 4 MiB is taken from the heap after one of 8 MiB was freed.
MOVED = """
import ctypes
from fairlab.serve.memory import return_large_buffers
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
if {called}:
    return_large_buffers()
libc.free(libc.malloc(8 << 20))
before = libc.sbrk(0)
libc.malloc(4 << 20)
print(libc.sbrk(0) - before > 2 << 20)  # some of it may have been free already
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a property of glibc")
@pytest.mark.parametrize("called", [True, False])
def test_a_large_buffer_is_never_taken_from_the_heap(called):
    code = MOVED.format(called=called)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(not called)
