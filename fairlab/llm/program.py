"""Programs that serve a GGUF file on this machine, with their command lines."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlab.checks.cores import cores
from fairlab.types import FairlabError

LLAMA_SERVER = "llama-server"
COMPILERS = ("cc", "gcc", "clang", "cl")


@dataclass(frozen=True)
class ServingProgram:
    """Program that serves models: ``llama-server`` of llama.cpp, or a Python interpreter with llama-cpp-python.

    Attributes:
        path: Path of the program or of the Python interpreter.
        is_python: Whether the path is a Python interpreter.
        arguments: Additional arguments in the program's own syntax. They come last on the command line, so they
            override equal arguments of :meth:`command`.
    """

    path: str
    is_python: bool
    arguments: tuple[str, ...] = ()

    @property
    def ready_path(self) -> str:
        """Return the URL path that responds with status 200 once the model is loaded."""
        return "/v1/models" if self.is_python else "/health"

    def command(self, weights: Path, port: int, context: int, slots: int) -> list[str]:
        """Return the command that serves a file on the loopback address.

        ``context`` is the maximum number of tokens of a prompt with its reply, and ``slots`` the number of requests
        answered concurrently; llama-cpp-python answers them one at a time.
        """
        threads = str(cores())
        where = ["--model", str(weights), "--host", "127.0.0.1", "--port", str(port)]
        if self.is_python:
            sizes = ["--n_ctx", str(context), "--n_threads", threads, "--n_threads_batch", threads]
            return [self.path, "-m", "llama_cpp.server", *where, *sizes, *self.arguments]
        sizes = ["--ctx-size", str(context * slots), "--parallel", str(slots), "--threads", threads]
        return [self.path, *where, *sizes, *self.arguments]


def find_program(given: str | None, arguments: Sequence[str] = ()) -> ServingProgram:
    """Return the given program, else this interpreter if it has llama-cpp-python, else ``llama-server`` on the PATH.

    Args:
        given: Name on the PATH, or path, of a ``llama-server`` or of an interpreter with llama-cpp-python, whose name
            begins with ``python``.
        arguments: Additional arguments of the program.

    Raises:
        FairlabError: There is no such program.
    """
    if given is not None:
        if not (found := shutil.which(given)):
            raise FairlabError(f"llm.program={given} is not an executable program; give its path")
        return ServingProgram(found, Path(found).name.startswith("python"), tuple(arguments))
    if importlib.util.find_spec("llama_cpp") is not None:
        return ServingProgram(sys.executable, is_python=True, arguments=tuple(arguments))
    if found := shutil.which(LLAMA_SERVER):
        return ServingProgram(found, is_python=False, arguments=tuple(arguments))
    compiler = any(shutil.which(name) for name in COMPILERS)
    lacking = "" if compiler else ", for which you must first install a C++ compiler, because it builds llama.cpp"
    raise FairlabError(
        f"a model served on this machine needs the extra local-llm: pip install 'fairlab[local-llm]'{lacking}; or a "
        f"{LLAMA_SERVER} on the PATH, or the path of one, or of a Python that has llama-cpp-python, as llm.program"
    )
