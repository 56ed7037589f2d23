"""Projections of hidden states: what they do to embeddings and to a masked-LM head, and how they are exported."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModel, AutoModelForMaskedLM

from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.masked_lm import MaskedLM, MaskQuery
from fairlab.backbones.projection import away_from, project
from fairlab.types import FairlabError

TEXTS = ["they saw the river", "a clock"]
QUERY = MaskQuery([101, 2027, 103, 1996, 102], 2, 2387)


def directions(count, width=32, seed=0):
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed))


def load(folder, pooling="mean", normalize=False):
    return load_backbone(str(folder), pooling=pooling, max_length=32, normalize=normalize)


def test_a_direction_in_the_plane_by_hand():
    torch.testing.assert_close(away_from(torch.tensor([[2.0, 0.0]])), torch.tensor([[0.0, 0.0], [0.0, 1.0]]))
    torch.testing.assert_close(away_from(torch.tensor([[1.0, 1.0]])), torch.tensor([[0.5, -0.5], [-0.5, 0.5]]))


@given(st.integers(1, 7), st.integers(0, 1000))
def test_a_projection_is_idempotent_and_symmetric_and_removes_its_directions(count, seed):
    removed = directions(count, 8, seed)
    matrix = away_from(removed)
    torch.testing.assert_close(matrix @ matrix, matrix, atol=1e-5, rtol=0)
    torch.testing.assert_close(matrix.T, matrix)
    torch.testing.assert_close(matrix @ removed.T, torch.zeros(8, count), atol=1e-4, rtol=0)
    assert torch.linalg.matrix_rank(matrix, atol=1e-3) == 8 - count
    torch.testing.assert_close(away_from(torch.cat([removed, 3 * removed])), matrix, atol=1e-4, rtol=0)


def test_nothing_left_is_refused():
    with pytest.raises(FairlabError, match="the directions span all 4 dimensions"):
        away_from(torch.eye(4))


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", False), ("mean", True), ("cls", False)])
def test_embeddings_are_projected_before_they_are_normalised(tiny, pooling, normalize):
    tiny.pooling = pooling
    plain = tiny.embed(TEXTS)
    tiny.normalize = normalize
    untouched = tiny.digest()
    matrix = away_from(directions(3))
    project(tiny, matrix)
    expected = plain @ matrix
    expected = torch.nn.functional.normalize(expected, dim=-1) if normalize else expected
    torch.testing.assert_close(tiny.embed(TEXTS), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(copy.deepcopy(tiny).embed(TEXTS), expected, atol=1e-5, rtol=1e-4)
    assert tiny.digest() != untouched


def test_a_second_projection_comes_on_top(tiny):
    plain = tiny.embed(TEXTS)
    first, second = away_from(directions(2)), away_from(directions(3, seed=1))
    project(tiny, first)
    project(tiny, second)
    torch.testing.assert_close(tiny.embed(TEXTS), plain @ first @ second, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["bert_mlm", "roberta_mlm", "distilbert_mlm", "bert_pretraining"])
def test_a_masked_lm_head_reads_projected_states_once(tiny_folders, name):
    encoder = load(tiny_folders[name])
    matrix = away_from(directions(4))
    ids = torch.tensor([QUERY.token_ids])
    with torch.no_grad():
        states = encoder.transformer(input_ids=ids).last_hidden_state @ matrix
        heads = copy.deepcopy(encoder.model)
        heads.base_model.register_forward_hook(lambda *call: call[2].__setitem__("last_hidden_state", states))
        logits = heads(input_ids=ids)
    logits = logits["prediction_logits"] if "prediction_logits" in logits else logits["logits"]
    project(encoder, matrix)
    (found,) = MaskedLM(encoder).log_probabilities([QUERY])
    assert found == pytest.approx(logits[0, 2].log_softmax(dim=-1)[QUERY.target].item(), rel=1e-4)
    unprojected = MaskedLM(load(tiny_folders[name])).log_probabilities([QUERY])[0]
    assert abs(found - unprojected) > 1e-5


@pytest.mark.parametrize("name", ["bert", "bert_mlm", "roberta_mlm"])
@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
def test_an_export_loads_with_its_projection(tiny_folders, tmp_path, name, pooling, normalize):
    from sentence_transformers import SentenceTransformer

    encoder = load(tiny_folders[name], pooling, normalize)
    project(encoder, away_from(directions(4)))
    export_backbone(encoder, tmp_path / "model", card="")
    expected = encoder.embed(TEXTS)
    again = load(tmp_path / "model", pooling, normalize)
    torch.testing.assert_close(again.embed(TEXTS), expected, atol=1e-6, rtol=0)
    assert again.digest() == encoder.digest()
    elsewhere = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    torch.testing.assert_close(torch.tensor(elsewhere.encode(TEXTS)), expected, atol=1e-5, rtol=0)
    if name != "bert":
        assert MaskedLM(again).log_probabilities([QUERY]) == pytest.approx(MaskedLM(encoder).log_probabilities([QUERY]))


def test_transformers_alone_loads_the_model_without_the_projection(tiny_folders, tmp_path):
    encoder = load(tiny_folders["bert_mlm"])
    project(encoder, away_from(directions(4)))
    export_backbone(encoder, tmp_path / "model", card="")
    for kind in (AutoModel, AutoModelForMaskedLM):
        _, loading = kind.from_pretrained(tmp_path / "model", output_loading_info=True)
        assert all("pooler" in name for name in loading["missing_keys"])
    plain = load(tiny_folders["bert_mlm"]).transformer(input_ids=torch.tensor([[101, 102]])).last_hidden_state
    alone = AutoModel.from_pretrained(tmp_path / "model")(input_ids=torch.tensor([[101, 102]])).last_hidden_state
    torch.testing.assert_close(alone, plain)


def test_a_dense_layer_that_is_no_projection_is_left_alone(tiny_folders, tmp_path):
    encoder = load(tiny_folders["bert"])
    project(encoder, away_from(directions(4)))
    export_backbone(encoder, tmp_path / "model", card="")
    config = tmp_path / "model" / "2_Dense" / "config.json"
    config.write_text(config.read_text().replace("linear.Identity", "activation.Tanh"))
    assert load(tmp_path / "model").projection is None
