"""Memory use of a serving process."""

import platform
import subprocess
import sys

import pytest

# Once a block of 8 MiB was freed, glibc takes smaller ones from its heap, whose end then moves.
CODE = """
import ctypes
from fairlab.serve.memory import return_large_buffers

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]

def end_moves():
    before = libc.sbrk(0)
    libc.malloc(4 << 20)
    return libc.sbrk(0) - before > 2 << 20  # some of the heap may have been free

libc.free(libc.malloc(8 << 20))
print(end_moves())
return_large_buffers()
print(end_moves())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a property of glibc")
def test_large_buffers_are_not_taken_from_the_heap():
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]
