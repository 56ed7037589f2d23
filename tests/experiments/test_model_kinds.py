"""The record of kinds of models by families of benchmarks."""

from experiments.model_kinds.measure import FAMILIES, KINDS, differences
from experiments.model_kinds.tables import record

EMBEDDED = {"associations", "versions", "retrieval", "similarity", "probes", "leakage"}
SCORED = {"sentences", "continuations", "pronouns", "perplexity"}


def test_every_kind_was_tried_on_every_family():
    found = record()["kinds"]
    assert list(found) == list(KINDS)
    for one in found.values():
        assert list(one["families"]) == list(FAMILIES)
        measured = {family for family, why in one["families"].items() if why == "yes"}
        assert measured >= EMBEDDED or measured >= SCORED
        assert all(one["families"].values())


def test_forms_of_one_sentence_transformer_are_equal():
    forms = {name: one["like"] for name, one in record()["kinds"].items() if "like" in one}
    like = {name: one for name, one in forms.items() if one["kind"] == "SentenceTransformer folder"}
    assert len(like) == 5
    for one in like.values():
        assert one["embeddings"] < 1e-5
        assert one["readings"] < 1e-5
        assert one["compared"] > 40


def test_a_server_without_the_first_tokens_value_agrees_on_the_others():
    found = record()["kinds"]["completions server"]["like"]
    assert found["likelihoods"] is None
    assert found["after_first"] < 0.05


def test_differences_are_of_what_both_have():
    one = {"readings": {"a": 1.0, "b": 2.0}, "embeddings": [[1.0, 2.0]]}
    other = {"readings": {"a": 1.5, "c": 9.0}, "embeddings": [[1.0, 2.25]], "likelihoods": [[0.0]]}
    found = differences(one, other)
    assert found == {"embeddings": 0.25, "likelihoods": None, "after_first": None, "readings": 0.5, "compared": 1}
