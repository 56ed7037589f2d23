"""Overhead of the ledger per call, speed of replaying calls, and number of concurrent calls.

The plain client uses httpx2 and a semaphore, keeps replies in a list, and has neither a ledger nor a schema check.
fairlab (*ours*) uses all of ``fairlab.llm``. Both send the same requests to the same server, a separate process that
answers each call after a fixed delay. The overhead is the difference per call, in wall time and in CPU time of the
client. Client and server share the cores.

    python perf/llm_ledger.py [--calls 1280] [--replayed 10000] [--concurrency 64] [--repeats 5] [--write]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx2

from fairlab.llm.client import LLM
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Reply, Request
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from harness import interleaved_seconds, machine, results

RESULTS = results("llm_ledger")
DELAY = 0.05  # in seconds; a fast response of a real server
REPLY = json.dumps({"neutral": "They left.", "man": "He left.", "woman": "She left.", "confidence": 0.9})
KEYS = ["neutral", "man", "woman", "confidence"]
SCHEMA = {"type": "object", "required": KEYS, "properties": {name: {"type": "string"} for name in KEYS[:3]}}
PROMPT = "A task with its examples. " * 100  # as long as the prompt of counterfactual groups


def serve(pipe: Connection) -> None:
    """Run a server that answers calls after a delay.

    Args:
        pipe: Connection to which the server sends its port and, on request, the highest number of concurrent calls.
    """
    body = {"choices": [{"message": {"content": REPLY}, "finish_reason": "stop"}]}
    body["usage"] = {"prompt_tokens": 700, "completion_tokens": 40}
    content = json.dumps(body).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content) + content
    in_flight = most = 0

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal in_flight, most
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
                in_flight += 1
                most = max(most, in_flight)
                await asyncio.sleep(DELAY)
                in_flight -= 1
                writer.write(answer)
        except asyncio.IncompleteReadError:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=256)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)
        pipe.send(most)

    asyncio.run(run())


@contextmanager
def server():
    """Start a server process, and yield its address and a function that stops it.

    The function returns the highest number of concurrent calls.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()

    def most_in_flight() -> int:
        ours.send("stop")
        return ours.recv()

    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1", most_in_flight
    finally:
        process.terminate()
        process.join()


def make_requests(count: int) -> list[Request]:
    """Return different requests that share a long prefix."""
    return [
        Request(({"role": "system", "content": PROMPT}, {"role": "user", "content": f"Text {k}."}), schema=SCHEMA)
        for k in range(count)
    ]


def plain(url: str, requests: list[Request], concurrency: int) -> list[dict]:
    """Send the requests without a ledger."""

    async def one(client: httpx2.AsyncClient, slot: asyncio.Semaphore, request: Request) -> dict:
        payload = {"model": "m", "messages": list(request.messages), "max_tokens": 1024, "temperature": 0.0}
        payload["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
        async with slot:
            answer = await client.post(f"{url}/chat/completions", json=payload)
        return json.loads(answer.json()["choices"][0]["message"]["content"])

    async def run() -> list[dict]:
        slot = asyncio.Semaphore(concurrency)
        limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
            return await asyncio.gather(*(one(client, slot, request) for request in requests))

    return asyncio.run(run())


def writing_seconds(folder: Path, count: int) -> float:
    """Return the seconds per call that the ledger needs for its own work.

    This work consists of looking up the call, claiming it, recording its cost and storing the reply.
    """
    ledger = Ledger(folder / "writing.sqlite")
    requests = make_requests(count)
    reply = Reply(ExchangeOutcome.OK, REPLY, "", 1, 700, 40, DELAY)
    started = time.perf_counter()
    for k, request in enumerate(requests):
        ledger.get(str(k))
        ledger.claim(str(k))
        ledger.spent()
        ledger.spend(str(k), "perf", Attempt(ExchangeOutcome.OK, REPLY, "", 700, 40, DELAY), 0.001)
        ledger.put(str(k), request.canonical("m"), reply)
    return (time.perf_counter() - started) / count


def replay_seconds(folder: Path, count: int) -> float:
    """Return the seconds that it takes to open a ledger and to replay calls from it, including parsing of replies."""
    ledger = Ledger(folder / "replay.sqlite")
    requests = make_requests(count)
    recorder = LLM(None, "m", ledger)
    for request in requests:
        ledger.put(
            recorder.address_of(request),
            request.canonical("m"),
            Reply(ExchangeOutcome.OK, REPLY, "", 1, 700, 40, DELAY),
        )
    ledger.close()
    started = time.perf_counter()
    replies = LLM(None, "m", Ledger(folder / "replay.sqlite", read_only=True)).ask(requests, stage="perf")
    assert all(reply.value["confidence"] == 0.9 for reply in replies)
    return time.perf_counter() - started


def measure(calls: int, replayed: int, concurrency: int, repeats: int) -> dict[str, object]:
    """Measure and return all figures of the script."""
    requests = make_requests(calls)
    with tempfile.TemporaryDirectory() as name, server() as (url, most_in_flight):
        folder = Path(name)
        number = iter(range(1000))

        def ours() -> list[dict]:
            ledger = Ledger(folder / f"{next(number)}.sqlite")
            llm = LLM(Server(url, "m", concurrency=concurrency), "m", ledger)
            return [reply.value for reply in llm.ask(requests, stage="perf")]

        assert ours() == plain(url, requests, concurrency)
        cpu: dict[str, list[float]] = {"plain": [], "ours": []}

        def timed(name, way):
            def run():
                started = time.process_time()
                way()
                cpu[name].append(time.process_time() - started)

            return run

        ways = {"plain": lambda: plain(url, requests, concurrency), "ours": ours}
        seconds = interleaved_seconds({name: timed(name, way) for name, way in ways.items()}, repeats)
        return {
            "machine": machine(),
            "settings": {"calls": calls, "replayed": replayed, "concurrency": concurrency, "repeats": repeats},
            "delay": DELAY,
            "seconds": seconds,
            "overhead_seconds": overhead(seconds, calls),
            "overhead_cpu_seconds": overhead({name: taken[1:] for name, taken in cpu.items()}, calls),  # skips warm-up
            "writing_seconds": writing_seconds(folder, calls),
            "replay_seconds": replay_seconds(folder, replayed),
            "most_in_flight": most_in_flight(),
        }


def overhead(seconds: dict[str, list[float]], calls: int) -> float:
    """Return the median difference between fairlab and the plain client, in seconds per call."""
    return statistics.median((a - b) / calls for a, b in zip(seconds["ours"], seconds["plain"], strict=True))


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, machine = result["settings"], result["machine"]
    medians = {name: statistics.median(seconds) for name, seconds in result["seconds"].items()}
    rows = [
        ("calls per second, plain", f"{settings['calls'] / medians['plain']:.0f}"),
        ("calls per second, ours", f"{settings['calls'] / medians['ours']:.0f}"),
        ("overhead per call, wall time", f"{1e3 * result['overhead_seconds']:.2f} ms"),
        ("overhead per call, CPU time", f"{1e3 * result['overhead_cpu_seconds']:.2f} ms"),
        ("work of the ledger per call, measured separately", f"{1e3 * result['writing_seconds']:.2f} ms"),
        (f"replay of {settings['replayed']} calls", f"{result['replay_seconds']:.2f} s"),
        ("largest number of simultaneous calls at the server", str(result["most_in_flight"])),
    ]
    lines = [
        f"{machine['processor']}; {settings['calls']} calls, {settings['concurrency']} at a time, to a server on the "
        f"same machine that answers after {1e3 * result['delay']:.0f} ms; medians of {settings['repeats']} interleaved "
        "repeats.",
        "",
        "| quantity | value |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1280)
    parser.add_argument("--replayed", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(arguments.calls, arguments.replayed, arguments.concurrency, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
