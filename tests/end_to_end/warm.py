"""A process that has imported fairlab and the heavy libraries, and forks itself for every command it is given.

Most of what a short run takes is importing torch, Lightning and transformers, and letting go of them at the end; a test
that asks what a command does need not wait for that each time. A command still has a process, a folder, an environment
and a Hydra of its own. It is asked for by ``warm_python.py``, which stands where the interpreter would.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

LIBRARIES = [
    "lightning.pytorch",
    "torchmetrics",
    "transformers.models.bert.modeling_bert",
    "transformers.models.auto",
    "scipy.stats",
    "scipy.signal",
    "sklearn.cluster",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.manifold",
    "spacy",
    "rapidfuzz.distance",
    "torch._dynamo",
    "hydra.core.override_parser.overrides_parser",
    "jsonschema",
    "multiprocessing.spawn",  # which keeps the interpreter's own path
    "rich.console",
    "sqlite3",
]


def serve(place: str, python: str, owner: str) -> None:
    """Run what is asked for at a socket, as long as there is a process of the number ``owner``."""
    threading.Thread(target=end_with, args=(int(owner),), daemon=True).start()
    server = socket.socket(socket.AF_UNIX)
    server.bind(place)
    server.listen()
    for name in LIBRARIES:
        importlib.import_module(name)
    import_fairlab()
    gc.collect()
    gc.freeze()  # so that no fork walks over, and thereby copies, what all of them share
    gc.set_threshold(10_000, 20, 20)
    keepers = set()
    while True:
        connection, _ = server.accept()
        keepers = {keeper for keeper in keepers if os.waitpid(keeper, os.WNOHANG) == (0, 0)}
        keeper = os.fork()
        if not keeper:
            server.close()
            keep(connection, python)
        keepers.add(keeper)
        connection.close()


def end_with(owner: int) -> None:
    """End this process and what it started once another one has ended."""
    try:
        while True:
            os.kill(owner, 0)
            time.sleep(0.5)
    except ProcessLookupError:
        os.killpg(0, signal.SIGKILL)


def import_fairlab() -> None:
    """Import all of fairlab, and compose what most tests choose, which Hydra then need not do again."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    import fairlab

    for module in pkgutil.walk_packages(fairlab.__path__, "fairlab."):
        if not module.name.endswith("__main__"):  # which runpy wants to import itself
            importlib.import_module(module.name)
    from hydra import compose, initialize_config_dir

    from tests.remembering import compose_once, remember_choices, remember_parsing, remember_vocabularies

    remember_parsing()
    remember_choices()
    remember_vocabularies()
    compose_once()
    with initialize_config_dir(sys.modules["fairlab.run.command_line.cli"].conf_dir(), version_base="1.3"):
        compose("train", overrides=["+experiment=ccd_bert", "backbone=bert_base", "benchmark=[cced]"])
        compose("evaluate", overrides=["benchmark=[cced]"])
        compose("reproduce")
        compose("score")
    sys.modules["fairlab.run.environment"].environment()  # what git says is kept
    agreement = sys.modules["fairlab.rewriting.english.agreement"]
    agreement.article("hour")
    agreement.may_be_noun("hour")
    agreement.is_third_person("sees")
    sys.modules["fairlab.lexicons"].load_lexicon("gender")
    load_a_model()
    del sys.path[0]


def load_a_model() -> None:
    """Load a model of eight dimensions, after which transformers keeps what it prepares at the first one."""
    from transformers import AutoModel, BertConfig, BertModel

    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    with tempfile.TemporaryDirectory() as folder:
        BertModel(BertConfig(vocab_size=8, **sizes)).save_pretrained(folder)
        AutoModel.from_pretrained(folder)


def keep(connection: socket.socket, python: str) -> None:
    """Run one command: hand signals on to it, end it when whoever asked is gone, and tell how it ended."""
    size = int.from_bytes(connection.recv(8), "big")
    message, files, _, _ = socket.recv_fds(connection, 1, 3)
    while len(message) < size:
        message += connection.recv(size - len(message))
    command = os.fork()
    if not command:
        connection.close()
        for descriptor, file in enumerate(files):
            os.dup2(file, descriptor)
            os.close(file)
        become(**json.loads(message), python=python)
    for file in [*files, 0, 1, 2]:
        os.close(file)

    def follow() -> None:
        while number := connection.recv(1):
            os.kill(command, number[0])
        os.kill(command, signal.SIGKILL)

    threading.Thread(target=follow, daemon=True).start()
    _, status = os.waitpid(command, 0)
    try:
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(2, "big", signed=True))
    finally:
        os._exit(0)


def become(
    module: str, arguments: list[str], folder: str, environment: dict[str, str], limit: list[int], python: str
) -> None:
    """Run ``python -m MODULE`` in this process, and end it without taking all libraries apart."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, tuple(limit))
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:1] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [module, *arguments]
    sys.executable = python  # for the commands that this one starts
    sys.modules.pop(module, None)  # which is run, not imported
    code = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        if code and not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(*sys.argv[1:])
