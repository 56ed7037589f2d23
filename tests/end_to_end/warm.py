"""A process that has imported the heavy libraries and forks itself for every command it is given.

Most of what a short run takes is importing torch, Lightning and transformers; a test that asks what a command does need
not wait for that each time. A command still has a process, a folder, an environment and a Hydra of its own. A line of
standard input is a request, a line of standard output the exit status.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys

LIBRARIES = [
    "lightning.pytorch",
    "torchmetrics",
    "transformers.models.bert.modeling_bert",
    "transformers.models.auto",
    "scipy.stats",
    "scipy.signal",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.manifold",
    "spacy",
    "rapidfuzz.distance",
    "torch._dynamo",
    "hydra.core.override_parser.overrides_parser",
    "rich.console",
]


def serve() -> None:
    """Run the requested commands, one at a time, until standard input ends."""
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become(**json.loads(line))
            return
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(entry: str, arguments: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> None:
    """Run ``python -m fairlab.ENTRY`` in this process."""
    for descriptor, name in enumerate([os.devnull, out, err]):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv = [f"fairlab.{entry}", *arguments]
    runpy.run_module(f"fairlab.{entry}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for name in LIBRARIES:
        importlib.import_module(name)
    serve()
