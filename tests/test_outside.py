"""Every command and every file that it opens, with a link, a climbing path and a wrong type in its place."""

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

import datasets
import pytest

import fairlab
from fairlab.benchmarks.kept_items import draws_file
from fairlab.benchmarks.runner import items_file, take
from fairlab.checks.redaction import without_secrets
from fairlab.data.groups import read_groups
from fairlab.data.published.task_files import read_task
from fairlab.data.stream.manifest import dataset_rows
from fairlab.files import check_folder, inside, remove_unfinished, replaced_when_written, temporary_beside, write_whole
from fairlab.record import Note, Reading, Record
from fairlab.reporting.many_runs.reproduction import read_matrix
from fairlab.reporting.tables.grouping import records_below
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.run.command_line.cli import refuse_places_that_lead_out
from fairlab.run.command_line.listing import command
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.build import as_config, plain
from fairlab.run.folders import newest_unfinished, refuse_changed_config
from fairlab.run.job import lock_folder
from fairlab.types import FairlabError

SECRET = "the secret of this test"


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text(SECRET)
    return tmp_path / "outside" / "secret"


@pytest.fixture
def run(tmp_path):
    """The folder of a finished run with one reading."""
    folder = tmp_path / "runs" / "1"
    (folder / "items" / "before").mkdir(parents=True)
    (folder / ".hydra").mkdir()
    (folder / "model").mkdir()
    reading = Reading("cced", "own", "gap", 0.1, "distance", 0.0, 4, 0.0, 0.2, headline=True)
    config = {"model": "tiny", "backbone": {"name": "tiny"}, "benchmark": {"cced": {"sets": []}}, "seed": 0}
    Record(folder, config, "python -m fairlab.evaluate", "finished", readings=[reading]).save()
    return folder


OPENED_BY = {
    "report": lambda run: records_below(run.parent),
    "view": lambda run: view_page(browse([run.parent]), served=False),
    "ls": lambda run: command(["runs", str(run.parent)]),
    "runs": lambda run: fairlab.runs(run.parent),
    "evaluate a run": lambda run: backbone_node(str(run), {}),
    "go on": lambda run: refuse_changed_config(run, {}),
    "before": lambda run: take("before", run, Record(run.parent / "new", {}, ""), {}),
    "lock": lambda run: lock_folder(run),
    "hydra.run.dir": lambda run: refuse_places_that_lead_out([f"hydra.run.dir={run}"]),
}
PLACES = (
    "record.json",
    "metrics.json",
    ".lock",
    ".record.json.new",
    "items",
    "items/before/x.safetensors",
    ".hydra/a.yaml",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("opened_by", OPENED_BY)
def test_no_command_opens_a_run_with_a_link_out_of_it(run, secret, opened_by, place):
    link = run / place
    if link.is_dir():
        shutil.rmtree(link)
        link.symlink_to(secret.parent)
    else:
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
    with pytest.raises((FairlabError, SystemExit)) as caught:
        OPENED_BY[opened_by](run)
    if isinstance(caught.value, FairlabError):
        assert "is a link out of the folder; copy the file there if you trust it" in str(caught.value)
        assert SECRET not in str(caught.value)
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]
    assert secret.read_text() == SECRET


@pytest.mark.parametrize("place", ["items/pipe", "pipe"])
def test_no_pipe_in_a_run_is_waited_for(run, place):
    os.mkfifo(run / place)
    with pytest.raises(FairlabError, match="is a pipe, a socket or a device"):
        Record.load(run)


def test_a_link_that_stays_inside_is_fine(run):
    (run / "latest").symlink_to("items")
    assert Record.load(run).readings


def test_a_run_that_is_passed_over_hides_none(run, secret, capsys):
    content = json.loads((run / "record.json").read_text())
    shutil.copytree(run, run.parent / "2")
    (run / "record.json").write_text(json.dumps(content | {"status": "interrupted"}))
    (run.parent / "2" / "x\x1b[2J").symlink_to(secret)
    assert newest_unfinished(run.parent) == run
    assert "\x1b" not in capsys.readouterr().err


def change(run, part, value):
    content = json.loads((run / "record.json").read_text())
    *above, key = part.split(".")
    node = content
    for name in above:
        node = node.setdefault(name, {})
    node[key] = value
    (run / "record.json").write_text(json.dumps(content))


WRONG = {
    "config": [5, [], "x", None],
    "config.backbone": [5, [1], {"name": 5}],
    "config.benchmark": [5, ["x"], {"cced": 5}, {"cced": [1]}],
    "config.method": [5, [1], "x", {"_target_": 5}],
    "config.seed": ["x", 1.5, [1], -1],
    "config.scale": [5, "x", {"name": []}],
    "provenance": [5, [], "x"],
    "provenance.stages": [5, [1], {"a": 5}, {"a": {"seconds": "x"}}],
    "provenance.data": [5, "x", [1]],
    "provenance.weights": [5, "x", {"sha256": 5}],
    "history": [5, {}, [5], [{"a": "x"}], [[1]]],
    "readings": [5, {}, [5], [{"benchmark": 5}], [[]]],
    "comparisons": [5, [5], [{}]],
    "notes": [5, [5], [{"text": 5}]],
    "command": [5, None, []],
    "status": [5, None, []],
    "version": [[], {}, 10**9],
}


@pytest.mark.parametrize("part", WRONG)
def test_a_part_of_a_record_of_another_type_is_one_sentence(run, part):
    for value in WRONG[part]:
        change(run, part, value)
        with pytest.raises(FairlabError) as caught:
            view_page(browse([run.parent]), served=False)
        assert "record.json" in str(caught.value), value
        assert "\n" not in str(caught.value)
        if part.count("."):
            assert part.split(".")[1] in str(caught.value)


@pytest.mark.parametrize("number", ["1e999", "NaN", "9" * 400, "9" * 5000, "-Infinity"])
def test_a_reading_that_is_no_number_is_one_sentence(run, number):
    content = (run / "record.json").read_text()
    (run / "record.json").write_text(content.replace('"value": 0.1', f'"value": {number}'))
    with pytest.raises(FairlabError, match="is damaged"):
        Record.load(run)


def test_nothing_of_a_record_is_interpolated(run, monkeypatch, tiny_folders):
    monkeypatch.setenv("INNOCENT", SECRET)
    shutil.copytree(tiny_folders["bert"], run / "model", dirs_exist_ok=True)
    reference = "${oc.env:INNOCENT}"
    for key in ("pooling", "max_length", "normalize", "dtype"):
        change(run, "config.backbone", {"name": "x", key: reference})
        change(run, "provenance.data", {"train_entries": [reference, {"a": rf"\{reference}"}]})
        node = plain(backbone_node(str(run), {}))
        assert node[key] == reference
        assert node["entries"] == [reference, {"a": rf"\{reference}"}]


@pytest.mark.parametrize(
    "text", ["${oc.env:HOME}", r"\${oc.env:HOME}", r"a\\${x}b", "x${", "${${a}}", "$${a}", "plain\\", "${x}\\${y}"]
)
def test_texts_stay_texts_in_a_configuration(text):
    assert plain(as_config({"a": [{"b": text}]})) == {"a": [{"b": text}]}
    assert plain({"a": [{"b": text}]}) == {"a": [{"b": text}]}


CLIMBING = ["../outside/secret", "/etc/passwd", "a/../../outside/secret", "..", "", "a\0b", 5, None, ["x"], "a\\..\\b"]


@pytest.mark.parametrize("name", CLIMBING)
def test_no_name_in_a_file_leads_out_of_its_folder(tmp_path, name):
    with pytest.raises(FairlabError, match="is not a file inside"):
        inside(tmp_path, name, "manifest.json")


@pytest.mark.parametrize("name", CLIMBING)
def test_a_manifest_that_names_another_file_is_one_sentence(tmp_path, secret, name):
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"shards": [{"data": {"file": name, "sha256": "x"}}]}))
    with pytest.raises(FairlabError) as caught:
        list(dataset_rows(str(folder)))
    assert "manifest.json" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_linked_shard_is_not_read(tmp_path, secret):
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "data-00000.jsonl").symlink_to(secret)
    listed = {"data": {"file": "data-00000.jsonl", "sha256": "x"}}
    (folder / "manifest.json").write_text(json.dumps({"shards": [listed]}))
    with pytest.raises(FairlabError, match="is a link out of the folder"):
        list(dataset_rows(str(folder)))


@pytest.mark.parametrize("phase", ["..", "../../x", "a/../../../x"])
def test_no_label_of_a_model_leads_out_of_a_run(tmp_path, phase):
    with pytest.raises(FairlabError, match="is not a file inside"):
        items_file(tmp_path, phase, "cced")


MATRIX = {"seeds": "[1]", "options": "{}", "runs": "{}", "tables": "{}"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("published", "../../../etc/passwd"),
        ("published", "nothing"),
        ("published", "5"),
        ("seeds", "[]"),
        ("seeds", "[x]"),
        ("seeds", "[-1]"),
        ("seeds", "{}"),
        ("options", "[a]"),
        ("options", "{paper: [5]}"),
        ("runs", "{a: [x]}"),
        ("runs", "{a: {paper: [[5]]}}"),
        ("runs", "{a: 5}"),
        ("tables", "{1: 5}"),
        ("tables", "{1: {title: x}}"),
        ("tables", "{1: {rows: [x]}}"),
        ("tables", "{1: {rows: {a: [x]}, columns: [c], title: t}}"),
        ("tables", "{1: {rows: {a: {run: [x]}}, columns: [c], title: t}}"),
        ("tables", "{1: {rows: {a: {paper: {phase: 5}}}, columns: [c], title: t}}"),
        ("before", "5"),
        ("made", "{a: x}"),
        ("tolerance", "{a: x}"),
        ("encoders", "[x]"),
        ("unknown", "1"),
    ],
)
def test_a_matrix_of_another_form_is_one_sentence_that_names_the_key(tmp_path, key, value):
    file = tmp_path / "x" / "matrix.yaml"
    file.parent.mkdir()
    file.write_text("".join(f"{name}: {content}\n" for name, content in (MATRIX | {key: value}).items()))
    with pytest.raises(FairlabError) as caught:
        read_matrix(file, "paper")
    assert str(file) in str(caught.value)
    assert key.removesuffix("s") in str(caught.value) or "published tables" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_temporaries_are_new_and_no_link_is_followed(tmp_path, secret):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out.csv").symlink_to(secret)
    (folder / ".out.csv.new").symlink_to(secret)
    write_whole(folder / "out.csv", "new")
    assert secret.read_text() == SECRET
    assert (folder / "out.csv").read_text() == "new"
    assert not (folder / "out.csv").is_symlink()
    assert temporary_beside(folder / "a") != temporary_beside(folder / "a")
    with contextlib.suppress(KeyError), replaced_when_written(folder / "b"):
        raise KeyError
    assert sorted(path.name for path in folder.iterdir()) == [".out.csv.new", "out.csv"]


def test_what_a_killed_process_was_writing_is_removed(tmp_path, secret):
    kept = [tmp_path / ".out.csv.new", tmp_path / "shards" / "00001.json", tmp_path / ".lock"]
    half = [temporary_beside(tmp_path / "data-00001.jsonl"), temporary_beside(tmp_path / "shards" / "00002.json")]
    (tmp_path / "shards").mkdir()
    for file in [*kept, *half]:
        file.write_text("x")
    model = temporary_beside(tmp_path / "model")
    model.mkdir()
    (model / "weights").write_text("x")
    link = temporary_beside(tmp_path / "link")
    link.symlink_to(secret)
    remove_unfinished(tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted([*kept, secret])
    assert not model.exists()
    assert not link.is_symlink()
    assert secret.read_text() == SECRET


def test_a_name_that_is_guessed_is_not_written_to(tmp_path, secret, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    (tmp_path / ".a.known.new").symlink_to(secret)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "a", "new")
    assert secret.read_text() == SECRET


def test_a_folder_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("fairlab.files.MOST_FILES", 3)
    for number in range(4):
        (tmp_path / str(number)).touch()
    with pytest.raises(FairlabError, match="contains more than 3 files"):
        check_folder(tmp_path)


def test_a_link_that_leads_to_itself_is_no_way_out(tmp_path):
    (tmp_path / "a").symlink_to("a")
    check_folder(tmp_path)


def test_labels_reach_no_terminal_and_no_formula(run, capsys):
    content = json.loads((run / "record.json").read_text())
    content["readings"][0]["subset"] = "\x1b]52;c;Y3VybA==\x07"
    content["readings"][0]["quantity"] = "=cmd|'/c calc'!A1"
    (run / "record.json").write_text(json.dumps(content))
    command(["runs", str(run.parent)])
    assert "\x1b" not in capsys.readouterr().out
    runs = fairlab.runs(run.parent)
    runs.save(run.parent / "readings.csv")
    assert ",'=cmd" in (run.parent / "readings.csv").read_text()


@pytest.mark.parametrize("text", ["he \ud800 saw", "he \0 saw"])
def test_a_group_that_no_tokenizer_reads_is_one_sentence(tmp_path, text):
    versions = {"neutral": "they saw", "man": text, "woman": "she saw"}
    (tmp_path / "g.jsonl").write_text(json.dumps({"id": "1", "axis": "gender", "versions": versions}) + "\n")
    with pytest.raises(FairlabError, match=r"line 1 contains (half a surrogate pair|a NUL character); remove it"):
        read_groups(str(tmp_path / "g.jsonl"))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: fairlab.rewrite(5, to="woman"),
        lambda: fairlab.rewrite([5], to="woman"),
        lambda: fairlab.rewrite({"a": "b"}, to="woman"),
        lambda: fairlab.rewrite("He left.", to="woman", settings=5),
        lambda: fairlab.augment(5, "cda"),
        lambda: fairlab.augment({"a": "b"}, "cda"),
        lambda: fairlab.augment(b"x", "cda"),
        lambda: fairlab.augment(["He left."], "cda", settings=[5]),
        lambda: fairlab.runs(5),
        lambda: fairlab.runs(None),
        lambda: fairlab.evaluate("tiny", "cced", settings=5),
        lambda: fairlab.evaluate("tiny", "cced", settings={5: 5}),
    ],
)
def test_a_wrong_type_in_python_is_one_sentence(attempt):
    with pytest.raises(FairlabError) as caught:
        attempt()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_hidden_layers", 10**7),
        ("num_hidden_layers", 10**12),
        ("hidden_size", 10**12),
        ("vocab_size", 10**15),
        ("num_labels", 10**9),
        ("max_position_embeddings", 10**9),
    ],
)
def test_a_model_that_declares_more_than_its_weights_hold_is_refused(tmp_path, tiny_folders, key, value):
    shutil.copytree(tiny_folders["bert"], tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(FairlabError, match=f"declares {key}={value}"):
        fairlab.load(tmp_path / "model")


def test_a_setting_that_could_not_be_written_again_is_refused(tmp_path, tiny_folders):
    shutil.copytree(tiny_folders["bert"], tmp_path / "model")
    file = tmp_path / "model" / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"do_basic_tokenize": "a\ud800"}))
    with pytest.raises(FairlabError, match=r"tokenizer_config.json contains half a surrogate pair"):
        fairlab.load(tmp_path / "model")


@pytest.mark.parametrize(("key", "value"), [("return_dict", False), ("chunk_size_feed_forward", 3)])
def test_a_model_that_gives_other_outputs_is_refused(tmp_path, tiny_folders, key, value):
    shutil.copytree(tiny_folders["bert"], tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(FairlabError, match=f"config.json sets {key}, with which embeddings cannot be read"):
        fairlab.load(tmp_path / "model")


def test_notes_of_a_foreign_run_end_in_data(run):
    record = Record.load(run)
    record.notes.append(Note("cced", "<script>alert(1)</script>\x1b[2J"))
    record.save()
    assert "<script>alert(1)" not in view_page(browse([run.parent]), served=False)
    assert Path(run / "record.json").is_file()


def saved_set(folder):
    datasets.Dataset.from_dict({"text": ["She left."]}).save_to_disk(folder)
    return json.loads((folder / "state.json").read_text())


@pytest.mark.parametrize("name", ["../outside/secret", "/etc/passwd", 5, None])
def test_a_saved_data_set_names_no_file_elsewhere(tmp_path, name):
    state = saved_set(tmp_path / "saved")
    state["_data_files"][0]["filename"] = name
    (tmp_path / "saved" / "state.json").write_text(json.dumps(state))
    with pytest.raises(FairlabError, match=r"state\.json"):
        list(dataset_rows(str(tmp_path / "saved")))


@pytest.mark.parametrize("name", ["data-00000-of-00001.arrow", "dataset_info.json", "more"])
def test_a_saved_data_set_has_no_link_out_of_it(tmp_path, secret, name):
    saved_set(tmp_path / "saved")
    (tmp_path / "saved" / name).unlink(missing_ok=True)
    (tmp_path / "saved" / name).symlink_to(secret)
    with pytest.raises(FairlabError, match="is a link out of the folder"):
        list(dataset_rows(str(tmp_path / "saved")))


def test_a_folder_of_texts_has_no_link_out_of_it(tmp_path, secret):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").symlink_to(secret)
    with pytest.raises(FairlabError, match="is a link out of the folder"):
        list(dataset_rows(str(tmp_path / "texts")))


def test_a_folder_of_a_task_has_no_link_out_of_it(tmp_path, secret):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "dev.tsv").symlink_to(secret)
    with pytest.raises(FairlabError, match="is a link out of the folder"):
        read_task("rte", "dev", str(tmp_path / "task"))


def test_a_folder_of_adapters_has_no_link_out_of_it(tmp_path, secret):
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "adapter_config.json").symlink_to(secret)
    with pytest.raises(FairlabError, match="is a link out of the folder"):
        fairlab.load(tmp_path / "adapters", base="minilm")


@pytest.mark.parametrize(("name", "refused"), [("a/b", False), ("../../x", True), ("a\ud800", True), ("\0", True)])
def test_a_benchmark_of_any_name_names_no_file_elsewhere(tmp_path, name, refused):
    if not refused:
        assert draws_file(tmp_path, "", name).is_relative_to(tmp_path / "items")
        return
    with pytest.raises(FairlabError, match="which is not a file inside"):
        draws_file(tmp_path, "", name)


def test_half_a_surrogate_pair_in_a_label_stops_no_page(run):
    content = json.loads((run / "record.json").read_text())
    content["readings"][0]["subset"] = "a\ud800b"
    (run / "record.json").write_text(json.dumps(content))
    write_whole(run.parent / "view.html", view_page(browse([run.parent]), served=False))
    assert "ud800b" in (run.parent / "view.html").read_text()


def test_a_label_of_any_length_is_searched_for_keys_in_linear_time():
    text = "x" * 200_000
    started = time.process_time()
    assert without_secrets(text) == text
    assert time.process_time() - started < 1
