"""fairlab.augment with perturbation, end to end: manifest, replay, resuming, fields, fairtuning."""

import csv
import json
import shutil

import pytest

from experiments.shared.filled_sheets import label_agreement, read_sheet, tag_rates
from fairlab.augmentation.perturbation import Perturbation
from fairlab.data.published.task_files import read_task
from fairlab.data.stream.choices import perturb_examples, read_perturbed
from fairlab.data.stream.manifest import Manifest
from fairlab.record import Record
from fairlab.reporting.reading_sheet import JUDGED, SHEET, TAGS
from fairlab.run.augmenting.perturbing import changed_shares
from fairlab.types import FairlabError
from tests.end_to_end.augmenting import TEXTS, augment_here, content, rows, write_texts
from tests.end_to_end.conftest import tiny_backbone
from tests.end_to_end.test_glue import HEADER

PERTURB = ["+augmentation=perturbation", "input=texts.jsonl", "rewriter=rules", "rewriter.mode=lexical"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "texts.jsonl")


@pytest.mark.slow
def test_rows_that_cannot_be_read_do_not_count_as_unchanged():
    counts = {"perturbed": 3, "perturbed/gender": 3, "rows that cannot be read": 4}
    manifest = Manifest("0", {}, {"axis": "gender"}, read=10, counts=counts)
    assert [(one.value, one.n) for one in changed_shares(manifest, seed=0)] == [(50.0, 6), (50.0, 6)]


def test_every_row_is_there_perturbed_or_as_it_was(tmp_path, capsys):
    assert augment_here(*PERTURB, "output=out", "shard_rows=3") == 0
    made = rows(tmp_path / "out")
    assert [row["id"] for row in made] == [f"r{k}" for k in range(len(TEXTS))]
    changed = [row for row in made if row["perturbed"]]
    assert {row["id"] for row in changed} == {"r0", "r2", "r3", "r4", "r5", "r7"}
    assert all(row["text"] != row["source_text"] == TEXTS[int(row["id"][1:])] for row in changed)
    assert [row["text"] for row in made if not row["perturbed"]] == [TEXTS[1], TEXTS[6]]
    choices = [json.loads(line) for line in (tmp_path / "out" / "choices.jsonl").read_text().splitlines()]
    assert [choice["number"] for choice in choices] == [1, 3, 4, 5, 6, 8]
    assert not {"text", "source_text"} & set(choices[0])  # shared without the texts
    assert Record.load(tmp_path / "out").metrics()["perturbation/all/perturbed"] == 75.0
    report = (tmp_path / "out" / "report.html").read_text()
    assert '<td>gender</td><td class="number">75.0<small>[' in report
    assert "<del>" in report
    assert "6 perturbed" in capsys.readouterr().out


@pytest.mark.slow
def test_the_same_manifest_gives_the_same_texts_however_it_is_run(tmp_path):
    assert augment_here(*PERTURB, "output=one", "shard_rows=2") == 0
    assert augment_here(*PERTURB, "output=two", "shard_rows=2", "num_proc=2") == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")
    replay = [f"augmentation.choices={tmp_path}/one/choices.jsonl", "augmentation.sampling=inverse_frequency", "seed=0"]
    assert augment_here(*PERTURB, *replay, "output=three") == 0
    assert rows(tmp_path / "three") == rows(tmp_path / "one")
    other = [f"augmentation.choices={tmp_path}/one/choices.jsonl", "input=other.jsonl"]
    write_texts(tmp_path / "other.jsonl", TEXTS[::-1])
    assert augment_here(*PERTURB, *other, "output=four") == 1


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_output(tmp_path):
    assert augment_here(*PERTURB, "output=whole", "shard_rows=2") == 0
    assert augment_here(*PERTURB, "output=cut", "shard_rows=2") == 0
    cut = tmp_path / "cut"
    for name in ("manifest.json", "choices.jsonl", "shards/00002.json", "choices/shards/00001.json"):
        (cut / name).unlink()
    (cut / "data-00002.jsonl").write_text("half a li")
    assert augment_here(*PERTURB, "output=cut", "shard_rows=2") == 0
    assert content(cut) == content(tmp_path / "whole")


@pytest.mark.slow
def test_choosing_alone(tmp_path):
    choose = [*PERTURB[:2], "rewriter=none", "augmentation.mode=lexical"]
    assert augment_here(*choose, "output=out") == 0
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert augment_here(*PERTURB, "output=both") == 0
    assert (tmp_path / "out" / "choices.jsonl").read_bytes() == (tmp_path / "both" / "choices.jsonl").read_bytes()
    assert Record.load(tmp_path / "out").status == "finished"


@pytest.mark.slow
def test_several_fields_come_back_under_their_names(tmp_path):
    (tmp_path / "p.csv").write_text("a,b,label\nThe queen left.,The queen is gone.,1\nIt rained.,It is wet.,0\n")
    assert augment_here(*PERTURB, "input=p.csv", "field=[a,b]", "output=out", "augmentation.axes=[gender]") == 0
    first, second = rows(tmp_path / "out")
    assert (first["a"], first["b"], first["label"]) in (
        ("The king left.", "The king is gone.", "1"),
        ("The monarch left.", "The monarch is gone.", "1"),
    )
    assert (second["a"], second["b"], second["perturbed"]) == ("It rained.", "It is wet.", False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["axis=race"], "takes its axes from augmentation.axes"),
        (["augmentation.axes=[gender,gender]"], "each once"),
        (["augmentation.choices=none.jsonl"], "none.jsonl is not a file"),
        (["input=task:cola2"], "there is no task 'cola2'"),
        (["input=task:cola:test"], "task:cola:test does not name a split of cola; the splits are: train, dev"),
        (["rewriter=llm"], "rewriter=llm needs a language model"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_sentence(capsys, arguments, message):
    given = PERTURB[:2] if arguments == ["rewriter=llm"] else PERTURB
    assert augment_here(*given, "output=out", *arguments) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line


def test_perturbable_texts_are_kept_with_their_score(tmp_path):
    assert augment_here("+augmentation=perturbable", "input=texts.jsonl", "output=out") == 0
    made = {row["id"]: row["perturbability"] for row in rows(tmp_path / "out")}
    assert made["r0"] == round(2 / 7, 6)  # She and her of seven words
    assert {"r1", "r6"} & set(made) == set()


@pytest.mark.slow
def test_the_reading_sheet_is_written_once_and_read_back(tmp_path):
    assert augment_here(*PERTURB, "output=out") == 0
    sheet = tmp_path / "out" / SHEET
    filled = list(csv.DictReader(sheet.open()))
    assert len(filled) == 6
    for k, row in enumerate(filled):
        row |= {"label": "1", JUDGED: "1" if k else "0", TAGS[0]: "x" if k < 2 else ""}
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, filled[0].keys())
        writer.writeheader()
        writer.writerows(filled)
    kept = sheet.read_bytes()
    assert augment_here(*PERTURB, "output=out") == 0
    assert sheet.read_bytes() == kept  # a person's work is never overwritten
    former = sheet.rename(sheet.with_name("audit.csv"))
    assert augment_here(*PERTURB, "output=out") == 0
    assert not sheet.exists()
    former.rename(sheet)
    first = read_sheet(sheet)
    assert label_agreement(first)[:2] == (5, 6)
    second = [row | {TAGS[0]: "", TAGS[1]: "x"} for row in first]
    rates = tag_rates(first, second)
    assert rates[TAGS[0]] == (2 / 6, 4 / 6)
    assert rates[TAGS[1]] == (1.0, 0.0)
    assert rates[TAGS[2]] == (0.0, 1.0)
    with pytest.raises(FairlabError, match="same rows in the same order"):
        tag_rates(first, second[::-1])
    sheet.write_text(sheet.read_text().replace(",x,", ",perhaps,"))
    with pytest.raises(FairlabError, match="has 'perhaps' under"):
        read_sheet(sheet)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_a_validation_set_and_its_manifest_are_regenerated_to_the_byte(tmp_path):
    command = ["+augmentation=fairtuning", "input=task:rte:dev"]
    assert augment_here(*command, "output=one", "shard_rows=50") == 0
    assert augment_here(*command, "output=two", "shard_rows=50") == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")
    examples = read_task("rte", "dev")
    here = perturb_examples(examples, Perturbation(axes=["gender", "race", "age"], sampling="inverse_frequency"))
    read = read_perturbed(tmp_path / "one", examples, ["sentence1", "sentence2"])
    assert (read.examples, read.axes) == (here.examples, here.axes)  # what a run's fairscore is over
    shutil.copy(tmp_path / "one" / "data-00000.jsonl", tmp_path / "one" / "data-00001.jsonl")
    with pytest.raises(FairlabError, match=r"has changed since fairlab\.augment wrote it"):
        read_perturbed(tmp_path / "one", examples, ["sentence1", "sentence2"])
    with pytest.raises(FairlabError, match="is not a perturbation of these 5 examples"):
        read_perturbed(tmp_path / "two", examples[:5], ["sentence1", "sentence2"])


@pytest.fixture
def rte(tmp_path, tiny_folders):
    """Overrides of a run that takes a moment, on pairs of which half hold a person."""
    lines = [
        f"{k}\tthe {'king' if k % 3 else 'boat'} of number {k}\ta {'good' if k % 2 else 'bad'} king\t"
        f"{'entailment' if k % 2 else 'not_entailment'}\n"
        for k in range(60)
    ]
    folder = tmp_path / "rte"
    folder.mkdir()
    (folder / "train.tsv").write_text(HEADER + "".join(lines))
    (folder / "dev.tsv").write_text(HEADER + "".join(lines[:20]))
    few = ["data.batch_size=8", "data.validation=0.3", "method.epochs=1", "method.validate_every=4"]
    return ["+experiment=fairtune_glue", *tiny_backbone(tiny_folders["bert"]), "task=rte", f"data.path={folder}", *few]


@pytest.mark.slow
def test_fairtuned_and_finetuned_runs_give_accuracy_and_fairscore(run, rte, tmp_path):
    fair = run(*rte, "hydra.run.dir=fair")
    assert fair.returncode == 0, fair.stderr
    original = run(*rte, "augmentation=none", "hydra.run.dir=original")
    assert original.returncode == 0, original.stderr
    records = [Record.load(tmp_path / name) for name in ("fair", "original")]
    for record in records:
        found = {reading.key: reading for reading in record.readings}
        assert "after/rte/dev/accuracy" in found
        assert found["after/rte_fairscore/dev/fairscore"].n == 20
        assert found["after/rte_fairscore/dev_gender/perturbed"].value == 100
    trained = records[0].provenance["data"]
    assert trained["perturbed"]["chosen"] == trained["train_examples"] > 0
    assert "perturbed" not in records[1].provenance["data"]


def test_a_task_of_scores_has_no_fairscore(run, rte):
    done = run(*rte, "task=stsb")
    assert done.returncode == 1
    assert "the fairscore counts changed labels, but stsb has scores (regression)" in done.stderr
