"""BLEU, ROUGE-2 and Levenshtein distance against sacrebleu, rouge-score and hand counts."""

import numpy as np
import pytest
import sacrebleu

from fairlab.metrics.perplexity import perplexity
from fairlab.metrics.rewriting import bleu, bleu_counts, rouge_2, word_levenshtein

MADE = [
    "He saw his cat in the old garden today.",
    "They left early, it seems.",
    "A man and his dog walked home slowly.",
]
REFERENCES = [
    "She saw her cat in the old garden today.",
    "They left early, it seems.",
    "A woman and her dog walked home very slowly.",
]


def test_corpus_bleu_is_sacrebleus():
    expected = sacrebleu.corpus_bleu(MADE, [REFERENCES]).score
    assert float(bleu(*bleu_counts(MADE, REFERENCES))) == pytest.approx(expected, abs=1e-9)
    two = sacrebleu.corpus_bleu(MADE[:2], [REFERENCES[:2]]).score
    counts = bleu_counts(MADE, REFERENCES)
    assert float(bleu(*counts[:, :2])) == pytest.approx(two, abs=1e-9)
    drawn = bleu(*(row[np.array([[0, 1], [1, 1]])] for row in counts))
    assert drawn == pytest.approx([two, 100.0])
    longer = [f"{MADE[0]} And the rain fell."]
    expected = sacrebleu.corpus_bleu(longer, [REFERENCES[:1]]).score
    assert float(bleu(*bleu_counts(longer, REFERENCES[:1]))) == pytest.approx(expected, abs=1e-9)


def test_a_corpus_that_is_too_short_loses_by_brevity_and_one_without_matches_is_0():
    short = bleu_counts(["She saw her cat in the"], ["She saw her cat in the old garden"])
    assert float(bleu(*short)) == pytest.approx(100 * np.exp(1 - 8 / 6))
    assert float(bleu(*bleu_counts(["a b c d e"], ["f g h i j"]))) == 0


def test_rouge_2_by_hand():
    # Bigrams "he left", "left home" against "she left", "left home": one of two each way.
    assert rouge_2(["He left home"], ["She left home"]).tolist() == [0.5]
    assert rouge_2(["same words here"], ["Same words, here"]).tolist() == [1.0]


def test_levenshtein_counts_words():
    assert word_levenshtein(["he saw it", "a b"], ["she saw it now", "a b"]).tolist() == [2.0, 0.0]


@pytest.mark.parametrize("measure", [bleu_counts, rouge_2, word_levenshtein])
def test_every_text_has_a_reference(measure):
    with pytest.raises(ValueError, match="shorter"):
        measure(["a b", "c d"], ["a b"])


def test_perplexity_weighs_tokens():
    assert perplexity(np.log([0.5**2, 0.25]), np.array([2.0, 1.0])) == pytest.approx(2 ** (4 / 3))
