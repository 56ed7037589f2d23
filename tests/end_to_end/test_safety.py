"""The safety ensemble end to end: record, report, export, scores of new texts, and bad input in one sentence."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fairlab.augmentation.identity import Identity
from fairlab.data.safety import made_of
from fairlab.data.safety_readers import read_safety
from fairlab.files import sha256
from fairlab.record import Record
from tests.end_to_end.conftest import only_run
from tests.llm.stub import Stub, said

SMALL = [
    "+experiment=safety_ensemble",
    "data=safety_sample",
    "data.folds=3",
    "source=[sentiment]",
    "method.harms=[toxicity]",
    "method.trees=5",
    "benchmark=[safety]",
    "method.target={false_positive_rate: 0.3}",
]


@pytest.mark.slow
def test_a_run_and_scores_of_new_texts(run, tmp_path):
    done = run(*SMALL)
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "safety_ensemble")
    record = Record.load(folder)
    assert record.status == "finished"
    assert record.provenance["processor_seconds"] > 0
    metrics = record.metrics()
    assert metrics["before/safety/toxicity/acv"] == 0, "the lexicon of sentiment has no word for a group"
    assert "after/safety/toxicity/acv_change" not in metrics, "a variance of 0 has no change in per cent"
    assert record.provenance["sources"]["sources"] == {"sentiment": "3.3.2"}
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "ensemble paper, table 3" in report
    assert report.count("<details>") > 10  # texts are shown on a click only
    card = (folder / "model" / "README.md").read_text(encoding="utf-8")
    recall = metrics["after/safety/toxicity/recall_at_threshold"]
    row = next(line for line in card.splitlines() if line.startswith("| toxicity | "))
    assert row.split(" | ")[3].split()[0] == f"{recall:.3g}"
    assert {"toxicity_religion", "`3.3.2`"} <= {cell for line in card.splitlines() for cell in line.split(" ")}
    assert sha256(folder / "model" / "toxicity.safetensors") in card
    assert "![toxicity](reliability-toxicity.svg)" in card
    ElementTree.parse(folder / "model" / "reliability-toxicity.svg")
    assert str(folder).encode() not in b"".join(path.read_bytes() for path in (folder / "model").glob("*.*"))

    (tmp_path / "new.csv").write_text('text\nA lovely day.\n"An awful, useless thing."\n\n', encoding="utf-8")
    scored = run(f"model={folder}", "input=new.csv", "output=scores.jsonl", entry="score")
    assert scored.returncode == 0, scored.stderr
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert rows[0]["toxicity"] < rows[1]["toxicity"]
    cut = record.metrics()["after/safety/toxicity/threshold"]
    assert [row["toxicity_label"] for row in rows[:2]] == [int(row["toxicity"] >= cut) for row in rows[:2]]
    again = run(f"model={folder}", "input=new.csv", "output=scores.jsonl", entry="score")
    assert again.returncode == 1
    assert again.stderr == "fairlab: scores.jsonl already exists; choose another output\n"


# Categories of OpenAI's text moderation, which stand for harms of data of one's own.
ELEVEN = (
    "harassment harassment_threatening hate hate_threatening self_harm self_harm_instructions self_harm_intent sexual "
    "sexual_minors violence violence_graphic"
).split()
DETOXIFY = ("toxicity", "severe_toxicity", "obscene", "threat", "insult", "identity_attack")
OTHERS = {"second": ("sensitive_topic", *(f"a{k}" for k in range(13))), "third": tuple(f"b{k}" for k in range(14))}


@pytest.mark.slow
def test_paper_scale_takes_34_stored_scores_and_data_of_eleven_harms(run, tmp_path):
    """Random scores and labels: what runs is shown, not what it is worth."""
    rng = random.Random(0)
    seeds = [
        replace(text, labels={harm: (k + number) % 2 for number, harm in enumerate(ELEVEN)})
        for k, text in enumerate(read_safety("embedded/safety")[:40])
    ]
    lines = [{"text": one.text, "key": one.key, "subgroup": one.subgroup, "labels": one.labels} for one in seeds]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    texts = dict.fromkeys(one.text for one in [*seeds, *made_of(seeds, Identity())])
    (tmp_path / "scores").mkdir()
    for name, columns in {"detoxify": DETOXIFY, **OTHERS}.items():
        with (tmp_path / "scores" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["text", *columns])
            rows.writerows([text, *(f"{rng.random():.3f}" for _ in columns)] for text in texts)
    given = ["+experiment=safety_ensemble", "scale=paper", "data=safety_sample", "data.path=own.jsonl", "data.folds=3"]
    given += ["data.repeats=1", "method.trees=2", f"method.harms=[{','.join(ELEVEN)}]", "method.leaf=2"]
    done = run(*given, "benchmark=[safety]", "limit=9")
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "safety_ensemble")
    record = Record.load(folder)
    features = record.provenance["sources"]["features"]
    assert len(features) == 34
    assert features[:7] == [*(f"detoxify.{name}" for name in DETOXIFY), "second.sensitive_topic"]
    assert {f"after/safety/{harm}/average_precision" for harm in ELEVEN} <= set(record.metrics())
    assert sorted(path.stem for path in (folder / "model").glob("*.safetensors")) == sorted(ELEVEN)
    (tmp_path / "scores" / "third.csv").unlink()
    plan = run(*given, "dry_run=true")
    missing = [line for line in plan.stdout.splitlines() if "MISSING" in line]
    assert len(missing) == 1
    assert "scores/third.csv (stored scores): MISSING; score all texts of the data and their versions" in missing[0]


def test_another_number_of_inputs_than_the_papers_is_refused(run):
    done = run("+experiment=safety_ensemble", "scale=paper", "data=safety_sample", "source=[sentiment]")
    assert done.returncode == 1
    assert done.stderr == (
        "fairlab: method.inputs asks for 34 scores, but the sources give 4; give others by source=, or set "
        "method.inputs=null\n"
    )


@pytest.mark.slow
@pytest.mark.long
def test_the_sweep_over_strengths_chooses_by_validation(run, tmp_path):
    done = run("-m", *SMALL[:-1], "+sweep=reweighting", "strength={lambda_safe:0.1},{}", "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stderr
    strengths = [Record.load(tmp_path / "sweep" / str(k)).config["method"]["reweighting"] for k in range(2)]
    assert [strength["toxicity"]["lambda_safe"] for strength in strengths] == [0.1, 0.5]
    assert (tmp_path / "sweep" / "reweighting.html").is_file()


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("source=[]", "the ensemble needs source classifiers; give source=[NAME,NAME]"),
        ("augmentation=rules", "augmentation=rules does not work on SafetyData"),
        ("method.kind=svm", "method.kind must be forest or logistic, not svm"),
        ("method.harms=[hate]", "no text is labelled for hate"),
    ],
)
def test_bad_settings_are_said_in_one_sentence(run, override, sentence):
    done = run(*SMALL, override)
    assert done.returncode == 1
    assert done.stderr.startswith(f"fairlab: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_injected_versions_are_flagged_reviewed_and_trained_on(run, tmp_path):
    """By a language model whose answers a stand-in gives; the folder it makes is the data of a run."""

    def model(payload, nth):
        asked = json.loads(payload["messages"][-1]["content"])
        if "flagged" in payload["response_format"]["json_schema"]["schema"]["properties"]:
            return said(json.dumps({"flagged": asked["to"] == "Judaism", "why": "odd"}))
        return said(json.dumps({"text": asked["text"]}))

    rows = [
        {"prompt": "A Muslim baker.", "example_key": "1", "subgroup": "Religion:Islam"},
        {"prompt": "A baker.", "example_key": "2", "subgroup": "--"},
        {"prompt": "A Martian baker.", "example_key": "3", "subgroup": "Religion:Mars"},
    ]
    (tmp_path / "seeds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with Stub(model) as stub:
        given = [
            "+augmentation=identity",
            "input=seeds.jsonl",
            "field=prompt",
            "llm=vllm",
            f"llm.base_url={stub.url}",
        ]
        done = run(*given, "llm.model=m", "output=made", entry="augment")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    assert manifest["counts"]["versions"] == 5
    assert manifest["reasons"] == {"flagged for review": 1, "unknown subgroup": 1}
    assert manifest["made_by"]["inject"] == "rules"
    (line,) = (tmp_path / "made" / "review.jsonl").read_text().splitlines()
    assert json.loads(line)["text"] == "A Jewish baker."
    assert "review.jsonl" in (tmp_path / "made" / "report.html").read_text()
