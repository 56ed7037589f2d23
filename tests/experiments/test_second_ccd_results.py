"""The second study of CCD on its benchmarks: readings and goals of items made by hand."""

from functools import cache

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from experiments.ccd import second_measure, second_results
from experiments.ccd.second import Setting
from experiments.ccd.second_measure import GAP_STEPS
from experiments.ccd.second_results import PUBLISHED, Result, dominates, paired, spearman_draws, stacked

SCORES = np.arange(40.0)
BEFORE = {"gap_winogender": [1.0, 3.0], "effects": [1.0, -0.5], "effects_p": [0.001, 0.2], "embedded": 1.0}
AFTER = {"gap_winogender": [0.1, 0.3], "effects": [0.4, -0.5], "effects_p": [0.2, 0.2], "embedded": 0.5}


@pytest.fixture(autouse=True)
def _scores(monkeypatch):
    monkeypatch.setattr(second_results, "human_scores", lambda: SCORES)
    monkeypatch.setattr(second_results, "TESTS", ("6", "7"))
    monkeypatch.setattr(second_results, "spearman_draws", lambda pairs: drawn_once(pairs.tobytes(), *pairs.shape))


@cache
def drawn_once(pairs, *shape):
    """Draws of a correlation, which most tests ask for of the same scores."""
    return spearman_draws(np.frombuffer(pairs, dtype=np.int16).reshape(shape))


def result(values, before=None, men=50, seeds=2, name="ccd", pairs=SCORES):
    """Make a result with the same items for each seed; ``men`` of 100 queries have the man's document first."""
    hits = np.zeros((100, 2, 3), dtype=bool)
    hits[: round(100 * values["embedded"]), :, 0] = True  # the linear probe alone is right
    gaps = np.tile(np.array(values["gap_winogender"]) * GAP_STEPS, 50)
    items = {key: values[key] for key in ("effects", "effects_p")}
    items |= {"categories": np.repeat([0, 1], [60, 40])}  # men first in all of category 0, if ``men`` is at least 60
    items |= {"gap_embedded": gaps, "gap_winogender": gaps, "first": np.repeat([2, 0], [men, 100 - men])}
    items |= {"hits_embedded": np.packbits(hits), "hits_winogender": np.packbits(hits), "pairs": np.int16(pairs)}
    return Result("minilm", name, {key: np.stack([np.asarray(one)] * seeds) for key, one in items.items()}, before)


def test_readings_are_means_over_seeds_and_items():
    one = result(AFTER, result(BEFORE), men=60)
    change, (low, high) = one.gap_change()
    assert (change, low, high) == pytest.approx((-0.9, -0.9, -0.9))  # every group's gap is a tenth of that before
    assert (one.seat, one.original.seat) == pytest.approx((0.45, 0.75))
    share, (low, high) = one.men_first
    assert share == pytest.approx(0.6)
    assert (low, high) == pytest.approx((0.52, 0.68), abs=0.011)  # 0.6 -+ 1.645 * sqrt(.24 / 100)
    assert {name: value for name, (value, _) in one.leakage().items()} == {"linear": 0.5, "kernel": 0, "neural": 0}
    assert (one.sts, one.sts_change[0]) == pytest.approx((100.0, 0.0))
    assert one.losses == pytest.approx((0.5, 0.45, 0.1, 0.0))
    assert one.measures == pytest.approx((0.2, 0.45, 0.5, 0.5))  # men first in 60 of 60 and in 0 of 40 queries
    assert result(AFTER, men=75).deviation == pytest.approx((0.5 + 0.125) / 2)  # 60 of 60, and 15 of 40


@pytest.mark.parametrize(
    ("changed", "men", "pairs", "missed"),
    [
        ({}, 50, SCORES, None),
        ({"gap_winogender": [0.1, 0.31]}, 50, SCORES, "gap"),
        ({"effects": [0.3, -0.51]}, 50, SCORES, "associations"),  # a test has grown
        ({"effects": [0.5, -0.5]}, 50, SCORES, "associations"),  # 0.5 is above 0.65 times 0.75
        ({"effects": [-0.3, -0.5], "effects_p": [0.02, 0.2]}, 50, SCORES, "associations"),  # turned over: p .04 by Holm
        ({"effects": [-0.3, -0.5], "effects_p": [0.03, 0.2]}, 50, SCORES, None),  # p .06 by Holm
        ({}, 58, SCORES, "order"),  # the upper bound is about .66
        ({"embedded": 0.61}, 50, SCORES, "leakage"),
        ({}, 50, SCORES[::-1], "STS-B"),
    ],
)
def test_each_goal_is_missed_alone(changed, men, pairs, missed):
    one = result(AFTER | changed, result(BEFORE), men, pairs=pairs)
    assert one.goals == [goal for goal in ("gap", "associations", "order", "leakage", "STS-B") if goal != missed]


def test_a_test_that_turned_over_with_one_seed_of_two_counts_if_the_mean_did():
    before = result(BEFORE)
    one = result(AFTER, before)
    one.items["effects"] = np.array([[-0.5, -0.4], [0.1, -0.4]])
    one.items["effects_p"] = np.array([[0.01, 0.5], [0.9, 0.5]])
    assert one.astray == ["6"]
    one.items["effects"] = np.array([[-0.5, -0.4], [0.6, -0.4]])
    assert one.astray == []


def test_draws_of_the_correlation_resample_pairs_and_seeds():
    pairs = np.stack([SCORES, SCORES[::-1]]).astype(np.int16)  # correlations of 1 and -1
    draws = spearman_draws(pairs)
    assert set(np.round(draws)) == {-100, 0, 100}
    assert np.mean(np.round(draws) == 0) == pytest.approx(0.5, abs=0.05)
    assert spearman_draws(pairs[:1]).tolist() == [100] * len(draws)


def test_paired_differences_are_of_the_same_items():
    one, other = result(AFTER, result(BEFORE), men=60), result(AFTER | {"embedded": 0.75}, result(BEFORE))
    found = paired(one, other)
    assert found["man's document first"][0] == pytest.approx(0.1)
    assert found["linear probe, Winogender"][0] == pytest.approx(-0.25)
    assert found["STS-B"] == (0.0, (0.0, 0.0), 1.0)
    assert len(found) == 6


def test_the_frontier_has_what_nothing_beats():
    assert dominates((0.5, 1.0), (0.5, 1.1))
    assert not dominates((0.5, 1.0), (0.5, 1.0))
    assert not dominates((0.4, 1.2), (0.5, 1.1))


def test_combinations_have_the_chosen_settings(monkeypatch):
    chosen = {"leace": {"ridge": 0.1}, "ccd": {"beta": 0.5}}
    monkeypatch.setattr(
        second_measure, "chosen", lambda name, _: Setting(name, chosen[name], {}, {}) if name in chosen else None
    )
    found = {one.name: (one.first, one.then) for one in second_measure.combinations([])}
    eraser, trained = ("leace", {"ridge": 0.1}), ("ccd", {"beta": 0.5})
    assert found == {
        "none": (None, None),
        "leace": (None, eraser),
        PUBLISHED: (("ccd", second_measure.PUBLISHED), None),
        "ccd": (trained, None),
        "ccd+leace": (trained, eraser),
    }


def test_equal_matrices_of_two_seeds_are_measured_once(tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(second_measure, "KEPT", tmp_path)
    monkeypatch.setattr(second_measure, "ITEMS", tmp_path / "joined")
    monkeypatch.setattr(second_measure, "embeddings", lambda *_: (None, None))
    monkeypatch.setattr(second_measure, "matrix_of", lambda one, embedded, seed: torch.eye(2) * (1 + (seed == 44)))
    monkeypatch.setattr(
        second_measure, "items_of", lambda encoder: measured.append(0) or {"pairs": np.array([len(measured)])}
    )
    one = second_measure.Combination("leace", then=("leace", {}))
    second_measure.measure("minilm", one, (42, 43, 44))
    assert len(measured) == 2
    second_measure.measure("minilm", one, (42, 43, 44))  # nothing is left to do
    assert len(measured) == 2
    second_measure.measure("minilm", second_measure.Combination("none"), (42, 43, 44))
    second_measure.joined("minilm", [second_measure.Combination("none"), one], (42, 43, 44))
    assert {key: int(value[0]) for key, value in second_measure.read_items("minilm").items()} == {
        "leace/42/pairs": 1,
        "leace/43/pairs": 1,
        "leace/44/pairs": 2,
        "none/42/pairs": 3,
        "none/43/pairs": 3,
        "none/44/pairs": 4,
    }
    assert second_measure.read_items("mpnet") == {}


def test_seeds_are_stacked_in_order():
    every = {f"{name}/{seed}/pairs": np.array([seed]) for name in ("ccd", "ccd+leace") for seed in (43, 42)}
    assert stacked(every, "ccd")["pairs"].tolist() == [[42], [43]]


ERASERS = ("inlp", "leace", "sentence_debias")


@pytest.fixture
def found(monkeypatch):
    """Committed results by encoder and name, and the changes on STS-B in the committed table."""
    monkeypatch.undo()
    rows = [line.strip("| ").split(" | ") for line in second_results.kept()["goals"].splitlines()[2:]]
    sts = {(row[0], row[1]): float(row[10].split()[0]) for row in rows}
    goals = {(row[0], row[1]): row[11].split(", ") for row in rows}
    return {(one.encoder, one.name): one for one in second_results.results()}, sts, goals


def spread(values, digits=2):
    """Return the smallest and the largest of some values, rounded."""
    return round(min(values), digits), round(max(values), digits)


def test_what_the_pages_say_of_erasers_and_ccd(found):
    results, sts, _ = found
    assert len(results) == 2 * 16
    alone = [one for (_, name), one in results.items() if name in ERASERS]
    after = [one for (_, name), one in results.items() if name in [f"ccd+{eraser}" for eraser in ERASERS]]
    trained = [one for (_, name), one in results.items() if name in ("ccd", PUBLISHED)]
    aligned = [one for (_, name), one in results.items() if name == "ccd_aligned"]
    before = [one for (_, name), one in results.items() if name == "none"]

    def linear(some, part="embedded"):
        return spread([one.values(f"hits_{part}")[..., 0].mean() for one in some])

    def gap_left(one):
        return one.values("gap_winogender").mean() / one.original.values("gap_winogender").mean()

    assert spread([100 * gap_left(one) for one in alone], 0) == (28, 36)
    assert linear(alone) == (0.51, 0.52)
    assert linear(alone, "winogender") == (0.70, 0.92)
    assert max(map(gap_left, after)) <= 0.1
    assert linear(after)[1] <= 0.52
    probed = [one.values(f"hits_{part}").mean(axis=(0, 1, 2)).max() for one in after for part in second_measure.SETS]
    assert max(probed) == pytest.approx(0.63, abs=0.005)
    assert linear(after, "winogender") == (0.54, 0.58)
    assert linear(trained) == (0.76, 0.82)
    assert linear(trained, "winogender") == (0.82, 0.94)
    assert (linear(aligned), linear(aligned, "winogender")) == ((0.59, 0.61), (0.51, 0.52))
    assert linear(before)[0] >= 0.97
    assert spread([sts[one.encoder, second_results.words(one.name)] for one in after], 1) == (-1.5, -0.5)
    assert spread([sts[one.encoder, second_results.words(one.name)] for one in aligned], 1) == (-0.5, -0.3)
    mapped = [results[encoder, "ccd+ccd_linear"] for encoder in ("minilm", "mpnet")]
    assert linear(mapped) == (0.76, 0.81)


def test_what_the_pages_say_of_goals(found):
    results, _, goals = found
    assert max(map(len, goals.values())) == 3
    assert [key for key, reached in goals.items() if "associations" in reached] == [("minilm", "INLP")]
    assert all({"order", "STS-B"} <= set(goals[encoder, "none"]) for encoder in ("minilm", "mpnet"))
    for encoder, name in results:
        if name.split("+")[-1] in ERASERS:
            assert "STS-B" not in goals[encoder, second_results.words(name)]
        if name == "ccd+ccd_linear":
            assert "STS-B" in goals[encoder, second_results.words(name)]
    steady = [key for key, one in results.items() if not one.astray and key[1] != "none"]
    assert steady == [("minilm", "inlp"), ("mpnet", "ccd_aligned+inlp")]
    mean = results["mpnet", "ccd_aligned+inlp"]
    assert round(100 * (1 - mean.seat / mean.original.seat)) == 23
    often = [test for one in results.values() for test in one.astray]
    assert sorted({test: often.count(test) for test in often}.items(), key=lambda one: -one[1])[1][0] in ("7b", "8b")
    assert max(set(often), key=often.count) in ("7b", "8b")
    share = {name: one.values("first").mean() for (encoder, name), one in results.items() if encoder == "minilm"}
    even = {name: "order" in goals["minilm", second_results.words(name)] for name in share}
    assert not any(even[name] for name in (PUBLISHED, *ERASERS))
    assert all(even[name] for name in ("ccd+ccd_linear", "ccd+leace", "ccd_aligned"))
    assert round(share[PUBLISHED], 2) == 0.36
    assert spread([share[name] for name in ERASERS]) == (0.36, 0.41)
    assert second_results.kept()["leading"] == "ccd+leace"


def test_what_the_pages_say_of_agreement(found):
    results = list(found[0].values())
    values = np.array([one.measures for one in results])
    rows = [line.strip("| ").split(" | ") for line in second_results.kept()["agreement"].splitlines()[2:]]
    bounds = {(row[0], row[1]): [float(x.strip("[],")) for x in row[2].split()] for row in rows}
    assert bounds["CCED gap", "SEAT"][0] == pytest.approx(spearmanr(values[:, 0], values[:, 1]).statistic, abs=0.006)
    for (first, second), (_, low, high) in bounds.items():
        assert (low > 0) == ("CCED gap" not in (first, second) and second == "leakage")
        assert high > 0


@pytest.mark.slow
def test_the_committed_rows_follow_from_the_items(monkeypatch):
    monkeypatch.undo()
    rows = second_results.kept()["goals"]
    chosen = [one for one in second_results.results() if one.name in ("ccd", "ccd+inlp")]
    for one in chosen:
        assert f"| {' | '.join(second_results.cells(one))} |" in rows
