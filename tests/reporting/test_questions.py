"""Changes beside their ideal value, against values computed by hand."""

from dataclasses import replace

import pytest

from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.page import Whisker
from fairlab.reporting.questions import ALIKE, EQUAL, KEPT, PERSIST, Shift, question, shifts, verdict

GAP, SCORE, LIKE = ("cced", "mine", "gap"), ("crows_pairs", "all", "metric_score"), ("stsb", "dev", "spearman")


def shift(place, before, change, low, high, ideal, p=0.001):
    readings = [
        Reading(*place, value, "u", ideal, 90, value - 1, value + 1, headline=True, phase=phase)
        for phase, value in (("before", before), ("after", before + change))
    ]
    comparison = Comparison(*place, change, "u", low, high, p, 90, headline=True, p_holm=p, phase="change")
    return Shift(comparison, *readings)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cced/mine/gap", EQUAL),
        ("crows_pairs@meade/gender/metric_score", PERSIST),
        ("stereoset/gender/lms", KEPT),
        ("rte_fairscore/dev/fairscore", ALIKE),
        ("sst2_probe/dev/accuracy", KEPT),
        ("safety_hatecheck/hate/acv", ALIKE),
        ("safety/hate/average_precision", KEPT),
        ("shortcuts/all/accuracy", PERSIST),
        ("lengths/all/mean_norm", "What else was measured?"),
    ],
)
def test_the_question_that_a_reading_answers(name, expected):
    assert question(Reading(*name.split("/"), 0.0, "", None, 1, 0.0, 0.0)) == expected


@pytest.mark.parametrize(
    ("one", "span", "tone"),
    [
        (shift(GAP, 0.5, -0.4, -0.45, -0.3, 0.0), (-0.9, -0.8, -0.6), "better"),
        (shift(LIKE, 80.0, -4.0, -5.0, -2.0, 100.0), (0.1, 0.2, 0.25), "worse"),
        (shift(LIKE, 80.0, 4.0, 2.0, 5.0, 100.0), (-0.25, -0.2, -0.1), "better"),
        (shift(SCORE, 55.0, -10.0, -12.0, -8.0, 50.0), (-0.4, 0.0, 0.4), ""),  # as far off on the other side
        (shift(SCORE, 55.0, -6.0, -7.0, -4.0, 50.0), (-1.0, -0.8, -0.6), "better"),  # the ideal lies within
        (shift(GAP, 0.5, -0.4, -0.45, -0.3, 0.0, p=0.06), (-0.9, -0.8, -0.6), ""),  # not beyond chance
    ],
)
def test_a_change_is_told_by_the_distance_to_the_ideal_value(one, span, tone):
    assert one.span == pytest.approx(span)
    assert one.tone == tone


def test_what_has_no_ideal_value_is_neither_better_nor_worse_and_what_leaves_it_is_worse():
    for one, tone in ((shift(GAP, 0.5, -0.4, -0.45, -0.3, None), ""), (shift(GAP, 0.0, 0.4, 0.3, 0.45, 0.0), "worse")):
        assert (one.span, one.tone, one.drawn) == (None, tone, None)


def test_the_place_in_the_plot():
    assert shift(GAP, 1.0, -0.75, -1.0, -0.3, 0.0).drawn == Whisker(pytest.approx(1 / 6), 0.25, pytest.approx(0.4))
    assert shift(GAP, 1.0, 9.0, 3.0, 12.0, 0.0).drawn == Whisker(1.0, 1.0, 1.0)  # cut off


def test_the_verdict_counts_headlines_and_names_them():
    found = [
        shift(GAP, 0.5, -0.4, -0.45, -0.3, 0.0),
        shift(SCORE, 55.0, -1.0, -3.0, 1.0, 50.0, p=0.5),
        shift(LIKE, 80.0, -4.0, -5.0, -2.0, 100.0),
    ]
    sentence, lines = verdict(found)
    assert sentence == (
        "Of 3 headline readings, 1 moved nearer to the ideal value beyond chance, 1 moved away from it and 1 stayed "
        "within the benchmark's margin."
    )
    assert lines == [
        "Are embeddings equal? Better: CCED gap, mine (0.5 to 0.1, -80 % of its distance to 0).",
        "Do associations persist? Kept within the margin: CrowS-Pairs score (±5).",
        "Is utility kept? Worse: STS-B Spearman correlation, development set (80 to 76, +20 % of its distance to 100).",
    ]


def compared(place, difference, ideal, p=0.001, change="b less a"):
    """A shift between two models of one evaluation."""
    one = shift(place, 50.0, difference, difference - 0.5, difference + 0.5, ideal, p)
    return Shift(replace(one.comparison, phase=change), one.before, one.after)


def test_two_models_side_by_side_differ_and_have_not_moved():
    found = [compared(GAP, -10.0, 0.0), compared(LIKE, -4.0, 100.0), compared(SCORE, 0.1, 50.0, p=0.9)]
    sentence, lines = verdict(found)
    assert sentence == (
        "Of 3 headline readings, 1 lies nearer to the ideal value with b than with a beyond chance, 1 farther from it "
        "and 1 alike within the benchmark's margin."
    )
    assert lines == [
        "Are embeddings equal? Nearer to the ideal value: CCED gap, mine (50 to 40, -20 % of its distance to 0).",
        "Do associations persist? Alike within the margin: CrowS-Pairs score (±5).",
        "Is utility kept? Farther from the ideal value: STS-B Spearman correlation, development set (50 to 46, +8 % of "
        "its distance to 100).",
    ]
    several, named = verdict([*found, compared(GAP, -10.0, 0.0, change="c less a")])
    assert several.startswith("Of 3 headline readings, 1 lies nearer to the ideal value with b than with a")
    assert "; of 1 headline reading, 1 lies nearer to the ideal value with c than with a" in several
    assert named[-1].startswith("c less a: Are embeddings equal? Nearer to the ideal value")
    assert "moved" not in " ".join([several, *named])
    assert "before" not in " ".join([several, *named])


def test_readings_that_settings_are_chosen_by_are_in_no_verdict():
    """Each harm of an ensemble on the test folds and on three other sets; validation folds represent nothing."""
    places = ("safety", "safety_hatecheck", "safety_bias_madlibs", "safety_validation")
    found = [shift((name, harm, "acv"), 0.2, -0.1, -0.12, -0.08, 0.0) for name in places for harm in ("hate", "threat")]
    sentence, lines = verdict(found)
    assert sentence.startswith("Of 6 headline readings, 6 moved nearer")
    assert not any("validation" in line for line in lines)
    assert [line.count("variance") for line in lines] == [4, 2]  # no line of eight
    assert all(line.startswith("Are people treated alike? Better: ") for line in lines)


def test_changes_between_several_models_find_their_readings(tmp_path):
    one = shift(GAP, 0.5, -0.4, -0.45, -0.3, 0.0)
    readings = [Reading(*GAP, value, "u", 0.0, 9, 0, 1, phase=name) for name, value in (("a less b", 0.5), ("c", 0.1))]
    comparison = Comparison(*GAP, -0.4, "u", -0.45, -0.3, 0.01, 9, phase="c less a less b")
    record = Record(tmp_path, {}, "", readings=readings, comparisons=[comparison, one.comparison])
    assert shifts(record) == []  # the label is read from its end
    record.readings[0] = Reading(*GAP, 0.5, "u", 0.0, 9, 0, 1, phase="b")
    record.comparisons[0] = Comparison(*GAP, -0.4, "u", -0.45, -0.3, 0.01, 9, phase="c less b")
    assert [found.before.value for found in shifts(record)] == [0.5]
