import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone

TEXTS = ["they saw the river", "a clock"]


@pytest.mark.parametrize("name", ["bert", "bert_mlm", "roberta_mlm", "distilbert_mlm", "bert_pretraining"])
@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
def test_an_export_loads_elsewhere_with_the_same_embeddings(tiny_folders, tmp_path, name, pooling, normalize):
    from sentence_transformers import SentenceTransformer

    encoder = load_backbone(str(tiny_folders[name]), pooling=pooling, max_length=32, normalize=normalize)
    with torch.no_grad():
        next(encoder.transformer.parameters()).add_(0.01)  # as if trained
    folder = tmp_path / "model"
    export_backbone(encoder, folder, card="# card")
    expected = encoder.embed(TEXTS)

    reloaded = load_backbone(str(folder), pooling=pooling, max_length=32, normalize=normalize)
    torch.testing.assert_close(reloaded.embed(TEXTS), expected, atol=1e-6, rtol=0)
    elsewhere = SentenceTransformer(str(folder), device="cpu")
    torch.testing.assert_close(torch.tensor(elsewhere.encode(TEXTS)), expected, atol=1e-5, rtol=0)
    plain = AutoModel.from_pretrained(folder)
    ids = AutoTokenizer.from_pretrained(folder)(TEXTS[0], return_tensors="pt")
    assert plain(**{key: ids[key] for key in ("input_ids", "attention_mask")}).last_hidden_state.shape[-1] == 32
    assert (folder / "README.md").read_text() == "# card"


def test_a_masked_lm_keeps_its_head(tiny_folders, tmp_path):
    encoder = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)
    export_backbone(encoder, tmp_path / "model", card="")
    reloaded = AutoModelForMaskedLM.from_pretrained(tmp_path / "model")
    ids = torch.tensor([[101, 2027, 103, 102]])
    torch.testing.assert_close(reloaded(ids).logits, encoder.model(ids).logits)


def test_an_older_export_is_replaced_whole(tiny_folders, tmp_path):
    encoder = load_backbone(str(tiny_folders["bert"]), pooling="mean", max_length=32, normalize=False)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "stale").touch()
    export_backbone(encoder, tmp_path / "model", card="")
    assert not (tmp_path / "model" / "stale").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
