import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import save_file

from fairlab.benchmarks.cced import CCED, cced_quantities, kept
from fairlab.benchmarks.group_sets import held_out_groups
from fairlab.benchmarks.readings import outcome
from fairlab.benchmarks.runner import add, adjusted
from fairlab.record import Note, NotRun, Reading, Record
from fairlab.reporting import projections
from fairlab.reporting.collapse import collapse_verdicts
from fairlab.reporting.report import write_report
from fairlab.reporting.summary import summary_lines
from tests.conftest import make_groups, row, write_rows


@pytest.fixture
def record(tmp_path):
    """A finished run on a set of twelve groups, with made-up embeddings."""
    path = write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(12)])
    rng = np.random.default_rng(0)
    before = rng.normal(size=(12, 3, 8)).astype(np.float32)
    after = before.copy()
    after[:, 2] = before[:, 0] + (before[:, 1] - before[:, 0])[:, ::-1]  # same distances: no gap left
    config = {
        "seed": 1,
        "scale": {"name": "quickstart"},
        "backbone": {"name": "a/b", "stands_for": "bert-large-uncased", "pooling": "mean", "normalize": True},
        "benchmark": {"cced": {"sets": [path]}},
        "method": {"_target_": "fairlab.methods.ccd.CCD", "beta": 1.0},
    }
    record = Record(tmp_path, config, command="python -m fairlab.train '<x>'", status="finished")
    for phase, embeddings, earlier in (("before", before, None), ("after", after, before)):
        (tmp_path / "items" / phase).mkdir(parents=True)
        save_file({"mine": embeddings}, tmp_path / "items" / phase / "cced.safetensors")
        of_set = partial(cced_quantities, "mine", ("man", "woman"))
        now, before_now = of_set(embeddings), of_set(earlier) if earlier is not None else []
        now += kept("mine", embeddings, earlier) if earlier is not None else []
        add(outcome(CCED.description, now, before_now), phase, record)
    record.comparisons = adjusted(record.comparisons, "change")
    record.history = [{"step": 1, "train/loss": 0.5, "train/bias_loss": 0.4}, {"step": 1, "validation/loss": 0.3}]
    record.not_run = [NotRun("stsb", "dev", "no <data>", phase=phase) for phase in ("before", "after")]
    return record


def test_the_report_is_one_offline_file_with_every_part(record):
    page = write_report(record).read_text(encoding="utf-8")
    for part in (
        "Before and after",
        "What changed",
        "Training",
        "Distances to neutral, mine",
        "Embeddings",
    ):
        assert f"<h2>{part}" in page
    assert 'title="difference between the distances of the versions to the neutral one (0 is fair)\n' in page
    assert 'cced/mine/gap">CCED gap, mine</span>' in page  # its key is told on hover
    assert "cced/mine/gap</" not in page
    assert page.index("What changed") < page.index("Before and after") < page.index("Training")
    assert len(page) < 3_000_000
    assert "0.339" in page  # BERT in table 6 of the paper
    assert "not the published setting" in page
    assert "no &lt;data&gt;" in page
    assert "<x>" not in page
    assert not re.search(r'(src|href)="(?!#)', page)


def test_a_run_without_embeddings_still_has_a_report(record):
    record.readings, record.history = [], []
    for phase in ("before", "after"):
        (record.folder / "items" / phase / "cced.safetensors").unlink()
    assert "No training step" in write_report(record).read_text()


def test_of_many_groups_some_are_drawn_and_the_page_says_how_many(record, monkeypatch):
    monkeypatch.setattr(projections, "MOST_DRAWN", 5)
    page = write_report(record).read_text(encoding="utf-8")
    assert page.count("5 of 12 groups are drawn.") == 1
    distances = page.partition("<h2>Distances to neutral")[2].partition("<h2>")[0]
    assert distances.count("<circle") == 2 + 2 * 5  # of the legend, and before and after
    monkeypatch.setattr(projections, "MOST_DRAWN", 12)
    assert "groups are drawn" not in write_report(record).read_text(encoding="utf-8")


def test_a_language_model_stands_beside_the_four_of_the_paper(record):
    record.readings = [Reading("mb_index", "all", "mb_index", 0.25, "", 0.0, 9, 0.125, 0.5, phase="after")]
    few = write_report(record).read_text()
    assert few.count("0.25<small>too few for an interval</small>") == 2
    record.readings = [Reading("mb_index", "all", "mb_index", 0.25, "", 0.0, 10**6, 0.125, 0.5, phase="after")]
    page = write_report(record).read_text()
    assert "<h2>Readings" in page  # nothing was measured before
    assert "biasers paper, table 2" in page
    assert "0.000524" in page
    assert page.count("0.25<small>[0.125, 0.5]</small>") == 2


def test_summary_lines(record):
    lines = summary_lines(record)
    assert lines[0].startswith("CCED gap, mine: ")
    assert "(-100%)" in lines[0]
    assert lines[0].endswith(", too few for an interval, n 12 [cced/mine/gap]")
    assert not any(line.startswith("changed beyond chance") for line in lines)  # 12 items show nothing
    record.comparisons = [replace(one, n=120) for one in record.comparisons]
    assert summary_lines(record)[1].startswith("changed beyond chance: CCED gap, mine: -")
    assert lines.count("not run: stsb dev: no <data>") == 1
    assert "collapse" not in "".join(lines)


def test_of_several_models_the_summary_says_which_was_not_measured(record):
    record.not_run = [NotRun("stereoset", "all", "no head", phase) for phase in ("bert", "gpt2")]
    assert [line for line in summary_lines(record) if line.startswith("not run")] == [
        "not run on bert: stereoset all: no head",
        "not run on gpt2: stereoset all: no head",
    ]


def test_the_summary_says_which_of_the_two_models_was_not_measured(record):
    record.not_run = [NotRun("perturber", "all", "not trained", "before"), NotRun("stsb", "dev", "no data", "before")]
    record.not_run += [NotRun("stsb", "dev", "no data", "after")]
    assert [line for line in summary_lines(record) if line.startswith("not run")] == [
        "not run (before): perturber all: not trained",
        "not run: stsb dev: no data",
    ]
    record.add_notes([Note("cced", "random weights", phase="before")])
    assert "note (before): cced: random weights" in summary_lines(record)
    assert "cced (before): random weights" in write_report(record).read_text()


def reading(phase, quantity, value):
    """None where the value is undefined: such a reading is not taken."""
    if value is None:
        return None
    return Reading("cced", "x", quantity, value, "", None, 5, value, value, phase=phase)


@pytest.mark.parametrize(
    ("ratio", "kept", "collapsed"),
    [(0.25, 0.2, True), (0.05, 0.2, False), (None, 0.0, True), (0.05, 0.001, True)],
)
def test_a_fall_by_collapse_alone_is_said_so(tmp_path, ratio, kept, collapsed):
    readings = [
        reading("before", "gap_over_distance", 0.25),
        reading("after", "gap_over_distance", ratio),
        reading("after", "gap_kept", 0.2),
        reading("after", "distance_kept", kept),
    ]
    verdict = collapse_verdicts(Record(tmp_path, {}, "", readings=[taken for taken in readings if taken]))[0]
    assert f"keeps {kept:.0%} of the distance" in verdict
    assert ("collapse alone" in verdict) == collapsed


def test_a_small_fall_at_the_same_distances_is_no_collapse(tmp_path):
    values = {"gap_over_distance": 0.234, "gap_kept": 0.92, "distance_kept": 0.984}
    readings = [reading("before", "gap_over_distance", 0.25), *(reading("after", *pair) for pair in values.items())]
    (verdict,) = collapse_verdicts(Record(tmp_path, {}, "", readings=readings))
    assert "collapse" not in verdict


def test_a_gap_over_all_pairs_is_judged_alike(tmp_path):
    readings = [
        reading("before", "gap_all_pairs_over_distance", 0.25),
        reading("after", "gap_all_pairs_over_distance", 0.25),
        reading("after", "gap_all_pairs", 0.1),
        reading("after", "gap_all_pairs_kept", 0.2),
        reading("after", "distance_kept", 0.2),
    ]
    assert (
        "gap over distance +0%: the gap fell by collapse alone"
        in collapse_verdicts(Record(tmp_path, {}, "", readings=readings))[0]
    )


def test_a_gap_that_was_zero_before_breaks_nothing(tmp_path):
    readings = [
        reading("before", "gap_over_distance", 0.0),
        reading("after", "gap_over_distance", 0.1),
        reading("after", "distance_kept", 1.0),
    ]
    (verdict,) = collapse_verdicts(Record(tmp_path, {}, "", readings=readings))
    assert "collapse" not in verdict


def test_any_number_of_attributes_is_drawn():
    points = np.zeros((2, 10, 2))
    names = [f"a{k}" for k in range(9)]
    figure = projections.projection(names, points, points, [["x"] * 10] * 2)
    assert len(figure.panels) == 2
    assert [panel.svg.count("<circle") for panel in figure.panels] == [20, 20]
    assert [name for name, _ in figure.legend] == [*names, "neutral"]


def test_tsne_maps_before_and_after_together():
    groups = held_out_groups("embedded")[:6]
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(len(groups), 3, 4)).astype(np.float32)
    before, after = projections.tsne(embeddings, embeddings, seed=0)
    assert before.shape == after.shape == (6, 3, 2)
    assert np.isfinite(before).all()
