"""Fields of other tools' files, each with the score or the setting that follows from it."""

import json
import os
import zipfile

import pytest

from fairlab.judge import opening, reading
from fairlab.judge.formats import inspect_logs
from fairlab.judge.scores import TaskScores, item_scores, text_hash
from fairlab.types import FairlabError


def only_run(place):
    (run,) = reading.read_tool_runs(place)
    return run


def values_of(task):
    return dict(zip(task.ids, task.values.tolist(), strict=True))


HEAD = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "m"}}
ONE = {"id": 1, "input": "1 + 1", "scores": {"match": {"value": 1}}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), (True, 1.0), (False, 0.0), (-2, -2.0), (0.25, 0.25)],
        *[(1.7976931348623157e308, 1.7976931348623157e308), (float("inf"), None), (10**400, None)],
        *[("c", None), ("yes", None), (None, None), ([1], None)],
    ],
)
def test_values_that_are_numbers_for_every_tool(value, expected):
    assert opening.number(value) == expected


def test_every_form_of_a_score_of_inspect(tmp_path):
    forms = {"yes": 1, " TRUE ": 1, "no": 0, "false": 0, "C": 1, "P": 0.5, "0.25": 0.25, "I": 0}
    sample = {**ONE, "scores": {"named": {"value": dict(zip(forms, forms, strict=True))}, "listed": {"value": [3, 4]}}}
    (tmp_path / "a.json").write_text(json.dumps({**HEAD, "samples": [sample]}))
    found = {task.metric: task.mean for task in only_run(tmp_path).tasks}
    assert found == {**{f"named, {name}": value for name, value in forms.items()}, "listed, 1": 3, "listed, 2": 4}


@pytest.mark.parametrize(
    ("scores", "reported"),
    [
        ([{"name": "match", "metrics": {"accuracy": {"value": 0.75}, "mean": {"value": 0.5}}}], 0.75),
        ([{"name": "match", "reducer": "mean", "metrics": {"mean": {"value": 0.5}}}], 0.5),
        ([{"name": "match", "reducer": "mode", "metrics": {"mean": {"value": 0.5}}}], None),
        ([{"name": "other", "metrics": {"mean": {"value": 0.5}}}], None),
    ],
)
def test_what_inspect_reports_of_a_scorer(tmp_path, scores, reported):
    (tmp_path / "a.json").write_text(json.dumps({**HEAD, "results": {"scores": scores}, "samples": [ONE]}))
    run = only_run(tmp_path)
    assert (run.tasks[0].reported, run.tasks[0].higher_is_better, run.tasks[0].settings) == (reported, True, {})
    assert run.tool == "inspect of an unknown version"


def test_members_of_a_log_that_are_no_samples_are_not_read(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(HEAD))
        archive.writestr("samples/1.json", json.dumps(ONE))
        archive.writestr("samples/notes.txt", "no JSON")
        archive.writestr("reductions.json", json.dumps({**ONE, "id": 2}))
    monkeypatch.setattr(inspect_logs, "LARGEST", len(json.dumps(HEAD)))  # the largest member
    assert values_of(only_run(tmp_path).tasks[0]) == {"1": 1.0}
    monkeypatch.setattr(inspect_logs, "LARGEST", len(json.dumps(HEAD)) - 1)
    with pytest.raises(FairlabError, match=r"header\.json, which is larger"):
        only_run(tmp_path)


def test_extra_fields_before_a_packed_member_are_skipped(tmp_path):
    import pyarrow

    packed = pyarrow.Codec("zstd").compress(content := json.dumps(HEAD).encode(), asbytes=True)
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("samples/1.json", json.dumps(ONE))
        (member := zipfile.ZipInfo("header.json")).extra = b"\x99\x99\x04\x00abcd"
        archive.writestr(member, packed)
    with zipfile.ZipFile(tmp_path / "a.eval") as archive:
        info = archive.getinfo("header.json")
        info.compress_type, info.file_size, info.CRC = inspect_logs.ZSTANDARD, len(content), zipfile.crc32(content)
        assert json.loads(inspect_logs._unpack(archive, "header.json", tmp_path / "a.eval")) == HEAD


@pytest.mark.parametrize("missing", ["version", "status", "eval"])
def test_json_of_another_kind_is_no_log(tmp_path, missing):
    (tmp_path / "a.json").write_text(json.dumps({key: value for key, value in HEAD.items() if key != missing}))
    assert reading.find_tool_runs(tmp_path) == []


@pytest.mark.parametrize("missing", ["schema_version", "evaluation_id"])
def test_json_of_another_kind_is_no_record_of_every_eval_ever(tmp_path, missing):
    content = {"schema_version": "0.3.0", "evaluation_id": "x"}
    (tmp_path / "a.json").write_text(json.dumps({key: value for key, value in content.items() if key != missing}))
    assert reading.find_tool_runs(tmp_path) == []


def test_results_of_one_name_in_a_record_of_every_eval_ever(tmp_path):
    """The identifier of a result decides which settings and scores are its own; without it, the name does."""
    results = [
        {"evaluation_name": "t", "evaluation_result_id": "1", "metric_config": {"metric_id": "f1"}},
        {
            **{"evaluation_name": "t", "evaluation_result_id": "2", "score_details": {"score": 0.5}},
            "metric_config": {"metric_name": "error", "metric_id": "e", "lower_is_better": True},
            "generation_config": {"generation_args": {"temperature": 0, "top_p": None}},
        },
    ]
    head = {"schema_version": "0.3.0", "evaluation_id": "x", "model_info": {"name": "a model", "id": "lab/a"}}
    (tmp_path / "a.json").write_text(json.dumps({**head, "evaluation_results": results}))
    samples = [
        {"evaluation_name": "t", "evaluation_result_id": "2", "sample_id": 0, "evaluation": {"score": 0.5}},
        {"evaluation_name": "t", "sample_id": 0, "evaluation": {"score": 1}},
        {"evaluation_name": "u", "evaluation_result_id": "3", "sample_id": 0, "evaluation": {"score": 1}},
    ]
    (tmp_path / "a_samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
    run = only_run(tmp_path / "a.json")
    assert run.name == "a model"
    assert [(one.task, one.metric, one.higher_is_better, one.reported, one.settings) for one in run.tasks] == [
        ("t", "error", False, 0.5, {"temperature": "0"}),
        ("t", "f1", None, None, {}),
        ("u", "score", None, None, {}),
    ]
    (tmp_path / "a_samples.jsonl").write_text('{"evaluation_name": "t", "evaluation": {"score": 1}}\n')
    with pytest.raises(FairlabError, match="line 1 has no sample_id"):
        only_run(tmp_path / "a.json")


def test_statistics_of_helm_that_are_no_metrics_are_left_out(tmp_path):
    """Counts, words, and means that HELM gives twice or over perturbed instances."""

    def stat(name, mean, **more):
        return {"name": {"name": name, **more}, "mean": mean}

    spec = {"name": "sums:model=lab_a,shots=2", "adapter_spec": {"model": "lab/a", "temperature": 0.0, "method": None}}
    stats = [stat("em", 1), stat("f1", 0.5), stat("num_prompt_tokens", 9), stat("told", None)]
    printed = [stat("em", 1), stat("em", 0, perturbation={"name": "typos"}), stat("f1", 0.5), stat("f1", 0.6)]
    for name, content in (
        ("run_spec", spec),
        ("per_instance_stats", [{"instance_id": "id1", "stats": stats}, "odd"]),
        ("stats", [*printed, stat("told", None)]),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    run = only_run(tmp_path)
    assert [(one.task, one.metric, one.reported, one.settings) for one in run.tasks] == [
        ("sums,shots=2", "em", 1.0, {"temperature": "0.0"}),
        ("sums,shots=2", "f1", None, {"temperature": "0.0"}),
    ]
    assert run.tasks[0].texts == ()


def harness(folder, samples, **more):
    content = {"results": {"t": {"acc,none": 0.5, "acc_stderr,none": 0.1}}, "configs": {"t": {}}, **more}
    folder.mkdir()
    (folder / "results_1.json").write_text(json.dumps(content))
    (folder / "samples_t_1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
    return folder


def test_settings_and_directions_of_the_harness(tmp_path):
    samples = [{"doc_id": 0, "doc": {}, "metrics": ["acc", "ppl"], "acc": 1, "ppl": 7.5}]
    more = {
        "higher_is_better": {"t": {"acc": True, "ppl": False}},
        "chat_template_sha": "",
        "system_instruction_sha": "5f",
        "n-shot": {"t": 0},
        "configs": {"t": {"description": "Sum up.", "doc_to_text": None}},
    }
    run = only_run(harness(tmp_path / "a", samples, model_name="lab/a", model_source="hf", **more))
    settings = {"shots": "0", "system instruction": "5f", "description": "Sum up."}
    assert run.name == "a"
    assert [(one.metric, one.higher_is_better, one.reported, one.settings) for one in run.tasks] == [
        ("acc", True, 0.5, settings),
        ("ppl", False, None, settings),
    ]
    assert only_run(harness(tmp_path / "b", samples, model_source="hf")).name == "hf"
    run = only_run(harness(tmp_path / "c", samples))
    assert (run.name, run.tasks[0].higher_is_better, run.left_out) == ("c", None, ())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "settings.json").write_text('{"results": {}}')
    (tmp_path / "other" / "results.json").write_text('{"other": {}}')
    assert reading.find_tool_runs(tmp_path / "other") == []


@pytest.mark.parametrize("row", [",1", "x,", "x,high"])
def test_rows_of_a_table_need_an_id_and_a_score(tmp_path, row):
    (tmp_path / "a.csv").write_text(f"id,score\n{row}\n")
    with pytest.raises(FairlabError, match="has no id or no numeric score"):
        only_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "id\tscore\ttask\tmetric\nx\tTrue\tsums\tacc\ny\t0.5\t\t\n"),
        ("a.csv", '"id","score",task,metric\nx,True,sums,acc\ny,0.5,,\n'),
    ],
)
def test_optional_columns_of_a_table(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    found = only_run(tmp_path)
    assert found.name == "a"
    assert [(one.task, one.metric, values_of(one)) for one in found.tasks] == [
        ("sums", "acc", {"x": 1.0}),
        ("items", "score", {"y": 0.5}),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line_alone(tmp_path):
    line = '{"id": 1, "score": 1}\n'
    (tmp_path / "a.jsonl").write_text(f"\ufeff{line}\n{line}", encoding="utf-8")
    assert list(opening.json_objects(tmp_path / "a.jsonl")) == [{"id": 1, "score": 1}] * 2
    (tmp_path / "a.jsonl").write_text(f"\n{line}\ufeff{line}", encoding="utf-8")
    with pytest.raises(FairlabError, match="line 3 cannot be read"):
        list(opening.json_objects(tmp_path / "a.jsonl"))


def test_the_two_ends_of_a_file(tmp_path):
    (tmp_path / "a.txt").write_text("abcdef")
    assert [opening.ending(tmp_path / "a.txt", count) for count in (2, 6, 9)] == ["ef", "abcdef", "abcdef"]
    assert [opening.beginning(tmp_path / "a.txt", count) for count in (2, 9)] == ["ab", "abcdef"]


def test_links_are_read_once_and_many_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("id,score\nx,1\n")
    os.symlink("a.csv", tmp_path / "b.csv")
    (tmp_path / "notes.txt").write_text("")
    monkeypatch.setattr(reading, "MOST_FILES", 2)
    assert only_run(tmp_path).name == "a"
    (tmp_path / "more.txt").write_text("")
    with pytest.raises(FairlabError, match="more than 2 files"):
        only_run(tmp_path)


@pytest.mark.parametrize(
    ("mean", "reported", "remarked"),
    [(0.5, 0.495, False), (0.5, 0.493, True), (50.2, 50, False), (50.4, 50, True), (0.25, -0.25, True)],
)
def test_a_mean_may_differ_from_the_reported_one_by_its_rounding(mean, reported, remarked):
    scores = item_scores("t", "acc", [("x", mean, "", "")], reported=reported)
    assert bool(scores.remarks) is remarked


def test_a_score_has_no_remark_by_itself_and_a_largest_size():
    found = item_scores("t", "acc", [("x", 1e100, "text:1", ""), ("y", -1e100, "", "")])
    assert (found.remarks, found.texts, found.clusters) == ([], (), ())
    assert TaskScores("t", "acc", found.ids, found.values).remarks == []
    with pytest.raises(FairlabError, match="item y of t has a score beyond"):
        item_scores("t", "acc", [("x", 0, "", ""), ("y", -1.5e100, "", "")])


def test_the_hash_of_an_input():
    assert text_hash(" \n") == "text:e3b0c44298fc1c14"  # SHA-256 of no bytes
