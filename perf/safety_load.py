"""Load test of ``fairlab serve``: lost replies, latencies and memory of the server under continuous requests.

    python perf/safety_load.py MODEL [--clients 8] [--seconds 60] [--texts 1] [--write]

MODEL is the folder of a safety_ensemble run, or the exported model. A reply is lost if it does not arrive, or if it
contains neither scores nor status 503, which asks the client to retry. Memory is the server's resident set size,
measured every second.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from harness import machine, results

RESULTS = results("safety_load")
WORDS = "the a gardener writes of long walks by an old river where women and boats pass every bright morning".split()
PERCENTILES = (50, 90, 99, 100)


def client(port: int, number: int, texts: int, until: float, said: Counter[str], latencies: list[float]) -> None:
    """Send requests until the time is over. All texts are different, and two thirds of them name a group (women)."""
    rng = np.random.default_rng(number)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < until:
        body = json.dumps({"input": [" ".join(rng.choice(WORDS, size=20)) for _ in range(texts)]})
        started = time.perf_counter()
        try:
            connection.request("POST", "/v1/moderations", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            content = json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError):
            said["lost"] += 1
            connection.close()
            continue
        if reply.status == 200 and len(content["results"]) == texts:
            said["answered"] += 1
            latencies.append(time.perf_counter() - started)
        else:
            said["sent away" if reply.status == 503 else "lost"] += 1


def resident(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def load(model: str, clients: int, seconds: float, texts: int) -> dict[str, object]:
    """Start a server, send requests from several clients, and return the outcomes, latencies and memory."""
    before = os.getloadavg()[0]
    command = [sys.executable, "-m", "fairlab.serve", f"model={model}", "port=0"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        found = re.search(r"http://[\d.]+:(\d+)", server.stdout.readline())
        assert found, "the server did not start"
        start_up = time.perf_counter() - started
        said, latencies, memory = Counter[str](), list[float](), [resident(server.pid)]
        until = time.monotonic() + seconds
        asking = [
            threading.Thread(target=client, args=(int(found[1]), k, texts, until, said, latencies))
            for k in range(clients)
        ]
        for one in asking:
            one.start()
        while any(one.is_alive() for one in asking):
            time.sleep(1)
            memory.append(resident(server.pid))
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
    second_half = memory[len(memory) // 2 :]
    return {
        "machine": machine(),
        "load": before,
        "settings": {"clients": clients, "seconds": seconds, "texts": texts},
        "start_up_seconds": start_up,
        "replies": dict(said),
        "requests_per_second": said["answered"] / seconds,
        "latency_ms": {str(p): 1000 * float(np.percentile(latencies, p)) for p in PERCENTILES} if latencies else {},
        "memory_mib": {
            "first": memory[0],
            "quarters": [float(part.mean()) for part in np.array_split(memory[1:], 4)],
            "second_half": [min(second_half), max(second_half)],
        },
        "exit_code": code,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, latency, memory = result["settings"], result["latency_ms"], result["memory_mib"]
    replies = ", ".join(f"{count:,} {name}" for name, count in sorted(result["replies"].items()))
    return "\n".join(
        [
            f"{result['machine']['processor']}; {settings['clients']} clients for {settings['seconds']:.0f} s, "
            f"{settings['texts']} text per request; the load of the machine was {result['load']:.1f} "
            f"before. Replies: {replies}; {result['replies'].get('lost', 0)} lost.",
            "",
            "| quantity | value |",
            "|---|---|",
            f"| requests per second | {result['requests_per_second']:.0f} |",
            *(f"| latency, percentile {name} | {value:.0f} ms |" for name, value in latency.items()),
            f"| memory at the start; mean in each quarter of the time | {memory['first']:.0f}; "
            f"{', '.join(f'{mean:.0f}' for mean in memory['quarters'])} MiB |",
            "| lowest and highest memory in the second half | "
            f"{memory['second_half'][0]:.0f}, {memory['second_half'][1]:.0f} MiB |",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--texts", type=int, default=1, help="number of texts per request")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    result = load(given.model, given.clients, given.seconds, given.texts)
    print(json.dumps(result, indent=1))
    if given.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
