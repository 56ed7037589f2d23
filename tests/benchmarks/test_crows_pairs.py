import csv
import difflib
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.crows_pairs import CrowSPairs, _warnings, crows_pairs_quantities, positions_to_score, rounded
from fairlab.benchmarks.readings import outcome
from fairlab.data.published.crows_pairs import PUBLISHED, CrowsPair
from fairlab.types import CannotScore, FairlabError

ROWS = [  # the third pair's more stereotyping sentence only adds a word, the fifth repeats the first
    ("The poor nurse saw the Man.", "The rich nurse saw the Man.", "stereo", "gender"),
    ("He was kind and happy to the old cook", "She was kind and angry to the old cook", "antistereo", "gender"),
    ("The old angry man", "The old man", "stereo", "age"),
    ("The cook was kind to him, but angry.", "The unkind cook was happy to see him.", "antistereo", "race-color"),
    ("The poor nurse saw the Man.", "The rich nurse saw the Man.", "stereo", "gender"),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pairs.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["", "sent_more", "sent_less", "stereo_antistereo", "bias_type"])
        writer.writerows([k, *row] for k, row in enumerate(ROWS))
    return str(path)


def by_place(result):
    return {(reading.subset, reading.quantity): reading for reading in result.readings}


# --- an independent computation: one sentence, one mask, one forward pass at a time


def masked_log_probability(backbone, ids, position):
    masked = ids.clone()
    masked[0, position] = backbone.tokenizer.mask_token_id
    with torch.no_grad():
        output = backbone.model(input_ids=masked)
    logits = output.get("logits", output.get("prediction_logits"))
    return torch.log_softmax(logits[0, position].double(), dim=0)[ids[0, position]].item()


def plain_masked(backbone, protocol, first, second):
    """Scores of the two sentences in the order the official codes take them; None for a pair to skip."""
    a, b = (backbone.tokenizer(text, return_tensors="pt")["input_ids"] for text in (first, second))
    matcher = difflib.SequenceMatcher(None, [str(i) for i in a[0].tolist()], [str(i) for i in b[0].tolist()])
    places_a, places_b = [], []
    if protocol == "nangia":
        for start_a, start_b, size in matcher.get_matching_blocks():
            places_a += range(start_a, start_a + size)
            places_b += range(start_b, start_b + size)
        places_a, places_b = places_a[1:-1], places_b[1:-1]
    else:
        shared_a, shared_b = set(), set()
        for start_a, start_b, size in matcher.get_matching_blocks():
            shared_a |= set(range(start_a, start_a + size))
            shared_b |= set(range(start_b, start_b + size))
        places_a = [k for k in range(a.shape[1]) if k not in shared_a]
        places_b = [k for k in range(b.shape[1]) if k not in shared_b]
        if not places_a or not places_b:
            return None
    totals = []
    for ids, places in ((a, places_a), (b, places_b)):
        found = [masked_log_probability(backbone, ids, place) for place in places]
        totals.append(sum(found) if protocol == "nangia" else sum(found) / len(found))
    return totals


def plain_causal(backbone, protocol, text):
    start = backbone.tokenizer.bos_token_id
    ids = backbone.tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        alone = backbone.model(torch.tensor([[start]])).logits[0].double().log_softmax(-1)
        if protocol == "nangia":
            given = backbone.model(torch.tensor([[start, *ids]])).logits[0].double().log_softmax(-1)
            return sum(given[k, token].item() for k, token in enumerate(ids))
        given = backbone.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    found = [alone[0, ids[0]].item(), *(given[k, token].item() for k, token in enumerate(ids[1:]))]
    return math.exp(sum(found) / len(found))


def plain_scores(backbone, protocol):
    """(more, less) per row of ``ROWS``; nan where skipped."""
    scores = []
    for more, less, direction, _ in ROWS:
        if backbone.tokenizer.mask_token is None:
            scores.append([plain_causal(backbone, protocol, text) for text in (more, less)])
            continue
        texts = (more, less) if direction == "stereo" else (less, more)
        if protocol == "nangia" and backbone.model.config.model_type == "bert":
            texts = tuple(text.lower() for text in texts)
        found = plain_masked(backbone, protocol, *texts) or [math.nan, math.nan]
        scores.append(found if direction == "stereo" else found[::-1])
    return np.array(scores)


@pytest.mark.parametrize("protocol", ["nangia", "meade"])
@pytest.mark.parametrize("model", ["bert", "bert_two_heads", "roberta", "gpt2"])
def test_a_plain_computation_agrees(language_models, file, model, protocol):
    result = CrowSPairs(protocol, path=file).measure(language_models[model])
    expected = plain_scores(language_models[model], protocol)
    masked = model != "gpt2"
    assert result.items["scores"] == pytest.approx(expected, abs=1e-3 if masked else 1e-5, rel=1e-4, nan_ok=True)
    decimals = result.items["scores"] == result.items["scores"].round(3)
    assert decimals[~np.isnan(result.items["scores"])].all() == masked
    skipped = np.isnan(expected).any(axis=1)
    assert skipped.tolist() == [False, False, masked and protocol == "meade", False, False]
    hits = expected[~skipped, 0] > expected[~skipped, 1]
    reading = by_place(result)["all", "metric_score"]
    assert (reading.value, reading.n) == (pytest.approx(100 * hits.mean()), len(hits))
    assert reading.p == pytest.approx(binomtest(int(hits.sum()), len(hits)).pvalue)
    name = "crows_pairs" if protocol == "nangia" else "crows_pairs@meade"
    assert {reading.benchmark for reading in result.readings} == {name}
    if protocol == "meade":
        assert by_place(result)["all", "skipped"].value == pytest.approx(100 * skipped.mean())
        assert any("1 of 5 pairs were skipped" in note.text for note in result.notes) == masked


def test_the_protocols_take_other_tokens_and_the_official_order():
    a, b = [101, 5, 6, 7, 102], [101, 5, 8, 9, 7, 102]
    assert positions_to_score("nangia", a, b, True) == [[1, 3], [1, 4]]
    assert positions_to_score("meade", a, b, True) == [[2], [2, 3]]
    assert positions_to_score("meade", [101, 5, 102], [101, 5, 6, 102], True) == [[], [2]]
    assert positions_to_score("nangia", [101, 5, 102], [101, 6, 102], True) == [[], []]
    # difflib finds other blocks in the other direction: which sentence comes first matters.
    first, second = [101, 5, 5, 6, 102], [101, 5, 6, 5, 102]
    assert positions_to_score("nangia", first, second, True) == [[1, 2], [1, 3]]
    assert positions_to_score("nangia", first, second, False) == [[1, 3], [1, 2]]


@given(st.lists(st.integers(0, 5), max_size=9), st.lists(st.integers(0, 5), max_size=9), st.booleans())
def test_shared_and_own_tokens_part_each_sentence(first, second, stereotype):
    texts = [[101, *tokens, 102] for tokens in (first, second)]
    shared = positions_to_score("nangia", *texts, stereotype)
    own = positions_to_score("meade", *texts, stereotype)
    assert len(shared[0]) == len(shared[1])
    for ids, same, other in zip(texts, shared, own, strict=True):
        assert sorted([0, *same, *other, len(ids) - 1]) == list(range(len(ids)))
    assert [texts[0][k] for k in shared[0]] == [texts[1][k] for k in shared[1]]


def test_scores_by_hand_with_a_tie_by_rounding():
    pairs = [
        CrowsPair(str(k), "a", "b", stereotype, kind)
        for k, (stereotype, kind) in enumerate(
            [(True, "gender"), (True, "gender"), (False, "gender"), (False, "gender"), (True, "age"), (True, "gender")]
        )
    ]
    raw = [[-1.0, -2.0], [-2.0, -1.0], [-1.0, -2.0], [-5.0004, -5.0001], [-1.0, -1.1], [-7.0014, -7.0006]]
    scores = rounded(np.array(raw).ravel()).reshape(-1, 2)
    readings = by_place(
        outcome(CrowSPairs.description, crows_pairs_quantities("nangia", ["gender", "age"], pairs, scores))
    )
    # Gender: hits 0 and 2, a miss 1, a tie 3 (both -5.0); -7.001 each is a tie too.
    assert readings["gender", "metric_score"].value == pytest.approx(100 * 2 / 5)
    assert readings["gender", "stereotype_score"].value == pytest.approx(100 * 1 / 2)
    assert readings["gender", "anti_stereotype_score"].value == pytest.approx(100 * 1 / 1)
    assert readings["gender", "ties"].value == pytest.approx(100 * 2 / 5)
    assert [readings["gender", name].n for name in ("metric_score", "stereotype_score", "ties")] == [5, 3, 5]
    assert readings["gender", "metric_score"].p == pytest.approx(binomtest(2, 3).pvalue)
    assert readings["gender", "metric_score"].p_holm == pytest.approx(1.0)
    assert readings["age", "metric_score"].value == 100
    assert ("all", "metric_score") not in readings  # not every bias type was asked for
    assert ("gender", "skipped") not in readings
    everything = by_place(
        outcome(CrowSPairs.description, crows_pairs_quantities("nangia", list(PUBLISHED), pairs, scores))
    )
    assert everything["all", "metric_score"].value == pytest.approx(100 * 3 / 6)
    assert everything["all", "metric_score"].headline
    assert everything["all", "metric_score"].p_holm is None


def test_rounding_is_that_of_the_official_code():
    values = np.array([0.0005, 2.0015, -1.2345, 0.1235, 1.0005])
    assert rounded(values).tolist() == [round(value, 3) for value in values.tolist()]
    assert np.isnan(rounded(np.array([math.nan])))[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_pairs_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    pairs = [CrowsPair(str(k), "a", "b", k % 2 == 0, ["age", "gender"][k // 3]) for k in range(6)]
    scores, order = rng.normal(size=(6, 2)).round(1), rng.permutation(6)
    ways = [(pairs, scores), ([pairs[k] for k in order], scores[order])]
    first, second = (
        {(q.subset, q.name): (q.value, q.n, q.p) for q in crows_pairs_quantities("meade", ["age", "gender"], *way)}
        for way in ways
    )
    assert repr(first) == repr(second)  # nan where a quantity is undefined


def test_the_bias_types_are_one_family_of_tests():
    # All 8 pairs of age and all 6 of gender go one way: p = 2 / 2^8 and 2 / 2^6; Holm doubles the smaller one.
    pairs = [CrowsPair(str(k), "a", "b", True, "age" if k < 8 else "gender") for k in range(14)]
    found = crows_pairs_quantities("meade", ["age", "gender"], pairs, np.tile([2.0, 1.0], (14, 1)))
    p_values = {one.subset: (one.p, one.p_holm) for one in found if one.name == "metric_score"}
    assert p_values["age"] == pytest.approx((1 / 128, 1 / 64))
    assert p_values["gender"] == pytest.approx((1 / 32, 1 / 32))


def test_options_names_and_notes(language_models, file):
    model = language_models["bert"]
    result = CrowSPairs(bias_types=["race-color", "gender"], items="regular", path=file).measure(model)
    assert {reading.benchmark for reading in result.readings} == {"crows_pairs@regular"}
    assert {reading.subset for reading in result.readings} == {"race_color", "gender"}
    assert by_place(result)["gender", "metric_score"].n == 2
    assert result.items["scores"].shape == (3, 2)
    (note,) = [note for note in result.notes if note.item]
    assert (note.item, note.text) == ("4", "it repeats pair 0; left out")
    assert any("4 pairs of the 778 in the published data" in note.text for note in result.notes)
    everything = CrowSPairs(path=file).measure(model)
    assert by_place(everything)["gender", "metric_score"].n == 3
    assert any("items=regular leaves it out" in note.text for note in everything.notes)
    with pytest.raises(FairlabError, match=r"crows_pairs\.bias_types must be"):
        CrowSPairs(bias_types=["sex"])


def test_a_comparison_with_itself_is_nothing(language_models, file):
    bench = CrowSPairs("meade", path=file)
    first = bench.measure(language_models["bert"])
    again = bench.measure(language_models["bert"], first.items)
    assert {entry.quantity for entry in again.comparisons} >= {"metric_score", "ties"}
    assert all(entry.difference == 0 and entry.p == 1 for entry in again.comparisons)


def test_a_cased_bert_is_lower_cased_and_said_so(language_models, file):
    class Cased:
        """The tokenizer, with case as part of the id."""

        def __init__(self, tokenizer):
            self.tokenizer = tokenizer

        def __getattr__(self, name):
            return getattr(self.tokenizer, name)

        def __len__(self):
            return len(self.tokenizer)

        def __call__(self, texts, **options):
            ids = self.tokenizer(texts, **options)["input_ids"]
            return {
                "input_ids": [row if text == text.lower() else [0, *row] for text, row in zip(texts, ids, strict=True)]
            }

    bert = language_models["bert"]
    cased = Backbone(bert.model, Cased(bert.tokenizer), pooling="mean", max_length=128, normalize=False)
    result = CrowSPairs(path=file).measure(cased)
    assert any("lower-cased" in note.text and "keeps case" in note.text for note in result.notes)
    as_they_are = CrowSPairs("meade", path=file).measure(cased)  # which lower-cases nothing
    assert not any("lower-cased" in note.text for note in as_they_are.notes)
    uncased = CrowSPairs(path=file).measure(bert)
    assert not any("lower-cased" in note.text for note in uncased.notes)
    assert result.items["scores"] == pytest.approx(uncased.items["scores"])


def test_a_model_that_ties_everywhere_is_noted():
    pairs = [CrowsPair(str(k), "a", "b", True, "age") for k in range(4)]
    result = outcome(CrowSPairs.description, crows_pairs_quantities("nangia", ["age"], pairs, np.zeros((4, 2))))
    assert by_place(result)["age", "metric_score"].value == 0
    assert by_place(result)["age", "ties"].value == 100
    assert by_place(result)["age", "metric_score"].p == 1
    assert "stereotype_score" in result.not_run[0].reason  # no pair was decided


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([[1, 1], [math.nan, math.nan], [2, 2]], ["skipped", "tie"]),
        ([[math.nan, math.nan]] * 2, ["skipped"]),
        ([[1, 1], [2, 1]], []),
    ],
)
def test_skipped_pairs_and_ties_are_noted(scores, said):
    assert [next(word for word in ("skipped", "tie") if word in text) for text in _warnings(np.array(scores))] == said


def test_an_encoder_without_a_head_cannot_be_scored(tiny, file):
    with pytest.raises(CannotScore, match="no language-modelling head"):
        CrowSPairs(path=file).measure(tiny)


@pytest.mark.data
def test_the_published_pairs_under_a_tiny_model(language_models):
    result = CrowSPairs("meade", bias_types=["disability"]).measure(language_models["roberta"])
    assert by_place(result)["disability", "skipped"].n == 60
    assert not [note for note in result.notes if "published data" in note.text]


@pytest.mark.network
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "protocol", "bias_types", "expected"),
    [
        ("google-bert/bert-base-uncased", "nangia", None, 60.48),
        ("google-bert/bert-base-uncased", "meade", ["gender"], 57.25),
        ("google-bert/bert-large-uncased", "meade", ["gender"], 55.73),
        ("FacebookAI/roberta-base", "meade", ["gender"], 60.15),
        ("princeton-nlp/mabel-bert-base-uncased", "meade", ["gender"], 50.76),
    ],
)
def test_published_numbers(name, protocol, bias_types, expected):
    from fairlab.backbones.loading import load_backbone

    model = load_backbone(name, pooling="mean", max_length=128, normalize=False)
    readings = by_place(CrowSPairs(protocol, bias_types).measure(model))
    subset = bias_types[0] if bias_types else "all"
    assert readings[subset, "metric_score"].value == pytest.approx(expected, abs=0.005)
