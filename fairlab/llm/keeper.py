"""Script that runs a command and ends it when its parent process ends: ``python -I keeper.py COMMAND ...``.

The parent process holds the other end of this script's standard input. If this end is closed, for example because the
parent was killed, the script ends the command. The script imports only the standard library.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

PATIENCE = 5.0  # seconds that the command has to exit


def main() -> int:
    """Run the command, and return its exit code, or 128 plus the signal number if a signal ended it, as in shells."""
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_when_let_go, args=(process,), daemon=True).start()
    code = process.wait()
    return code if code >= 0 else 128 - code


def _end_when_let_go(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1):  # unbuffered: a buffer held by this thread would break the exit of the main thread
        pass
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
