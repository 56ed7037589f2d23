"""What a loaded model tells of itself."""

import re

import pytest

import fairlab


def test_a_backbone_says_what_it_is_and_what_its_check_found(tiny_folders):
    model = fairlab.load(tiny_folders["gpt2"], max_length=32, normalize=True)
    lines = repr(model).splitlines()
    count = sum(parameter.numel() for parameter in model.model.parameters()) / 1e6
    assert lines == [
        "GPT2LMHeadModel of the family gpt2",
        "  pooling: mean, 32 numbers per text, scaled to length 1",
        "  head: causal language model",
        f"  weights: {count:.1f} million, float32, on cpu",
        "  attention: sdpa",
        "  limit: 32 tokens per text; longer texts are cut and counted",
        "  chat template: none",
        "  gate: not checked yet",
    ]
    with pytest.warns(UserWarning, match="says? nothing about bias"):
        model.embed(["A text."])
    assert re.search("gate: failed: .*random or untrained weights", repr(model))


def test_an_object_says_what_its_check_found(tiny):
    model = fairlab.load(lambda texts: tiny.embed(texts))
    with pytest.warns(UserWarning, match="says? nothing about bias"):
        model.embed(["A text."])
    assert "gate: failed: paraphrases are no closer" in repr(model)


@pytest.mark.slow
def test_a_real_model_passes():
    model = fairlab.load("minilm", strict=True)
    assert "\n  gate: passed" in repr(model)
    assert "pooling: mean, 384 numbers per text, scaled to length 1\n  head: none" in repr(model)
