import pytest
import torch

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import encode
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.watching import watching


def test_every_text_is_told_and_nothing_changes(tiny):
    seen = []
    alone = tiny.embed(["A man left.", "A woman left."])
    tokenizer = tiny.tokenizer
    with watching(tiny, seen.extend):
        watched = tiny.embed(["A man left.", "A woman left."])
        encode(tiny, [("She left", "early"), ("He left", "late")])
        tiny.tokenizer("one text")
        assert tiny.tokenizer.mask_token == tokenizer.mask_token
        assert len(tiny.tokenizer) == len(tokenizer)
    assert seen == ["A man left.", "A woman left.", "She left early", "He left late", "one text"]
    assert torch.equal(alone, watched)
    assert tiny.tokenizer is tokenizer


def test_what_sentence_transformers_embeds_is_told_too(tiny_folders, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    transformer = Transformer(str(tiny_folders["bert"]))
    SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension())]).save(str(tmp_path / "m"))
    backbone = load_backbone(name=str(tmp_path / "m"), pooling="published", max_length=None, normalize=None)
    assert isinstance(backbone, Backbone)
    seen = []
    published = backbone.published
    with watching(backbone, seen.extend):
        backbone.embed(["A man left."])
    assert seen == ["A man left."]
    assert backbone.published is published is not None


def test_the_tokenizer_is_put_back_after_an_error(tiny):
    tokenizer = tiny.tokenizer
    with pytest.raises(ZeroDivisionError), watching(tiny, print):
        1 / 0  # noqa: B018
    assert tiny.tokenizer is tokenizer
