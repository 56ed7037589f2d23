import numpy as np
import pytest
import torch

from fairlab.backbones.loading import load_backbone
from fairlab.backbones.next_sentence import NextSentence
from fairlab.types import CannotScore
from tests.backbones.reference import livened

PAIRS = [
    ("he saw the river", "it was wide"),
    ("it was wide", "he saw the river"),
    ("a clock", "she read the letter by the piano in the old house"),
    ("he saw the river", "it was wide"),
    ("a clock", "it"),
]


@pytest.fixture
def bert(tiny_folders):
    folder = str(tiny_folders["bert_pretraining"])
    return livened(load_backbone(folder, pooling="mean", max_length=32, normalize=False))


def alone(bert, pair):
    encoded = bert.tokenizer(*pair, return_tensors="pt", truncation=True, max_length=32)
    with torch.no_grad():
        return bert.model.eval()(**encoded).seq_relationship_logits.softmax(-1)[0, 0].item()


@pytest.mark.parametrize("budget", [1, 20, 10_000])
def test_probabilities_equal_one_pair_at_a_time(bert, budget):
    expected = [alone(bert, pair) for pair in PAIRS]
    assert expected[0] != pytest.approx(expected[1], abs=1e-3)  # the order of a pair shows
    scorer = NextSentence(bert, budget=budget)
    np.testing.assert_allclose(scorer.probabilities(PAIRS), expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(scorer.probabilities(PAIRS[::-1]), expected[::-1], atol=1e-5, rtol=0)


def test_class_0_is_follows(bert):
    with torch.no_grad():
        bert.model.cls.seq_relationship.weight.zero_()
        bert.model.cls.seq_relationship.bias.copy_(torch.tensor([3.0, 1.0]).log())
    np.testing.assert_allclose(NextSentence(bert).probabilities(PAIRS), 0.75, atol=1e-6)


def test_each_distinct_pair_is_computed_once(bert):
    rows = []
    bert.transformer.register_forward_hook(lambda _, __, output: rows.append(len(output.pooler_output)))
    NextSentence(bert).probabilities(PAIRS)
    assert sum(rows) == 4


def test_long_pairs_are_cut_and_counted(bert):
    scorer = NextSentence(bert)
    pair = ("a clock", "river " * 100)
    assert scorer.probabilities([pair])[0] == pytest.approx(alone(bert, pair), abs=1e-5)
    assert scorer.cut == 1


def test_dropout_is_off_and_the_mode_is_restored(bert):
    bert.train()
    assert np.array_equal(NextSentence(bert).probabilities(PAIRS), NextSentence(bert).probabilities(PAIRS))
    assert bert.training


def test_nothing_asked(bert):
    assert NextSentence(bert).probabilities([]).shape == (0,)


def test_a_masked_lm_alone_cannot_score(tiny_folders):
    bert = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)
    with pytest.raises(CannotScore, match="BertForMaskedLM has no next-sentence head"):
        NextSentence(bert)
