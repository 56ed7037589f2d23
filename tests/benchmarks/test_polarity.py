import pytest

from fairlab.benchmarks.polarity import measure_polarity
from fairlab.types import Group
from tests.conftest import make_groups


def test_accuracies_by_hand():
    wrong = Group("w", "gender", {"neutral": "they saw", "man": "she saw", "woman": "she saw"})
    readings = {r.quantity: r for r in measure_polarity([*make_groups(3), wrong], "train").readings}
    assert readings["union_accuracy"].value == 75.0
    assert readings["accuracy_neutral"].value == 100.0
    assert readings["accuracy_man"].value == 75.0
    assert readings["accuracy_woman"].value == 100.0
    assert all(reading.unit == "%" and reading.ideal == 100 and reading.n == 4 for reading in readings.values())


def test_an_axis_without_a_lexicon_is_not_run():
    group = Group("1", "shoe size", {"neutral": "a", "small": "b", "large": "c"})
    outcome = measure_polarity([group], "train")
    assert not outcome.readings
    assert outcome.not_run[0].reason.startswith("no lexicon for the axis 'shoe size'")


def test_a_lexicon_of_ones_own_is_taken_for_its_axis(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("axis: pets\nattributes: [cat, dog, cow]\nwords: {a: [[animal, cat, dog, cow]]}\n")
    versions = {"neutral": "an animal", "cat": "a cat", "cow": "a cow", "dog": "a cow"}
    readings = {
        r.quantity: r.value for r in measure_polarity([Group("1", "pets", versions)] * 2, "x", str(own)).readings
    }
    assert readings["accuracy_cow"] == readings["accuracy_neutral"] == 100.0
    assert readings["accuracy_dog"] == readings["union_accuracy"] == 0.0
    assert measure_polarity(make_groups(3), "x", str(own)).readings[0].value == 100.0  # of gender, by gender's lexicon


def test_attributes_the_lexicon_lacks_are_not_run():
    group = Group("1", "gender", {"neutral": "they", "female": "she", "male": "he"})
    outcome = measure_polarity([group], "train")
    assert not outcome.readings
    assert outcome.not_run[0].reason == "the lexicon of 'gender' has man, woman, but not female, male"


def test_the_readings_have_intervals():
    reading = measure_polarity(make_groups(5), "train").readings[0]
    assert (reading.low, reading.high) == pytest.approx((100, 100))
