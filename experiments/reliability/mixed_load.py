"""Measure lost replies and latency of well-behaved clients of ``fairlab serve`` among slow, huge and hostile ones.

``python experiments/reliability/mixed_load.py MODEL`` loads a server of an exported ensemble for a minute, and writes
``mixed_load.json`` next to this file; docs/threat_model.md quotes it. A reply to a well-behaved client counts as lost
if there is none, or if it is neither scores nor 503. After 503, the client retries, as the reply asks.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairlab.files import write_whole

RESULT = Path(__file__).with_name("mixed_load.json")
GOOD = 4  # number of well-behaved clients, which send requests without pause
PERCENTILES = (50, 90, 99, 100)
WORDS = "the a gardener writes of long walks by an old river where birds and boats pass every bright morning".split()
PATH = "/v1/moderations"


def ask(port: int, texts: list[str], timeout: float = 60) -> tuple[int, Any]:
    """Send texts to the server, and return the status and content of the reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    with contextlib.closing(connection):
        connection.request("POST", PATH, json.dumps({"input": texts}))
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


def good(port: int, number: int, until: float, said: Counter[str], latencies: list[float]) -> None:
    """Request the scores of new texts repeatedly, and retry after 503."""
    rng = np.random.default_rng(number)
    while time.monotonic() < until:
        text, started, tries = " ".join(rng.choice(WORDS, size=20)), time.perf_counter(), 0
        try:
            while (found := ask(port, [text]))[0] == http.HTTPStatus.SERVICE_UNAVAILABLE and tries < 30:
                tries += 1
                time.sleep(1)
        except (OSError, http.client.HTTPException, ValueError):
            said["lost"] += 1
            continue
        whole = found[0] == http.HTTPStatus.OK and len(found[1]["results"]) == 1
        said["answered" if whole else "lost"] += 1
        said["came again"] += tries
        latencies.append(time.perf_counter() - started)


def head(port: int, length: int) -> bytes:
    """Return the head of a request whose body has the given number of bytes."""
    return f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\r\n".encode()


def dribbles(begin: Callable[[int], bytes], drop: bytes) -> Callable[[int], None]:
    """Return a client that sends a beginning, and then a few bytes every tenth of a second until it is closed."""

    def attack(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
            one.sendall(begin(port))
            for _ in range(600):
                one.sendall(drop)
                time.sleep(0.1)

    return attack


def never_reads(port: int) -> None:
    """Send many requests without reading the replies."""
    body = json.dumps({"input": ["a text"] * 1_000}).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        for _ in range(50):
            one.sendall(head(port, len(body)) + body)
        time.sleep(5)


def sends(content: bytes) -> Callable[[int], None]:
    """Return a client that sends bytes that are not a request, and reads the reply."""

    def attack(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
            one.sendall(content)
            one.recv(1000)

    return attack


HOSTILE: dict[str, Callable[[int], object]] = {
    "dribbled head": dribbles(lambda port: f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode(), b"X: a\r\n"),
    "dribbled body": dribbles(lambda port: head(port, 1_000), b"a"),
    "silence": dribbles(lambda _: b"", b""),
    "emoji": lambda port: ask(port, ["\U0001f600" * 16_000]),
    "a thousand texts": lambda port: ask(port, [" ".join(WORDS)] * 1_000),
    "a body that is too large": lambda port: ask(port, ["a" * 2_000_000]),
    "replies that are not read": never_reads,
    "no request": sends(b"\x16\x03\x01\x00" * 1_000 + b"\r\n\r\n"),
    "nested JSON": lambda port: sends(head(port, 200_000) + b"[" * 200_000)(port),
}


def hostile(attack: Callable[[int], object], port: int, until: float) -> None:
    """Repeat an attack until the end of the measurement."""
    while time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            attack(port)
        time.sleep(0.05)


def mixed_load(model: str, seconds: float, *settings: str) -> dict[str, Any]:
    """Return the outcomes and latencies of the well-behaved clients' requests.

    Args:
        model: Folder of an exported ensemble.
        seconds: Duration of the load in seconds.
        settings: Overrides of ``fairlab.serve``.
    """
    command = [sys.executable, "-m", "fairlab.serve", f"model={model}", "port=0", *settings]
    said, latencies = Counter[str](), list[float]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://[\d.]+:(\d+)", server.stdout.readline())
        assert found, "the server did not start"
        port, until = int(found[1]), time.monotonic() + seconds
        clients = [threading.Thread(target=good, args=(port, k, until, said, latencies)) for k in range(GOOD)]
        others = [
            threading.Thread(target=hostile, args=(attack, port, until), daemon=True) for attack in HOSTILE.values()
        ]
        for one in (*clients, *others):
            one.start()
        for one in clients:
            one.join()
        server.send_signal(signal.SIGTERM)
        code = server.wait(120)
    return {
        "settings": {"seconds": seconds, "good": GOOD, "hostile": list(HOSTILE), "overrides": list(settings)},
        "replies": dict(said),
        "latency_ms": {str(p): round(1000 * float(np.percentile(latencies, p))) for p in PERCENTILES},
        "exit_code": code,
    }


def main() -> None:
    """Load a server, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    found = mixed_load(given.model, given.seconds, "connections=32")
    write_whole(RESULT, json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
