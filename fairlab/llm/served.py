"""A model of a GGUF file, asked through a server that fairlab starts and ends."""

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
from fairlab.llm.program import ServingProgram, find_program
from fairlab.llm.server import Server
from fairlab.types import FairlabError


class ServedModel:
    """Sends requests to a server on this machine, which runs from the first request to the end of the process.

    Answers are recorded under the model's name and the hash of its weights, so that other weights never answer for
    these.

    Args:
        name: Path of a GGUF file, or the hub name of a model in fairlab's own cache.
        program: what serves, as :func:`fairlab.llm.program.find_program` takes it.
        arguments: further arguments of that program, as it spells them.
        port: port on 127.0.0.1; None takes a free one.
        context: tokens of the longest prompt with its reply.
        concurrency: number of requests in flight at a time; llama-cpp-python answers them one by one.
        total_timeout: number of seconds a call may take in all.

    Raises:
        FairlabError: The model is not in the cache, cannot be served, or there is no program to serve it with.
    """

    batch_size = 1

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
                    f"the model {name} is no file, and is not in {cached_folder(name)}; give the path of a GGUF file "
                    f"as llm.model, or bring a model that this command lists: {FETCH}"
                )
            if model.memory is None:
                raise FairlabError(f"{name} is an encoder, and no model that answers; take another llm.model")
            (file,) = model.files
            weights, memory, called = model.folder / file, model.memory, model.hub
            self.expected = model.files[file].sha256
        self.name = f"{called}@{self.expected[:HASH_SHOWN]}"
        self.weights = weights
        self.workers = concurrency
        self.own = _own_server(find_program(program, arguments), weights, memory, port, context, concurrency)
        self.server = Server(
            self.own.url,
            self.name,
            concurrency=concurrency,
            read_timeout=total_timeout,
            total_timeout=total_timeout,
        )

    async def __aenter__(self) -> ServedModel:
        self.starting = asyncio.Lock()
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """The server goes on; the next requests find the model loaded."""
        await self.server.__aexit__()

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """One attempt each, as :class:`Server` makes it; a server that is not there is started first.

        Raises:
            FairlabError: it cannot be started, or died twice; or its weights are damaged.
        """
        async with self.starting:
            await asyncio.to_thread(self._ensure)
        return await self.server.send(requests)

    def _ensure(self) -> None:
        if not self.own.starts and (found := sha256(self.weights)) != self.expected:
            raise FairlabError(f"{self.weights} has SHA-256 {found}, not {self.expected}; remove it and fetch it again")
        self.own.ensure()


@cache
def _own_server(
    program: ServingProgram, weights: Path, memory: int | None, port: int | None, context: int, slots: int
) -> OwnServer:
    """One server for all that ask this process for the same."""
    return OwnServer(program, weights, memory, port, context, slots)
