"""db-index against the literal definition, its expectation, and what must not matter."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.metrics import db_index as module
from fairlab.metrics.db_index import cluster, db_index, draws, ordinary, random_estimates
from fairlab.types import FairlabError


def literal(targets, labels, entry):
    """Section 3.3 of the paper as it stands, for one comparison entry, in plain Python."""

    def cosine(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
        return dot / norms if norms else 0.0

    values = []
    for k in sorted(set(labels)):
        members = [e for e, label in zip(targets, labels, strict=True) if label == k]
        values.append(sum(cosine(e, entry) for e in members) / len(members))
    return sum(values) / len(values)


def data(seed, n=30, m=12, width=5, k=3):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return rng.normal(size=(n, width)) + 0.4, rng.normal(size=(m, width)) + 0.2, labels


def test_by_hand():
    targets = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    comparisons = np.array([[5.0, 0.0], [0.0, -1.0]])
    index = db_index(targets, comparisons, np.array([0, 0, 1]))
    # Cluster 0 has the cosines (1, 0) and (0, -1), cluster 1 has (1/sqrt 2, -1/sqrt 2).
    assert index.cosines == pytest.approx(np.array([[0.5, math.sqrt(0.5)], [-0.5, -math.sqrt(0.5)]]))
    assert index.value == pytest.approx(0.0)
    assert index.of_entries == pytest.approx([(0.5 + math.sqrt(0.5)) / 2, -(0.5 + math.sqrt(0.5)) / 2])
    assert index.spread == pytest.approx((0.5 + math.sqrt(0.5)) / 2)
    assert index.projections == pytest.approx([0.5, -0.5, 0.0])
    assert index.sizes.tolist() == [2, 1]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 6), block=st.integers(1, 40))
def test_equals_the_literal_double_loop(seed, k, block):
    targets, comparisons, labels = data(seed, k=k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        index = db_index(targets, comparisons, labels)
    expected = [literal(targets, labels, entry) for entry in comparisons]
    assert index.of_entries == pytest.approx(expected, abs=1e-9)
    assert index.value == pytest.approx(sum(expected) / len(expected), abs=1e-9)


def test_clusters_may_come_in_any_order():
    targets, comparisons, labels = data(3)
    first = db_index(targets, comparisons, labels)
    second = db_index(targets, comparisons, np.array([2, 0, 1])[labels])
    assert second.value == pytest.approx(first.value, abs=1e-12)
    assert second.of_entries == pytest.approx(first.of_entries, abs=1e-12)
    assert sorted(second.of_clusters) == pytest.approx(sorted(first.of_clusters))


def test_it_is_the_mean_over_clusters_and_not_over_entries():
    targets = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    index = db_index(targets, np.array([[1.0, 0.0]]), np.array([0] * 9 + [1]))
    assert index.value == pytest.approx(0.5)


@pytest.mark.parametrize("draw", ["run", "cluster"])
def test_the_random_estimates_mean_converges_to_the_expectation(draw):
    index = db_index(*data(1))
    estimates = random_estimates(index, repeats=40_000, draw=draw)
    assert estimates.mean() == pytest.approx(index.value, abs=5 * index.spread / 200)
    assert abs(index.value) > 5 * index.spread / 200  # else a mean of 0 would pass
    if draw == "run":
        assert estimates.std() == pytest.approx(index.spread, rel=0.02)
        assert set(estimates) <= set(index.of_entries)
    else:
        assert estimates.std() == pytest.approx(math.sqrt(index.cosines.var(axis=0).sum()) / 3, rel=0.02)


def test_bad_draws():
    index = db_index(*data(1))
    with pytest.raises(FairlabError, match="draw must be run or cluster, not 'entry'"):
        random_estimates(index, repeats=5, draw="entry")
    with pytest.raises(FairlabError, match="repeats must be at least 1, not 0"):
        random_estimates(index, repeats=0)
    assert len(random_estimates(index, repeats=1)) == 1


def test_outliers_of_the_comparison_set_are_told():
    targets = np.array([[1.0, 0.0]])
    angles = np.concatenate([np.linspace(1.4, 1.5, 20), [0.0]])
    index = db_index(targets, np.stack([np.cos(angles), np.sin(angles)], axis=1), np.array([0]))
    assert ordinary(index).tolist() == [True] * 20 + [False]


def test_fences_are_one_and_a_half_interquartile_ranges_beyond_the_quartiles():
    entries = np.array([-3.9, 2.0, 3.0, 4.0, 5.0, 6.0, 12.1])  # quartiles 2.5 and 5.5: fences at -2 and 10
    assert ordinary(SimpleNamespace(of_entries=entries)).tolist() == [False, *[True] * 5, False]
    entries = np.array([-2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0])
    assert ordinary(SimpleNamespace(of_entries=entries)).all()


@pytest.mark.parametrize("normal_from", [10**9, 2])
def test_draws_vary_as_the_double_bootstrap_does(monkeypatch, normal_from):
    targets, comparisons, labels = data(5, n=60, m=40)
    monkeypatch.setattr("fairlab.metrics.bootstrap.NORMAL_FROM", normal_from)
    index = db_index(targets, comparisons, labels)
    found = draws(index)
    rng = np.random.default_rng(9)
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (targets, comparisons)]
    whole = unit[0] @ unit[1].T
    reference = []
    for _ in range(2000):
        columns = rng.integers(0, 40, 40)
        values = []
        for k in range(3):
            rows = np.flatnonzero(labels == k)
            values.append(whole[np.ix_(rng.choice(rows, len(rows)), columns)].mean())
        reference.append(np.mean(values))
    assert found.std() == pytest.approx(np.std(reference), rel=0.08)
    assert found.mean() == pytest.approx(index.value, abs=0.02)
    assert draws(index, cluster=1).mean() == pytest.approx(index.of_clusters[1], abs=0.02)


def test_draws_of_the_whole_are_the_means_of_those_of_its_clusters():
    index = db_index(*data(5, n=60, m=40))
    np.testing.assert_allclose(np.mean([draws(index, cluster=k) for k in range(3)], axis=0), draws(index))


def test_zero_vectors_have_cosine_0_and_are_counted():
    targets = np.array([[1.0, 0.0], [0.0, 0.0]])
    comparisons = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    index = db_index(targets, comparisons, np.array([0, 0]))
    assert index.zeros == (1, 1)
    assert index.of_entries.tolist() == [0.5, 0.0, 0.5]
    for side, arguments in (("target", (0 * targets, comparisons)), ("comparison", (targets, 0 * comparisons))):
        with pytest.raises(FairlabError, match=rf"all \d vectors of the {side} set are zero"):
            db_index(*arguments, np.array([0, 0]))


def test_empty_sets_and_values_that_are_no_numbers_are_one_sentence(monkeypatch):
    targets, comparisons, labels = data(1)
    with pytest.raises(FairlabError, match="the comparison set is empty; give one that holds texts"):
        db_index(targets, comparisons[:0], labels)
    with pytest.raises(FairlabError, match="no entries to cluster"):
        cluster(targets[:0])
    targets[7, 2] = np.nan
    monkeypatch.setattr(module, "BLOCK", 5)
    with pytest.raises(FairlabError, match="target entry 8 holds a value that is not finite"):
        db_index(targets, comparisons, labels)


def blobs(n, k, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    return (10 * np.eye(k, 8)[truth] + rng.normal(size=(n, 8))).astype(np.float32), truth


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("whole", [20_000, 100])  # k-means over all entries, and by mini-batches
def test_the_number_of_clusters_is_that_of_the_best_silhouette(monkeypatch, whole):
    monkeypatch.setattr(module, "WHOLE", whole)
    vectors, truth = blobs(500, 5)
    found = cluster(vectors)
    assert found.k == 5
    assert set(found.silhouettes) == set(range(2, 17))
    assert max(found.silhouettes, key=found.silhouettes.get) == 5
    assert same_partition(found.labels, truth)


def test_silhouettes_are_scikit_learns():
    from sklearn.metrics import silhouette_score

    vectors, _ = blobs(60, 3)
    found = cluster(vectors, most=4)
    assert found.silhouettes[3] == pytest.approx(silhouette_score(vectors, found.labels), abs=1e-6)


def test_memory_maps_give_what_arrays_give(tmp_path):
    vectors, _ = blobs(300, 4)
    (tmp_path / "v").write_bytes(vectors.tobytes())
    mapped = np.memmap(tmp_path / "v", dtype=np.float32, mode="r", shape=vectors.shape)
    assert (cluster(mapped).labels == cluster(vectors).labels).all()
    labels = cluster(vectors).labels
    assert db_index(mapped, mapped[:20], labels).value == db_index(vectors, vectors[:20], labels).value


def test_principal_components_come_first_where_asked():
    vectors, truth = blobs(200, 4)
    noisy = np.concatenate([10 * vectors, np.random.default_rng(1).normal(size=(200, 40))], axis=1)
    assert same_partition(cluster(noisy, components=3).labels, truth)
    with pytest.raises(FairlabError, match="200 entries of 8 dimensions do not have 9 principal components"):
        cluster(vectors, components=9)
    with pytest.raises(FairlabError, match="do not have 0 principal components"):
        cluster(vectors, components=0)
    assert cluster(vectors, k=2, components=1).k == 2


def test_vectors_are_read_in_blocks():
    assert [len(block) for _, block in module._blocks(np.zeros((40_000, 1)))] == [16_384, 16_384, 7_232]


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 2)])
def test_few_entries_have_few_clusters(n, k):
    found = cluster(np.array([[0.0, 1.0], [0.0, 1.1], [5.0, 0.0]])[:n])
    assert found.k == k
    assert set(found.silhouettes) == set(range(2, n))


def test_equal_entries_are_one_cluster_and_more_clusters_than_entries_one_sentence():
    assert cluster(np.ones((9, 3))).k == 1
    with pytest.raises(FairlabError, match="4 clusters need at least 4 distinct entries, but there are 3"):
        cluster(np.eye(3), k=4)
    with pytest.raises(FairlabError, match="2 clusters need at least 2 distinct entries, but there are 1"):
        cluster(np.ones((9, 3)), k=2)
    with pytest.raises(FairlabError, match="0 clusters need"):
        cluster(np.eye(3), k=0)
    assert [cluster(np.eye(3), k=k).k for k in (1, 3)] == [1, 3]


def test_the_fewest_of_equally_good_numbers_of_clusters_is_chosen(monkeypatch):
    monkeypatch.setattr(module, "_silhouettes", lambda *_: {2: 0.1, 3: 0.5, 4: 0.5})
    assert cluster(np.eye(5)).k == 3


@pytest.mark.parametrize(("entries", "sampled"), [(4_000, 4_000), (4_001, 4_000)])
def test_the_number_of_clusters_is_chosen_on_four_thousand_entries(monkeypatch, entries, sampled):
    seen = []
    monkeypatch.setattr(module, "_silhouettes", lambda sample, *_: seen.extend(sample[:, 0]) or {})
    assert cluster(np.arange(float(entries))[:, None]).k == 1
    assert len(set(seen)) == len(seen) == sampled
    assert seen == sorted(seen)


@pytest.mark.parametrize(("entries", "kind"), [(20_000, "KMeans"), (20_001, "MiniBatchKMeans")])
def test_k_means_uses_up_to_twenty_thousand_entries_in_every_step(monkeypatch, entries, kind):
    class Never:
        def __init__(self, *_, **__):
            raise AssertionError("not for so many entries")

    other = {"KMeans", "MiniBatchKMeans"} - {kind}
    monkeypatch.setattr(f"sklearn.cluster.{other.pop()}", Never)
    assert cluster(np.repeat([[0.0], [9.0]], entries // 2 + 1, axis=0)[:entries], k=2).k == 2


def test_over_entries_every_entry_counts_once():
    targets, comparisons, labels = data(5)
    index = db_index(targets, comparisons, labels)
    every = [literal(targets, np.zeros(len(targets), dtype=int), entry) for entry in comparisons]
    assert index.over_entries == pytest.approx(np.mean(every), abs=1e-9)
    assert index.over_entries != pytest.approx(index.value, abs=1e-4)
    assert draws(index, over="entries").mean() == pytest.approx(index.over_entries, abs=0.01)


def test_copies_of_one_entry_are_no_evidence_of_their_own():
    targets, comparisons, labels = data(6, n=12, m=4000)
    copies = np.repeat(np.arange(12), 40)
    few = db_index(targets, comparisons, labels)
    many = db_index(targets[copies], comparisons, labels[copies])
    for over in ("clusters", "entries"):
        as_copies = draws(many, sources=copies.tolist(), over=over)
        assert as_copies.std() == pytest.approx(draws(few, sources=range(12), over=over).std(), rel=1e-6)
        assert as_copies.std() > 1.2 * draws(many, over=over).std()
    largest = int(many.sizes.argmax())
    in_one = draws(many, sources=copies.tolist(), cluster=largest)
    assert in_one.std() == pytest.approx(draws(few, sources=range(12), cluster=largest).std(), rel=1e-6)
    assert in_one.std() > 1.2 * draws(many, cluster=largest).std()


def test_a_cluster_without_a_drawn_source_does_not_count():
    targets = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    index = db_index(targets, np.array([[1.0, 0.0]]), np.array([0, 0, 1]))  # clusters of cosine 1 and 0
    found = set(np.unique(draws(index, sources=["a", "b", "c"])).round(9))
    assert found == {0.0, 0.5, 1.0}
    for k, cosine in enumerate((1, 0)):
        assert set(draws(index, sources=["a", "b", "c"], cluster=k)) == {cosine}
    weighted = set(np.unique(draws(index, sources=["a", "b", "c"], over="entries")).round(9))
    assert weighted == {0.0, round(1 / 3, 9), round(2 / 3, 9), 1.0}
