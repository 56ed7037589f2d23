import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlab.backbones.backbone import Backbone, batches_by_tokens, pad
from fairlab.backbones.loading import find_weights, load_backbone
from tests.conftest import MINILM

TEXTS = ["a", "they saw the river", "he saw the river and the bridge by the old market", "a", "the clock"]


@pytest.mark.parametrize("budget", [1, 7, 40, 10_000])
def test_any_budget_and_order_give_the_same_embeddings(tiny, budget):
    one_by_one = torch.cat([tiny.embed([text]) for text in TEXTS])
    torch.testing.assert_close(tiny.embed(TEXTS, budget=budget), one_by_one, atol=1e-5, rtol=0)
    torch.testing.assert_close(tiny.embed(TEXTS[::-1], budget=budget), one_by_one.flip(0), atol=1e-5, rtol=0)


def test_batches_side_by_side_give_the_same_embeddings(tiny, monkeypatch):
    torch.set_num_threads(2)
    try:
        torch.testing.assert_close(tiny.embed(TEXTS, budget=7, side_by_side=True), tiny.embed(TEXTS, budget=7))
        assert torch.get_num_threads() == 2
        monkeypatch.setattr(Backbone, "pool", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tiny.embed(TEXTS, budget=7, side_by_side=True)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_mean_pooling_is_the_mean_over_real_tokens(tiny):
    ids = tiny.tokenize(["they saw the river"])
    hidden = tiny.model(input_ids=torch.tensor(ids)).last_hidden_state
    torch.testing.assert_close(tiny.embed(["they saw the river"]), hidden.mean(dim=1), atol=1e-6, rtol=1e-5)


def test_cls_pooling_and_normalisation(tiny):
    cls = Backbone(tiny.model, tiny.tokenizer, pooling="cls", max_length=32, normalize=True)
    hidden = tiny.model(input_ids=torch.tensor(cls.tokenize(["a river"]))).last_hidden_state[:, 0]
    torch.testing.assert_close(cls.embed(["a river"]), hidden / hidden.norm(), atol=1e-6, rtol=1e-5)


def test_dropout_is_off_and_the_mode_is_restored(tiny):
    tiny.train()
    first, second = tiny.embed(TEXTS), tiny.embed(TEXTS)
    assert torch.equal(first, second)
    assert tiny.training
    assert tiny.model.training


def test_an_encoder_around_a_model_in_eval_mode_stays_there(tiny):
    again = Backbone(tiny.model, tiny.tokenizer, pooling="mean", max_length=32, normalize=False)
    again.embed(TEXTS)
    assert not again.training
    assert not tiny.model.training


def test_texts_are_cut_at_the_maximal_length(tiny):
    assert len(tiny.tokenize(["river " * 100])[0]) == 32


def test_no_text_gives_no_row(tiny):
    assert tiny.embed([]).shape == (0, 32)


def test_each_distinct_text_is_embedded_once(tiny, monkeypatch):
    seen = 0
    forward = Backbone.forward

    def counting(self, input_ids, attention_mask):
        nonlocal seen
        seen += len(input_ids)
        return forward(self, input_ids, attention_mask)

    monkeypatch.setattr(Backbone, "forward", counting)
    assert len(tiny.embed(["a", "b", "a", "a"])) == 4
    assert seen == 2
    cut, other = tiny.embed(["river " * 100, "river " * 99])  # their first 32 tokens are the same
    assert seen == 3
    assert torch.equal(cut, other)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_hold_every_text_once_within_the_budget(lengths, budget):
    batches = list(batches_by_tokens(lengths, budget))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[position] for position in batch) <= budget


def test_padding():
    ids, mask = pad([[5, 6, 7], [8]], padding_id=9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_minilm_equals_sentence_transformers():
    from sentence_transformers import SentenceTransformer

    encoder = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True)
    reference = SentenceTransformer(str(find_weights(**MINILM)), device="cpu")
    expected = torch.tensor(reference.encode(TEXTS))
    torch.testing.assert_close(encoder.embed(TEXTS), expected, atol=1e-5, rtol=0)


def test_the_digest_is_of_what_makes_embeddings(tiny, tiny_folders):
    from fairlab.backbones.loading import load_backbone

    masked = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)
    before = masked.digest()
    with torch.no_grad():
        masked.model.cls.predictions.transform.dense.weight += 1
    assert masked.digest() == before != tiny.digest()
    with torch.no_grad():
        next(masked.transformer.parameters())[0, 0] += 1
    assert masked.digest() != before
    plain = Backbone(masked.transformer, masked.tokenizer, pooling="mean", max_length=32, normalize=False)
    assert plain.digest() == masked.digest()


def rows_given(backbone):
    """The rows of token ids that the transformer is given from now on, without padding."""
    rows = []

    def keep(_, __, given):
        masks = given["attention_mask"].bool()
        rows.extend(tuple(ids[mask].tolist()) for ids, mask in zip(given["input_ids"], masks, strict=True))

    backbone.transformer.register_forward_pre_hook(keep, with_kwargs=True)
    return rows


def test_a_text_is_embedded_once_while_it_is_remembered(tiny):
    alone = tiny.embed(TEXTS)
    rows = rows_given(tiny)
    with tiny.remembering():
        first = tiny.embed(TEXTS[:3])
        torch.testing.assert_close(tiny.embed([*TEXTS, "a river"])[:-1], alone, atol=1e-5, rtol=0)
        assert torch.equal(tiny.embed(TEXTS[:3]), first)
    assert len(rows) == len(set(rows)) == len({*TEXTS, "a river"})
    tiny.embed(TEXTS[:1])
    assert len(rows) == len({*TEXTS, "a river"}) + 1


def test_other_weights_are_not_given_what_is_remembered(tiny):
    with tiny.remembering():
        before = tiny.embed(TEXTS)
    with torch.no_grad():
        tiny.model.get_input_embeddings().weight.mul_(1.5)
    with tiny.remembering():
        assert not torch.allclose(tiny.embed(TEXTS), before, atol=1e-3)


def test_no_more_is_remembered_than_memory_is_meant_for(tiny, monkeypatch):
    monkeypatch.setattr("fairlab.backbones.backbone.REMEMBERED", 2 * tiny.width)
    rows = rows_given(tiny)
    with tiny.remembering():
        for text in ("a", "the clock", "a river"):
            tiny.embed([text, "a"])
    assert len(rows) == 3  # a and the clock, and a river, which no longer fits
    with tiny.remembering():
        tiny.embed(TEXTS)
        tiny.embed(TEXTS)
    assert len(rows) == 3 + 2 * len(set(TEXTS))
