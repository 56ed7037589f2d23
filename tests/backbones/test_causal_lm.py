import copy
import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertLMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from fairlab.backbones import scoring
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM, find_start_token
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.loading import load_backbone
from fairlab.types import CannotScore, FairlabError
from tests.backbones.reference import all_log_probabilities, livened

KINDS = ["gpt2", "llama", "opt"]
TEXTS = [
    "he saw the river",
    "a clock",
    "they saw the river and the bridge by the old market",
    "he saw the river",
    "",
    "señora ☃",
]
PAIRS = [("he saw", " the river"), ("he saw", "the river"), ("", "a clock"), ("a clock", ""), ("he ", "saw a ladder")]


@pytest.fixture(scope="module", params=KINDS)
def backbone(request, tiny_folders):
    return livened(load_backbone(str(tiny_folders[request.param]), pooling="mean", max_length=64, normalize=False))


@pytest.fixture
def gpt2(tiny_folders):
    return livened(load_backbone(str(tiny_folders["gpt2"]), pooling="mean", max_length=64, normalize=False))


def expected_scores(backbone, text):
    """Each token's log-probability, the whole model run on the text alone behind an <|endoftext|>."""
    ids = [0, *backbone.tokenizer.encode(text)]
    found = all_log_probabilities(backbone, ids)
    return [found[k - 1, ids[k]].item() for k in range(1, len(ids))]


def test_tokens_equal_one_text_at_a_time_scoring(backbone):
    scored = CausalLM(backbone).token_log_probabilities(TEXTS)
    expected = [expected_scores(backbone, text) for text in TEXTS]
    assert np.ptp(expected[2]) > 1  # the model has opinions, so a shifted target would show
    for found, values in zip(scored, expected, strict=True):
        np.testing.assert_allclose(found, values, atol=1e-5, rtol=0)


def test_sums_and_means(gpt2):
    scored = CausalLM(gpt2).log_likelihoods(TEXTS)
    expected = [expected_scores(gpt2, text) for text in TEXTS]
    np.testing.assert_allclose(scored.sums, [sum(values) for values in expected], atol=1e-4, rtol=0)
    assert scored.counts.tolist() == [len(values) for values in expected]
    assert np.isnan(scored.means[4])
    assert scored.means[0] == pytest.approx(np.mean(expected[0]), abs=1e-5)


@pytest.mark.parametrize("budget", [1, 9, 40, 10_000])
def test_any_budget_and_order_give_the_same_numbers(gpt2, budget):
    expected = CausalLM(gpt2).token_log_probabilities(TEXTS)
    scorer = CausalLM(gpt2, budget=budget)
    for found, again, values in zip(
        scorer.token_log_probabilities(TEXTS),
        scorer.token_log_probabilities(TEXTS[::-1])[::-1],
        expected,
        strict=True,
    ):
        np.testing.assert_allclose(found, values, atol=1e-5, rtol=0)
        np.testing.assert_allclose(again, values, atol=1e-5, rtol=0)


def test_continuations_are_what_the_joint_text_adds(backbone):
    scored = CausalLM(backbone).continuation_log_likelihoods(PAIRS)
    for (context, continuation), total, count in zip(PAIRS, scored.sums, scored.counts, strict=True):
        text = context + continuation
        encoded = backbone.tokenizer(text, return_offsets_mapping=True)
        within = [end > len(context) for _, end in encoded["offset_mapping"]]
        values = expected_scores(backbone, text)
        assert total == pytest.approx(sum(v for v, inside in zip(values, within, strict=True) if inside), abs=1e-4)
        assert count == sum(within)
    assert scored.counts[3] == 0


def test_the_chain_rule(gpt2):
    scorer = CausalLM(gpt2)
    whole = scorer.log_likelihoods(["he saw the river"]).sums[0]
    parts = scorer.log_likelihoods(["he saw"]).sums[0]
    rest = scorer.continuation_log_likelihoods([("he saw", " the river")]).sums[0]
    assert parts + rest == pytest.approx(whole, abs=1e-4)


def test_a_token_over_the_boundary_counts_to_the_continuation(gpt2):
    assert gpt2.tokenizer.tokenize("the") == ["the"]
    scored = CausalLM(gpt2).continuation_log_likelihoods([("t", "he")])
    assert scored.counts.tolist() == [1]
    assert scored.sums[0] == pytest.approx(expected_scores(gpt2, "the")[0], abs=1e-5)


@pytest.fixture
def bigrams():
    """A Llama without layers whose next token depends on the last one alone, by a table of probabilities."""
    words = ["<s>", "he", "she", "runs"]
    table = torch.tensor([[0.1, 0.4, 0.2, 0.3], [0.2, 0.1, 0.1, 0.6], [0.5, 0.1, 0.1, 0.3], [0.7, 0.1, 0.1, 0.1]])
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=4,
            hidden_size=4,
            intermediate_size=4,
            num_hidden_layers=0,
            num_attention_heads=1,
            max_position_embeddings=8,
            tie_word_embeddings=False,
            rms_norm_eps=0.0,
        )
    )
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(4))  # the norm makes each one-hot row twice as long
        model.lm_head.weight.copy_(table.log().T / 2)
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="<s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")
    return Backbone(model.eval(), fast, pooling="mean", max_length=8, normalize=False)


def test_a_table_of_bigrams_by_hand(bigrams):
    scorer = CausalLM(bigrams)
    he, she = scorer.token_log_probabilities(["he runs", "she runs he"])
    np.testing.assert_allclose(he, np.log([0.4, 0.6]), atol=1e-6)
    np.testing.assert_allclose(she, np.log([0.2, 0.3, 0.1]), atol=1e-6)
    scored = scorer.log_likelihoods(["he runs", "she runs he"])
    np.testing.assert_allclose(scored.sums, np.log([0.24, 0.006]), atol=1e-6)
    np.testing.assert_allclose(np.exp(scored.means), [0.24 ** (1 / 2), 0.006 ** (1 / 3)], atol=1e-6)
    given = scorer.continuation_log_likelihoods([("he", " runs"), ("she", " runs he")])
    np.testing.assert_allclose(np.exp(given.sums), [0.6, 0.03], atol=1e-6)


@pytest.mark.parametrize("bound", [1, 1000])
def test_never_more_logits_than_the_bound(gpt2, monkeypatch, bound):
    expected = CausalLM(gpt2).log_likelihoods(TEXTS).sums
    sizes = []
    gpt2.model.lm_head.register_forward_hook(lambda _, __, logits: sizes.append(logits.numel()))
    monkeypatch.setattr(scoring, "LOGITS_AT_ONCE", bound)
    np.testing.assert_allclose(CausalLM(gpt2).log_likelihoods(TEXTS).sums, expected, atol=1e-5, rtol=0)
    assert max(sizes) <= max(bound, gpt2.model.config.vocab_size)


def test_each_distinct_text_is_computed_once(gpt2):
    scorer = CausalLM(gpt2)
    rows = []
    gpt2.transformer.register_forward_hook(lambda _, __, output: rows.append(len(output.last_hidden_state)))
    assert len(scorer.token_log_probabilities(["he saw", "a clock", "he saw", "he saw"])) == 4
    assert sum(rows) == 2


def test_texts_that_differ_in_their_last_token_share_a_pass(gpt2):
    asked = [(2, [0, 5, 6]), (2, [0, 5, 7]), (1, [0, 5, 7]), (1, [0, 8])]
    apart = [CausalLM(gpt2)._score([one], "")[0] for one in asked]
    rows = []
    gpt2.transformer.register_forward_hook(lambda _, __, output: rows.append(len(output.last_hidden_state)))
    found = CausalLM(gpt2)._score(asked, "")
    for one, other in zip(found, apart, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=0)
    assert found[0] != found[1]
    assert found[2][1:] == found[1]
    assert sum(rows) == 2 + 2  # two inputs, and two of the check for a reader in both directions


def test_a_long_text_is_cut_with_its_start_token_at_the_models_length(backbone):
    scorer = CausalLM(backbone)
    text = "river " * 80
    ids = backbone.tokenizer.encode(text)
    assert len(ids) > 64
    scored = scorer.token_log_probabilities([text, "a clock"])
    assert scorer.cut == 1
    found = all_log_probabilities(backbone, [0, *ids[:63]])
    np.testing.assert_allclose(scored[0], found[range(63), ids[:63]], atol=1e-5)


def test_a_long_pair_loses_the_start_of_its_context(gpt2):
    scorer = CausalLM(gpt2)
    context, continuation = "river " * 80, "a clock"
    ids = [0, *gpt2.tokenizer.encode(context + continuation)[-63:]]
    count = len(gpt2.tokenizer.encode(continuation))
    found = all_log_probabilities(gpt2, ids)
    expected = sum(found[k - 1, ids[k]].item() for k in range(64 - count, 64))
    scored = scorer.continuation_log_likelihoods([(context, continuation)])
    assert scorer.cut == 1
    assert scored.counts.tolist() == [count]
    assert scored.sums[0] == pytest.approx(expected, abs=1e-4)
    assert scorer.continuation_log_likelihoods([("a", "river " * 80)]).counts.tolist() == [63]


def test_a_causal_model_embeds_too(backbone):
    ids = backbone.tokenize(["he saw the river"])
    with torch.no_grad():
        hidden = backbone.transformer(input_ids=torch.tensor(ids)).last_hidden_state
    torch.testing.assert_close(backbone.embed(["he saw the river"]), hidden.mean(dim=1), atol=1e-5, rtol=1e-5)
    one_by_one = torch.cat([backbone.embed([text]) for text in TEXTS if text])
    torch.testing.assert_close(backbone.embed([text for text in TEXTS if text]), one_by_one, atol=1e-5, rtol=0)


def test_dropout_is_off_and_the_mode_is_restored(gpt2):
    scorer = CausalLM(gpt2)
    expected = scorer.log_likelihoods(TEXTS).sums
    gpt2.train()
    np.testing.assert_array_equal(scorer.log_likelihoods(TEXTS).sums, expected)
    assert gpt2.training
    assert gpt2.model.training


def test_nothing_asked(gpt2):
    scorer = CausalLM(gpt2)
    assert scorer.token_log_probabilities([]) == []
    assert scorer.log_likelihoods([]).sums.shape == (0,)
    assert scorer.continuation_log_likelihoods([]).counts.shape == (0,)


def test_the_scorer_that_fits(backbone):
    scorer = likelihood(backbone)
    assert isinstance(scorer, CausalLM)
    assert scorer.start_token == "<|endoftext|>"


@pytest.mark.parametrize(
    ("special", "extra", "expected"),
    [
        ({"bos_token": "<s>", "eos_token": "</s>"}, ["<|endoftext|>"], "<s>"),
        ({"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}, ["<|endoftext|>"], "<|endoftext|>"),
        ({"eos_token": "<|im_end|>"}, ["<|endoftext|>"], "<|endoftext|>"),
        ({"eos_token": "</s>"}, [], "</s>"),
        ({}, [], None),
    ],
)
def test_what_stands_before_a_text(special, extra, expected):
    words = {word: k for k, word in enumerate([*special.values(), *extra, "he"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="he"))
    assert find_start_token(PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)) == expected


def test_a_tokenizer_without_a_start_cannot_score(gpt2, tokenizer):
    model = copy.deepcopy(gpt2.model)
    model.resize_token_embeddings(len(tokenizer))
    with pytest.raises(CannotScore, match="neither a start nor an end token"):
        CausalLM(Backbone(model, tokenizer, pooling="mean", max_length=32, normalize=False))


def test_a_masked_lm_cannot_score_as_a_causal_one(tiny_folders):
    bert = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)
    with pytest.raises(CannotScore, match="BertForMaskedLM has no causal-LM head"):
        CausalLM(bert)


@pytest.mark.parametrize("decoder", [True, False])
def test_a_bert_scores_only_as_a_decoder(byte_tokenizer, decoder):
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertLMHeadModel(BertConfig(vocab_size=len(byte_tokenizer), is_decoder=decoder, **size))
    backbone = livened(Backbone(model.eval(), byte_tokenizer, pooling="mean", max_length=32, normalize=False))
    if decoder:
        found = CausalLM(backbone).log_likelihoods(["a clock"]).sums[0]
        assert found == pytest.approx(math.fsum(expected_scores(backbone, "a clock")), abs=1e-4)
    else:
        with pytest.raises(CannotScore, match="is configured to read in both directions"):
            CausalLM(backbone)


@pytest.mark.parametrize("stride", [1, 20, 63])
@pytest.mark.parametrize("begins", [False, True])
def test_a_window_moves_over_a_long_text(gpt2, begins, stride):
    if begins:
        gpt2.tokenizer.bos_token = "!"  # a beginning that is no end, as Llama has
    scorer = CausalLM(gpt2)
    start = gpt2.tokenizer.get_vocab()["!"] if begins else 0
    text = "he saw the river and a clock by the bridge " * 12
    ids = [start, *gpt2.tokenizer.encode(text, add_special_tokens=False)]
    assert len(ids) > 100
    (found,) = scorer.token_log_probabilities([text], stride=stride)
    assert scorer.cut == 0
    expected, end = [], 1
    while end < len(ids):
        until = min(end + (63 if end == 1 else stride), len(ids))
        window = [start, *ids[max(1, until - 63) : until]] if begins or end == 1 else ids[until - 64 : until]
        values = all_log_probabilities(gpt2, window)
        expected += [values[k - 1, window[k]].item() for k in range(len(window) - (until - end), len(window))]
        end = until
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_short_texts_are_the_same_with_a_stride(gpt2):
    scorer = CausalLM(gpt2)
    plain, moved = scorer.log_likelihoods(TEXTS), scorer.log_likelihoods(TEXTS, stride=10)
    np.testing.assert_allclose(moved.sums, plain.sums, atol=1e-5, rtol=0)
    assert moved.counts.tolist() == plain.counts.tolist()
    assert scorer.token_log_probabilities([], stride=10) == []


@pytest.mark.parametrize("stride", [0, 64])
def test_a_stride_out_of_range_is_said(gpt2, stride):
    with pytest.raises(FairlabError, match=r"stride must be in 1\.\.63"):
        CausalLM(gpt2).log_likelihoods(TEXTS, stride=stride)
