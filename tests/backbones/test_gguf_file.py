"""Weights in GGUF: what is refused before they are read back."""

import pytest
import torch
from transformers import LlamaConfig

import fairlab
from experiments.model_kinds.weights import Weights
from fairlab.backbones import memory
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.gguf_file import bytes_to_load, refuse_other_files, refuse_without_memory
from fairlab.types import FairlabError

# Two tables of 10 x 4; four matrices of 4 x 4, three of 4 x 8 and two norms of 4 in the layer; one norm at its end.
TEXTS = ["She is a nurse.", "He left, and the river was wide."]
TINY = LlamaConfig(
    vocab_size=10,
    hidden_size=4,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=2,
    intermediate_size=8,
    tie_word_embeddings=False,
)
PARAMETERS, LARGEST = 2 * 40 + 4 * 16 + 3 * 32 + 2 * 4 + 4, 40


@pytest.mark.parametrize(("dtype", "width"), [(torch.bfloat16, 2), (torch.float32, 4)])
def test_bytes_are_those_of_all_weights_and_of_the_largest_while_it_is_read(dtype, width):
    assert bytes_to_load("tiny", TINY, dtype) == PARAMETERS * width + LARGEST * 8


def test_counting_leaves_the_random_numbers_of_a_run_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    bytes_to_load("tiny", TINY, torch.float32)
    assert torch.equal(torch.rand(3), expected)


@pytest.fixture
def free(tmp_path, monkeypatch):
    """Sets how many bytes of memory this machine has left."""

    def set_free(count):
        (tmp_path / "meminfo").write_text("MemAvailable: 99999999 kB\n")
        (tmp_path / "memory.max").write_text(f"{count}\n")

    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", tmp_path / "memory.max")
    return set_free


def test_memory_below_what_the_model_needs_is_said(free):
    needed = bytes_to_load("tiny", TINY, torch.float32)
    free(needed)
    refuse_without_memory("tiny", TINY, torch.float32)
    free(needed - 1)
    with pytest.raises(FairlabError, match=r"tiny to float32 takes about 0.0 GB .* with dtype=bfloat16"):
        refuse_without_memory("tiny", TINY, torch.float32)
    free(0)
    with pytest.raises(FairlabError, match=r"tiny to bfloat16 takes .* end other programs$"):
        refuse_without_memory("tiny", TINY, torch.bfloat16)


def test_where_nobody_says_what_is_free_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    refuse_without_memory("tiny", TINY, torch.float32)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"GGU"])
def test_a_file_of_another_format(tmp_path, content):
    file = tmp_path / "x.gguf"
    file.write_bytes(content)
    with pytest.raises(FairlabError, match=r"x\.gguf is not a GGUF file: it begins with b'.*', not b'GGUF'; give a"):
        refuse_other_files(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FairlabError, match=r"there is no file .*x\.gguf; give an existing GGUF file"):
        refuse_other_files(tmp_path / "x.gguf")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the embeddings of this model")
def test_a_file_is_measured_as_the_weights_it_was_written_of(tmp_path):
    pytest.importorskip("gguf")
    weights = Weights(tmp_path)
    found, own = fairlab.load(weights.gguf), fairlab.load(weights.causal)
    assert found.tokenize(TEXTS) == own.tokenize(TEXTS)
    torch.testing.assert_close(found.embed(TEXTS), own.embed(TEXTS), atol=1e-5, rtol=1e-5)
    sums = [CausalLM(one).log_likelihoods(TEXTS).sums for one in (found, own)]
    assert sums[0] == pytest.approx(sums[1], abs=1e-4)
    (weights.gguf.parent / "other.gguf").write_bytes(b"no weights")
    with pytest.raises(FairlabError, match=r"other\.gguf is not a GGUF file: it begins with b'no w'"):
        fairlab.load(weights.gguf.parent / "other.gguf")
