"""Pairs left out by single words, and by what linear classifiers find easy."""

import json
from collections import Counter
from random import Random

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairlab.augmentation.aflite import AFLite, pair_vectors
from fairlab.augmentation.z_filtered import ZFiltered, features_of, z_statistic
from fairlab.metrics.surface_probe import probe
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.types import FairlabError
from tests.augmentation.test_balanced import pairs
from tests.end_to_end.augmenting import augment_here


def test_z_by_hand():
    # Three of four where half is expected: a quarter above, with a standard error of a quarter.
    assert z_statistic(3, 4, 0.5) == 1.0
    assert z_statistic(1, 9, 0.1) == pytest.approx((1 / 9 - 0.1) / (0.1 * 0.9 / 9) ** 0.5)


def test_features_are_words_and_word_pairs():
    assert features_of("It isn't, is it?") == {"it", "is", "n't", "it is", "is n't", "n't is", "is it"}


def test_a_word_that_goes_with_a_label_leaves_rows_of_that_label_out():
    rows = list(pairs())
    made = ZFiltered(seed=1).decide(rows)
    kept = [row for row in rows if not made[row.number].reason]
    assert {made[row.number].reason for row in rows} == {"", ZFiltered.why}
    negated = Counter((" not " in row.fields[-1], row.extra["label"]) for row in kept)
    before = Counter((" not " in row.fields[-1], row.extra["label"]) for row in rows)
    assert before[True, "REFUTES"] > 150
    assert negated[True, "REFUTES"] < before[True, "REFUTES"] / 3  # those of the first batches
    assert negated[True, "SUPPORTS"] > before[True, "SUPPORTS"] / 2  # only for other words
    texts, labels = [row.fields[-1] for row in kept], [row.extra["label"] for row in kept]
    assert (
        probe(texts, labels).mean() < probe([row.fields[-1] for row in rows], [r.extra["label"] for r in rows]).mean()
    )


def test_rows_of_the_first_batch_all_stay():
    items = [Labelled("not red", "no"), Labelled("red", "yes"), Labelled("not blue", "no")]
    assert ZFiltered(batch=1.0).kept(items) == {0, 1, 2}  # nothing was counted before them


def test_the_order_is_the_seeds():
    rows = list(pairs(100))
    by_seed = [{k for k, one in ZFiltered(seed=seed).decide(rows).items() if not one.reason} for seed in (0, 0, 1)]
    assert by_seed[0] == by_seed[1] != by_seed[2]


def test_easy_rows_are_left_out_first():
    draw = np.random.default_rng(0)
    labels = np.array(["a", "b"] * 100)
    easy = np.arange(200) < 120
    vectors = draw.normal(size=(200, 4))
    vectors[:, 0] = np.where(easy, np.where(labels == "a", -3.0, 3.0), draw.normal(size=200))
    left = AFLite(partitions=16, train=0.3, slice=0.1, target=0.4, seed=0).left(vectors, labels)
    assert len(left) == 80
    assert np.mean(easy[sorted(left)]) < 0.3


@pytest.mark.parametrize(
    ("slice_", "target", "cutoff", "left"),
    [
        (0.2, 0.4, 0.75, [4, 5, 6, 7, 8, 9]),  # two, then two of which one is at the border, then none
        (0.2, 0.4, 0.5, [6, 7, 8, 9]),
        (0.4, 0.4, 0.5, [6, 7, 8, 9]),  # four, and then no more than two
        (0.01, 0.7, 0.5, [3, 4, 5, 6, 7, 8, 9]),  # one a round
        (0.01, 0.0, 0.0, [8, 9]),  # classifiers need more than two rows
        (0.3, 0.1, 0.78, [3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_rounds_of_given_predictabilities_by_hand(monkeypatch, slice_, target, cutoff, left):
    given = np.array([1.0, 0.9, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.4])
    monkeypatch.setattr(AFLite, "_predictability", lambda self, vectors, *_: vectors[:, 0])
    found = AFLite(slice=slice_, target=target, cutoff=cutoff).left(given[:, None], np.array(["a", "b"] * 5))
    assert sorted(found) == left


def test_predictability_is_the_share_of_right_answers_on_other_rows():
    labels = np.array(["a"] * 20 + ["b"] * 20)
    vectors = np.where(labels == "a", -9.0, 9.0)[:, None]
    found = AFLite(partitions=20)._predictability(vectors, labels, 10, np.random.default_rng(0))
    assert found.tolist() == [1.0] * 40
    few = AFLite(partitions=1)._predictability(vectors, labels, 2, np.random.default_rng(1))
    assert sorted(few.tolist()) in ([0.0] * 2 + [1.0] * 38, [0.0] * 40)  # two of one label train nothing


def test_defaults_are_the_papers_for_the_pairs_of_snli():
    found = AFLite()
    rows = [round(share * 549_367, -4) for share in (found.target, found.train, found.slice)]
    assert rows == [180_000, 50_000, 10_000]
    assert (found.partitions, found.cutoff, found.seed) == (64, 0.75, 0)


def test_features_that_leave_rows_out_by_hand():
    """Of a label of half of the rows, the z-statistics are 1, 2 and 3."""
    seen, together = Counter(a=4, b=4, c=9), Counter({("a", "x"): 3, ("b", "x"): 4, ("c", "x"): 9})

    def biased(**settings):
        return ZFiltered(**settings)._biased(seen, together, {"x": 0.5})["x"]

    assert biased() == {"c"}
    assert biased(threshold=1.0) == {"b", "c"}
    assert biased(threshold=1.0, top=1) == {"c"}
    assert biased(threshold=0.9, top=3) == {"a", "b", "c"}
    many = Counter({f"w{k}": 9 for k in range(30)})
    told = Counter({(word, "x"): 9 for word in many})
    assert len(ZFiltered()._biased(many, told, {"x": 0.5})["x"]) == 20


def test_a_word_leaves_rows_out_after_the_batches_that_showed_it():
    """Of 100 rows of each label, batches of ten; z is above 2 from five rows of *not* on: after the first batch."""
    items = [Labelled("not", "no") if k % 2 else Labelled(f"w{k}", "yes") for k in range(200)]
    kept = ZFiltered().kept(items)
    first = Random(0).sample(range(200), 200)
    told = [sum(k % 2 for k in first[:size]) for size in range(10, 201, 10)]
    assert sum(k % 2 for k in kept) == next(count for count in told if count > 4)  # z = root of count
    assert sum(k % 2 == 0 for k in kept) == 100


def test_rows_that_nothing_predicts_stay():
    draw = np.random.default_rng(0)
    labels = np.array(["a", "b"] * 100)
    left = AFLite(partitions=32, train=0.3, slice=0.1, cutoff=0.95, seed=0).left(draw.normal(size=(200, 4)), labels)
    assert len(left) >= 190


@pytest.mark.parametrize("settings", [{"train": 1.0}, {"target": 0.0, "cutoff": 0.0}])
def test_a_row_at_least_is_left_to_try(settings):
    labels = np.array(["a", "b"] * 10)
    left = AFLite(partitions=2, slice=0.5, **settings).left(np.random.default_rng(0).normal(size=(20, 2)), labels)
    assert len(left) == (0 if "target" in settings else 20)


def test_a_pair_is_both_embeddings_their_product_and_difference():
    (pair, alone) = pair_vectors([Labelled("a dog", "x", "a cat"), Labelled("a cat", "x", "a cat")])
    first, second, product, difference = np.split(pair, 4)
    assert product == pytest.approx(first * second)
    assert difference == pytest.approx(np.abs(first - second))
    assert np.split(alone, 4)[1] == pytest.approx(first, abs=1e-5)
    assert pair_vectors([Labelled("a dog", "x")]).shape == (1, len(first))


@pytest.mark.parametrize(
    ("method", "message"),
    [(ZFiltered(), "z_filtered needs two labels, but all rows have the same"), (AFLite(), "it needs two labels")],
)
def test_one_label_is_refused(method, message):
    with pytest.raises(FairlabError, match=message):
        method.decide([row for row in pairs(40) if row.extra["label"] == "REFUTES"])


def test_aflite_trains_on_as_many_rows_in_every_round(monkeypatch):
    sizes, fit = [], LogisticRegression.fit
    monkeypatch.setattr(LogisticRegression, "fit", lambda self, x, y: sizes.append(len(x)) or fit(self, x, y))
    draw = np.random.default_rng(0)
    labels = draw.integers(2, size=200)
    vectors = np.stack([labels + draw.normal(size=200), draw.normal(size=200)], axis=1)
    left = AFLite(partitions=4, train=0.2, slice=0.25, target=0.1, seed=0).left(vectors, labels)
    assert len(left) < 120  # more than one round removed rows
    assert len(sizes) >= 8
    assert set(sizes) == {40}


@pytest.mark.parametrize("name", ["z_filtered", "aflite"])
@pytest.mark.slow
def test_a_run_writes_what_is_kept(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"evidence": "e", "claim": row.fields[-1], **row.extra}) for row in pairs(120))
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    chosen = ["augmentation.partitions=4"] if name == "aflite" else []
    assert (
        augment_here(f"+augmentation={name}", "input=train.jsonl", "field=[evidence,claim]", "output=kept", *chosen)
        == 0
    )
    manifest = json.loads((tmp_path / "kept" / "manifest.json").read_text())
    assert manifest["made_by"]["label"] == "label"
    written = [line for file in (tmp_path / "kept").glob("data-*.jsonl") for line in file.read_text().splitlines()]
    assert 0 < len(written) < 120
