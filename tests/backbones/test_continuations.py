"""Batched greedy continuations against transformers' own generation, one context at a time."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.continuations import continuations
from fairlab.backbones.loading import load_backbone
from fairlab.types import CannotScore
from tests.backbones.reference import livened
from tests.conftest import WORDS

CONTEXTS = [f"he saw the {' '.join(WORDS[k : k + 1 + k % 4])}" for k in range(9)] + ["a clock", "señora ☃", "", "he"]
CHARACTERS = 20


@pytest.fixture(
    scope="module", params=["gpt2", *(pytest.param(one, marks=pytest.mark.slow) for one in ("llama", "opt"))]
)
def backbone(request, tiny_folders):
    return livened(load_backbone(str(tiny_folders[request.param]), pooling="mean", max_length=64, normalize=False))


@pytest.fixture
def llama(tiny_folders):
    return livened(load_backbone(str(tiny_folders["llama"]), pooling="mean", max_length=64, normalize=False))


def one_by_one(backbone, context, characters):
    """By ``generate``, then cut."""
    ids = [0, *backbone.tokenizer.encode(context)]
    given = backbone.tokenizer.decode(ids, skip_special_tokens=True)
    with torch.no_grad():
        made = backbone.model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False, max_length=64, pad_token_id=0
        )
    return backbone.tokenizer.decode(made[0], skip_special_tokens=True)[len(given) :][:characters]


@pytest.mark.slow
def test_they_equal_one_by_one_greedy_generation(backbone):
    found = continuations(CausalLM(backbone), CONTEXTS, characters=CHARACTERS)
    assert found == [one_by_one(backbone, context, CHARACTERS) for context in CONTEXTS]
    assert len(set(found)) > 3  # the model does not write the same everywhere
    assert all(len(text) <= CHARACTERS for text in found)


def test_the_head_gets_rows_that_lie_together(llama):
    seen = []
    head = llama.model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, given: seen.append((len(given[0]), given[0].is_contiguous())))
    continuations(CausalLM(llama), CONTEXTS, characters=CHARACTERS)
    hook.remove()
    assert max(rows for rows, _ in seen) > 1
    assert all(together for _, together in seen)


@pytest.mark.parametrize("budget", [1, 40])
def test_any_budget_and_order_give_the_same(llama, budget):
    expected = continuations(CausalLM(llama), CONTEXTS, characters=CHARACTERS)
    assert continuations(CausalLM(llama), CONTEXTS, characters=CHARACTERS, budget=budget) == expected
    assert continuations(CausalLM(llama), CONTEXTS[::-1], characters=CHARACTERS) == expected[::-1]


def test_a_row_that_has_enough_characters_leaves_its_batch(llama):
    scorer, sizes = CausalLM(llama), []
    llama.model.model.register_forward_hook(lambda _, __, output: sizes.append(len(output.last_hidden_state)))
    texts = [f"he saw the {word}" for word in ("boat", "river", "clock", "bread")]
    assert len({len(llama.tokenizer.encode(text)) for text in texts}) == 1

    def rows(asked):
        """How often the model was run, a row at a time."""
        sizes.clear()
        continuations(scorer, asked, characters=CHARACTERS)
        return sum(sizes)

    alone = sum(rows([text]) for text in texts)
    assert rows([*texts, texts[0]]) == alone  # each distinct context once, and no step more than it needs
    assert sizes[0] == 4


def always(tokenizer, token):
    """A Llama without layers that writes one token whatever it is given."""
    size = {"hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 0, "num_attention_heads": 1}
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, tie_word_embeddings=False, **size)
    )
    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(1.0)
        model.lm_head.weight.zero_()
        model.lm_head.weight[token] = 1.0
    return Backbone(model.eval(), tokenizer, pooling="mean", max_length=64, normalize=False)


def test_a_model_that_ends_at_once_writes_nothing(byte_tokenizer):
    scorer = CausalLM(always(byte_tokenizer, 0))
    assert continuations(scorer, ["he saw", "a clock"], characters=30) == ["", ""]


def test_characters_not_tokens_are_counted(byte_tokenizer):
    (token,) = byte_tokenizer.encode("the")
    assert continuations(CausalLM(always(byte_tokenizer, token)), ["he saw"], characters=8) == ["thethethe"[:8]]


def test_bytes_that_make_no_character_end_with_the_tokens(byte_tokenizer):
    first_byte = byte_tokenizer.encode("☃")[0]
    (text,) = continuations(CausalLM(always(byte_tokenizer, first_byte)), ["he"], characters=3)
    assert text == "\N{REPLACEMENT CHARACTER}" * 3


def test_a_context_longer_than_the_model_keeps_its_end(llama):
    scorer = CausalLM(llama)
    text = "river " * 80 + "a clock"
    ids = llama.tokenizer.encode(text)[-(64 - 1 - 10) :]
    kept = llama.tokenizer.decode(ids)
    assert llama.tokenizer.encode(kept) == ids
    found = continuations(scorer, [text, "a clock"], characters=10)
    assert scorer.cut == 1
    assert found == [one_by_one(llama, kept, 10), one_by_one(llama, "a clock", 10)]


def test_no_room_for_a_context_is_said(llama):
    with pytest.raises(CannotScore, match=r"63 characters leave no room for a context in max_length=64"):
        continuations(CausalLM(llama), ["he"], characters=63)
    assert continuations(CausalLM(llama), [], characters=10) == []
