import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.next_sentence import NextSentence
from fairlab.backbones.scoring import batches_of_one_length
from tests.conftest import WORDS

BUDGET = 80  # above the longest text


@given(st.lists(st.integers(1, 30), max_size=60), st.integers(1, 100))
def test_batches_hold_every_text_once_of_one_length_and_within_the_budget(lengths, budget):
    batches = batches_of_one_length(lengths, budget)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[position] for position in batch}) == 1
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= budget
    longest_first = [lengths[batch[0]] for batch in batches]
    assert longest_first == sorted(longest_first, reverse=True)


def score(scorer, texts):
    """Whatever the scorer gives for every text."""
    if isinstance(scorer, MaskedLM):
        scorer.pseudo_log_likelihoods(scorer.tokenize(texts))
    elif isinstance(scorer, CausalLM):
        scorer.log_likelihoods(texts, start_apart=True)
        scorer.continuation_log_likelihoods([(text, " " + text[:20]) for text in texts])
    else:
        scorer.probabilities([(text, text[:20]) for text in texts])


@pytest.mark.parametrize("count", [10, 300])
@pytest.mark.parametrize(
    ("name", "kind"),
    [("bert_mlm", MaskedLM), ("albert_mlm", MaskedLM), ("bert_pretraining", NextSentence), ("gpt2", CausalLM)],
)
def test_no_pass_is_larger_than_the_budget_however_much_is_asked(tiny_folders, name, kind, count):
    backbone = load_backbone(str(tiny_folders[name]), pooling="mean", max_length=64, normalize=False)
    scorer = kind(backbone, budget=BUDGET)
    tokens = []
    backbone.transformer.register_forward_pre_hook(
        lambda _, __, given: tokens.append(given["input_ids"].numel()), with_kwargs=True
    )
    score(scorer, [f"{k} " + " ".join(WORDS[: k % 7]) for k in range(count)])
    assert len(tokens) > count / BUDGET
    assert max(tokens) <= BUDGET
