"""Drawn texts: the same in any batch, and distributed as the softmax says."""

import dataclasses

import numpy as np
import pytest
import torch

from fairlab.backbones.causal_writer import CausalWriter, draw_token
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.writers import Sampling, TextPrompt
from fairlab.types import CannotScore, FairlabError
from tests.backbones.reference import livened

PROMPTS = [TextPrompt(text, sample) for text in ("he saw", "she saw the boat and", "a", "") for sample in range(3)]


@pytest.fixture(scope="module", params=["gpt2", pytest.param("opt", marks=pytest.mark.slow)])
def backbone(request, tiny_folders):
    return livened(load_backbone(str(tiny_folders[request.param]), pooling="mean", max_length=64, normalize=False))


def test_a_text_depends_on_its_prompt_and_sample_alone(backbone):
    sampling = Sampling(1.0, 0.9, 8, seed=3)
    found = CausalWriter(backbone).write(PROMPTS, sampling)
    assert CausalWriter(backbone, budget=1).write(PROMPTS[::-1], sampling)[::-1] == found
    assert len({one.text for one in found}) > 6
    again = CausalWriter(backbone).write(PROMPTS, dataclasses.replace(sampling, seed=4))
    assert [one.text for one in again] != [one.text for one in found]
    for one in found:
        assert one.tokens == 8 if one.ended == "length" else one.tokens < 8


def test_greedy_texts_equal_generate(backbone):
    (found,) = CausalWriter(backbone).write([TextPrompt("he saw the")], Sampling(max_tokens=6))
    ids = [0, *backbone.tokenizer.encode("he saw the")]
    with torch.no_grad():
        made = backbone.model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=6, pad_token_id=0)[0]
    decode = backbone.tokenizer.decode
    assert decode(ids, skip_special_tokens=True) + found.text == decode(made, skip_special_tokens=True)


def test_a_system_prompt_comes_before_the_users_turn(backbone):
    writer = CausalWriter(backbone)
    plain, asked = TextPrompt("Who is it?", chat=True), TextPrompt("Who is it?", chat=True, system="Be brief.")
    first, second = (backbone.tokenizer.decode(writer._ids(one, 60)) for one in (plain, asked))
    assert second.index("Be brief.") < second.index("Who is it?")
    assert "Be brief." not in first
    assert [one["role"] for one in asked.messages()] == ["system", "user"]


def test_texts_are_handed_on_as_they_end(backbone):
    seen = {}
    found = CausalWriter(backbone, budget=1).write(PROMPTS[:4], Sampling(max_tokens=2), done=seen.__setitem__)
    assert [seen[k] for k in range(4)] == found


@pytest.mark.parametrize(("top_p", "expected"), [(1.0, [0.5, 0.3, 0.2]), (0.6, [0.625, 0.375, 0.0])])
def test_draws_follow_the_softmax(top_p, expected):
    logits, draws = torch.tensor([0.5, 0.3, 0.2]).log(), torch.Generator().manual_seed(0)
    found = [draw_token(logits, Sampling(1.0, top_p), draws) for _ in range(4000)]
    assert np.allclose(np.bincount(found, minlength=3) / 4000, expected, atol=0.03)


def test_values_out_of_range_are_refused(backbone):
    with pytest.raises(CannotScore, match="leave no room for a prompt in max_length=64"):
        CausalWriter(backbone).write(PROMPTS, Sampling(max_tokens=63))
    for settings in ({"temperature": -1}, {"top_p": 0}, {"max_tokens": 0}):
        with pytest.raises(FairlabError, match=f"{next(iter(settings))} must be"):
            Sampling(**settings)
