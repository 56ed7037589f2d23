import math

import numpy as np
import pytest
import torch

from fairlab.backbones import scoring
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.masked_lm import MaskedLM, MaskQuery
from fairlab.types import CannotScore, FairlabError
from tests.backbones.reference import livened, masked_log_probability

KINDS = ["bert_mlm", "roberta_mlm", "distilbert_mlm", "albert_mlm", "bert_pretraining"]
TEXTS = [
    "he saw the river",
    "a clock",
    "they saw the river and the bridge by the old market",
    "he saw the river",
    "",
    "she read the letter by the piano",
]


@pytest.fixture(scope="module", params=KINDS)
def backbone(request, tiny_folders):
    return livened(load_backbone(str(tiny_folders[request.param]), pooling="mean", max_length=32, normalize=False))


@pytest.fixture
def bert(tiny_folders):
    return livened(load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False))


def some_queries(scorer):
    """A mask at every position of every text, each asked for two targets, in an order that is not the texts'."""
    queries = []
    for ids in scorer.tokenize(TEXTS):
        for position in range(1, len(ids) - 1):
            masked = [*ids[:position], scorer.mask_id, *ids[position + 1 :]]
            queries += [MaskQuery(masked, position, ids[position]), MaskQuery(masked, position, 2003)]
    return [queries[k] for k in np.random.default_rng(0).permutation(len(queries))]


def test_queries_equal_one_at_a_time_scoring_over_all_positions(backbone):
    scorer = MaskedLM(backbone)
    queries = some_queries(scorer)
    expected = [masked_log_probability(backbone, *query) for query in queries]
    assert np.ptp(expected) > 1  # the model has opinions, so a wrong position or row would show
    np.testing.assert_allclose(scorer.log_probabilities(queries), expected, atol=1e-5, rtol=0)


def test_pseudo_log_likelihoods_equal_one_masked_copy_at_a_time(backbone):
    scorer = MaskedLM(backbone)
    token_ids = scorer.tokenize(TEXTS)
    expected = []
    for ids in token_ids:
        copies = [[*ids[:k], scorer.mask_id, *ids[k + 1 :]] for k in range(len(ids))]
        inner = range(1, len(ids) - 1)
        expected.append(sum(masked_log_probability(backbone, copies[k], k, ids[k]) for k in inner))
    scored = scorer.pseudo_log_likelihoods(token_ids)
    np.testing.assert_allclose(scored.sums, expected, atol=1e-4, rtol=0)
    assert scored.counts.tolist() == [len(ids) - 2 for ids in token_ids]
    assert scored.sums[4] == 0
    np.testing.assert_allclose(scored.means[[0, 1]], [expected[0] / 4, expected[1] / 2], atol=1e-4)


@pytest.mark.parametrize("budget", [1, 9, 40, 10_000])
def test_any_budget_and_order_give_the_same_numbers(bert, budget):
    queries = some_queries(MaskedLM(bert))
    expected = MaskedLM(bert).log_probabilities(queries)
    scorer = MaskedLM(bert, budget=budget)
    np.testing.assert_allclose(scorer.log_probabilities(queries), expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(scorer.log_probabilities(queries[::-1]), expected[::-1], atol=1e-5, rtol=0)


def test_chosen_positions_are_the_partial_sums_of_all(bert):
    scorer = MaskedLM(bert)
    ids = scorer.tokenize(TEXTS[:1])[0]
    alone = [scorer.pseudo_log_likelihoods([ids], [[k]]).sums[0] for k in range(len(ids))]
    scored = scorer.pseudo_log_likelihoods([ids, ids, ids], [[2, 4], [], [0, 1]])
    np.testing.assert_allclose(scored.sums, [alone[2] + alone[4], 0, alone[0] + alone[1]], atol=1e-5)
    assert scored.counts.tolist() == [2, 0, 2]


def test_many_texts_are_masked_a_block_at_a_time(bert, monkeypatch):
    token_ids = MaskedLM(bert).tokenize(TEXTS)
    expected = MaskedLM(bert).pseudo_log_likelihoods(token_ids).sums
    monkeypatch.setattr("fairlab.backbones.masked_lm.COPIES_AT_ONCE", 30)
    np.testing.assert_allclose(MaskedLM(bert).pseudo_log_likelihoods(token_ids).sums, expected, atol=1e-5)


def test_what_is_asked_twice_is_computed_once(bert):
    rows, places, last = [], [], []
    bert.transformer.register_forward_pre_hook(
        lambda _, __, given: rows.append(len(given["input_ids"])), with_kwargs=True
    )
    bert.transformer.encoder.layer[-1].intermediate.register_forward_hook(
        lambda _, __, output: last.append(output.shape[0] * output.shape[1])
    )
    bert.model.cls.register_forward_hook(lambda _, __, output: places.append(output.shape[0] * output.shape[1]))
    ids = [101, 103, 2003, 103, 102]
    queries = [MaskQuery(ids, 1, 5), MaskQuery([101, 103, 102], 1, 5), MaskQuery(ids, 1, 6), MaskQuery(ids, 3, 5)]
    MaskedLM(bert).log_probabilities(queries * 3)
    assert sum(rows) == 2
    assert sum(places) == sum(last) == 3


def test_an_unknown_word_is_scored_and_special_tokens_are_not(bert):
    unknown = bert.tokenizer.unk_token_id
    scored = MaskedLM(bert).pseudo_log_likelihoods([[101, unknown, 2003, 102, 0]])
    assert scored.counts.tolist() == [2]


def test_probabilities_set_by_hand(tokenizer, bert):
    # No hidden state reaches the logits, so that each token has the odds of its bias wherever it stands.
    with torch.no_grad():
        for parameter in bert.model.parameters():
            parameter.zero_()
        bias = bert.model.cls.predictions.bias
        bias.fill_(-math.inf)
        bias[[2003, 2004, 2005]] = torch.tensor([0.5, 0.25, 0.25]).log()
    scorer = MaskedLM(bert)
    found = scorer.log_probabilities([MaskQuery([101, 103, 102], 1, 2003), MaskQuery([101, 103, 102], 1, 2005)])
    np.testing.assert_allclose(found, [math.log(0.5), math.log(0.25)], atol=1e-6)
    scored = scorer.pseudo_log_likelihoods([[101, 2003, 2004, 2003, 102]])
    assert scored.sums[0] == pytest.approx(math.log(0.5 * 0.25 * 0.5), abs=1e-5)
    assert scored.means[0] == pytest.approx(math.log(0.5 * 0.25 * 0.5) / 3, abs=1e-5)


def test_probabilities_over_the_vocabulary_sum_to_one(backbone):
    queries = [MaskQuery([101, 2002, 103, 102], 2, target) for target in range(backbone.model.config.vocab_size)]
    assert np.exp(MaskedLM(backbone).log_probabilities(queries)).sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("bound", [1, 100_000])
def test_never_more_logits_than_the_bound(bert, monkeypatch, bound):
    queries = some_queries(MaskedLM(bert))
    expected = MaskedLM(bert).log_probabilities(queries)
    sizes = []
    bert.model.get_output_embeddings().register_forward_hook(lambda _, __, logits: sizes.append(logits.numel()))
    monkeypatch.setattr(scoring, "LOGITS_AT_ONCE", bound)
    np.testing.assert_allclose(MaskedLM(bert).log_probabilities(queries), expected, atol=1e-5, rtol=0)
    assert max(sizes) <= max(bound, bert.model.config.vocab_size)


def test_texts_that_are_too_long_are_cut_and_counted(bert):
    scorer = MaskedLM(bert)
    fits, long = "river " * 30, "river " * 31
    assert [len(ids) for ids in scorer.tokenize([fits, long, "a"])] == [32, 32, 3]
    assert scorer.cut == 1
    scorer.tokenize([long])
    assert scorer.cut == 2


def test_a_query_that_is_too_long_is_refused(bert):
    with pytest.raises(FairlabError, match=r"a query of 33 tokens is longer than max_length=32; raise it"):
        MaskedLM(bert).log_probabilities([MaskQuery([101] * 33, 1, 5)])


def test_nothing_asked(bert):
    scorer = MaskedLM(bert)
    assert scorer.tokenize([]) == []
    assert scorer.log_probabilities([]).shape == (0,)
    scored = scorer.pseudo_log_likelihoods([])
    assert scored.sums.shape == scored.counts.shape == scored.means.shape == (0,)


def test_dropout_is_off_and_mode_and_model_are_restored(bert):
    scorer = MaskedLM(bert)
    queries = some_queries(scorer)
    expected = scorer.log_probabilities(queries)
    bert.train()
    np.testing.assert_array_equal(scorer.log_probabilities(queries), expected)
    assert bert.training
    assert bert.model.training
    assert bert.model(torch.tensor([[101, 2003, 102]])).logits.shape == (1, 3, 30522)


def test_a_hook_on_the_body_acts_once(bert):
    ids = [101, 103, 2003, 102]

    def doubled(_, __, output):
        output.last_hidden_state = 2 * output.last_hidden_state
        return output

    bert.transformer.register_forward_hook(doubled)
    expected = masked_log_probability(bert, ids, 1, 2005)
    assert MaskedLM(bert).log_probabilities([MaskQuery(ids, 1, 2005)])[0] == pytest.approx(expected, abs=1e-5)


def test_a_model_that_goes_around_its_body_is_refused(bert, monkeypatch):
    def forward(self, input_ids, **_):
        return {"logits": torch.zeros(*input_ids.shape, 30522)}

    monkeypatch.setattr(type(bert.model), "forward", forward)
    with pytest.raises(CannotScore, match="cannot be separated from its body"):
        MaskedLM(bert).log_probabilities([MaskQuery([101, 103, 102], 1, 5)])


def test_an_encoder_without_a_head_cannot_score(tiny):
    with pytest.raises(CannotScore, match="BertModel has no masked-LM head"):
        MaskedLM(tiny)
    with pytest.raises(CannotScore, match="BertModel has no language-modelling head"):
        likelihood(tiny)


def test_a_tokenizer_without_a_mask_cannot_score(bert, byte_tokenizer):
    with pytest.raises(CannotScore, match="the tokenizer of BertForMaskedLM has no mask token"):
        MaskedLM(Backbone(bert.model, byte_tokenizer, pooling="mean", max_length=32, normalize=False))


def test_the_scorer_that_fits(backbone):
    assert isinstance(likelihood(backbone), MaskedLM)
