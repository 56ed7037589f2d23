"""Likelihoods of sentences and pronouns against plain computations, one text and one mask at a time."""

import math

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.loading import find_weights
from fairlab.benchmarks.likelihoods import pronoun_log_likelihoods, sentence_log_likelihoods
from fairlab.data.published.pronouns import PronounSentence, by_pronouns
from fairlab.types import CannotScore
from tests.conftest import MINILM
from tests.tiny_models import SMALL

SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
PAIRS = [
    by_pronouns("The nurse told the cook that he was late.", "The nurse told the cook that she was late."),
    by_pronouns("He lost his bag, himself.", "She lost her bag, herself."),
    by_pronouns("The clerk thanked him, and waited.", "The clerk thanked her, and waited."),
]
SENTENCES = [sentence for pair in PAIRS for sentence in pair]


def backbone(model, tokenizer, max_length=48):
    return Backbone(model.eval(), tokenizer, pooling="mean", max_length=max_length, normalize=False)


def masked(tokenizer, **options):
    torch.manual_seed(1)
    return backbone(BertForMaskedLM(BertConfig(**SMALL | {"vocab_size": len(tokenizer)}, **SIZE)), tokenizer, **options)


def causal(**options):
    torch.manual_seed(2)
    config = GPT2Config(vocab_size=30522, n_embd=32, n_layer=2, n_head=2, n_positions=64)
    tokenizer = AutoTokenizer.from_pretrained(find_weights(**MINILM), bos_token="[CLS]")
    return backbone(GPT2LMHeadModel(config), tokenizer, **options)


@torch.no_grad()
def plain_mask_filling(scorer, ids, hidden, position):
    """Log p(ids[position]) with the positions ``hidden`` masked, in a batch of one."""
    tokens = [scorer.tokenizer.mask_token_id if k in hidden else token for k, token in enumerate(ids)]
    logits = scorer.model(input_ids=torch.tensor([tokens])).logits[0, position]
    return float(logits.double().log_softmax(-1)[ids[position]])


@torch.no_grad()
def plain_causal(scorer, text):
    ids = [scorer.tokenizer.bos_token_id, *scorer.tokenizer(text, add_special_tokens=False)["input_ids"]]
    logits = scorer.model(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return sum(float(logits[k, token]) for k, token in enumerate(ids[1:]))


def test_pronouns_of_a_masked_model(tokenizer):
    scorer = masked(tokenizer)
    expected = []
    for sentence in SENTENCES:
        ids = scorer.tokenizer(sentence.text)["input_ids"]
        words = scorer.tokenizer.convert_ids_to_tokens(ids)
        places = {k for k, word in enumerate(words) if word in sentence.pronouns}
        assert len(places) == len(sentence.spans)
        expected.append(sum(plain_mask_filling(scorer, ids, places, k) for k in places))
    assert pronoun_log_likelihoods(scorer, SENTENCES) == pytest.approx(expected, abs=1e-4)
    backwards = pronoun_log_likelihoods(scorer, SENTENCES[::-1])
    assert backwards[::-1] == pytest.approx(expected, abs=1e-4)


def test_a_pronoun_of_several_tokens_is_scored_token_by_token():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cook", "s", "##he", "h", "##e", "##er", "lost"]
    plain = Tokenizer(models.WordPiece({piece: k for k, piece in enumerate(pieces)}, unk_token="[UNK]"))
    plain.normalizer, plain.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    plain.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    scorer = masked(PreTrainedTokenizerFast(tokenizer_object=plain, **special))
    _, female = by_pronouns("The cook lost he he", "The cook lost her she")
    ids = scorer.tokenizer(female.text)["input_ids"]
    assert scorer.tokenizer.convert_ids_to_tokens(ids)[4:8] == ["h", "##er", "s", "##he"]
    expected = (
        plain_mask_filling(scorer, ids, {4, 6, 7}, 4)
        + plain_mask_filling(scorer, ids, {5, 6, 7}, 5)
        + plain_mask_filling(scorer, ids, {4, 5, 6}, 6)
        + plain_mask_filling(scorer, ids, {4, 5, 7}, 7)
    )
    assert pronoun_log_likelihoods(scorer, [female]) == pytest.approx([expected], abs=1e-4)


def test_sentences_of_a_causal_model():
    scorer = causal()
    expected = [plain_causal(scorer, sentence.text) for sentence in SENTENCES]
    assert pronoun_log_likelihoods(scorer, SENTENCES) == pytest.approx(expected, abs=1e-4)
    found = sentence_log_likelihoods(likelihood(scorer), [sentence.text for sentence in SENTENCES])
    assert found.sums == pytest.approx(expected, abs=1e-4)


def test_sentences_of_a_masked_model(tokenizer):
    scorer = masked(tokenizer)
    found = sentence_log_likelihoods(likelihood(scorer), [sentence.text for sentence in SENTENCES])
    for sentence, value, count in zip(SENTENCES, found.sums, found.counts, strict=True):
        ids = scorer.tokenizer(sentence.text)["input_ids"]
        expected = sum(plain_mask_filling(scorer, ids, {k}, k) for k in range(1, len(ids) - 1))
        assert value == pytest.approx(expected, abs=1e-3)
        assert count == len(ids) - 2


@pytest.mark.parametrize("make", [masked, causal])
def test_sentences_that_do_not_fit_are_refused(make, tokenizer):
    scorer = make(*([tokenizer] if make is masked else []), max_length=10)
    whole = [sentence for sentence in SENTENCES if len(tokenizer(sentence.text)["input_ids"]) <= 10]
    assert max(len(tokenizer(sentence.text)["input_ids"]) for sentence in whole) == 10
    assert len(pronoun_log_likelihoods(scorer, whole)) == len(whole)
    scorer.max_length = 6
    with pytest.raises(CannotScore, match="max_length=6"):
        pronoun_log_likelihoods(scorer, SENTENCES)
    with pytest.raises(CannotScore, match="max_length=6"):
        sentence_log_likelihoods(likelihood(scorer), [sentence.text for sentence in SENTENCES])


@pytest.mark.parametrize("make", [masked, causal])
def test_likelihoods_that_are_no_numbers_are_refused(make, tokenizer):
    scorer = make(*([tokenizer] if make is masked else []))
    with torch.no_grad():
        next(iter(scorer.transformer.parameters())).fill_(math.nan)
    with pytest.raises(CannotScore):
        pronoun_log_likelihoods(scorer, SENTENCES)


def test_an_encoder_without_a_head_cannot_score(tokenizer):
    encoder = backbone(BertModel(BertConfig(**SMALL, **SIZE)), tokenizer)
    with pytest.raises(CannotScore):
        pronoun_log_likelihoods(encoder, [PronounSentence("he left", ((0, 2),))])
