import json

import pytest

from fairlab.data.stream.formats import BadRow
from fairlab.run.augmenting import sampled
from fairlab.run.augmenting.sampled import Sample, Timed, estimate_text, parts_of, sample_of
from fairlab.run.planned import print_augmentation_plan
from fairlab.types import Row


def row(number, text):
    return Row(str(number), text, {}, f"row {number}", number)


def test_a_sample_knows_the_size_of_the_input_and_keeps_rows_with_equal_probability():
    rows = [row(k, "x" * 10) for k in range(1000)]
    whole = sample_of([*rows, BadRow("row 1001", "no text", "")], 0)
    assert (whole.read, whole.unreadable, whole.characters) == (1000, 1, 10_000)
    assert sorted(one.number for one in whole.rows) == list(range(1000))
    drawn = [one.number for seed in range(200) for one in sample_of(rows, seed, kept=500).rows]
    assert max(len(sample_of(rows, seed, kept=500).rows) for seed in range(20)) <= 50
    early = sum(number < 500 for number in drawn) / len(drawn)
    assert early == pytest.approx(0.5, abs=0.03)  # the standard error is .006


def test_a_row_longer_than_the_sample_is_kept():
    assert len(sample_of([row(1, "x" * 50)], 0, kept=10).rows) == 1
    assert len(sample_of([row(k, "x" * 50) for k in range(4)], 0, kept=10).rows) == 1


def test_parts_have_a_minimum_size():
    rows = [row(k, "x" * 4) for k in range(10)]
    assert [len(part) for part in parts_of(rows, size=10)] == [3, 3, 3]
    assert [len(part) for part in parts_of(rows, size=10, number=2)] == [3, 3]
    assert [len(part) for part in parts_of(rows, size=100)] == [10]


def test_sizes_by_default():
    """Samples of four million characters at most, and twenty parts of 100,000 characters or more."""
    long = "x" * 400_000
    assert len(sample_of([row(k, long) for k in range(10)], 0).rows) == 10
    assert len(sample_of([row(k, long) for k in range(11)], 0).rows) <= 10
    assert [len(part) for part in parts_of([row(k, long[:50_000]) for k in range(45)])] == [2] * 20


def test_the_time_to_start_is_taken_off_and_no_part_is_begun_after_30_seconds(monkeypatch):
    timed, clock = [], iter([0.0, 30.0, 30.1])

    def time_part(values, rows):
        timed.append([one.number for one in rows])
        return Timed(100_000, {1: 9.0, 2: 2.0, 3: 5.0}.get(len(timed), 1.5), 1, 1, 1)

    monkeypatch.setattr(sampled, "time_part", time_part)
    monkeypatch.setattr(sampled.time, "process_time", lambda: next(clock))
    rows = [row(k, "x" * (100_000 - k)) for k in range(4)] + [row(4, "x" * 3)]
    found = sampled.time_parts({}, rows)
    assert timed == [[4], [4], [0], [1, 2]]
    assert [one.seconds for one in found] == [3.0, 1e-9]


def test_one_part_has_no_interval_and_one_process_no_time_of_its_own():
    text = estimate_text({"num_proc": 1}, Sample(100, 0, 3_000_000, []), [Timed(1_000_000, 2.0, 50, 40, 10**9)])
    lines = [line.split("  ", 3)[-1].strip() for line in text.splitlines()]
    assert "50 rows with 1,000,000 characters" in lines
    assert "0.5 million characters per processor second" in lines
    assert "6 seconds of one processor" in lines
    assert "about 120 rows, 3 GB" in lines
    assert "over 1 part of the sample" in text


def test_time_is_extrapolated_by_characters():
    parts = [Timed(1000, 2.0, 5, 4, 3000), Timed(1000, 4.0, 5, 2, 1000)]
    text = estimate_text({"num_proc": 4}, Sample(10_000, 3, 2_000_000, []), parts)
    # 3 milliseconds a character; t-interval of two values: 3 ± 12.706
    assert "10,000 rows with 2,000,000 characters; 3 unreadable" in text
    assert "0.000333 million characters per processor second" in text
    assert "1.7 hours of one processor [0 seconds, 8.7 hours]; 25 minutes with num_proc=4 on 4 processors" in text
    assert "about 6,000 rows, 0.004 GB" in text


CHOSEN = [
    ["augmentation=cda"],
    pytest.param(["+augmentation=perturbation", "rewriter.mode=lexical"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize("chosen", CHOSEN)
def test_a_plan_of_an_augmentation_measures_a_sample_and_writes_nothing(chosen, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = ["A man sleeps.", "The day is long.", "His sister left."] * 20
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    monkeypatch.setattr("sys.argv", ["fairlab.augment", *chosen, "input=texts.jsonl", "dry_run=true"])
    print_augmentation_plan()
    shown = capsys.readouterr().out
    assert "60 rows with 900 characters; 0 unreadable" in shown
    assert [one.name for one in tmp_path.iterdir()] == ["texts.jsonl"]


@pytest.mark.parametrize(
    ("chosen", "reason"), [("aflite", "aflite decides on all rows together"), ("eda", "eda works only during training")]
)
def test_some_augmentations_have_no_plan(chosen, reason, tmp_path, monkeypatch, capsys):
    (tmp_path / "rows.jsonl").write_text('{"text": "A man.", "label": 1}\n')
    given = [f"augmentation={chosen}", f"input={tmp_path}/rows.jsonl", "dry_run=true"]
    monkeypatch.setattr("sys.argv", ["fairlab.augment", *given])
    with pytest.raises(SystemExit) as ended:
        print_augmentation_plan()
    assert ended.value.code == 1
    assert reason in capsys.readouterr().err
