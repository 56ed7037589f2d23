from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fairlab
from fairlab.judge.reading import read_tool_runs
from fairlab.judge.scores import TaskScores, ToolRun
from fairlab.judge.verdicts import judge
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


@pytest.mark.parametrize(("n", "shown"), [(12, False), (400, True)])
def test_equal_scores_on_few_items_are_not_shown_to_be_equal(n, shown):
    """Without a differing item, 3 in n may still differ: 0.25 of 12, and 0.0075 of 400."""
    scores = [float(k % 2) for k in range(n)]
    (verdict,) = judge([run("a", scores), run("b", scores)], margin=0.02).verdicts
    assert verdict.equivalent is shown
    assert verdict.sentence.endswith(
        f"all {n} items; the difference is {'' if shown else 'not shown to be '}within the margin of 0.02."
    )


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
        ([run("a", GOOD), run("b", GOOD)], {"margin": -1}, "margin must be a number above 0, not -1"),
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
