"""Models behind a server: the readings of the same weights at hand, and servers that lack or break something."""

import copy
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from transformers import GPT2Config, GPT2LMHeadModel

import fairlab
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.continuations import continuations
from fairlab.evaluate import rehearse_evaluation
from fairlab.llm.ledger import Ledger
from fairlab.llm.remote_model import RemoteScorer, load_remote
from fairlab.llm.text_endpoints import PromptTokens
from fairlab.run.config.schema import refuse_missing
from fairlab.run.planned import print_plan
from fairlab.types import CannotScore, FairlabError
from tests.llm.stub import Act, Stub, refused
from tests.llm.text_stub import TextServer, reply

pytestmark = pytest.mark.usefixtures("_short_waits")
TEXTS = ["She is a nurse.", "He is a nurse, and he left.", "A river ran."]
PAIRS = [("The nurse was tired.", " She slept."), ("The nurse was tired.", " He slept."), ("A", " b c")]


@pytest.fixture(scope="module")
def causal(byte_tokenizer):
    """A random causal LM that reads sentences of a few hundred bytes, a token each."""
    torch.manual_seed(0)
    sizes = {"n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 2, "initializer_range": 0.2}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(byte_tokenizer), **sizes)).eval()
    return Backbone(model, byte_tokenizer, pooling="mean", max_length=512, normalize=False)


def served(stub, ledger_path, **settings):
    return load_remote(stub.url, "m", ledger=str(ledger_path), **settings)


@pytest.mark.parametrize("dialect", ["vllm", "echo"])
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.slow
def test_likelihoods_are_those_of_the_weights(dialect, start, causal, ledger_path):
    scorer = CausalLM(causal)
    with Stub(TextServer(causal, dialect=dialect, start=start)) as stub:
        found = served(stub, ledger_path).scorer
        assert found.start == (None if start else "<|endoftext|>")
        for remote, own in (
            (found.log_likelihoods(TEXTS), scorer.log_likelihoods(TEXTS)),
            (found.continuation_log_likelihoods(PAIRS), scorer.continuation_log_likelihoods(PAIRS)),
        ):
            assert np.allclose(remote.sums, own.sums, atol=1e-4)
            assert remote.counts.tolist() == own.counts.tolist()
        if start:
            with pytest.raises(CannotScore, match="puts a start token before every text, or needs one"):
                found.log_likelihoods(TEXTS, start_apart=True)
        else:
            apart = [one.log_likelihoods(TEXTS, start_apart=True).sums for one in (found, scorer)]
            assert np.allclose(*apart, atol=1e-4)
        assert found.log_likelihoods([""]).counts.tolist() == [0]
        with pytest.raises(CannotScore, match="cannot be read in windows"):
            found.log_likelihoods(TEXTS, stride=4)


def test_a_pace_is_kept_by_embeddings(tiny, ledger_path):
    with Stub(TextServer(tiny)) as stub:
        paced = fairlab.load(f"{stub.url}#m", ledger=str(ledger_path), tokens_per_minute=30000)
    assert paced.encode.llm.pace.limit == 30000
    assert paced.encode.llm.pace.reserved


def test_the_start_of_a_turn_follows_a_start_token_that_a_server_leaves_out(byte_tokenizer, causal, ledger_path):
    tokenizer = copy.deepcopy(byte_tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    model = copy.deepcopy(causal.model)
    model.resize_token_embeddings(len(tokenizer))
    turned = Backbone(model, tokenizer, pooling="mean", max_length=512, normalize=False)
    with Stub(TextServer(turned, dialect="llama.cpp")) as stub:
        found = served(stub, ledger_path).scorer
        remote = found.continuation_log_likelihoods(PAIRS)
    assert found.start == "<|endoftext|><|im_start|>"
    own = CausalLM(turned).continuation_log_likelihoods([("<|im_start|>" + context, more) for context, more in PAIRS])
    assert np.allclose(remote.sums, own.sums, atol=1e-4)


def test_a_context_is_asked_right_before_its_continuations():
    asked = []
    scorer = RemoteScorer(llm=SimpleNamespace(name="m"))
    scorer.start = ""
    scorer._tokens = lambda texts: (
        asked.extend(texts) or [PromptTokens(list(text), [-1.0] * len(text)) for text in texts]
    )
    found = scorer.continuation_log_likelihoods([("ab", "c"), ("ab", "de"), ("x", "y")])
    assert asked == ["ab", "abc", "abde", "x", "xy"]
    assert found.sums.tolist() == [-1.0, -2.0, -1.0]


def test_values_of_other_tokens_are_refused(causal, ledger_path):
    with Stub(TextServer(causal, dialect="llama.cpp")) as stub:
        model = served(stub, ledger_path)
    assert model.offers == {"embeddings"}
    assert "is served with log-probabilities of the wrong tokens" in model.lacks["token_log_probabilities"]


def test_embeddings_are_those_of_the_weights_in_batches(tiny, ledger_path):
    with Stub(TextServer(tiny)) as stub:
        model = served(stub, ledger_path)
        texts = [f"Text {k}." for k in range(70)]
        assert np.allclose(model.embed(texts), tiny.embed(texts), atol=1e-6)
        batches = [len(payload["input"]) for payload in stub.payloads if len(payload.get("input", [])) > 3]
        assert sorted(batches) == [6, 32, 32]
        assert model.digest() == served(stub, ledger_path).digest()


@pytest.mark.data
@pytest.mark.slow
def test_readings_are_those_of_the_weights_and_come_from_the_ledger_again(causal, ledger_path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = ["seat", "crows_pairs", "stereoset", "winobias"]
    own = fairlab.evaluate(causal, names, limit=2)
    with Stub(TextServer(causal)) as stub:
        settings = {"llm": "vllm", "llm.ledger": str(ledger_path), "llm.concurrency": 2}
        found = fairlab.evaluate(f"{stub.url}#m", names, limit=2, settings=settings)
        asked = len(stub.payloads)
        again = fairlab.evaluate(f"{stub.url}#m", names, limit=2, settings=settings)
        assert len(stub.payloads) - asked == 3  # each address once, to see that the same model answers; it has no chat
    metrics = found.record.metrics()
    assert metrics == pytest.approx(own.record.metrics(), abs=2e-3, nan_ok=True)
    assert again.record.metrics() == pytest.approx(metrics, nan_ok=True)
    assert found.record.provenance[f"weights of {stub.url}#m"]["served"] is True


def test_the_key_goes_into_the_header_alone(causal, ledger_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret-1")
    with Stub(TextServer(causal)) as stub:
        served(stub, ledger_path, api_key_env="MY_KEY").embed(["A text."])
    assert set(stub.keys) == {"Bearer sk-very-secret-1"}
    Ledger(ledger_path).close()
    assert b"sk-very-secret" not in b"".join(file.read_bytes() for file in ledger_path.parent.iterdir())


@pytest.mark.slow
def test_what_a_server_lacks_is_not_run_with_the_reason(causal, ledger_path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = TextServer(causal)

    def embeds_alone(payload, nth):
        return whole(payload, nth) if "input" in payload else reply(choices=[{"text": "x"}])

    with Stub(embeds_alone) as stub:
        model = served(stub, ledger_path)
        assert model.offers == {"embeddings"}
        found = fairlab.evaluate(model, ["cced", "crows_pairs"], limit=3)
    (entry,) = [entry for entry in found.not_run if entry.benchmark == "crows_pairs"]
    assert "returns no log-probabilities of a prompt; serve it with vLLM" in entry.reason

    def scores_alone(payload, nth):
        return refused(501, "This server does not support embeddings") if "input" in payload else whole(payload, nth)

    with Stub(scores_alone) as stub:
        assert served(stub, tmp_path / "other").lacks["embeddings"].startswith("returns no embeddings (")


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (Act(body=b"<!doctype html><html>"), r"/models returns a web page; give the address up to its version"),
        (Act(body=json.dumps({"data": [{"id": "other"}]}).encode()), "serves other, not m: give ADDRESS#NAME"),
        (Act(401, b'{"error": {"message": "no"}}'), r"requires a key \(401\); set llm.api_key_env"),
    ],
)
def test_another_page_model_or_key_is_one_sentence(listing, message, causal, ledger_path):
    with Stub(TextServer(causal)) as stub:
        stub.listing = listing
        with pytest.raises(FairlabError, match=message):
            served(stub, ledger_path)


def test_a_server_that_is_down_or_has_several_models_is_one_sentence(causal, ledger_path):
    with Stub(TextServer(causal), listed=("a", "b")) as stub:
        with pytest.raises(FairlabError, match="serves a, b, so name one: give ADDRESS#NAME"):
            load_remote(stub.url, ledger=str(ledger_path))
        url = stub.url
    with pytest.raises(FairlabError, match=r"/v1/models cannot be reached .* start its server"):
        load_remote(url, "a", ledger=str(ledger_path))


def test_an_answer_by_another_model_is_refused(causal, ledger_path):
    with (
        Stub(TextServer(causal, name="another")) as stub,
        pytest.raises(FairlabError, match="answers as another, not as m"),
    ):
        served(stub, ledger_path)


def test_other_weights_under_a_recorded_name_are_refused(causal, tiny, ledger_path):
    stub = Stub(TextServer(causal))
    with stub:
        served(stub, ledger_path)
        stub.act = TextServer(tiny)
        with pytest.raises(FairlabError, match=r"answers differently from .* so another model may have its name"):
            served(stub, ledger_path)


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0, "embedding": [1.0]}] * 3,
        [{"embedding": []}],
        [{"embedding": ["a"]}],
        [{"embedding": [[1.0]]}],
        None,
        [{"vector": [1.0]}],
    ],
)
def test_what_is_no_vector_per_text_is_one_sentence(data, causal, ledger_path):
    whole = TextServer(causal)
    with Stub(lambda payload, nth: reply(data=data) if "input" in payload else whole(payload, nth)) as stub:
        model = served(stub, ledger_path)
    assert "lacks a vector of numbers for each of 3 texts" in model.lacks["embeddings"]


def test_an_address_and_a_choice_of_llm_are_served_models(causal, ledger_path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Stub(TextServer(causal)) as stub:
        model = fairlab.load(f"{stub.url}#m", ledger=str(ledger_path), concurrency=2)
        said = (
            f"m at {stub.url[7:-3]}, measured by its embeddings and its likelihoods\n"
            "  limit: its own; texts that it cuts are not counted\n  gate: not checked yet"
        )
        assert repr(model) == said
        with pytest.raises(FairlabError, match="there is no setting 'pooling' of a model; there are: api_key_env"):
            fairlab.load(f"{stub.url}#m", pooling="cls")
        with pytest.raises(FairlabError, match="has no weights to train"):
            fairlab.debias(model, "embedded/people")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(FairlabError, match="read from the environment variable OPENAI_API_KEY, which is not set"):
        fairlab.load("openai/gpt-4o")


def test_texts_are_not_written_by_a_served_model(causal, ledger_path):
    with Stub(TextServer(causal)) as stub:
        model = served(stub, ledger_path)
        with pytest.raises(CannotScore, match="has no weights, which are needed"):
            continuations(CausalLM(model), ["A"], characters=3)


@pytest.mark.parametrize("end", ["", "#", "#m", "/#m"])
def test_an_address_without_a_name_takes_the_only_model(end, causal, ledger_path):
    with Stub(TextServer(causal)) as stub:
        found = fairlab.load(f"{stub.url}{end}", ledger=str(ledger_path))
        assert found.name == f"m at {stub.url.split('/')[2]}"


def test_a_plan_asks_no_server_and_says_so(causal, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    with Stub(TextServer(causal)) as stub:
        command = f"fairlab.evaluate model={stub.url}#m benchmark=[cced] dry_run=true strict=true"
        monkeypatch.setattr("sys.argv", command.split())
        print_plan("evaluate", rehearse_evaluation)
        assert not stub.payloads
    assert (
        f"{stub.url}#m: available, on its server, which the run contacts but this plan does not"
        in capsys.readouterr().out
    )
    assert not list(tmp_path.iterdir())


def test_an_address_or_a_choice_says_the_name_that_llm_would_ask_for():
    nodes = {"llm": {"base_url": "http://127.0.0.1:8080/v1", "model": "???"}}
    for model in ("http://127.0.0.1:8000/v1#m", "local/m", ["minilm", "http://127.0.0.1:8000/v1#m"], {"a": "local/m"}):
        refuse_missing(OmegaConf.create({"model": model, **nodes}))
    for model in ("minilm", ["minilm"], None):
        with pytest.raises(FairlabError, match=r"llm\.model has no value"):
            refuse_missing(OmegaConf.create({"model": model, **nodes}))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (refused(429, "slow down"), "429: slow down; wait, or lower llm.concurrency"),
        (Act(307, b"", {"Location": "http://127.0.0.1:1/v1"}), "307: the address redirects; give the server's final"),
    ],
)
def test_a_server_that_never_answers_says_what_helps(act, message, causal, ledger_path):
    with Stub(lambda payload, nth: act) as stub, pytest.raises(FairlabError, match=message):
        served(stub, ledger_path)
