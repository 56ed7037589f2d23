"""A model behind a server that fairlab starts and ends, with a script in the place of llama.cpp's server."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.real_models.fetch import write_manifest
from fairlab.backbones import memory
from fairlab.backbones.model_cache import FETCH, PinnedFile, cached_folder
from fairlab.files import sha256
from fairlab.llm import program
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.program import ServingProgram, find_program
from fairlab.llm.served import ServedModel
from fairlab.types import FairlabError
from tests.llm.conftest import GOOD, SCHEMA, requests
from tests.llm.stub import wait_until

STUB = Path(__file__).with_name("stub_server.py")
ASKER = """
import sys
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.served import ServedModel
from tests.llm.conftest import requests
weights, program, ledger = sys.argv[1:]
LLM(model := ServedModel(weights, program=program), model.name, Ledger(ledger)).ask(requests(1), stage="test")
print("asked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def serving(tmp_path):
    """Make a model whose server behaves as told; all servers are ended with the test."""
    stub = tmp_path / "llama-server"
    stub.write_text(f"#!{sys.executable}\n" + STUB.read_text())
    stub.chmod(0o755)
    made = []

    def make(port=None, **acts):
        weights = tmp_path / "tiny.gguf"
        weights.write_text(json.dumps(acts))
        made.append(ServedModel(str(weights), program=str(stub), port=port, concurrency=2))
        return made[-1]

    yield make
    for model in made:
        model.own.end()


def asked(model, tmp_path, count=2):
    llm = LLM(model, model.name, Ledger(tmp_path / "ledger"), retries=6)
    return llm.ask(requests(count, schema=SCHEMA), stage="test")


def runs(pid):
    """Whether a process runs, rather than having ended or waiting to be buried."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_server_is_started_once_and_ended(serving, tmp_path):
    model = serving()
    assert model.name == f"tiny@{sha256(tmp_path / 'tiny.gguf')[:12]}"
    assert model.own.process is None
    replies = asked(model, tmp_path)
    assert [reply.text for reply in replies] == [GOOD, GOOD]
    assert asked(model, tmp_path, 3)[2].ok
    assert model.own.starts == 1
    pid = int((tmp_path / "tiny.pid").read_text())
    assert runs(pid)
    model.own.end()
    assert not runs(pid)


@pytest.mark.slow
def test_a_server_that_dies_is_started_again_once(serving, tmp_path):
    model = serving(die_at=[2])
    assert all(reply.ok for reply in asked(model, tmp_path, 3))
    assert model.own.starts == 2


@pytest.mark.slow
def test_a_server_that_dies_again_ends_in_a_sentence(serving, tmp_path):
    model = serving(die_at=[2, 3, 4])
    model.workers = 1
    with pytest.raises(
        FairlabError, match=r"of tiny.gguf died twice \(exit code 3, after: .*out of luck\); .*; 1 of 3"
    ):
        asked(model, tmp_path, 3)
    assert (tmp_path / "tiny.calls").stat().st_size == 3


def test_a_server_that_cannot_load_the_model(serving, tmp_path):
    with pytest.raises(
        FairlabError, match=r"llama-server cannot serve .*tiny.gguf \(exit code 1, after: no such tensor"
    ):
        asked(serving(fail=True), tmp_path)


def test_a_port_that_is_taken(serving, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(FairlabError, match=f"port {port} of 127.0.0.1 is in use; omit llm.port"):
            asked(serving(port=port), tmp_path)
    assert all(reply.ok for reply in asked(serving(port=port), tmp_path))


def test_memory_below_what_the_model_needs(serving, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    3000000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", tmp_path / "memory.max")
    assert memory.memory_available() == 3_072_000_000
    (tmp_path / "memory.max").write_text("1200000000\n")
    model = serving()
    model.own.memory = 1_700_000_000
    with pytest.raises(FairlabError, match=r"takes about 1.7 GB of memory, and 1.2 GB are free"):
        asked(model, tmp_path)
    assert model.own.process is None


def test_weights_that_were_changed_are_not_served(serving, tmp_path):
    model = serving()
    (tmp_path / "tiny.gguf").write_text("{} ")
    with pytest.raises(FairlabError, match=r"tiny.gguf has SHA-256 .*, not .*; remove it and fetch it again"):
        asked(model, tmp_path)


def test_a_server_goes_with_a_process_that_is_killed(serving, tmp_path):
    model = serving()
    command = [sys.executable, "-c", ASKER, str(model.weights), str(tmp_path / "llama-server"), str(tmp_path / "l")]
    root = Path(__file__).parents[2]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, **pipes) as process:
        assert process.stdout.readline() == b"asked\n"
        pid = int((tmp_path / "tiny.pid").read_text())
        assert runs(pid)
        process.send_signal(signal.SIGKILL)
        wait_until(lambda: not runs(pid))


@pytest.fixture
def nothing(monkeypatch):
    """No llama-cpp-python, and a PATH whose programs a test names."""
    found = set()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/bin/{name}" if name in found else None)
    return found


def test_what_serves(nothing, monkeypatch):
    with pytest.raises(
        FairlabError, match=r"pip install 'fairlab\[local-llm\]', for which you must first install a C\+\+ compiler"
    ):
        find_program(None)
    nothing.add("gcc")
    with pytest.raises(
        FairlabError, match=r"needs the extra local-llm: pip install 'fairlab\[local-llm\]'; or a llama"
    ):
        find_program(None)
    with pytest.raises(FairlabError, match=r"llm.program=nowhere is not an executable program"):
        find_program("nowhere")
    nothing |= {"llama-server", "python3"}
    assert find_program(None) == ServingProgram("/bin/llama-server", is_python=False)
    assert find_program("python3") == ServingProgram("/bin/python3", is_python=True)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "llama_cpp")
    assert find_program(None) == ServingProgram(sys.executable, is_python=True)


def test_the_commands_that_serve(monkeypatch):
    monkeypatch.setattr(program, "cores", lambda: 2)
    again = ServingProgram("llama-server", is_python=False, arguments=("--threads", "1"))
    assert again.command(Path("m.gguf"), 5000, context=1024, slots=3)[-4:] == ["--threads", "2", "--threads", "1"]
    own = ServingProgram("llama-server", is_python=False).command(Path("m.gguf"), 5000, context=1024, slots=3)
    assert " ".join(own) == (
        "llama-server --model m.gguf --host 127.0.0.1 --port 5000 --ctx-size 3072 --parallel 3 --threads 2"
    )
    of_python = ServingProgram("python3", is_python=True).command(Path("m.gguf"), 5000, context=1024, slots=1)
    assert " ".join(of_python) == (
        "python3 -m llama_cpp.server --model m.gguf --host 127.0.0.1 --port 5000 --n_ctx 1024 --n_threads 2 "
        "--n_threads_batch 2"
    )


def test_models_that_are_not_there_or_do_not_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FairlabError, match=rf"org/tiny is not a file, and is not in .*org--tiny; .* lists: {FETCH}"):
        ServedModel("org/tiny")
    folder = cached_folder("org/tiny")
    folder.mkdir(parents=True)
    write_manifest(folder, {}, memory=None)
    with pytest.raises(FairlabError, match=r"org/tiny is an encoder, which cannot answer"):
        ServedModel("org/tiny")


def test_a_model_of_the_cache_is_asked_under_its_name_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cached_folder("org/tiny")
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(b"weights")
    digest = sha256(folder / "tiny.gguf")
    write_manifest(folder, {"tiny.gguf": PinnedFile(7, digest)}, memory=5)
    model = ServedModel("org/tiny", program=sys.executable)
    assert (model.name, model.weights) == (f"org/tiny@{digest[:12]}", folder / "tiny.gguf")
    assert model.own.memory == 5
