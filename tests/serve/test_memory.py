"""Memory use of a serving process."""

import platform
import subprocess
import sys

import pytest

from fairlab.serve.memory import returning_memory

# 64 MiB in blocks that glibc takes from its heap, below a block that stays, so that freeing alone returns nothing.
CODE = """
import ctypes
from pathlib import Path
from fairlab.serve.memory import memory_returner

def pages():
    return int(Path("/proc/self/statm").read_text().split()[1])

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
give_back = memory_returner()
blocks = [libc.malloc(1 << 16) for _ in range(1024)]
for block in blocks:
    ctypes.memset(block, 1, 1 << 16)
kept = libc.malloc(1 << 16)
for block in blocks:
    libc.free(block)
before = pages()
give_back()
print((before - pages()) * 4096 > 60 << 20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a function of glibc")
def test_freed_memory_is_given_back():
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"


@pytest.mark.parametrize(("every", "expected"), [(0.0, ["a", "back", "b", "back"]), (60.0, ["a", "b"])])
def test_memory_is_given_back_after_scoring_but_not_too_often(every, expected):
    events = []

    def scorer(texts):
        events.append(texts[0])
        return [{"hate": 0.5}]

    returning = returning_memory(scorer, lambda: events.append("back"), every)
    assert [returning([text]) for text in "ab"] == [[{"hate": 0.5}]] * 2
    assert events == expected
