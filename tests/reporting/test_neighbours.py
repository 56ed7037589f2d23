"""Close variants of verdicts that pages once got wrong, each on records made by hand."""

import json
import math
from dataclasses import replace

import pytest

from fairlab.record import SAYS_NOTHING, TRAINING, Comparison, Note, Reading, Record
from fairlab.reporting.exports.eval_results import hub_files
from fairlab.reporting.exports.every_eval_ever import eee_files
from fairlab.reporting.exports.measured_model import MeasuredModel
from fairlab.reporting.ideal_forest import from_the_ideal
from fairlab.reporting.many_runs.answers import nearest_said
from fairlab.reporting.many_runs.reproduction import Matrix, Table, TableRow, cells
from fairlab.reporting.many_runs.sweep import write_sweep
from fairlab.reporting.paper_table import paper_table
from fairlab.reporting.questions import shifts, verdict
from fairlab.reporting.report import _verdict, write_report
from fairlab.reporting.summary import summary_lines
from fairlab.reporting.tables.all_pairs import RunPair
from fairlab.reporting.tables.comparing import sides_of
from fairlab.reporting.tables.grouping import best, choices_of
from fairlab.reporting.tables.method_tests import reading_of_method
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.tables.validation import chosen_by_validation
from fairlab.reporting.verdicts import SIZE, reading_verdicts, summed_up, verdict_lines
from tests.reporting.many_runs.test_sweep import GAP, LOSS, run

SCORE, LIKE = ("crows_pairs", "all", "metric_score"), ("stsb", "dev", "spearman")


def reading(place, value, ideal=50.0, n=400, phase="", half=1.0):
    return Reading(*place, value, "", ideal, n, value - half, value + half, headline=True, phase=phase)


def changed(tmp_path, place, values, bounds, p, ideal=50.0, phases=("before", "after"), notes=()):
    """A record with one headline change, of which the bounds and the p-value are given."""
    readings = [reading(place, value, ideal, phase=phase) for value, phase in zip(values, phases, strict=True)]
    phase = "change" if phases == ("before", "after") else f"{phases[1]} less {phases[0]}"
    more = {"headline": True, "phase": phase, "p_holm": p}
    comparison = Comparison(*place, values[1] - values[0], "", *bounds, p, 400, **more)
    return Record(tmp_path, {}, "", "finished", readings=readings, comparisons=[comparison], notes=list(notes))


def told(record):
    return verdict(shifts(record))


def test_of_two_models_the_sound_one_is_still_judged(tmp_path):
    notes = [Note("crows_pairs", "random weights", phase="b", mark=SAYS_NOTHING)]
    readings = [reading(SCORE, 60, phase="a"), reading(SCORE, 52, phase="b")]
    found = _verdict(Record(tmp_path, {}, "", "finished", readings=readings, notes=notes))
    assert found.sentence == "The numbers of b say nothing about bias."
    assert found.lines[0] == "b: random weights"
    assert found.lines[1].startswith("Of the other models: Of 1 headline reading of bias, 1 is off the ideal value")


def test_an_answer_is_shown_next_to_the_reasons_why_it_says_nothing_about_bias(tmp_path):
    """Two models that fail for the same reason, one of them for another reason as well."""
    reasons = [("a", "random weights"), ("b", "random weights"), ("b", "no tokenizer")]
    notes = [Note("crows_pairs", text, phase=phase, mark=SAYS_NOTHING) for phase, text in reasons]
    readings = [reading(SCORE, 60, phase=phase) for phase in "ab"]
    record = Record(tmp_path, {}, "", "finished", readings=readings, notes=notes)
    record.provenance["answers"] = {"": {"sentence": "No method works.", "lines": ["x"]}}
    assert _verdict(record).sentence == "These numbers say nothing about bias."
    assert _verdict(record).lines == ["a, b: random weights", "b: no tokenizer", "No method works."]
    record.provenance["answers"] = {"a": {"sentence": "Cannot tell: random weights.", "lines": []}}
    assert _verdict(record).lines == ["a, b: random weights", "b: no tokenizer"]  # it would repeat the reasons


@pytest.mark.parametrize("value", [50.0, 51.0])
def test_an_interval_without_width_shows_nothing(tmp_path, value):
    (found,) = reading_verdicts(Record(tmp_path, {}, "", readings=[reading(SCORE, value, half=0.0)]))
    assert found.kind == SIZE
    assert "so there is no test" in found.sentence


def test_a_change_past_the_ideal_is_a_change(tmp_path):
    """From 55 to 45 is as far from 50: neither nearer nor farther, but not the absence of a change."""
    sentence, lines = told(changed(tmp_path, SCORE, (55.0, 43.0), (-15, -9), 0.001))
    assert sentence.endswith("none moved away from it and 1 changed beyond chance without a direction.")
    assert "(55 to 43, -12 [-15, -9])" in lines[0]
    sentence, _ = told(changed(tmp_path, SCORE, (55.0, 43.0), (-15, -9), 0.001, phases=("x", "y")))
    assert sentence.endswith("1 differ beyond chance without a direction.")


def test_what_leaves_the_ideal_itself_moves_away(tmp_path):
    (found,) = shifts(changed(tmp_path, SCORE, (50.0, 58.0), (6, 10), 0.001))
    assert (found.tone, found.drawn) == ("worse", None)
    (found,) = shifts(changed(tmp_path, SCORE, (50.0, 58.0), (-1, 17), 0.1))
    assert found.tone == ""


def test_a_small_loss_beyond_chance_is_said_with_the_margin(tmp_path):
    _, lines = told(changed(tmp_path, LIKE, (86.0, 85.5), (-0.9, -0.1), 0.01, ideal=100.0))
    assert lines == [
        "Is utility kept? Worse: STS-B Spearman correlation, development set "
        "(86 to 85.5, +4 % of its distance to 100, within the margin of ±1)."
    ]


def test_what_did_not_train_is_in_the_sentence_without_a_history(tmp_path):
    note = Note(TRAINING, "the loss did not fall", phase="after", mark="did not train")
    found = _verdict(changed(tmp_path, SCORE, (60.0, 51.0), (-12, -6), 0.001, notes=[note]))
    assert found.sentence.startswith("Of 1 headline reading of a model that did not train, 1 moved nearer")


@pytest.mark.parametrize("mark", ["did not train", SAYS_NOTHING])
def test_a_change_of_a_spoiled_model_is_not_green(tmp_path, mark):
    note = Note("crows_pairs", "why", phase="after", mark=mark)
    record = changed(tmp_path, SCORE, (60.0, 51.0), (-12, -6), 0.001, notes=[note])
    (found,) = shifts(record)
    assert (found.tone, found.colour) == ("better", "")
    record.config = {"model": "a"}
    assert 'class="number better"' not in write_report(record).read_text(encoding="utf-8")
    assert f"p 0.001 adjusted for all headlines ({mark})" in "\n".join(summary_lines(record))
    single = Record(tmp_path, {}, "", readings=[reading(SCORE, 60)], notes=[replace(note, phase="")])
    cells = [cell for row in from_the_ideal(single).blocks[0].rows if isinstance(row, list) for cell in row]
    assert f"off beyond chance; {mark}" in cells


def test_several_pairs_of_models_are_counted_in_the_singular(tmp_path):
    record = changed(tmp_path, SCORE, (60.0, 51.0), (-12, -6), 0.001, phases=("a", "b"))
    more = changed(tmp_path, SCORE, (60.0, 55.0), (-8, -2), 0.001, phases=("a", "c"))
    record.readings.append(more.readings[1])
    record.comparisons += more.comparisons
    assert told(record)[0].count("f 1 headline reading, 1 lies nearer") == 2


def test_readings_over_too_few_items_share_a_line(tmp_path):
    names = ("a", "b", "c", "d")
    readings = [replace(reading(SCORE, 60, n=8), subset=name) for name in names] + [reading(SCORE, 60)]
    found = reading_verdicts(Record(tmp_path, {}, "", readings=readings))
    lines = verdict_lines(found)
    assert len(lines) == 2
    assert lines[1] == "Too few items for an interval or a verdict: CrowS-Pairs, 4 readings of at most 8 items."
    assert len(verdict_lines(found[1:])) == 4


@pytest.fixture
def sweep(tmp_path):
    for number, (gap, utility) in enumerate([(9, 80), (0.1, 99), (5, 90)]):
        run(tmp_path / "sweep", number, f"method.beta={number}", gap, utility)
    return tmp_path / "sweep"


@pytest.mark.parametrize("mark", ["did not train", "at chance on its validation data", SAYS_NOTHING])
def test_no_spoiled_run_is_on_the_front_or_nearest(sweep, mark):
    records = read_runs(sweep)
    records[1].notes = [Note(name, "why", phase="after", mark=mark) for name in ("cced", "stsb")]
    choices = choices_of(records, [GAP, LOSS])
    assert (
        nearest_said(choices, GAP, "Gap") == "Gap: method.beta=2 is nearest to 0 of the sound settings beyond chance."
    )
    page = write_sweep(sweep, records, [GAP, LOSS]).read_text(encoding="utf-8")
    front = page.partition("<h2>Trade-offs</h2>")[2]
    assert "<td>method.beta=2</td>" in front
    assert "<td>method.beta=1</td>" not in front
    assert ("stsb", "dev", "spearman") not in paper_table(records).best


def test_a_run_that_did_not_train_is_not_chosen_by_validation(sweep):
    records = read_runs(sweep)
    for record, error in zip(records, (0.4, 0.1, 0.2), strict=True):
        record.history = [{"step": 1, "validation/error": error, "validation/accuracy": 1 - error}]
    assert [one.settings for one in chosen_by_validation(choices_of(records, [GAP]))] == [{"method.beta": "1"}]
    flat = [{"step": step, "train/loss": 1.0} for step in range(1, 41)]
    records[1].history = [*flat, *records[1].history]
    (found,) = chosen_by_validation(choices_of(records, [GAP]))
    assert found.settings == {"method.beta": "2"}


def test_values_on_either_side_of_the_ideal_may_be_equally_near(sweep):
    """49 and 51.3 differ beyond chance, and their distances to 50, 1 and 1.3, do not."""
    records = read_runs(sweep)[:2]
    for record, value in zip(records, (49.0, 51.3), strict=True):
        record.readings = [
            replace(one, ideal=50.0, value=value, low=value - 0.5, high=value + 0.5) for one in record.readings
        ]
    first, alike = best(choices_of(records, [GAP]), GAP)
    assert (first.settings, len(alike)) == ({"method.beta": "0"}, 1)
    before, after = (record.readings[0] for record in records)
    difference = Comparison("cced", "mine", "gap", 2.3, "u", 1.6, 3.0, 1e-6, 100)
    assert RunPair("A", "B", before, after, difference, 1e-6).better == ""
    far = replace(after, value=53.0)
    wide = Comparison("cced", "mine", "gap", 4.0, "u", 3.3, 4.7, 1e-6, 100)
    assert RunPair("A", "B", before, far, wide, 1e-6).better == "A"


def test_two_seeds_or_few_items_have_no_best(tmp_path):
    for number, (beta, gap, seed) in enumerate([(0, 5.0, 1), (0, 5.2, 2), (1, 9.0, 1), (1, 9.2, 2)]):
        run(tmp_path, number, f"method.beta={beta}", gap, 80, seed=seed)
    place = ("cced", "mine", "gap")
    table = paper_table(read_runs(tmp_path))
    assert max(table.pairs[place].values()) < 0.05
    assert place not in table.best
    run(tmp_path, 4, "method.beta=0", 5.1, 80, seed=3)
    run(tmp_path, 5, "method.beta=1", 9.15, 80, seed=3)
    records = read_runs(tmp_path)
    assert paper_table(records).best[place] == "0"
    for record in records:
        record.readings = [replace(one, n=8) for one in record.readings]
    assert place not in paper_table(records).best


def test_a_mark_of_one_of_two_models_is_counted(tmp_path):
    readings = [reading(SCORE, 60, phase="a"), reading(SCORE, 55, phase="b")]
    notes = [Note(TRAINING, "the loss did not fall", phase="b", mark="did not train")]
    found = reading_verdicts(Record(tmp_path, {}, "", readings=readings, notes=notes))
    assert summed_up(found).startswith("Of 2 headline readings of bias (did not train in 1 of 2), 2 are off")


def collapsed_record(tmp_path, phases=("before", "after")):
    """A gap that fell from 0.10 to 0.02 while distances fell as much."""
    more = {"benchmark": "cced", "subset": "embedded", "unit": "embedding distance", "n": 240}
    rows = [("gap", 0.0, 0.10, 0.02), ("gap_over_distance", 0.0, 0.20, 0.19), ("gap_kept", 0.0, None, 0.2)]
    readings = [
        Reading(
            **more, quantity=name, value=v, ideal=ideal, low=0.9 * v, high=1.1 * v, phase=phase, headline=name == "gap"
        )
        for name, ideal, *values in [*rows, ("distance_kept", None, None, 0.21)]
        for phase, v in zip(phases, values, strict=True)
        if v is not None
    ]
    phase = "change" if phases == ("before", "after") else f"{phases[1]} less {phases[0]}"
    p = {"p": 0.001, "p_holm": 0.001, "headline": True, "phase": phase}
    change = Comparison(**more, quantity="gap", difference=-0.08, low=-0.09, high=-0.07, **p)
    config = {"model": "a", "seed": 0}
    return Record(tmp_path, config, "", "finished", readings=readings, comparisons=[change])


def test_a_gap_of_another_model_that_is_smaller_by_collapse_is_not_green(tmp_path):
    record = collapsed_record(tmp_path, ("a", "b"))
    (found,) = (one for one in shifts(record) if one.headline)
    assert (found.tone, found.collapsed) == ("", True)
    assert "1 smaller by collapse alone." in told(record)[0]


def test_a_collapsed_gap_is_named_in_a_papers_table_and_never_bold(tmp_path):
    table = paper_table([collapsed_record(tmp_path)])
    assert "gap fell by collapse alone" in table.caption
    assert not any(table.best.values())


def test_a_collapsed_gap_has_no_star_and_few_items_no_verdict_beside_a_published_number(tmp_path):
    record = collapsed_record(tmp_path)
    place = "cced/embedded/gap"
    table = Table("1", "t", "w", "s", [place], [TableRow("ours", "run")], {"ours": {place: 0.021}})
    matrix = Matrix("p", "paper", [0], {"run": []}, {}, {"1": table})
    ((cell,),) = cells(table, matrix, {"run": {0: record}})
    assert (cell.verdict, cell.moved, cell.marks) == ("within noise", False, ("gap fell by collapse alone",))
    record.readings = [replace(one, n=12) for one in record.readings]
    ((cell,),) = cells(table, matrix, {"run": {0: record}})
    assert cell.verdict == "too few items"


def test_exports_carry_warnings_and_no_interval_over_few_items(tmp_path):
    record = Record(tmp_path, {"model": "a/b"}, "", "finished", readings=[reading(SCORE, 60, n=12, phase="after")])
    record.history = [{"step": step, "train/loss": 1.0} for step in range(1, 41)]
    model = MeasuredModel(record, "after", record.readings)
    (written,) = eee_files(model).values()
    (result,) = json.loads(written)["evaluation_results"]
    assert result["metric_config"]["additional_details"]["heed"] == "did not train"
    assert result["score_details"]["uncertainty"] == {"num_samples": 12}
    (page,) = hub_files(model).values()
    assert "did not train" in page


def test_deviations_of_distances_are_compared_above_the_ideal(sweep):
    records = read_runs(sweep)[:1]
    cell = reading_of_method(sides_of(records[0]), ("cced", "mine", "gap"))
    below = replace(cell, reading=replace(cell.reading, ideal=10.0))
    assert (below.above().mean, cell.above().mean) == (11.0, 9.0)
    assert math.isclose(below.distance, below.above().distance)
