"""Verdicts on debiased models, from readings and changes made by hand."""

import math
from dataclasses import replace

import pytest

from fairlab.mend.judging import best_of, judge_change, price_of
from fairlab.mend.outcome import concluded
from fairlab.record import SAYS_NOTHING, Comparison, Note, NotRun, Reading, Record
from fairlab.reporting.collapse import collapse_verdicts
from fairlab.reporting.questions import shifts, verdict
from fairlab.types import FairlabError

PRICE = price_of("stsb:-0.5", "stsb")


def record_of(tmp_path, n=90, **values):
    """A record in which ``after`` follows ``before``; each value is (before, after, adjusted p)."""
    record = Record(tmp_path, {"seed": 0}, "")
    for name, (before, after, p, *interval) in values.items():
        unit, ideal = ("points", 100.0) if name == "stsb" else ("size", 0.0)
        low, high = interval or (after - before, after - before)
        one = {"benchmark": name, "subset": "all", "quantity": "q", "unit": unit, "n": n, "headline": True}
        record.readings += [
            Reading(**one, value=value, ideal=ideal, low=value, high=value, phase=phase)
            for phase, value in (("before", before), ("after", after))
        ]
        record.comparisons.append(
            Comparison(**one, difference=after - before, low=low, high=high, p=p, p_holm=p, phase="after less before")
        )
    return record


def judged(tmp_path, **values):
    return judge_change(record_of(tmp_path, **values), "after", "before", PRICE)


def test_a_fairer_model_of_kept_utility_mends(tmp_path):
    found = judged(tmp_path, seat=(1.0, 0.5, 0.01), cced=(-0.5, 0.25, 0.2), stsb=(86.0, 85.9, 0.3, -0.4, 0.2))
    assert found.mends
    assert found.kept
    assert not found.worse
    assert (len(found.fairer), found.tested) == (1, 2)
    assert found.remaining == pytest.approx(0.75 / 1.5)  # of the distances in the one unit
    assert "stsb -0.1 [-0.4, +0.2] is within the limit; 50% of the distance to the ideal values is left" in found.line


def test_a_reading_that_may_be_fair_at_first_has_no_distance_left(tmp_path):
    """Bias-IR's margin of MiniLM is -0.001, and four times that afterwards, both within chance of 0."""
    record = record_of(tmp_path, seat=(1.0, 0.5, 0.01), margin=(0.001, 0.004, 0.8), stsb=(86, 86, 1.0))
    record.readings = [
        replace(one, low=-0.01, high=0.01, unit="cosine") if one.benchmark == "margin" else one
        for one in record.readings
    ]
    record.comparisons = [
        replace(one, unit="cosine") if one.benchmark == "margin" else one for one in record.comparisons
    ]
    found = judge_change(record, "after", "before", PRICE)
    assert (found.tested, found.remaining) == (2, pytest.approx(0.5))


@pytest.mark.parametrize(
    ("seat", "stsb"),
    [
        ((1.0, 0.5, 0.06), (86, 86, 1.0)),  # could be due to chance
        ((1.0, 0.5, 0.01), (86, 85.9, 0.3, -0.6, 0.4)),  # the interval reaches below the limit
        ((0.5, -1.0, 0.01), (86, 86, 1.0)),  # turned over, and farther from 0
    ],
)
def test_what_is_not_shown_does_not_mend(tmp_path, seat, stsb):
    assert not judged(tmp_path, seat=seat, stsb=stsb).mends


def test_one_reading_that_gets_worse_is_too_many(tmp_path):
    found = judged(tmp_path, seat=(1.0, 0.1, 0.001), cced=(0.1, 0.2, 0.01), stsb=(86, 86, 1.0))
    assert found.fairer
    assert found.worse
    assert not found.mends


def test_the_best_leaves_least_among_those_that_mend(tmp_path):
    little = judged(tmp_path, seat=(1.0, 0.9, 0.01), stsb=(86, 86, 1.0))
    more = judged(tmp_path, seat=(1.0, 0.4, 0.01), stsb=(86, 86, 1.0))
    dear = judged(tmp_path, seat=(1.0, 0.0, 0.01), stsb=(86, 70, 0.0))
    assert best_of([little, dear, more]) is more
    assert best_of([dear]) is None
    nothing = judged(tmp_path, stsb=(86, 86, 1.0))
    assert math.isnan(nothing.remaining)
    assert "% of the distance" not in nothing.line


def test_too_few_items_show_neither_fairness_nor_kept_utility(tmp_path):
    found = judge_change(record_of(tmp_path, n=12, seat=(1.0, 0.5, 0.01), stsb=(86, 86, 1.0)), "after", "before", PRICE)
    assert not found.fairer
    assert not found.kept


def test_a_reading_past_the_ideal_is_not_fairer_by_its_p_value(tmp_path):
    """From 5 to -4.5 differs beyond chance; whether it is nearer to 0 is not shown."""
    found = judged(tmp_path, seat=(5.0, -4.5, 0.001, -11.0, -8.0), stsb=(86, 86, 1.0))
    assert (found.fairer, found.worse) == ([], [])


def test_a_gap_that_is_smaller_by_collapse_alone_is_not_fairer(tmp_path):
    record = record_of(tmp_path, seat=(0.0, 0.0, 1.0), stsb=(86, 86, 1.0))
    more = {"benchmark": "cced", "subset": "embedded", "unit": "embedding distance", "n": 90}
    for name, ideal, *values in [
        ("gap", 0.0, 0.10, 0.02),
        ("gap_over_distance", 0.0, 0.20, 0.19),
        ("gap_kept", 0.0, None, 0.2),
        ("distance_kept", None, None, 0.21),
    ]:
        record.readings += [
            Reading(**more, quantity=name, value=v, ideal=ideal, low=v, high=v, phase=phase, headline=name == "gap")
            for phase, v in zip(("before", "b"), values, strict=True)
            if v is not None
        ]
    record.readings = [replace(one, phase="a" if one.phase == "before" else "b") for one in record.readings]
    change = Comparison(
        **more, quantity="gap", difference=-0.08, low=-0.09, high=-0.07, p=0.001, p_holm=0.001, headline=True
    )
    record.comparisons = [replace(one, phase="b less a") for one in [*record.comparisons, change]]
    assert not judge_change(record, "b", "a", PRICE).fairer
    assert "smaller by collapse alone" in verdict(shifts(record))[0]
    (said,) = collapse_verdicts(record)
    assert "b has 21% of a's distance to the neutral version; gap over distance -5%: the gap is smaller" in said


def test_a_model_that_the_method_broke_does_not_mend(tmp_path):
    record = record_of(tmp_path, seat=(1.0, 0.5, 0.01), stsb=(86, 86, 1.0))
    record.notes = [Note("seat", "it answers everything alike", phase="after", mark=SAYS_NOTHING)]
    found = judge_change(record, "after", "before", PRICE)
    assert found.fairer
    assert not found.mends
    assert found.line.endswith("; it answers everything alike")
    record.notes.append(Note("seat", "so does this", phase="before", mark=SAYS_NOTHING))
    assert judge_change(record, "after", "before", PRICE).mends


def test_the_answer_says_that_the_behaviour_check_failed(tmp_path):
    record = record_of(tmp_path, seat=(1.0, 0.5, 0.01), stsb=(86, 86, 1.0))
    sound = judge_change(record, "after", "before", PRICE)
    record.provenance["validity"] = {"before": {"failures": []}, "after": {"failures": ["padding", "senses"]}}
    failed = judge_change(record, "after", "before", PRICE)
    assert "behaviour check" not in concluded(tmp_path, "m", PRICE, [sound], {}, sound).sentence
    for proof in (failed, None):
        sentence = concluded(tmp_path, "m", PRICE, [failed, failed], {}, proof).sentence
        assert sentence.endswith("about bias, because the behaviour check failed for after (padding; senses).")
    record.provenance["validity"]["before"]["failures"] = ["order"]
    both = judge_change(record, "after", "before", PRICE)
    assert concluded(tmp_path, "m", PRICE, [both], {}, None).sentence.endswith("for before (order); also for after.")


def test_utility_that_was_not_measured_is_said(tmp_path):
    record = record_of(tmp_path, seat=(1.0, 0.5, 0.01))
    record.not_run.append(NotRun("stsb", "dev", "there is no such file", "before"))
    with pytest.raises(FairlabError, match=r"stsb was not measured.*there is no such file"):
        judge_change(record, "after", "before", PRICE)


@pytest.mark.parametrize("keep", ["stsb", "stsb:", "stsb:0.5", "stsb=-0.5", "mteb:-0.5", "accuracy:-2"])
def test_a_wrong_price_is_one_sentence(keep):
    with pytest.raises(FairlabError, match=r"stsb:-0\.5"):
        price_of(keep, "stsb")
