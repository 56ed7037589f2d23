"""Which program serves a GGUF file on this machine, and how it is called."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlab.types import FairlabError

LLAMA_SERVER = "llama-server"
COMPILERS = ("cc", "gcc", "clang", "cl")


@dataclass(frozen=True)
class ServingProgram:
    """llama.cpp's own ``llama-server``, or the server of llama-cpp-python in some Python.

    Attributes:
        path: the program, or the Python interpreter.
        is_python: whether it is an interpreter.
        arguments: further arguments of the program, as it spells them; where one is also among those of
            :meth:`command`, it is the one that counts, since it stands last.
    """

    path: str
    is_python: bool
    arguments: tuple[str, ...] = ()

    @property
    def ready_path(self) -> str:
        """What answers with 200 once the model is loaded."""
        return "/v1/models" if self.is_python else "/health"

    def command(self, weights: Path, port: int, context: int, slots: int) -> list[str]:
        """The command that serves a file on the loopback address.

        Args:
            weights: the GGUF file.
            port: a free port.
            context: tokens of the longest prompt with its reply.
            slots: number of requests answered side by side; llama-cpp-python answers them one by one.
        """
        threads = str(_cores())
        where = ["--model", str(weights), "--host", "127.0.0.1", "--port", str(port)]
        if self.is_python:
            sizes = ["--n_ctx", str(context), "--n_threads", threads, "--n_threads_batch", threads]
            return [self.path, "-m", "llama_cpp.server", *where, *sizes, *self.arguments]
        sizes = ["--ctx-size", str(context * slots), "--parallel", str(slots), "--threads", threads]
        return [self.path, *where, *sizes, *self.arguments]


def find_program(given: str | None, arguments: Sequence[str] = ()) -> ServingProgram:
    """The program that was given, else llama-cpp-python here, else ``llama-server`` on the PATH.

    Args:
        given: a name on the PATH or a path: an interpreter, by a name that begins with ``python``, that has
            llama-cpp-python, or a ``llama-server``.
        arguments: further arguments of the program.

    Raises:
        FairlabError: there is none.
    """
    if given is not None:
        if not (found := shutil.which(given)):
            raise FairlabError(f"llm.program={given} is no program that can be run; give its path")
        return ServingProgram(found, Path(found).name.startswith("python"), tuple(arguments))
    if importlib.util.find_spec("llama_cpp") is not None:
        return ServingProgram(sys.executable, is_python=True, arguments=tuple(arguments))
    if found := shutil.which(LLAMA_SERVER):
        return ServingProgram(found, is_python=False, arguments=tuple(arguments))
    compiler = any(shutil.which(name) for name in COMPILERS)
    lacking = "" if compiler else ", for which a C++ compiler has to be installed first, since it builds llama.cpp"
    raise FairlabError(
        f"a model served on this machine needs the extra local-llm: pip install 'fairlab[local-llm]'{lacking}; or a "
        f"{LLAMA_SERVER} on the PATH, or the path of one, or of a Python that has llama-cpp-python, as llm.program"
    )


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
