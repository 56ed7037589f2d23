"""GGUF models on a server that fairlab starts and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fairlab.backbones.model_cache import FETCH, cached_folder, cached_model
from fairlab.files import sha256
from fairlab.llm.exchange import Attempt, Request
from fairlab.llm.local import HASH_SHOWN
from fairlab.llm.own_server import OwnServer
from fairlab.llm.program import find_program
from fairlab.llm.server import Server
from fairlab.types import FairlabError

shared_server = cache(OwnServer)  # models in this process with equal arguments share a server


class ServedModel:
    """Client of a server on this machine, which runs from the first request to the end of the process.

    Answers are recorded under the model's name and the hash of its weights, so that they are never reused for other
    weights.

    Args:
        name: Path of a GGUF file, or the hub name of a model in fairlab's own cache.
        program: Name or path of the serving program, as for :func:`fairlab.llm.program.find_program`.
        arguments: Additional arguments in the program's own syntax.
        port: Port on 127.0.0.1, or None for a free one.
        context: Maximum number of tokens of a prompt with its reply.
        concurrency: Maximum number of requests in flight; llama-cpp-python answers them one at a time.
        total_timeout: Maximum duration of a call, in seconds.

    Raises:
        FairlabError: The model is not in the cache or cannot be served, or there is no program to serve it.
    """

    batch_size = 1
    in_jobs = False

    def __init__(
        self,
        name: str,
        *,
        program: str | None = None,
        arguments: Sequence[str] = (),
        port: int | None = None,
        context: int = 4096,
        concurrency: int = 1,
        total_timeout: float = 300.0,
    ) -> None:
        if Path(name).is_file():
            weights, memory, called = Path(name), Path(name).stat().st_size, Path(name).stem
            self.expected = sha256(weights)
        else:
            model = cached_model(name)
            if model is None:
                raise FairlabError(
                    f"the model {name} is not a file, and is not in {cached_folder(name)}; give the path of a GGUF "
                    f"file as llm.model, or fetch a model that this command lists: {FETCH}"
                )
            if model.memory is None:
                raise FairlabError(f"{name} is an encoder, which cannot answer; choose another llm.model")
            (file,) = model.files
            weights, memory, called = model.folder / file, model.memory, model.hub
            self.expected = model.files[file].sha256
        self.name = f"{called}@{self.expected[:HASH_SHOWN]}"
        self.weights = weights
        self.workers = concurrency
        self.own = shared_server(find_program(program, arguments), weights, memory, port, context, concurrency)
        self.server = Server(
            self.own.url, self.name, concurrency=concurrency, read_timeout=total_timeout, total_timeout=total_timeout
        )

    async def __aenter__(self) -> ServedModel:
        self.starting = asyncio.Lock()
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Keep the server running, so that later requests find the model loaded."""
        await self.server.__aexit__()

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Send the requests through :class:`Server`, and return one attempt per request.

        The server is started first if it is not running.

        Raises:
            FairlabError: The server cannot be started or died twice, or its weights are damaged.
        """
        async with self.starting:
            await asyncio.to_thread(self._ensure)
        return await self.server.send(requests)

    def _ensure(self) -> None:
        if not self.own.starts and (found := sha256(self.weights)) != self.expected:
            raise FairlabError(f"{self.weights} has SHA-256 {found}, not {self.expected}; remove it and fetch it again")
        self.own.ensure()
