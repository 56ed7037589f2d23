"""Checks of the gate on planted language models: what is found on either side of each limit."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.benchmarks.validity import language
from fairlab.benchmarks.validity.finding import failed
from fairlab.benchmarks.validity.texts import PLACES, SENTENCES

HALF = len(SENTENCES)
PAIRS = len(PLACES) // 2


def kinds(findings):
    return [one.weight.value for one in findings]


class Planted:
    """Scorer with a loss on plain and on shuffled sentences, and a number of pairs of words right in their places."""

    def __init__(self, plain=2.0, shuffled=3.0, right=PAIRS, tokens=2, tied=False):
        self.losses, self.right, self.tokens, self.tied = np.repeat([plain, shuffled], HALF), right, tokens, tied

    def log_likelihoods(self, texts):
        if len(texts) == 2 * HALF:
            assert [sorted(one.split()) for one in texts[:HALF]] == [sorted(one.split()) for one in texts[HALF:]]
            assert not set(texts[:HALF]) & set(texts[HALF:])
            return LogLikelihoods(-self.tokens * self.losses, np.full(len(texts), self.tokens))
        own = self.tied or [text.format(word) for text, word in PLACES] == list(texts)
        gained = [[0.0, 2.0], [1.5, 0.0]] if own else [[1.5, 0.0], [0.0, 2.0]]  # of a pair: 2, and 1.5
        return LogLikelihoods(np.concatenate([gained[k >= self.right] for k in range(PAIRS)]), np.ones(len(texts)))


@pytest.mark.parametrize(
    ("scorer", "vocabulary", "found"),
    [
        (Planted(plain=4.1, shuffled=9), 100, []),  # the loss of a guess is 4.605 nats; nine tenths of it are 4.145
        (Planted(plain=4.2, shuffled=9), 100, ["failed"]),
        (Planted(plain=4.2, shuffled=9), None, []),
        (Planted(plain=3, shuffled=3), 100, ["failed"]),
        (Planted(plain=3, shuffled=2.9), None, ["failed"]),
        (Planted(tokens=0), None, ["failed"]),  # a scorer that reads nothing
        (Planted(tied=True), None, ["failed"]),  # every word is as likely in another's place
        (Planted(right=8), None, ["failed"]),  # of twelve pairs 67 %
        (Planted(right=9), None, ["not judged"]),
        (Planted(right=10), None, ["not judged"]),  # 83 %
        (Planted(right=11), None, []),
    ],
)
def test_a_language_model_must_be_better_than_chance(scorer, vocabulary, found):
    assert kinds(language.check_scorer(scorer, vocabulary)) == found


class PlantedMask(MaskedLM):
    """Masked LM whose words have a loss behind each special token: the mask 1, others 2 to 7; letters are tokens."""

    mask_id = 1

    def __init__(self, losses):
        self.losses = losses
        named = {1: "[MASK]", 2: "[a]", 3: "[b]", 4: "[c]", 5: "[d]", 6: "[e]", 7: "<mask>"}
        special = {number: SpecialToken(name) for number, name in named.items()}
        plain = SimpleNamespace(special=False)
        tokenizer = SimpleNamespace(added_tokens_decoder=special | {8: plain}, mask_token="[MASK]")
        self.backbone = SimpleNamespace(tokenizer=tokenizer)

    def tokenize(self, texts):
        return [[100 + ord(letter) for letter in " ".join(text.split())] for text in texts]

    def pseudo_log_likelihoods(self, token_ids, positions=None):
        return Planted().log_likelihoods(["".join(chr(token - 100) for token in ids) for ids in token_ids])

    def log_probabilities(self, queries):
        for query in queries:
            assert [query.token_ids[query.position]] == [one for one in query.token_ids if one < 100]
            assert query.target >= 100
            hidden = [query.target if one < 100 else one for one in query.token_ids]
            assert hidden in self.tokenize([text.format(word) for text, word in PLACES])
        return np.array([-self.losses.get(one.token_ids[one.position], 9.0) for one in queries])


class SpecialToken(str):
    special = True


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ({1: 3.0, 2: 2.0}, None),  # by one nat, and no more
        ({1: 3.1, 2: 2.0}, "[a]"),
        ({1: 3.1, 7: 2.0}, "<mask>"),  # tokens named masks come first
        ({1: 3.1, 4: 2.0}, "[c]"),  # four others are tried: <mask>, [a], [b] and [c]
        ({1: 3.1, 5: 2.0}, None),
    ],
)
def test_no_other_token_hides_words_much_better_than_the_mask(losses, said):
    found = list(language._check_mask(PlantedMask(losses)))
    assert kinds(found) == ["failed"] * (said is not None)
    assert all(f"worse than {said} does" in one.text for one in found)


def test_a_masked_model_is_scored_at_the_inserted_word_alone():
    scorer = PlantedMask({})
    assert language._chance(scorer, None) == ""
    ids = scorer.tokenize([text.format(word) for text, word in PLACES])
    for places, row, (text, word) in zip(language._positions(scorer, ids), ids, PLACES, strict=True):
        before, after = (
            "".join(chr(row[k] - 100) for k in side) for side in (range(places[0]), range(places[0], len(row)))
        )
        assert text.startswith(before.rstrip()[: text.index("{")])
        assert len(places) >= len(word), after


@pytest.mark.parametrize(("right", "found"), [(4, ["failed"]), (5, [])])  # of six sentences 67 % and 83 %
def test_a_rewriter_depends_on_its_source(monkeypatch, right, found):
    given, sources = iter([torch.arange(HALF) < right, torch.zeros(HALF)]), []
    monkeypatch.setattr(language, "_log_probabilities_given", lambda _, some: sources.append(some) or next(given) * 1.0)
    said = list(language._check_rewriting(None))
    assert kinds(said) == found
    assert all(f"({right} of {HALF} sentences" in one.text for one in said)
    own, other = sources
    assert list(own) == list(SENTENCES)
    assert sorted(other) == sorted(SENTENCES)
    assert not any(one == another for one, another in zip(own, other, strict=True))


@pytest.mark.parametrize(
    ("published", "head", "found"), [(None, True, ["failed"]), ("mean", True, []), (None, False, [])]
)
def test_an_encoder_decoder_that_writes_is_checked_by_its_source(monkeypatch, published, head, found):
    monkeypatch.setattr(language, "_check_rewriting", lambda backbone: iter([failed("it does not depend on it")]))
    model = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=True))
    model.get_output_embeddings = lambda: object() if head else None
    assert kinds(language.check_language(SimpleNamespace(model=model, published=published))) == found


def test_likelihoods_of_sentences_after_others_one_by_one(tokenizer):
    torch.manual_seed(0)
    size = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "decoder_start_token_id": 102}
    config = BartConfig(vocab_size=30522, max_position_embeddings=64, pad_token_id=0, init_std=0.5, **size, **heads)
    model = BartForConditionalGeneration(config).eval()
    backbone = Backbone(model, tokenizer, pooling="mean", max_length=64, normalize=False)
    expected = []
    for source, target in zip(SENTENCES[::-1], SENTENCES, strict=True):
        read, written = (tokenizer(text, return_tensors="pt")["input_ids"] for text in (source, target))
        with torch.no_grad():
            logs = model(input_ids=read, labels=written).logits[0].double().log_softmax(-1)
        expected.append(sum(logs[k, token].item() for k, token in enumerate(written[0])))
    assert language._log_probabilities_given(backbone, SENTENCES[::-1]).tolist() == pytest.approx(expected, rel=1e-4)
