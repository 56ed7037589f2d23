"""Verdicts on single readings: wrong ones that pages once gave, and the rules by hand."""

import math
from functools import partial

import pytest

from fairlab.audit.described import DESCRIPTION
from fairlab.benchmarks.seat import SEAT
from fairlab.metrics.bootstrap import folded_interval
from fairlab.record import Note, Reading, Record
from fairlab.reporting.questions import Shift, shifts, verdict
from fairlab.reporting.summary import summary_lines
from fairlab.reporting.verdicts import EVEN, FEW, OFF, OPEN, SIZE, reading_verdicts, summed_up
from tests.reporting.test_questions import GAP, LIKE, shift

SIZES = ("seat", "average", "absolute_effect_size")
RATIO = ("bias_ir", "average", "male_ratio")
SCORE = ("crows_pairs", "all", "metric_score")


def reading(place, value, low, high, ideal, n=117, **more):
    return Reading(*place, value, "", ideal, n, low, high, headline=True, **more)


def record_of(tmp_path, *readings, notes=()):
    return Record(tmp_path, {}, "", status="finished", readings=list(readings), notes=list(notes))


def kinds(record):
    return [one.kind for one in reading_verdicts(record)]


def test_an_untrained_model_is_not_off_the_ideal_of_absolute_values(tmp_path):
    """None of six tests is significant, yet the percentiles of their mean absolute size do not hold 0."""
    version = SEAT.version
    parts = [
        Reading("seat", str(k), "effect_size", 0.3, "", 0.0, 50, -0.9, 1.2, p=0.3, p_holm=1.0, version=version)
        for k in range(6)
    ]
    untrained = record_of(tmp_path, reading(SIZES, 1.347, 1.348, 1.707, 0.0, n=6, version=version), *parts)
    (found,) = reading_verdicts(untrained)
    assert found.kind == OPEN
    assert (found.low, found.high) == (0.0, 1.707)
    assert found.low <= 1.347 <= found.high
    assert "1.347 [0, 1.707]" in found.sentence
    assert "not shown to be even" in found.sentence
    assert summed_up([found]).startswith("Of 1 headline reading of bias, none is off the ideal value beyond chance")


def test_absolute_values_are_off_by_a_test_of_their_own(tmp_path):
    assert kinds(record_of(tmp_path, reading(SIZES, 1.347, 1.2, 1.707, 0.0, n=6, p=0.001))) == [OFF]
    assert kinds(record_of(tmp_path, reading(SIZES, 1.347, 1.2, 1.707, 0.0, n=6))) == [SIZE]
    assert kinds(record_of(tmp_path, reading(GAP, 0.4, 0.3, 0.5, 0.0))) == [SIZE]  # above 0 for every model


def test_a_gap_of_an_audit_is_judged_by_its_own_test(tmp_path):
    """A largest difference between groups is above 0 for every classifier; its permutation test tells, not its size."""
    of = partial(Reading, "audit", unit="points", ideal=0.0, n=738, description=DESCRIPTION)
    gap = of("people", "accuracy_gap", 7.5, low=3.0, high=11.6, headline=True, p=0.001)
    odds = of("people", "equalized_odds", 12.4, low=12.4, high=28.9, headline=True)
    other = of("other", "false_positive_rate_gap", 9.0, low=8.0, high=9.9, p=1e-4, p_holm=1e-3)
    found = reading_verdicts(record_of(tmp_path, gap, odds, other))
    assert [one.kind for one in found] == [OFF, SIZE]  # another subset's test says nothing of these groups
    assert (found[1].low, found[1].low <= 12.4 <= found[1].high) == (0.0, True)
    own = of("people", "false_positive_rate_gap", 9.0, low=8.0, high=9.9, p=0.5, p_holm=1.0)
    record = record_of(tmp_path, gap, odds, own)
    assert kinds(record) == [OFF, OPEN]
    record.save()
    assert kinds(Record.load(tmp_path)) == [OFF, OPEN]  # the rules are kept with the record, as of foreign benchmarks


@pytest.mark.parametrize(("p", "value"), [(0.10, 0.576), (0.04, 0.598), (0.06, 0.59)])
def test_a_large_p_value_is_not_evenness(tmp_path, p, value):
    found = reading_verdicts(record_of(tmp_path, reading(RATIO, value, value - 0.09, value + 0.09, 0.5, p=p)))
    assert [one.kind for one in found] == [OFF if p < 0.05 else OPEN]
    assert "shown to be even" in found[0].sentence or p < 0.05
    assert "none is shown to be even" in summed_up(found)


def test_evenness_needs_the_whole_interval_within_the_margin(tmp_path):
    wide = reading(RATIO, 0.5, 0.41, 0.59, 0.5, p=1.0)
    narrow = reading(RATIO, 0.51, 0.48, 0.54, 0.5, n=4000, p=0.5)
    assert kinds(record_of(tmp_path, wide)) == [OPEN]
    assert kinds(record_of(tmp_path, narrow)) == [EVEN]
    assert "even, within the margin of 0.05" in reading_verdicts(record_of(tmp_path, narrow))[0].sentence


def test_few_items_give_neither_interval_nor_verdict(tmp_path):
    (found,) = reading_verdicts(record_of(tmp_path, reading(SCORE, 75.0, 60.0, 90.0, 50.0, n=8)))
    assert found.kind == FEW
    assert math.isnan(found.low)
    assert found.sentence.endswith("75, ideal 50: 8 items are too few for an interval or a verdict.")


@pytest.mark.parametrize(("n", "kind"), [(8, FEW), (19, FEW), (20, OFF)])
def test_a_mean_of_absolute_values_counts_the_items_of_its_parts(tmp_path, n, kind):
    """Six tests over eight words each are no more than eight words: no interval, and no verdict."""
    parts = [Reading("seat", str(k), "effect_size", 0.9, "", 0.0, n, 0.2, 1.6) for k in range(6)]
    record = record_of(tmp_path, reading(SIZES, 0.9, 0.8, 1.4, 0.0, n=6, p=0.001), *parts)
    assert kinds(record) == [kind]
    (first, *_) = summary_lines(record)
    assert ("too few for an interval" in first) == (kind == FEW)
    assert ("(0.4..1.4)" in first) == (kind == OFF)


def test_readings_of_one_model_are_adjusted_together(tmp_path):
    two = [reading(SCORE, 55.0, 50.1, 60.0, 50.0, p=0.03), reading(RATIO, 0.6, 0.51, 0.69, 0.5, p=0.04)]
    assert kinds(record_of(tmp_path, *two[:1])) == [OFF]
    assert kinds(record_of(tmp_path, *two)) == [OPEN, OPEN]  # Holm: .06 and .06
    assert [one.p for one in reading_verdicts(record_of(tmp_path, *two))] == pytest.approx([0.06, 0.06])


def test_what_spoils_a_model_is_part_of_the_sentence(tmp_path):
    note = Note("training", "the loss did not fall", phase="after", mark="did not train")
    broken = record_of(tmp_path, reading(SCORE, 60.0, 55.0, 65.0, 50.0, phase="after"), notes=[note])
    (found,) = reading_verdicts(broken)
    assert found.sentence.endswith("Warning about this model: did not train.")
    assert "of bias (did not train)" in summed_up([found])
    sentence, _ = verdict([shift(LIKE, 80.0, 4.0, 2.0, 5.0, 100.0)], ["did not train"])
    assert sentence.startswith("Of 1 headline reading of a model that did not train, 1 moved nearer")


def test_usefulness_is_not_off_a_perfect_score(tmp_path):
    assert reading_verdicts(record_of(tmp_path, reading(LIKE, 80.0, 79.0, 81.0, 100.0))) == []


def test_a_collapse_is_not_for_the_better(tmp_path):
    """A gap that fell with the mean distance alone: its cell has no tone, and the sentence says why."""
    fell = shift(GAP, 0.5, -0.4, -0.45, -0.3, 0.0)
    values = {"gap_over_distance": (0.5, 0.5), "distance_kept": (None, 0.2), "gap_kept": (None, 0.2)}
    readings = [fell.before, fell.after]
    for name, pair in values.items():
        for phase, value in zip(("before", "after"), pair, strict=True):
            if value is not None:
                readings.append(Reading(*GAP[:2], name, value, "", None, 90, value, value, phase=phase))
    record = Record(tmp_path, {}, "", readings=readings, comparisons=[fell.comparison])
    (found,) = shifts(record)
    assert fell.tone == "better"
    assert (found.tone, found.collapsed) == ("", True)
    sentence, lines = verdict([found])
    assert "none moved nearer to the ideal value" in sentence
    assert sentence.endswith("1 fell by collapse alone.")
    assert lines == ["Are embeddings equal? Fell by collapse alone: CCED gap, mine."]


def test_a_change_is_kept_only_within_the_margin():
    small, wide = shift(LIKE, 80.0, 0.1, -0.4, 0.6, 100.0, p=0.6), shift(LIKE, 80.0, 0.1, -3.0, 3.2, 100.0, p=0.9)
    assert (small.kept, wide.kept) == (True, False)
    sentence, lines = verdict([small, wide])
    assert "1 stayed within the benchmark's margin and 1 showed neither a change nor its absence" in sentence
    assert "(±1)" in lines[0]


def test_a_change_over_few_items_is_neither_better_nor_worse():
    one = shift(LIKE, 80.0, 4.0, 2.0, 5.0, 100.0)
    few = Shift(type(one.comparison)(**{**vars(one.comparison), "n": 8}), one.before, one.after)
    assert (few.tone, few.kept) == ("", False)
    assert "1 had too few items" in verdict([few])[0]


def test_intervals_of_absolute_values_hold_their_estimate():
    assert folded_interval(1.347, 1.348, 1.707, 0.001) == (pytest.approx(0.987), 1.707)
    assert folded_interval(1.8, 1.3, 1.7, 0.001) == pytest.approx((1.6, 2.0))  # half of the percentiles' distance
    assert folded_interval(0.3, 0.1, 0.4, 0.001) == pytest.approx((0.15, 0.45))
    assert folded_interval(0.2, 0.25, 0.6, math.nan) == (0.0, 0.6)
