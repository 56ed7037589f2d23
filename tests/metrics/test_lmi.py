import math

import numpy as np
import pytest
from scipy.stats.contingency import association

from fairlab.metrics.lmi import (
    association_draws,
    cramers_v,
    local_mutual_information,
    mutual_information,
    presence_table,
)

DOCUMENTS = [(["a", "not", "b"], "no"), (["not", "b"], "no"), (["a", "b"], "yes"), (["a", "a", "c"], "yes")]


def test_local_mutual_information_by_hand():
    found = local_mutual_information(DOCUMENTS, fewest=2)
    # Ten occurrences, five of each label. "not": p(w, no) = 2/10, p(no | w) = 1, so 0.2 ln 2; "b": 2 of 3.
    no = {entry.ngram: entry for entry in found["no"]}
    assert list(no) == ["not", "b"]
    assert no["not"].value == pytest.approx(1e6 * 0.2 * math.log(2))
    assert (no["b"].value, no["b"].share, no["b"].count) == (pytest.approx(1e6 * 0.2 * math.log(4 / 3)), 2 / 3, 3)
    assert [entry.ngram for entry in found["yes"]] == ["a"]  # "c" stands once only
    assert found["yes"][0].value == pytest.approx(1e6 * 0.3 * math.log(1.5))


def test_an_ngram_occurs_five_times_at_least():
    for times, found in ((4, []), (5, ["a"])):
        counted = local_mutual_information([(["a"] * times, "x"), (["b"] * 9, "y")])
        assert [one.ngram for one in counted["x"]] == found


def test_an_ngram_without_association_is_left_out():
    assert local_mutual_information([(["a"], "x"), (["a"], "y")], fewest=1) == {"x": [], "y": []}


def test_pairs_of_tokens_and_labels_without_any():
    found = local_mutual_information(DOCUMENTS, n=2, fewest=2)
    assert [(entry.ngram, entry.count) for entry in found["no"]] == [("not b", 2)]
    assert local_mutual_information([([], "x"), (["a"], "y")], n=3) == {"x": [], "y": []}


def test_a_table_of_counts_by_hand():
    # Six occurrences, half of each label: the first n-gram 3 of 4, the second 0 of 2.
    found = mutual_information(np.array([[3, 1], [0, 2]]))
    assert found[0].tolist() == pytest.approx([3 / 6 * math.log(0.75 / 0.5), 1 / 6 * math.log(0.25 / 0.5)])
    assert found[1].tolist() == pytest.approx([0, 2 / 6 * math.log(1 / 0.5)])
    by_documents = mutual_information(np.array([[3, 1]]), total=8, share_L=np.array([0.25, 0.75]))
    assert by_documents[0].tolist() == pytest.approx([3 / 8 * math.log(0.75 / 0.25), 1 / 8 * math.log(0.25 / 0.75)])
    assert mutual_information(np.zeros((2, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_table_is_the_sum_over_each_cell():
    counts = np.random.default_rng(0).integers(0, 5, (7, 3))
    whole = counts.sum()
    for gram, label in np.ndindex(counts.shape):
        joint, of_gram, of_label = counts[gram, label], counts[gram].sum(), counts[:, label].sum()
        expected = joint / whole * math.log(joint * whole / of_gram / of_label) if joint else 0.0
        assert mutual_information(counts)[gram, label] == pytest.approx(expected)


@pytest.mark.parametrize("table", [[[3, 9], [12, 2]], [[1, 0], [1, 3]], [[5, 1, 4], [2, 8, 3]]])
def test_cramers_v_is_scipys(table):
    assert cramers_v(np.array(table)) == pytest.approx(association(np.array(table), correction=False))
    both = np.array([table, np.array(table)[::-1] + np.arange(len(table[0]))])
    assert cramers_v(both) == pytest.approx([cramers_v(one) for one in both])


def test_an_association_of_nothing_is_zero():
    table = presence_table([False] * 4, ["a", "b", "a", "b"])
    assert table.tolist() == [[2, 2], [0, 0]]
    assert cramers_v(table) == cramers_v(0 * table) == 0.0
    assert presence_table([True, False], ["a", "b"]).tolist() == [[0, 1], [1, 0]]


def test_every_document_has_a_label():
    with pytest.raises(ValueError, match="shorter"):
        presence_table([True, False], ["a"])


def test_a_label_or_feature_without_documents_changes_no_association():
    table = np.array([[2, 0], [0, 2], [1, 1]])  # chi squared 4 of 6 documents
    for more in (table, np.c_[table, [0, 0, 0]], np.r_[table, [[0, 0]]], np.c_[table, [0, 0, 0]].T):
        assert cramers_v(more) == pytest.approx((4 / 6) ** 0.5)


def test_draws_of_an_association_lie_around_it():
    draws = association_draws(np.array([[90.0, 10.0], [10.0, 90.0]]))
    assert draws.mean() == pytest.approx(0.8, abs=0.01)
    # The phi coefficient of 200 documents has a standard error of about sqrt((1 - 0.8^2) / 200) = 0.042.
    assert draws.std() == pytest.approx(0.042, abs=0.006)


def test_cramers_v_depends_on_shares_and_not_on_the_total():
    assert cramers_v(np.array([[0.5, 0], [0, 0.5]])) == pytest.approx(1)
    assert cramers_v(np.array([[0.3, 0.2], [0.2, 0.3]])) == pytest.approx(0.2)  # chi squared 4 * 0.05 ** 2 / 0.25
