from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fairlab
from fairlab.judge.reading import read_tool_runs
from fairlab.judge.scores import TaskScores, ToolRun
from fairlab.judge.verdicts import judge, letters
from fairlab.record import Record
from fairlab.types import FairlabError

FIXTURES = Path(__file__).parent / "fixtures"


def run(name, values, task="sums", **more):
    ids = tuple(str(k) for k in range(len(values)))
    scores = TaskScores(task, "acc", ids, np.asarray(values, dtype=float), higher_is_better=True, **more)
    return ToolRun(name, "a tool", Path(f"{name}.json"), (scores,))


GOOD, BAD = [1.0] * 40, [0.0] * 20 + [1.0] * 20


def test_a_difference_beyond_chance_says_how_large_before_whether():
    (verdict,) = judge([run("a", BAD), run("b", GOOD)]).verdicts
    assert verdict.better == "b"
    assert verdict.sentence.startswith("b minus a: +0.5 [+0.338, +0.662], beyond chance (p ")
    assert verdict.sentence.endswith("; b is better.")


def test_a_null_is_not_equality():
    other = [0.0, 1.0] * 4 + [1.0] * 32
    first = [1.0, 0.0] * 4 + [1.0] * 32
    (verdict,) = judge([run("a", first), run("b", other)], margin=0.05).verdicts
    assert not verdict.equivalent
    assert "could be due to chance" in verdict.sentence
    assert "is not shown to be within the margin of 0.05" in verdict.sentence
    (verdict,) = judge([run("a", first), run("b", other)], margin=0.3).verdicts
    assert verdict.equivalent
    assert "is within the margin of 0.3" in verdict.sentence


@pytest.mark.parametrize(("n", "margin", "shown"), [(12, 0.25, False), (12, 0.26, True), (400, 0.02, True)])
def test_equal_scores_on_few_items_are_not_shown_to_be_equal(n, margin, shown):
    """Without a differing item, 3 in n may still differ: 0.25 of 12, and 0.0075 of 400."""
    scores = [float(k % 2) for k in range(n)]
    (verdict,) = judge([run("a", scores), run("b", scores)], margin=margin).verdicts
    assert verdict.equivalent is shown
    assert verdict.sentence.endswith(
        f"all {n} items; the difference is {'' if shown else 'not shown to be '}within the margin of {margin}."
    )


def test_the_margin_and_the_level_themselves_are_not_below():
    (verdict,) = judge([run("a", BAD), run("b", GOOD)]).verdicts
    low, high = verdict.found.inner
    assert [replace(verdict, margin=high * more).equivalent for more in (1, 1.001)] == [False, True]
    assert [replace(verdict, p_adjusted=p).differs for p in (0.05, 0.0499)] == [False, True]
    (verdict,) = judge([run("a", GOOD), run("b", BAD)]).verdicts
    assert verdict.found.inner == (-high, -low)
    assert not replace(verdict, margin=0.5).equivalent


def test_items_that_are_needed_are_named_unless_the_difference_is_shown_to_be_small():
    other = [1.0, 0.0, 0.0, *GOOD[3:]]  # two more than GOOD loses of 40: p 0.5
    runs = [run("a", GOOD), run("b", other)]
    needed = f"would need about {judge(runs).verdicts[0].found.needed:,} items"
    for margin, named in ((None, True), (0.05, True), (0.5, False)):
        (verdict,) = judge(runs, margin=margin).verdicts
        assert (needed in verdict.sentence) is named
        assert verdict.better == ""


def test_drawn_signs_depend_on_the_seed():
    runs = [run("a", np.zeros(30)), run("b", 0.2 + np.random.default_rng(0).normal(size=30))]
    p, first, second = (judge(runs, **more).verdicts[0].found.p for more in ({}, {"seed": 0}, {"seed": 1}))
    assert p == first != second


@pytest.mark.parametrize(
    ("first", "second", "noticed"),
    [(1, 10.5, True), (-1, -10.5, True), (10.5, 0, True), (1, 10, False), (1.5, 100, False), (0.5, 1, False)],
)
def test_scales_of_which_one_is_ten_times_the_other(first, second, noticed):
    (verdict,) = judge([run("a", [0.0, first]), run("b", [0.0, second])]).verdicts
    assert bool(verdict.differing) is noticed


def test_the_direction_is_that_of_the_run_that_states_it():
    for stated in (True, False):
        runs = [run("a", BAD), run("b", GOOD)]
        silent = [replace(one, tasks=(replace(one.tasks[0], higher_is_better=None),)) for one in runs]
        spoken = [replace(one, tasks=(replace(one.tasks[0], higher_is_better=stated),)) for one in runs]
        for pair in ([silent[0], spoken[1]], [spoken[0], silent[1]]):
            assert judge(pair).verdicts[0].better == ("b" if stated else "a")
    assert judge([spoken[0], runs[1]]).verdicts[0].sentence.endswith("; a is better.")


def test_only_runs_of_one_folder_without_a_common_task_are_joined():
    """Here, those of ``a``; ``c`` measured its task twice, and equal names of files are told apart by a number."""
    runs = [
        replace(run("a", GOOD, "sums"), place=Path("x/1.json"), left_out=("one",)),
        replace(run("a", GOOD, "words"), place=Path("x/2.json"), left_out=("two",)),
        replace(run("b", BAD), place=Path("y/1.json")),
        replace(run("c", BAD), place=Path("z/1.json")),
        replace(run("c", BAD), place=Path("z/2.json")),
        replace(run("d", BAD), place=Path("u/z/1.json")),
        replace(run("d", BAD), place=Path("v/z/1.json")),
    ]
    found = judge(runs)
    assert [(one.name, one.place.as_posix(), one.left_out) for one in found.runs] == [
        ("a", "x", ("one", "two")),
        ("b", "y/1.json", ()),
        ("c (z/1.json)", "z/1.json", ()),
        ("c (z/2.json)", "z/2.json", ()),
        ("d (z/1.json) #5", "u/z/1.json", ()),
        ("d (z/1.json) #6", "v/z/1.json", ()),
    ]
    assert found.skipped == ["words/acc"]
    assert len(found.verdicts) == 15


def test_the_table_of_a_verdict_by_hand():
    first, second = run("a", [0.0] * 8 + [1.0]), run("b", [1.0] * 8)
    (row,) = judge([first, second], margin=0.5).to_pandas().to_dict("records")
    assert row == {
        **{"task": "sums", "metric": "acc", "first": "a", "second": "b", "value_first": 0.0, "value_second": 1.0},
        **{"difference": 1.0, "low": 1.0, "high": 1.0, "p": 2 / 2**8, "p_adjusted": 2 / 2**8, "n": 8, "clusters": 8},
        **{"changed": 8, "detectable": 0.0, "needed": None, "joined_by": "id", "only_first": 1, "only_second": 0},
        **{"conflicts": 0, "equivalent": False, "differing_settings": ""},
    }
    assert judge([first, second]).to_pandas()["equivalent"].tolist() == [None]


@pytest.mark.parametrize(("items", "few"), [(7, True), (8, False)])
def test_few_items_have_no_interval_and_are_remarked(items, few):
    text = str(judge([run("a", [0.0] * items), run("b", [1.0] * (items + 1))]))
    assert ("too few for an interval\n" in text, "(too few for an interval)" in text) == (few, few)
    assert "0 items only in the first, 1 only in the second" in text
    assert "over 1 comparison.\n" in text
    assert f"({items} items): A 0, B 1" in text


def test_texts_of_settings_are_shortened_beyond_60_characters():
    runs = [run("a", GOOD, settings={"t": "x" * 60}), run("b", GOOD, settings={"t": "y" * 61})]
    assert judge(runs).verdicts[0].differing == (f"t: '{'x' * 60}' and '{'y' * 57}...'",)


def test_labels_of_many_runs():
    labels = {0: "A", 25: "Z", 26: "AA", 27: "AB", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"}
    assert {place: letters(place) for place in labels} == labels


def test_equal_scores_are_said_so():
    (verdict,) = judge([run("a", GOOD), run("b", GOOD)]).verdicts
    assert verdict.sentence.endswith("the same score on all 40 items.")


def test_a_metric_of_which_less_is_better():
    runs = [run("a", BAD), run("b", GOOD)]
    runs = [replace(one, tasks=(replace(one.tasks[0], higher_is_better=False),)) for one in runs]
    (verdict,) = judge(runs).verdicts
    assert verdict.better == "a"


def test_p_values_are_adjusted_over_all_comparisons():
    found = judge([run("a", BAD), run("b", GOOD), run("c", BAD[::-1])])
    raw = [one.found.p for one in found.verdicts]
    assert len(raw) == 3
    assert [one.p_adjusted for one in found.verdicts] >= raw
    assert max(one.p_adjusted for one in found.verdicts) == max(raw)  # Holm leaves the largest as it is
    assert "over 3 comparisons." in str(found)
    assert found.adjustment == "Holm"
    by_share = judge(found.runs, adjust="bh")
    assert all(b.p_adjusted <= h.p_adjusted for b, h in zip(by_share.verdicts, found.verdicts, strict=True))


def test_ranks_with_ties():
    weak = [0.0] * 35 + [1.0] * 5
    found = judge([run("a", GOOD), run("b", [0.0, *GOOD[1:]]), run("c", weak)])
    assert [(name, best, worst) for _, _, name, best, worst in found.ranks()] == [
        ("a", 1, 2),
        ("b", 1, 2),
        ("c", 3, 3),
    ]
    assert "acc: A 1 to 2" in str(found)
    assert "acc: A 1" not in str(judge(found.runs[:2]))  # the verdict on two says as much


def test_differing_settings_come_before_any_number():
    found = judge([run("a", BAD, settings={"shots": "0"}), run("b", GOOD, settings={"shots": "5"})])
    text = str(found)
    assert "different settings of A and B, sums: shots: '0' and '5'" in text
    assert text.index("different settings") < text.index("+0.5")


def test_items_of_one_run_alone_are_counted():
    text = str(judge([run("a", BAD), run("b", GOOD[:30])]))
    assert "left out of A and B, sums: 10 items only in the first, 0 only in the second" in text


def test_models_of_one_name_are_told_apart():
    found = judge([run("a", BAD), replace(run("a", GOOD), place=Path("later/b.json"))])
    assert [one.name for one in found.runs] == ["a (a.json)", "a (later/b.json)"]


def test_groups_that_the_second_run_alone_names_count():
    groups = tuple(str(k // 4) for k in range(40))
    for runs in ([run("a", BAD), run("b", GOOD, clusters=groups)], [run("a", BAD, clusters=groups), run("b", GOOD)]):
        (verdict,) = judge(runs).verdicts
        assert verdict.found.units == 10


def test_what_runs_of_fairlab_are_not_compared_by_is_refused(tmp_path):
    for name in "ab":
        Record(tmp_path / name, {}, "").folder.mkdir()
        Record(tmp_path / name, {}, "").save()
    with pytest.raises(FairlabError, match="margin applies only to results of other tools"):
        fairlab.compare(tmp_path / "a", tmp_path / "b", margin=0.1)


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        ([run("a", GOOD)], {}, "a single run cannot be compared"),
        (
            [run("a", GOOD), run("b", GOOD, task="other")],
            {},
            r"share no task and metric, so they cannot be compared; a has sums/acc; b has other/acc",
        ),
        ([run("a", GOOD), run("b", GOOD)], {"adjust": "none"}, "adjust must be holm or bh, not 'none'"),
        *(
            ([run("a", GOOD), run("b", GOOD)], {"margin": margin}, f"margin must be a number above 0, not {margin}")
            for margin in (-1, 0, float("inf"))
        ),
    ],
)
def test_bad_input_is_one_sentence(runs, settings, message):
    with pytest.raises(FairlabError, match=message):
        judge(runs, **settings)


def test_from_python_files_of_other_tools_are_compared():
    found = fairlab.compare(FIXTURES / "lm_eval" / "tiny_a", FIXTURES / "lm_eval" / "tiny_b")
    table = found.to_pandas().set_index("metric")
    assert table.loc["acc", "difference"] == pytest.approx(0.15)
    assert table.loc["acc_norm", "value_second"] == pytest.approx(0.65)
    mixed = fairlab.compare(FIXTURES / "lm_eval" / "tiny_a", FIXTURES / "every_eval_ever" / "tiny_b.json")
    assert mixed.to_pandas().set_index("metric").loc["acc", "difference"] == pytest.approx(0.15)


def test_groups_of_items_are_resampled_whole():
    runs = [read_tool_runs(FIXTURES / "inspect" / name)[0] for name in ("a.eval", "b.json")]
    (verdict,) = judge(runs).verdicts
    assert (verdict.found.n, verdict.found.units) == (12, 4)
    assert "12 items in 4 groups" in str(judge(runs))
