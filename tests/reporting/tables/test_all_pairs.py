"""Several runs compared pairwise, against p-values computed by hand from their draws."""

import pytest

import fairlab
from fairlab.metrics.bootstrap import two_sided_p
from fairlab.metrics.significance import benjamini_hochberg, holm
from fairlab.record import Note, Record
from fairlab.types import FairlabError
from tests.reporting.tables.test_method_tests import GAP, STSB, draws_of, write_run

VALUES = {"a": (0.30, 80.0), "b": (0.10, 80.3), "c": (0.301, 79.9)}


@pytest.fixture
def folders(tmp_path):
    for name, values in VALUES.items():
        write_run(tmp_path / name, f"m.{name.upper()}", 1.0, 1, values)
    return [tmp_path / name for name in VALUES]


def by_hand():
    """P-values of the gap, then of STS-B, for every pair."""
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    draws = {(n, k): draws_of(place, VALUES[n][k]).astype(float) for n in VALUES for k, place in enumerate((GAP, STSB))}
    return [two_sided_p(draws[b, k] - draws[a, k]) for a, b in pairs for k in (0, 1)]


@pytest.mark.parametrize(("adjust", "adjusted"), [("holm", holm), ("bh", benjamini_hochberg)])
def test_p_values_are_adjusted_over_all_pairs_and_readings(folders, adjust, adjusted):
    table = fairlab.compare(*folders, adjust=adjust).to_pandas()
    assert list(table["p"]) == pytest.approx(by_hand())
    assert list(table["p_adjusted"]) == pytest.approx(list(adjusted(by_hand())))
    assert len(fairlab.compare(*folders[:2], adjust="bh").pairs) == 2


def test_ranks_have_ties(folders):
    found = fairlab.compare(*folders)
    names = list(found.sides)
    assert names == [str(folder) + " (after)" for folder in folders]
    ranks = {(place, name): (best, worst) for place, name, best, worst in found.ranks()}
    assert [ranks[GAP, name] for name in names] == [(2, 3), (1, 1), (2, 3)]
    assert [ranks[STSB, name] for name in names] == [(1, 3)] * 3
    text = str(found)
    assert "p-values are adjusted by Holm over 6 comparisons." in text
    assert "due to chance: A 2 to 3, B 1, C 2 to 3." in text
    assert "C minus A: +0.001" in text
    assert "could be due to chance" in text


def test_a_run_that_did_not_train_is_never_the_better_one(folders):
    record = Record.load(folders[1])
    record.notes = [Note("training", "the loss did not fall", phase="after", mark="did not train")]
    record.save()
    found = fairlab.compare(*folders)
    assert {one.better for one in found.pairs} == {""}
    assert f"{folders[1]} (after): did not train" in str(found)
    assert str(found).index("did not train") < str(found).index("p-values are adjusted")
    assert str(fairlab.compare(*folders[:2])).endswith(f"Warning: {folders[1]} (after): did not train.")


def test_few_items_show_nothing(folders):
    for folder in folders:
        record = Record.load(folder)
        for reading in record.readings:
            object.__setattr__(reading, "n", 8)
        record.save()
    found = fairlab.compare(*folders)
    assert {one.better for one in found.pairs} == {""}
    assert str(found).count("too few for an interval or a verdict") == 6


def test_runs_that_share_nothing_are_said(folders, tmp_path):
    write_run(tmp_path / "d", "m.D", 1.0, 1, (0.2, 80.0), draws=False)
    found = fairlab.compare(*folders, tmp_path / "d")
    assert len(found.pairs) == 6
    assert "keeps no draws" in "".join(found.left_out)
    with pytest.raises(FairlabError, match="a single run cannot be compared"):
        fairlab.compare(folders[0])
