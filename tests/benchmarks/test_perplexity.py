import math

import numpy as np
import pytest
import torch

from fairlab.backbones.loading import load_backbone
from fairlab.benchmarks.perplexity import Perplexity, perplexity, read_lines
from fairlab.types import CannotScore, FairlabError

LINES = ["the garden is open", "they crossed an old bridge", "a letter came", "the river was high in spring"]


@pytest.fixture
def masked(tiny_folders):
    return load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "news.txt"
    path.write_text("\n\n".join(LINES) + "\n")
    return str(path)


def test_by_hand():
    assert perplexity(np.array([-2.0, -4.0]), np.array([2.0, 1.0])) == pytest.approx(math.exp(2))


def test_pseudo_perplexity_by_the_definition_one_mask_at_a_time(masked, text):
    total, tokens = 0.0, 0
    for line in LINES:
        ids = masked.tokenizer(line, return_tensors="pt")["input_ids"]
        for position in range(1, ids.shape[1] - 1):
            hidden = ids.clone()
            hidden[0, position] = masked.tokenizer.mask_token_id
            with torch.no_grad():
                logits = masked.model(input_ids=hidden).logits[0, position]
            total += logits.log_softmax(-1)[ids[0, position]].item()
            tokens += 1
    reading = Perplexity(text, None).measure(masked).readings[0]
    assert reading.key == "perplexity/text/pseudo_perplexity"
    assert reading.n == tokens
    assert reading.value == pytest.approx(math.exp(-total / tokens), rel=1e-5)


def test_the_comparison_is_paired(masked, text):
    before = Perplexity(text, None).measure(masked).items
    (same,) = Perplexity(text, None).measure(masked, before).comparisons
    assert same.difference == pytest.approx(0, abs=1e-6)
    better = before | {"log_likelihoods": before["log_likelihoods"] / 2}
    assert Perplexity(text, None).measure(masked, better).comparisons[0].p < 0.05


def test_a_model_without_a_head_cannot_be_scored(tiny, text):
    with pytest.raises(CannotScore, match="no language-modelling head"):
        Perplexity(text, None).measure(tiny)


def test_a_draw_is_reproducible_and_in_file_order(text, tmp_path):
    drawn = [read_lines(tmp_path / "news.txt", 2, seed=1) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert [LINES.index(line) for line in drawn[0]] == sorted(LINES.index(line) for line in drawn[0])


def test_bad_files(tmp_path):
    (tmp_path / "two.txt").write_text("a line\n\nanother\n")
    assert read_lines(tmp_path / "two.txt", None, 0) == ["a line", "another"]
    assert Perplexity(None, 2).lines == 2
    (tmp_path / "one.txt").write_text("a line\n")
    with pytest.raises(FairlabError, match="contains 1 lines of text"):
        read_lines(tmp_path / "one.txt", None, 0)
    (tmp_path / "latin.txt").write_bytes(b"one\xe9\nx\n")
    with pytest.raises(FairlabError, match=r"latin\.txt line 1 is not UTF-8 text \(byte 3 of the line\)"):
        read_lines(tmp_path / "latin.txt", None, 0)
    with pytest.raises(FairlabError, match=r"perplexity\.lines must be at least 2"):
        Perplexity(None, 1)
