"""The table of compositions of the CCD page, on records made by hand."""

import pytest

from experiments.ccd import composed
from fairlab.record import Reading, Record


def reading(phase, benchmark, subset, metric, value, low=0.0, high=0.0, n=10):
    return Reading(benchmark, subset, metric, value, "", None, n, low, high, phase=phase)


def run(folder, *, seat=0.5, effect=(0.4, 0.1, 0.7), first=(5, 6), deviation=0.1, sts=86.0, gap=0.005, n=10):
    """A record whose fields of Bias-IR have n queries each, of which so many tenths prefer a man's document."""
    readings = []
    for phase, values in {
        "before": (0.1, 1.0, (0.8, 0.5, 1.2), (8, 9), 0.3, 86.2),
        "after": (gap, seat, effect, first, deviation, sts),
    }.items():
        readings += [
            reading(phase, "cced", "winogender", "gap", values[0]),
            reading(phase, "seat", "average", "absolute_effect_size", values[1]),
            *(reading(phase, "seat", test, "effect_size", *values[2]) for test in composed.TESTS),
            *(
                reading(phase, "bias_ir", f"field_{k}", "male_ratio", count / 10, n=n)
                for k, count in enumerate(values[3])
            ),
            reading(phase, "bias_ir", "average", "male_ratio", 0.99),
            reading(phase, "bias_ir", "average", "deviation", values[4]),
            reading(phase, "stsb", "dev", "spearman", values[5]),
        ]
    folder.mkdir(exist_ok=True)
    Record(folder, {}, "", status="finished", readings=readings).save()
    return composed.readings(folder)


def test_all_aims_are_reached(tmp_path):
    found = run(tmp_path, first=(5, 5.1), n=1000)
    assert composed.men_first(found) == (1010, 2000)
    assert composed.change([found], composed.GAP) == (0.1, 0.005)
    assert composed.reached([found]) == "5 of 5"


def test_a_share_that_chance_could_give_is_not_shown_to_be_even(tmp_path):
    found = run(tmp_path)
    assert composed.men_first(found) == (11, 20)
    assert composed.even(found) == pytest.approx(0.824, abs=0.001)
    assert composed.reached([found]) == "4 of 5: documents not shown to be even"


@pytest.mark.parametrize(
    ("values", "missed"),
    [
        ({"gap": 0.011}, "gap"),
        ({"seat": 0.66}, "SEAT"),
        ({"effect": (-0.4, -0.7, -0.1)}, "SEAT"),
        ({"effect": (0.9, 0.5, 1.3)}, "SEAT"),
        ({"first": (1, 2)}, "documents"),
        ({"deviation": 0.12}, "deviation"),
        ({"sts": 85.6}, "STS-B"),
    ],
)
def test_an_aim_that_one_run_misses_is_named(tmp_path, values, missed):
    assert composed.reached([run(tmp_path, **{"first": (5, 5.1), "n": 1000} | values)]) == f"4 of 5: not {missed}"


def test_an_effect_within_chance_of_none_has_not_turned_over(tmp_path):
    assert composed.astray([run(tmp_path, effect=(-0.2, -0.6, 0.3))]) == []


def test_seeds_are_averaged(tmp_path):
    runs = [run(tmp_path / "a", gap=0.004), run(tmp_path / "b", gap=0.008, first=(0, 1))]
    assert composed.change(runs, composed.GAP) == (0.1, pytest.approx(0.006))
    assert composed.even(runs[1]) == pytest.approx(2 * 21 / 2**20)  # 1 + 20 of 2^20 sequences, on either side
    assert composed.even(*runs) == pytest.approx(composed.even(run(tmp_path / "c", first=(3, 3))))
    assert composed.reached(runs) == "4 of 5: documents not shown to be even"
