"""Readers of other tools, on files that the tools themselves wrote (experiments/judge/make_models.py says how)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest

import fairlab
from fairlab.judge.reading import read_tool_runs
from fairlab.judge.verdicts import judge
from fairlab.types import FairlabError

FIXTURES = Path(__file__).parent / "fixtures"


def read_tool_run(place):
    """Return the only run of a place."""
    (run,) = read_tool_runs(place)
    return run


def scores(place, metric):
    return next(one for one in read_tool_run(place).tasks if one.metric == metric)


@pytest.mark.parametrize("name", ["tiny_a", "tiny_b"])
@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_the_mean_is_what_lm_eval_printed(name, metric):
    found = scores(FIXTURES / "lm_eval" / name, metric)
    assert found.mean == pytest.approx(found.reported, abs=1e-12)
    assert (found.task, len(found.ids), found.higher_is_better) == ("sums", 20, True)
    assert found.settings["shots"] == "0"


@pytest.mark.parametrize(("name", "mean"), [("a.eval", 7 / 12), ("b.json", 10 / 12)])
def test_the_mean_is_what_inspect_printed(name, mean):
    found = scores(FIXTURES / "inspect" / name, "match")
    assert found.mean == pytest.approx(mean)
    assert found.reported == pytest.approx(mean)
    assert dict(zip(found.ids, found.clusters, strict=True)) == {f"q{k}": str(k // 3) for k in range(12)}


@pytest.mark.parametrize("name", ["tiny_a", "tiny_b"])
def test_every_eval_ever_has_the_scores_of_the_tool_it_was_converted_from(name):
    converted = scores(FIXTURES / "every_eval_ever" / f"{name}.json", "acc")
    original = scores(FIXTURES / "lm_eval" / name, "acc")
    assert converted.ids == original.ids
    assert np.array_equal(converted.values, original.values)
    assert converted.mean == pytest.approx(converted.reported)
    assert read_tool_run(FIXTURES / "every_eval_ever" / f"{name}.json").name == f"lab/{name}"


def helm_run(folder, values):
    """Write a run as HELM does, of which one instance was perturbed."""
    folder.mkdir()
    spec = {"name": "sums:model=lab_a", "adapter_spec": {"model": "lab/a", "max_train_instances": 5}}
    (folder / "run_spec.json").write_text(json.dumps(spec))
    stats = [
        {"instance_id": f"id{k}", "stats": [{"name": {"name": "exact_match", "split": "test"}, "mean": value}]}
        for k, value in enumerate(values)
    ]
    stats.append({**stats[0], "perturbation": {"name": "typos"}})
    (folder / "per_instance_stats.json").write_text(json.dumps(stats))
    states = [{"instance": {"id": f"id{k}", "input": {"text": f"sum {k}"}}} for k in range(len(values))]
    (folder / "scenario_state.json").write_text(json.dumps({"request_states": states}))
    return folder


def test_helm_without_perturbed_instances(tmp_path):
    run = read_tool_run(helm_run(tmp_path / "helm", [1.0, 0.0, 1.0]))
    (found,) = run.tasks
    assert (run.name, found.task, found.metric) == ("lab/a", "sums", "exact_match")
    assert found.values.tolist() == [1.0, 0.0, 1.0]
    assert found.settings == {"max_train_instances": "5"}
    assert len(set(found.texts)) == 3


def test_mteb_has_its_tasks_as_items(tmp_path):
    (tmp_path / "model_meta.json").write_text(json.dumps({"name": "lab/encoder"}))
    for task, values in (("STS", [0.8, 0.6]), ("Pairs", [0.5])):
        entries = [{"main_score": value, "hf_subset": "en"} for value in values]
        content = {"task_name": task, "mteb_version": "2.1.0", "scores": {"test": entries}}
        (tmp_path / f"{task}.json").write_text(json.dumps(content))
    (found,) = read_tool_run(tmp_path).tasks
    assert dict(zip(found.ids, found.values, strict=True)) == {"Pairs": 0.5, "STS": pytest.approx(0.7)}


@pytest.mark.parametrize(("ids", "groups"), [(("x", "y", "z"), ("p", "p", "q")), ((0, 1, 2), (0, 0, 1))])
def test_a_table_of_items_in_every_format(tmp_path, ids, groups):
    """The number 0 names an item, a group or a task as any other number does."""
    table = pandas.DataFrame({"id": ids, "score": [1.0, 0.5, 0.0], "group": groups, "task": groups[0]})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "b.parquet")
    table.to_json(tmp_path / "c.jsonl", orient="records", lines=True)
    for run in read_tool_runs(tmp_path):
        (found,) = run.tasks
        assert (found.ids, found.values.tolist()) == (tuple(map(str, ids)), [1.0, 0.5, 0.0])
        assert (found.clusters, found.task) == (tuple(map(str, groups)), str(groups[0]))


def test_answers_to_one_item_are_averaged(tmp_path):
    (tmp_path / "a.csv").write_text("id,score\nx,1\nx,0\ny,1\n")
    (found,) = read_tool_run(tmp_path / "a.csv").tasks
    assert dict(zip(found.ids, found.values, strict=True)) == {"x": 0.5, "y": 1.0}


def changed(folder, name, old, new):
    """A copy of a fixture with a text replaced."""
    shutil.copytree(FIXTURES, folder / "fixtures")
    file = folder / "fixtures" / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("inspect/b.json", '"version": 2', '"version": 9', "has version 9 of inspect's log format"),
        ("inspect/b.json", '"success"', '"cancelled"', "a run that ended as 'cancelled'; finish it first"),
        (
            "lm_eval/tiny_a/results_2026-11-26.json",
            '"configs"',
            '"conf"',
            "does not have the format of lm-evaluation-harness 0.4",
        ),
        (
            "lm_eval/tiny_a/samples_sums_2026-11-26.jsonl",
            '"metrics": [',
            '"metrics": 1, "m": [',
            "line 1 has no list 'met",
        ),
        ("lm_eval/tiny_a/samples_sums_2026-11-26.jsonl", '"doc_id": 0,', '"doc_id', "line 1 cannot be read as JSON"),
        ("every_eval_ever/tiny_a_samples.jsonl", '"score"', '"points"', "line 1 has no sample_id or no score"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name, old, new, message):
    file = changed(tmp_path, name, old, new)
    file = file.with_name("tiny_a.json") if name.startswith("every") else file
    with pytest.raises(FairlabError, match=message) as error:
        read_tool_run(file if file.suffix == ".json" else file.parent)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b'{"a": "\xff"}\n', '{"a": 1}\n'.encode("utf-16")])
def test_lines_that_are_not_utf_8(tmp_path, content):
    shutil.copytree(FIXTURES / "lm_eval" / "tiny_a", tmp_path / "a")
    (samples,) = (tmp_path / "a").rglob("samples_*.jsonl")
    samples.write_bytes(content)
    with pytest.raises(FairlabError, match=r"jsonl, line 1, is not UTF-8 text; save it in UTF-8"):
        read_tool_run(tmp_path / "a")


def test_a_log_that_is_cut_off(tmp_path):
    whole = (FIXTURES / "inspect" / "a.eval").read_bytes()
    file = tmp_path / "a.eval"
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FairlabError, match="is cut off or damaged"):
        read_tool_run(file)
    damaged = bytearray(whole)
    middle = whole.find(b"header.json") + 60
    damaged[middle : middle + 40] = bytes(40)
    file.write_bytes(bytes(damaged))
    with pytest.raises(FairlabError, match="is cut off or damaged"):
        read_tool_run(file)


def test_runs_without_items_and_other_files(tmp_path):
    shutil.copy(FIXTURES / "lm_eval" / "tiny_a" / "results_2026-11-26.json", tmp_path)
    with pytest.raises(FairlabError, match="run the tool with --log_samples"):
        read_tool_run(tmp_path)
    (tmp_path / "results_2026-11-26.json").unlink()
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(FairlabError, match=r"holds no readable results; give results of .*inspect"):
        read_tool_run(tmp_path)
    with pytest.raises(FairlabError, match="does not exist"):
        read_tool_run(tmp_path / "nowhere")
    assert len(read_tool_runs(FIXTURES / "lm_eval")) == 2


def test_scores_that_are_no_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("id,score\nx,high\n")
    with pytest.raises(FairlabError, match="has no id or no numeric score"):
        read_tool_run(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("id,score\nx,nan\n")
    with pytest.raises(FairlabError, match="item x of items has no finite score"):
        read_tool_run(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("id,score,model\nx,1,m\ny,1,n\n")
    with pytest.raises(FairlabError, match=r"scores of several models \(m, n\)"):
        read_tool_run(tmp_path / "a.csv")


def test_the_mean_is_what_helm_printed():
    for metric in ("exact_match", "prefix_exact_match"):
        found = scores(FIXTURES / "helm", metric)
        assert (found.mean, found.reported, len(found.ids)) == (0.5, 0.5, 8)
        assert len(set(found.texts)) == 8


@pytest.mark.parametrize(
    ("name", "expected"),  # get_score() of MTEB's own TaskResult, read from the same files
    [
        ("tiny_a", {"MadeSTS": 0.7894304999999999, "MadePairs": 0.916667}),
        ("tiny_b", {"MadeSTS": 0.7948189999999999, "MadePairs": 0.952381}),
    ],
)
def test_scores_of_tasks_are_those_of_mteb(name, expected):
    run = read_tool_run(FIXTURES / "mteb" / name)
    (found,) = run.tasks
    assert run.tool == "MTEB 2.26.24"
    assert dict(zip(found.ids, found.values, strict=True)) == pytest.approx(expected, abs=1e-12)


def tables(folder, first, second):
    """Two tables with a score per item, and no name of a task."""
    for name, text in (("a.csv", first), ("b.csv", second)):
        (folder / name).write_bytes(text.encode())
    return fairlab.compare(folder / "a.csv", folder / "b.csv")


def test_tables_that_name_no_task_are_of_the_same_items(tmp_path):
    (found,) = tables(tmp_path, "id,score\r\nx,1\r\ny,0\r\n", "\ufeffid,score\nx,False\ny,True\nz,1\n").verdicts
    assert (found.task, found.found.n, found.found.difference) == ("items", 2, 0.0)
    assert (found.pairing.only_first, found.pairing.only_second) == (0, 1)


def test_an_item_without_a_group_is_one_of_its_own(tmp_path):
    text = "id,score,group\n" + "".join(f"{k},{k % 2},{'p' if k < 4 else ''}\n" for k in range(10))
    (found,) = tables(tmp_path, text, text).verdicts
    assert found.found.units == 7  # the group of four, and six alone


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"id;score\nx;1\n", "has no columns id and score, separated by commas"),
        ("a.csv", "id,score\nx,1\n".encode("utf-16"), "has no columns id and score"),
        ("a.csv", b"id,score,text\nx,1,one\nx,0,two\n", "item x of items occurs several times with different"),
        ("a.csv.gz", b"\x1f\x8b\x08", "is compressed; unpack it"),
        ("per_instance_stats.json", b"[]", "has no run_spec.json next to it"),
    ],
)
def test_odd_files_are_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FairlabError, match=message) as error:
        read_tool_run(tmp_path / name)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("every_eval_ever/tiny_a.json", '"schema_version":"0', '"schema_version":"9', "has version 9"),
        ("lm_eval/tiny_a/results_2026-11-26.json", '"0.4.13"', '"2.0"', "has version 2.0 of lm-evaluation-harness"),
        ("lm_eval/tiny_a/samples_sums_2026-11-26.jsonl", '"doc_id":0', '"no_id":0', "line 1 has no doc_id"),
    ],
)
def test_other_versions_are_one_sentence(tmp_path, name, old, new, message):
    shutil.copytree(FIXTURES, tmp_path / "fixtures")
    file = tmp_path / "fixtures" / name
    file.write_text(file.read_text(encoding="utf-8").replace(": ", ":").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FairlabError, match=message):
        read_tool_run(file if "results" in name or "every" in name else file.parent)


def test_samples_in_another_encoding(tmp_path):
    shutil.copytree(FIXTURES / "lm_eval" / "tiny_a", tmp_path / "run")
    samples = next((tmp_path / "run").glob("samples*"))
    samples.write_text(samples.read_text(encoding="utf-8"), encoding="utf-16")
    with pytest.raises(FairlabError, match=r"samples_\S+, line \d+, is not UTF-8"):
        read_tool_run(tmp_path / "run")


def test_filters_have_metrics_of_their_own(tmp_path):
    """A run with two filters and one with the first alone are compared on that one."""
    for name, filters in (("one", ["none"]), ("two", ["none", "strict"])):
        samples = [
            {"doc_id": k, "doc": {"q": k}, "filter": one, "metrics": ["acc"], "acc": k % 2}
            for k in range(4)
            for one in filters
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "samples_t_1.jsonl").write_text("\n".join(map(json.dumps, samples)))
        content = {"results": {"t": {}}, "configs": {"t": {}}, "lm_eval_version": "0.4.9", "model_name": name}
        (tmp_path / name / "results_1.json").write_text(json.dumps(content))
    found = fairlab.compare(tmp_path / "one", tmp_path / "two")
    assert [(one.metric, one.found.n) for one in found.verdicts] == [("acc", 4)]
    assert found.skipped == ["t/acc,strict"]


def test_scores_of_several_values_are_metrics_each(tmp_path):
    log = json.loads((FIXTURES / "inspect" / "b.json").read_text(encoding="utf-8"))
    for k, sample in enumerate(log["samples"]):
        sample["scores"] = {"judge": {"value": {"tone": "yes" if k else "no", "length": "0.5", "why": "long"}}}
    (tmp_path / "a.json").write_text(json.dumps(log), encoding="utf-8")
    assert scores(tmp_path / "a.json", "judge, tone").mean == pytest.approx(11 / 12)
    assert scores(tmp_path / "a.json", "judge, length").mean == 0.5
    assert len(read_tool_run(tmp_path / "a.json").tasks) == 2


def test_samples_of_versions_before_0_4_5_name_their_metrics_in_the_results(tmp_path):
    shutil.copytree(FIXTURES / "lm_eval" / "tiny_a", tmp_path / "old")
    file = tmp_path / "old" / "samples_sums_2026-11-26.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"metrics"', '"unknown"'), encoding="utf-8")
    for metric in ("acc", "acc_norm"):
        assert scores(tmp_path / "old", metric).mean == scores(FIXTURES / "lm_eval" / "tiny_a", metric).mean
    with pytest.raises(
        FairlabError, match=r"contains only the samples of a run; give the file results_DATE\.json next to it"
    ):
        read_tool_run(file)


def test_messages_have_new_identifiers_in_every_run_and_errors_are_said(tmp_path):
    for name, failed in (("a", 0), ("b", 2)):
        log = json.loads((FIXTURES / "inspect" / "b.json").read_text(encoding="utf-8"))
        for k, sample in enumerate(log["samples"]):
            sample["input"] = [{"id": f"{name}{k}", "role": "user", "content": str(sample["input"])}]
            if k < failed:
                sample |= {"scores": {}, "error": {"message": "timeout"}}
        (tmp_path / f"{name}.json").write_text(json.dumps(log), encoding="utf-8")
    found = fairlab.compare(tmp_path / "a.json", tmp_path / "b.json")
    (verdict,) = found.verdicts
    assert (verdict.found.n, verdict.pairing.by, verdict.pairing.conflicts) == (10, "id", 0)
    text = str(found)
    said = "samples that ended with an error: none and '2'"
    assert text.index(said) < text.index("p-values are adjusted")


def test_mteb_tasks_of_other_languages_are_left_out(tmp_path):
    for name, languages in (("a", ["en", "de"]), ("b", ["en"])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model_meta.json").write_text(json.dumps({"name": name}))
        for k in range(4):
            entries = [{"main_score": 0.5, "hf_subset": one} for one in (languages if k == 0 else ["en"])]
            content = {"task_name": f"T{k}", "mteb_version": "2.1.0", "scores": {"test": entries}}
            (tmp_path / name / f"T{k}.json").write_text(json.dumps(content))
    (verdict,) = fairlab.compare(tmp_path / "a", tmp_path / "b").verdicts
    assert (verdict.found.n, verdict.pairing.conflicts) == (3, 1)


def test_tasks_and_metrics_without_scores_of_samples_are_said(tmp_path):
    """A group's row of the results is of other tasks' samples; a task without samples, or with words, is left out."""
    for name in ("tiny_a", "tiny_b"):
        folder = Path(shutil.copytree(FIXTURES / "lm_eval" / name, tmp_path / name))
        (file,), (samples,) = folder.glob("results*.json"), folder.glob("samples*.jsonl")
        content = json.loads(file.read_text())
        content["results"] |= {"other": {"acc,none": 0.5}, "a_group": {"acc,none": 0.5}}
        content["configs"]["other"] = {"task": "other"}
        file.write_text(json.dumps(content))
        rows = [json.loads(line) | {"acc_norm": "right"} for line in samples.read_text().splitlines()]
        samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = judge([read_tool_run(tmp_path / name) for name in ("tiny_a", "tiny_b")])
    assert found.runs[1].left_out == (
        "other has no file of samples",
        "sums, acc_norm has no score of a sample that is a number",
    )
    assert "left out of B: other has no file of samples\n" in str(found)
    assert [verdict.metric for verdict in found.verdicts] == ["acc"]


def test_the_arguments_of_an_inspect_task_are_settings(tmp_path):
    log = json.loads((FIXTURES / "inspect" / "b.json").read_text(encoding="utf-8"))
    for name, given, expected in (("a", {"shots": 5}, "{'shots': 5}"), ("b", {}, None)):
        log["eval"]["task_args"] = given
        (tmp_path / f"{name}.json").write_text(json.dumps(log), encoding="utf-8")
        assert scores(tmp_path / f"{name}.json", "match").settings.get("arguments of the task") == expected
