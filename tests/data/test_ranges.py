"""Settings of training data, which the annotations of its classes restrict."""

import pytest

from fairlab.checks.values import node_faults

TEXTS, SHARE = "a list of texts that is not empty", "a number above 0 and below 1"
ONE, ONE_OR_NULL = "a whole number of at least 1", "a whole number of at least 1 or null"
CORPUS, PACKED, ENTRIES = "corpus.Corpus", "packed.PackedText", "entries.Entries"
SENTENCES, GROUPS = "attribute_sentences.AttributeSentences", "counterfactual.CounterfactualData"
LABELLED, OWN = "labelled_tasks.LabelledTexts", "own_texts.OwnTexts"
PAIRS = "perturbation_pairs.PerturbationPairs"


@pytest.mark.parametrize(
    ("kind", "setting", "wrong", "right"),
    [
        *((kind, "paths", "x", TEXTS) for kind in (CORPUS, PACKED, SENTENCES)),
        (CORPUS, "windows", [], "a list of whole numbers that is not empty"),
        *((kind, "validation", wrong, SHARE) for kind in (CORPUS, PACKED, LABELLED, OWN, PAIRS) for wrong in (0, 1)),
        (ENTRIES, "validation", 0, ONE),
        (SENTENCES, "validation", 0, "a number above 0"),
        (PAIRS, "test", -0.1, "a number from 0 to 1"),
        *((kind, "batch_size", 0, ONE) for kind in (CORPUS, PACKED, ENTRIES, SENTENCES, GROUPS, LABELLED, OWN, PAIRS)),
        *((kind, "limit", 0, ONE_OR_NULL) for kind in (CORPUS, ENTRIES, SENTENCES, GROUPS, LABELLED, OWN, PAIRS)),
        *((PACKED, setting, 0, ONE) for setting in ("passage", "num_proc")),
        *((PACKED, setting, 0, ONE_OR_NULL) for setting in ("limit_characters", "validation_tokens")),
        (PACKED, "twin", "both", "perturbed or original"),
        (SENTENCES, "mixed", "both", "drop or keep"),
        (SENTENCES, "at_least", 0, ONE_OR_NULL),
        (LABELLED, "validate_on", "both", "made or published"),
        (ENTRIES, "sample", 0, ONE),
        (ENTRIES, "tokens", 1, "a whole number of at least 2 or null"),
        ("safety.SafetyData", "folds", 2, "a whole number of at least 3"),
        ("safety.SafetyData", "repeats", 0, ONE),
    ],
)
def test_a_value_out_of_range(kind, setting, wrong, right):
    node = {"_target_": f"fairlab.data.{kind}", setting: wrong}
    assert list(node_faults("data", node)) == [f"data.{setting} must be {right}, not {wrong}"]


@pytest.mark.parametrize(
    ("kind", "setting", "value"),
    [(CORPUS, "windows", [0]), (PACKED, "passage", 1), (PAIRS, "test", 0), (OWN, "limit", 1)],
)
def test_a_value_at_the_edge_fits(kind, setting, value):
    assert not list(node_faults("data", {"_target_": f"fairlab.data.{kind}", setting: value}))
