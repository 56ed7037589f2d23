"""Choice and masking of tokens, by hand and at the rates asked for."""

import pytest
import torch

from fairlab.methods.mlm import mask_tokens, word_continuations


def test_draws_at_the_shares_by_hand(monkeypatch):
    """Tokens with a draw below the share are chosen; then a half is masked, and a quarter is random."""
    draws = iter(torch.tensor([[[0.25, 0.5, 0.25, 0.25, 0.25, 0.25]], [[0.25, 0.25, 0.5, 0.625, 0.75, 1.0]]]))
    monkeypatch.setattr(torch, "rand", lambda *given, **more: next(draws))
    monkeypatch.setattr(torch, "randint", lambda *given, **more: torch.full((1, 6), 7))
    ids, rates = torch.full((1, 6), 5), {"share": 0.5, "as_mask": 0.5, "as_random": 0.25}
    shown, chosen = mask_tokens(ids, ids == 0, **rates, mask_id=1, vocabulary=9, generator=torch.Generator())
    assert chosen.tolist() == [[True, False, True, True, True, True]]
    assert shown.tolist() == [[1, 5, 7, 7, 5, 5]]


def test_masks_come_at_the_rates_asked_for_and_never_on_special_tokens():
    ids = torch.full((400, 100), 5)
    special = torch.zeros_like(ids, dtype=torch.bool)
    special[:, 0] = True

    def mask(seed, **rates):
        generator = torch.Generator().manual_seed(seed)
        return mask_tokens(ids, special, mask_id=1, vocabulary=1000, generator=generator, **rates)

    shown, chosen = mask(0, share=0.15, as_mask=0.8, as_random=0.1)
    assert not chosen[special].any()
    assert chosen.float().mean().item() == pytest.approx(0.15 * 0.99, rel=0.05)
    assert (shown[chosen] == 1).float().mean().item() == pytest.approx(0.8, rel=0.03)
    assert (shown[chosen] == 5).float().mean().item() == pytest.approx(0.1, rel=0.15)
    assert torch.equal(shown[~chosen], ids[~chosen])
    again, _ = mask(0, share=0.15, as_mask=0.8, as_random=0.1)
    other, _ = mask(1, share=0.15, as_mask=0.8, as_random=0.1)
    assert torch.equal(shown, again)
    assert not torch.equal(shown, other)
    only_masks, chosen = mask(2, share=0.5, as_mask=1.0, as_random=0.0)
    assert (only_masks[chosen] == 1).all()


def test_whole_words_are_chosen_together(tokenizer):
    texts = ["the unbelievably stubborn woodcarver whittled thingamajigs", "a boat"]
    encoded = tokenizer(texts, padding=True, return_tensors="pt")["input_ids"].repeat(500, 1)
    special = torch.isin(encoded, torch.tensor(tokenizer.all_special_ids))
    continues = word_continuations(tokenizer)[encoded]
    assert continues.sum() > 1000
    generator = torch.Generator().manual_seed(0)
    shown, chosen = mask_tokens(
        encoded,
        special,
        share=0.3,
        as_mask=1.0,
        as_random=0.0,
        mask_id=tokenizer.mask_token_id,
        vocabulary=len(tokenizer),
        generator=generator,
        continues=continues,
    )
    assert not chosen[special].any()
    assert torch.equal(chosen[:, 1:][continues[:, 1:]], chosen[:, :-1][continues[:, 1:]])
    assert chosen[~special & ~continues].float().mean().item() == pytest.approx(0.3, rel=0.05)
    assert torch.equal(shown[chosen], torch.full_like(shown[chosen], tokenizer.mask_token_id))


def test_words_are_drawn_apart_and_a_text_may_begin_in_mid_word():
    rates = {"share": 0.5, "as_mask": 1.0, "as_random": 0.0, "mask_id": 1, "vocabulary": 9}
    ids, nothing = torch.full((100, 3), 5), torch.zeros(100, 3, dtype=torch.bool)
    for first in (False, True):
        goes_on, drawn = torch.tensor([[first, False, True]]).repeat(100, 1), torch.Generator().manual_seed(0)
        _, chosen = mask_tokens(ids, nothing, **rates, generator=drawn, continues=goes_on)
        assert torch.equal(chosen[:, 1], chosen[:, 2])
        assert torch.equal(chosen[:, 0], chosen[:, 1]) == first


def test_byte_level_tokens_go_on_with_a_word_unless_they_begin_one(byte_tokenizer):
    tokens = byte_tokenizer.tokenize("he saw the boats")
    goes_on = word_continuations(byte_tokenizer)[byte_tokenizer.convert_tokens_to_ids(tokens)].tolist()
    assert goes_on == [not token.startswith("Ġ") for token in tokens]
    assert not word_continuations(byte_tokenizer)[byte_tokenizer.convert_tokens_to_ids("<|endoftext|>")]


def test_texts_are_masked_alike_in_one_process_and_in_two(monkeypatch):
    ids, special = torch.arange(10, 50).reshape(4, 10), torch.zeros(4, 10, dtype=torch.bool)
    rates = {"mask_id": 1, "vocabulary": 1000, "share": 0.5, "as_mask": 0.5, "as_random": 0.25}
    whole = mask_tokens(ids, special, **rates, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr("fairlab.methods.mlm.ranks", lambda: 2)
    for process in (0, 1):
        monkeypatch.setattr("fairlab.methods.mlm.rank", lambda process=process: process)
        own = slice(process, None, 2)
        part = mask_tokens(ids[own], special[own], **rates, generator=torch.Generator().manual_seed(0), of_texts=4)
        assert [found.tolist() for found in part] == [found[own].tolist() for found in whole]
