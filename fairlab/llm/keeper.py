"""Runs a command for as long as whoever started it holds on: ``python -I keeper.py COMMAND ...``.

The starter holds the other end of this process's standard input. When it lets go, be it by a kill that it cannot catch,
the command is ended. It is run as a file of its own, so it takes the standard library alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

PATIENCE = 5.0  # seconds that the command has to end by itself


def main() -> int:
    """Exit code of the command; of one that a signal ended 128 and the signal's number, as shells have it."""
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_when_let_go, args=(process,), daemon=True).start()
    code = process.wait()
    return code if code >= 0 else 128 - code


def _end_when_let_go(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1):  # unbuffered: a buffer that this thread holds would break the end of the main one
        pass
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
