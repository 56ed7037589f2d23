"""Names in words for the keys of readings."""

from dataclasses import replace

import pytest

from fairlab.record import Comparison, Reading
from fairlab.reporting.headlines import bounds, key, meaning, title
from fairlab.reporting.questions import by_question, question
from fairlab.types import Description, QuantityInfo


def reading(name):
    return Reading(*name.split("/"), 0.5, "u", 0.0, 9, 0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cced/embedded/gap", "CCED gap, bundled sentences"),
        ("cced/mine/distance_woman", "CCED distance of 'woman' to neutral, mine"),
        ("cced/mine/distance_kept", "CCED distance kept, mine"),
        ("seat/6b/effect_size", "SEAT effect size, test 6b"),
        ("seat/average/absolute_effect_size", "SEAT mean absolute effect size, all tests"),
        ("stereoset@meade/gender/icat", "StereoSet (meade) ICAT score, gender"),
        ("rte_fairscore/dev_gender/fairscore", "RTE fairscore, development set, gender"),
        ("sst2_probe/dev/accuracy", "SST-2 accuracy of a linear probe, development set"),
        ("safety_hatecheck/hate/acv", "HateCheck counterfactual variance, hate"),
        ("mb_index/all/mb_index", "mb-index"),
        ("mb_index/reference/perplexity", "mb-index perplexity, reference"),
        ("likelihood_pairs/mine/distance_from_even_all_pairs", "Pairs distance from an even choice, all pairs, mine"),
        ("perplexity/text/pseudo_perplexity", "pseudo-perplexity"),
        ("lengths/long_texts/mean_norm", "lengths mean norm, long texts"),  # one's own benchmark
    ],
)
def test_titles(name, expected):
    assert title(reading(name)) == expected
    assert key(reading(name)) == name


def test_a_meaning_says_which_value_is_fair():
    assert meaning(reading("cced/embedded/gap")) == (
        "difference between the distances of the versions to the neutral one (0 is fair)"
    )
    assert meaning(reading("hans_mnli/test/accuracy")) == "examples given the right label (100 is best)"
    assert meaning(reading("lengths/long_texts/mean_norm")) == ""


def test_a_comparison_is_called_as_its_readings_are():
    change = Comparison("cced", "embedded", "gap", -0.1, "u", -0.2, 0.0, 0.04, 9, phase="change")
    assert title(change) == "CCED gap, bundled sentences"
    assert key(change) == "cced/embedded/gap"


def test_what_a_record_says_of_a_benchmark_is_what_readers_see():
    """A description in the record counts, even beside a class of fairlab's own."""
    told = Description("seat", "My own", "Why?", {"*_size": QuantityInfo("{} size", "how large")}, topic="Mine?")
    one = replace(reading("seat/6b/effect_size"), description=told)
    assert (title(one), meaning(one), question(one)) == ("My own effect size, 6b", "how large", "Mine?")
    assert list(by_question([one, reading("a/b/c"), reading("cced/mine/gap")], lambda each: each)) == [
        "Are embeddings equal?",
        "Mine?",
        "What else was measured?",
    ]


def test_bounds_in_words():
    assert bounds(reading("crows_pairs/all/metric_score")) == "from 0 to 100"
    assert bounds(reading("cced/mine/gap")) == "from 0"
    assert bounds(reading("winobias/all/margin")) == bounds(reading("lengths/all/mean_norm")) == ""
