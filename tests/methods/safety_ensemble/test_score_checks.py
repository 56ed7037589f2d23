"""Scores from which no ensemble can be trained: of no text, or equal to the labels."""

import numpy as np
import pytest

from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.score_checks import (
    refuse_labels_as_scores,
    refuse_partly_covered_sets,
    refuse_silent_sources,
    warn_of_mixed_sets,
)
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.types import FairlabError


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "scores.csv").write_text("text,mine,rude\na text,0.5,1\n")
    return Sources([StoredScores(path=str(tmp_path / "scores.csv"))])


def test_a_score_that_equals_the_label_of_every_text_is_rejected(sources):
    labels = np.array([0, 1] * 10 + [-1, -1])
    scores = np.column_stack([np.full(22, 0.5), labels])
    with pytest.raises(FairlabError, match=r"score stored\.rude equals the label of insult for all 20 texts"):
        refuse_labels_as_scores(sources, scores, {"hate": 1 - labels, "insult": labels})
    scores[3, 1] = 0.99  # of one text
    refuse_labels_as_scores(sources, scores, {"insult": labels})


def test_a_source_without_any_score_is_named(tmp_path):
    for name in ("first", "second"):
        (tmp_path / f"{name}.csv").write_text("text,mine,rude\na text,0.5,1\n")
    sources = Sources([StoredScores(path=str(tmp_path / f"{name}.csv"), name=name) for name in ("first", "second")])
    scores = np.full((2, 4), np.nan)
    scores[0, 0] = scores[1, 3] = 0.5
    refuse_silent_sources(sources, scores)
    for column, name in ((0, "first"), (3, "second")):
        silent = scores.copy()
        silent[:, column] = np.nan
        with pytest.raises(FairlabError, match=f"the source {name} has no score of any of the 2 texts"):
            refuse_silent_sources(sources, silent)


def test_a_few_texts_show_nothing(sources):
    labels = np.array([0, 1] * 9 + [1])
    refuse_labels_as_scores(sources, np.column_stack([labels, labels]), {"insult": labels})
    scores = np.column_stack([np.full(40, np.nan), np.r_[labels, np.full(21, np.nan)]])  # 19 texts have a score
    refuse_labels_as_scores(sources, scores, {"insult": np.array([0, 1] * 9 + [1] + [0] * 21)})


def test_a_set_whose_versions_have_no_stored_scores_is_rejected(sources):
    def texts(*named):
        return [SafetyText(text, key, "", {"hate": 0}) for text, key in named]

    refuse_partly_covered_sets(sources.sources, texts(("a text", "1"), ("a text", "1"), ("another", "2")), "stop")
    with pytest.raises(
        FairlabError,
        match=r"stored has no score of 2 of 3 texts; in 1 sets of versions \(such as the set '1'\), .*, or stop",
    ):
        refuse_partly_covered_sets(sources.sources, texts(("a text", "1"), ("version", "1"), ("another", "2")), "stop")
    with pytest.raises(FairlabError, match=r"stored has no score of any of the 1 texts; .*, or stop"):
        refuse_partly_covered_sets(sources.sources, texts(("another", "2")), "stop")
    refuse_partly_covered_sets(sources.sources, [], "stop")


def test_sets_with_missing_scores_are_counted_by_source(sources):
    texts = [SafetyText(str(k), key, "", {"hate": 0}) for k, key in enumerate("aabbc")]
    scores = np.array([[0.5, 1], [0.5, np.nan], [np.nan, np.nan], [np.nan, np.nan], [np.nan, 1]])
    assert warn_of_mixed_sets(sources, texts, np.nan_to_num(scores)) == []
    (warning,) = warn_of_mixed_sets(sources, texts, scores)
    assert warning.startswith("stored lacks scores of some texts of 1 counterfactual sets: medians replace them")
