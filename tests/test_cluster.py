"""The simulated cluster: every row of every paper has a command, and what became of a run is read from its record."""

import json
import urllib.request
from pathlib import Path

import pytest
import yaml

from experiments.cluster import answers, data, matrices, simulate, tables
from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import read_matrix

NO_ROW = {"no row of the paper", "no column of the paper", "the paper has no groups written out"}


@pytest.mark.parametrize("paper", matrices.PAPERS)
def test_every_row_of_a_paper_has_a_command_at_paper_scale(paper, tmp_path):
    file = tmp_path / paper / "matrix.yaml"
    matrices.write_matrix(paper, file, "http://127.0.0.1:1/v1")
    matrix = read_matrix(file, "paper")
    rows = [row for table in matrix.tables.values() if table.published for row in table.rows]
    asked = {row.of(column) for table in matrix.tables.values() for row in table.rows for column in table.columns}
    assert rows
    lacking = {run: matrix.unavailable[run] for run in asked if run in matrix.unavailable}
    assert set(lacking.values()) <= NO_ROW
    for overrides in matrix.made.values():
        assert ("llm.base_url=http://127.0.0.1:1/v1" in overrides) == any(one.startswith("llm=") for one in overrides)


def test_the_matrix_of_a_paper_is_left_as_it_is(tmp_path):
    file = matrices.ROOT / "experiments/ccd/matrix.yaml"
    before = file.read_text(encoding="utf-8")
    matrices.write_matrix("ccd", tmp_path / "matrix.yaml", "http://127.0.0.1:1/v1")
    assert file.read_text(encoding="utf-8") == before
    runs = yaml.safe_load((tmp_path / "matrix.yaml").read_text(encoding="utf-8"))["runs"]
    assert runs["ccd_cda"]["paper"][-1] == matrices.FEW_HELD_OUT
    assert {"data.test=4", matrices.FEW_HELD_OUT} <= set(runs["ccd_gemini"]["paper"])
    assert runs["cced_dpce"]["paper"][-1] == "benchmark.cced.test=4"


def test_a_run_that_is_no_row_of_a_paper_is_not_run(tmp_path):
    matrices.write_matrix("biasers", tmp_path / "matrix.yaml", "http://127.0.0.1:1/v1")
    assert list(read_matrix(tmp_path / "matrix.yaml", "paper").runs) == [
        *("llm_a", "llm_b", "llm_c", "llm_d", "data_bias"),
    ]


def test_fairberta_is_finetuned_from_the_run_that_pretrains_it():
    runs = {"roberta_orig_rte": {"paper": ["task=rte"]}, "fairberta_orig_rte": {"paper": "no weights"}}
    assert matrices.stand_in("perturbation", "fairberta_orig_rte", runs) == [
        "task=rte",
        "backbone.name=runs/fairberta/model",
    ]
    assert matrices.stand_in("perturbation", "roberta_orig_rte", runs) is None


def asked(address, content, schema):
    body = {"messages": [{"role": "user", "content": content}]}
    body["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as reply:
        return json.loads(json.load(reply)["choices"][0]["message"]["content"])


def test_the_server_answers_in_the_form_that_is_asked_for():
    group = {"properties": {key: {} for key in ("neutral", "man", "woman", "confidence")}}
    label = {"properties": {"label": {"enum": ["SUPPORTS", "REFUTES"]}}}
    text = "He fed his cat."
    wrong = next(f"{text}{'!' * k}" for k in range(7) if sum(f"{text}{'!' * k}".encode()) % answers.WRONG == 0)
    with answers.server() as address:
        said = asked(address, f"{wrong}.", group)
        assert said["woman"] == f"She fed her cat.{wrong[len(text) :]}."
        assert asked(address, wrong, group)["woman"] == wrong, "one text in seven is left as it is"
        assert asked(address, text, label) == {"label": "SUPPORTS"}
        assert asked(address, '{"text": "A cat."}', {"properties": {"text": {}}}) == {"text": "In other words, A cat."}


def test_a_data_set_of_the_hub_is_found_in_its_cache(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    rows = [{"claim": "a", "label": "SUPPORTS"}, {"claim": "b", "label": "REFUTES"}]
    data.keep(tmp_path, "some/claims", "default", {"train": rows, "test": rows[:1]}, None)
    assert list(datasets.load_dataset("some/claims", "default", split="train")) == rows
    assert list(datasets.load_dataset("some/claims", "default", split="test")) == rows[:1]


def test_what_became_of_runs(tmp_path, monkeypatch):
    place = tmp_path / "outputs/reproduce/trials/paper"
    matrices.write_matrix("trials", tmp_path / "experiments/trials/matrix.yaml", "")
    stages = {"loading": {"seconds": 1.5}, "training": {"seconds": 2.0}}
    for name, status, reason in (("whole", "finished", ""), ("parts", "failed", "out of paper")):
        folder = place / "runs" / name / "seed_42"
        folder.mkdir(parents=True)
        record = Record(folder, {}, "", status=status, reason=reason, provenance={"stages": stages})
        record.history = [{"step": 1, "train/loss": 4.0 if name == "whole" else 5.0}]
        record.save()
    found = simulate.outcomes("trials", tmp_path, "ray", {"divided seed 42": "killed by SIGKILL"})
    assert [(one.run, one.stage, one.seconds, one.why) for one in found] == [
        ("data cda", "not begun", 0.0, ""),
        ("whole", "finished", 3.5, ""),
        ("parts", "training", 3.5, "out of paper"),
        ("divided", "start", 0.0, "killed by SIGKILL"),
        ("stopped", "not begun", 0.0, ""),
    ]
    file = tmp_path / "record.json"
    file.write_text(json.dumps({"outcomes": [simulate.asdict(one) for one in found]}))
    monkeypatch.setattr(tables, "RECORD", file)
    assert "| ray | trials | 0 of 1 | 1 of 4 |" in tables.summary()
    assert "| whole | 1 | 4.00000 | 4.00000 | |" in " ".join(tables.trials().split())
    assert tables.apart([5.0, 4.0], [5.0, 5.0]) == "0.2"
    assert tables.apart([4.0], [5.0]) == "", "another first step is another run"
    assert "out of paper" in tables.outcomes()


def test_a_pass_keeps_what_became_of_other_papers_and_of_the_same_by_another_launcher():
    def outcome(launcher, paper, run):
        return simulate.Outcome(launcher, paper, run, "finished", 1.0, "", [])

    committed = [outcome("submitit_local", "ccd", "old"), outcome("submitit_local", "razor", "old")]
    found = [outcome("ray", "ccd", "new"), outcome("submitit_local", "razor", "new")]
    written = simulate.beside([*map(simulate.asdict, committed)], found)
    assert [(one["launcher"], one["paper"], one["run"]) for one in written] == [
        ("submitit_local", "ccd", "old"),
        ("submitit_local", "razor", "new"),
        ("ray", "ccd", "new"),
    ]


def test_sentences_of_every_kind_are_enough_for_adept():
    sentences = data.news()
    assert len(sentences) == 3 * data.ENOUGH
    assert min(sum(word in one.split() for one in sentences) for word in ("he", "she", "assistant")) >= 30
    assert Path(matrices.__file__).with_name("trials.yaml").is_file()
