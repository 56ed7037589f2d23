"""What is said about scores that were left out, averaged or read in another way than their user expects."""

import json
from pathlib import Path

import pytest

import fairlab
from fairlab.judge.reading import read_tool_runs
from fairlab.judge.verdicts import judge
from fairlab.record import Record
from fairlab.types import FairlabError


def harness(folder, samples, reported):
    """Write a run of lm-evaluation-harness, with one line per sample."""
    folder.mkdir()
    results = {"arc": {"alias": "arc", "acc,none": reported}}
    content = {"results": results, "configs": {"arc": {}}, "lm_eval_version": "0.4.8", "model_name": folder.name}
    (folder / "results_1.json").write_text(json.dumps(content))
    lines = [{"doc_id": k, "metrics": ["acc"], **sample} for k, sample in enumerate(samples)]
    (folder / "samples_arc_1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def log(file, values):
    """Write a log of inspect with one sample per value."""
    samples = [{"id": k, "input": str(k), "scores": {"match": {"value": value}}} for k, value in enumerate(values)]
    results = {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 0.25}}}]}
    head = {"version": 2, "status": "success", "eval": {"task": "sums", "model": file.stem}, "results": results}
    file.write_text(json.dumps({**head, "samples": samples}))
    return file


def table(file, rows):
    file.write_text("id,score\n" + "".join(f"{name},{score}\n" for name, score in rows))
    return file


def compared(*places):
    return judge([run for place in places for run in read_tool_runs(place)])


def test_documents_with_an_id_and_a_score_are_not_a_table(tmp_path):
    folder = harness(tmp_path / "a", [{"acc": 1.0, "doc": {"id": "x", "score": 3}}] * 2, 1.0)
    (run,) = read_tool_runs(folder)
    assert run.tool == "lm-evaluation-harness 0.4.8"
    assert run.tasks[0].mean == 1.0


def test_answers_without_a_score_and_another_mean_than_reported(tmp_path):
    folder = harness(tmp_path / "a", [{"acc": 1.0}, {"acc": None}, {"acc": 0.0}, {"acc": None}], 0.25)
    (run,) = read_tool_runs(folder)
    assert run.tasks[0].remarks == [
        "arc, acc: 2 answers have no numeric score and are left out",
        "arc, acc: the tool reports 0.25, but the scores of its items average 0.5",
    ]
    (run,) = read_tool_runs(harness(tmp_path / "b", [{"acc": 1.0}, {"acc": 0.0}, {"acc": 0.0}], 0.33))
    assert run.tasks[0].remarks == []


def test_words_as_scores_of_inspect(tmp_path):
    (run,) = read_tool_runs(log(tmp_path / "a.json", ["C", "unclear", "unclear", "I", "C"]))
    assert run.tasks[0].remarks[0] == "sums, match: 2 answers have no numeric score and are left out"
    with pytest.raises(FairlabError, match="its scores are words; score again"):
        read_tool_runs(log(tmp_path / "b.json", ["toxic", "fine"]))


def test_items_with_several_scores_are_reported(tmp_path):
    first = table(tmp_path / "a.csv", [(k, 1) for k in range(8)] + [(0, 0)])
    second = table(tmp_path / "b.csv", [(k, k % 2) for k in range(8)])
    found = compared(first, second)
    assert found.verdicts[0].value_first == pytest.approx(7.5 / 8)
    assert "A, items, score: 1 of 8 items have several scores, which are averaged" in str(found)


def test_scores_in_per_cent_and_as_shares_are_noticed(tmp_path):
    first = table(tmp_path / "a.csv", [(k, k % 2) for k in range(8)])
    second = table(tmp_path / "b.csv", [(k, 100 * (k % 2)) for k in range(8)])
    assert "largest score: 1 and 100; if one run is in per cent, convert it" in str(compared(first, second))
    assert "largest score" not in str(compared(first, first))


def test_tables_of_three_models_have_no_ranks_and_say_why(tmp_path):
    files = [
        table(tmp_path / f"{name}.csv", [(k, int(k < right)) for k in range(40)])
        for name, right in zip("abc", (0, 20, 40), strict=True)
    ]
    said = str(compared(*files))
    assert "nothing states whether higher values are better, so no run is called better" in said
    assert "ranks" not in said


def test_logs_of_several_tasks_are_one_run_of_the_model(tmp_path):
    for model in "ab":
        (tmp_path / model).mkdir()
        for task in ("one", "two"):
            file = log(tmp_path / model / f"{task}.json", ["C", "I", "C", "C"])
            text = file.read_text().replace('"sums"', f'"{task}"')
            file.write_text(text.replace(f'"model": "{task}"', f'"model": "{model}"'))
    found = compared(tmp_path / "a", tmp_path / "b")
    assert [run.name for run in found.runs] == ["a", "b"]
    assert [verdict.task for verdict in found.verdicts] == ["one", "two"]
    assert found.skipped == []


def test_a_difference_beyond_chance_can_be_within_the_margin(tmp_path):
    first = table(tmp_path / "a.csv", [(k, 0) for k in range(1000)])
    second = table(tmp_path / "b.csv", [(k, int(k < 8)) for k in range(1000)])
    (verdict,) = judge([*read_tool_runs(first), *read_tool_runs(second)], margin=0.02).verdicts
    assert verdict.sentence.endswith("beyond chance (p 0.0078), and is within the margin of 0.02.")  # 2 / 2**8


def test_a_large_file_of_mteb_whose_name_comes_last(tmp_path):
    (tmp_path / "model_meta.json").write_text('{"name": "m", "mteb_version": "1.2.0", "task_name": "x"}')
    scores = [{"hf_subset": str(k), "languages": ["eng-Latn"], "main_score": 0.5} for k in range(2000)]
    content = {"mteb_version": "1.2.0", "scores": {"test": scores}, "task_name": "Large"}
    (tmp_path / "Large.json").write_text(json.dumps(content))
    assert read_tool_runs(tmp_path)[0].tasks[0].ids == ("Large",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "ID,Score\nx,1\n", r"begins with 'ID,Score'\); name them so"),
        ("a.csv", "id, score\nx,1\n", r"begins with 'id, score'\); name them so"),
        ("a.csv", "id,score\nx,1e300\n", "item x of items has a score beyond 1e\\+100"),
        ("a.jsonl", '{"id": 1, "in": {"score": 1}}\n', "has no columns id and score"),
        ("a.xlsx", "PK", "is a spreadsheet; save it as .csv"),
        ("deep/a.csv.gz", "x", r"deep/a\.csv\.gz is compressed; unpack it"),
    ],
)
def test_files_that_cannot_be_read_say_how_they_can(tmp_path, name, content, message):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(FairlabError, match=message):
        read_tool_runs(tmp_path / Path(name).parts[0])


def test_files_beside_the_runs_that_were_not_read_are_named(tmp_path):
    for name in ("a", "b"):
        table(tmp_path / f"{name}.csv", [(k, k % 2) for k in range(30)])
    for name, content in (("c.csv.gz", "x"), ("d.json", ""), ("e.csv", "text\nyes\n"), ("f.xlsx", "PK"), ("g.md", "")):
        (tmp_path / name).write_text(content)
    said = str(fairlab.compare(tmp_path))
    found = f"not read: {tmp_path}/c.csv.gz (compressed; unpack it), {tmp_path}/d.json (empty), {tmp_path}/e.csv (no "
    assert f"{found}columns id and score), {tmp_path}/f.xlsx (a spreadsheet; save it as .csv)\n" in said
    for name in ("own/1", "own/2"):
        Record(tmp_path / name, {}, "").folder.mkdir(parents=True)
        Record(tmp_path / name, {}, "").save()
        table(tmp_path / name / "readings.csv", [(0, 1)]).write_text("a\n1\n")  # a file of this run
    assert f"not read: {tmp_path}/own/1 (a run of fairlab; compare it by its own folder), {tmp_path}/own/2 (" in str(
        fairlab.compare(tmp_path)
    )
    with pytest.raises(FairlabError, match=r"own holds runs of fairlab \(2\); give the folders .* .*own/1 .*own/2$"):
        fairlab.compare(tmp_path / "own")
    with pytest.raises(FairlabError, match=r"own/2 is not finished \(running, or killed\); finish it, or leave it out"):
        fairlab.compare(tmp_path / "own" / "2", tmp_path / "own" / "1")
    (tmp_path / "b.csv").unlink()
    with pytest.raises(FairlabError, match=r"a single run cannot be compared \(not read: .*c\.csv\.gz \(compressed"):
        fairlab.compare(tmp_path)


def test_identifiers_in_two_spellings_are_shown(tmp_path):
    first, second = table(tmp_path / "a.csv", [("1", 1)]), table(tmp_path / "b.csv", [("1.0", 1)])
    with pytest.raises(FairlabError, match=r"first identifiers are '1' and '1\.0'; write identifiers alike"):
        compared(first, second)
