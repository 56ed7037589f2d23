"""A drift report of two files of scores, and what is no such file."""

from __future__ import annotations

import json

import pytest

from fairlab.run.drifting import command
from tests.conftest import write_rows


def scored(folder, name, hate, variance=0.02):
    rows = [
        {
            "id": str(k),
            "hate": hate + k % 10 / 100,
            "hate_label": int(hate > 0.5),
            "hate_variance": variance if k % 2 else None,
            "sources": {"sentiment.negative": 0.25 + k % 4 / 100, "stored.hate": None},
        }
        for k in range(200)
    ]
    rows[7] = {"id": "line 8", "error": "not JSON"}
    rows[8]["missing"] = ["stored"]
    return str(write_rows(folder / name, rows))


def test_what_moved_is_told_by_harm_and_source(tmp_path, capsys):
    files = scored(tmp_path, "a.jsonl", 0.2), scored(tmp_path, "b.jsonl", 0.6, variance=0.05)
    command([*files, "--output", str(tmp_path / "drift.json")])
    printed = capsys.readouterr().out
    assert "200 rows (1 not read, 1 without a score of some source) and 200 rows" in printed
    found = json.loads((tmp_path / "drift.json").read_text())["columns"]
    assert set(found) == {"hate", "hate_label", "ACV of hate", "source sentiment.negative"}
    assert found["hate"]["change"] == pytest.approx(0.4)
    assert found["hate"]["distance"] == 1.0
    assert found["ACV of hate"]["means"] == pytest.approx([0.02, 0.05])
    assert found["ACV of hate"]["n"] == [99, 99]
    assert not found["source sentiment.negative"]["beyond_chance"]
    # sqrt(.25/199 + .25/199) = .0501
    assert found["hate"]["detectable"] == pytest.approx(found["hate"]["chance"] + 0.8416 * 0.0501, abs=1e-4)
    assert "| hate_label | 199 | 199 | 0 | 1 |" in printed


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            '{"id": "1", "hate": 0.5}\n{"hate": 0.5}\n',
            "b.jsonl, line 2 has no id; give a file written by fairlab score",
        ),
        ("[]\n", "b.jsonl, line 1 has no id; give a file written by fairlab score"),
        ("hate\n", "b.jsonl, line 1 is not JSON"),
        ('{"id": "1"}\n', "b.jsonl holds no scores"),
        ('{"id": "1", "violence": 0.5}\n', "the files have no column of numbers in common"),
        (None, "b.jsonl; give one written by fairlab score"),
    ],
)
def test_what_is_no_file_of_scores_is_said(tmp_path, capsys, content, sentence):
    first = scored(tmp_path, "a.jsonl", 0.2)
    if content is not None:
        (tmp_path / "b.jsonl").write_text(content)
    with pytest.raises(SystemExit) as stopped:
        command([first, str(tmp_path / "b.jsonl"), "--output", str(tmp_path / "drift.json")])
    assert stopped.value.code == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "drift.json").exists()


def test_few_rows_are_not_compared(tmp_path, capsys):
    few = [{"id": str(k), "hate": k / 29} for k in range(29)]
    files = [str(write_rows(tmp_path / name, few)) for name in ("a.jsonl", "b.jsonl")]
    with pytest.raises(SystemExit):
        command(files)
    sentence = "no column has 30 numbers in both files, at most 29; score more texts"
    assert capsys.readouterr().err == f"fairlab: {sentence}\n"
    write_rows(tmp_path / "b.jsonl", [*few, {"id": "29", "hate": 0.5, "violence": 0.1}])
    write_rows(tmp_path / "a.jsonl", [*few, {"id": "29", "hate": 0.5, "violence": 0.1}])
    command(files)
    assert "numbers in a file: violence" in capsys.readouterr().out
