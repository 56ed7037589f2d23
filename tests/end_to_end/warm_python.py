"""Stands where the interpreter would: ``-m fairlab...`` is run by ``warm.py``, anything else by the interpreter.

Called with the interpreter, the socket of ``warm.py``, and the arguments of the interpreter.
"""

import array
import json
import os
import resource
import signal
import socket
import sys


def main(interpreter: str, place: str, *arguments: str) -> int:
    """The exit status of the command; a signal that ended it ends this process as well."""
    if len(arguments) < 2 or arguments[0] != "-m" or arguments[1].split(".")[0] != "fairlab":
        os.execv(interpreter, [interpreter, *arguments])
    _, module, *rest = arguments
    inherited = {
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "limit": resource.getrlimit(resource.RLIMIT_FSIZE),
    }
    request = {"module": module, "arguments": rest} | inherited
    message = json.dumps(request).encode()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(place)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, lambda number, _: connection.send(bytes([number])))
    connection.sendall(len(message).to_bytes(8, "big"))
    files = array.array("i", [0, 1, 2])
    connection.sendmsg([message[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    connection.sendall(message[1:])
    status = int.from_bytes(connection.recv(2, socket.MSG_WAITALL) or b"\0\1", "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
