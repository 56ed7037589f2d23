"""An axis of one's own, by the files of its page: augmented, split, trained on and measured by one command."""

import json
from pathlib import Path

import pytest

import fairlab
from fairlab.data.groups import read_groups
from fairlab.record import SAYS_NOTHING, Record
from tests.end_to_end.conftest import only_run, tiny_backbone

FILES = Path(__file__).parents[2] / "docs" / "own_axis"
LEXICON, TESTS = str(FILES / "disability.yaml"), str(FILES / "disability_seat.yaml")
ATTRIBUTES = ("blind", "deaf", "paraplegic")
MARKS = ["trained on equal groups", SAYS_NOTHING]  # the page's texts say each sentence of several attributes
PAIRS = [("blind", "deaf"), ("blind", "paraplegic"), ("deaf", "paraplegic")]


@pytest.fixture
def texts(tmp_path):
    lines = (FILES / "disability.txt").read_text("utf-8").splitlines()[:60]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_one_command_makes_splits_trains_and_measures(run, tiny_folders, texts, tmp_path):
    done = run(
        "+experiment=ccd_bert",
        *tiny_backbone(tiny_folders["bert_mlm"]),
        "augmentation=counterfactual_groups",
        f"axis={LEXICON}",
        f"data.input={texts}",
        "data.test=0.2",
        "data.validation=8",
        "benchmark=[cced,seat,likelihood_pairs]",
        "benchmark.cced.sets=[embedded]",
        f"benchmark.seat.tests=[{TESTS}]",
        "limit=10",
    )
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path))
    facts = record.provenance["data"]
    assert facts["test_groups"] >= 12
    assert facts["train_groups"] + facts["validation_groups"] + facts["test_groups"] == 60
    found = {(one.benchmark, one.subset, one.quantity): one for one in record.readings if one.phase == "after"}
    of_cced = [found["cced", "held_out_disability", f"distance_{name}"] for name in ATTRIBUTES]
    assert all(one.n == 10 and record.marks(one) == MARKS for one in of_cced)
    assert ("cced", "held_out_disability", "gap_all_pairs") in found
    for one, other in PAIRS:
        assert ("likelihood_pairs", "held_out_disability", f"likelier_{one}_than_{other}") in found
        assert ("seat", f"disability_seat_pleasant_{one}_vs_{other}", "effect_size") in found
    assert ("seat", "disability_seat_able", "effect_size") in found
    assert record.marks(found["cced", "embedded", "gap"]) == [MARKS[0], "another axis", MARKS[1]]
    polarity = {one.quantity: one.value for one in record.readings if one.benchmark == "polarity"}
    assert polarity == dict.fromkeys(
        ["union_accuracy", "accuracy_neutral", *(f"accuracy_{name}" for name in ATTRIBUTES)], 100.0
    )
    assert not record.not_run
    (made,) = (tmp_path / "outputs" / "augmented").iterdir()
    neutral = {one.versions["neutral"] for one in read_groups(str(made))}
    assert "The teacher read the letter to the class." in neutral  # not "the disabled teacher"
    assert "My teacher is disabled and works from home." in neutral
    page = (only_run(tmp_path) / "report.html").read_text("utf-8")
    assert "held out disability" in page
    assert all(f"distance of &#39;{name}&#39;" in page or f"distance of '{name}'" in page for name in ATTRIBUTES)


@pytest.mark.slow
@pytest.mark.long
def test_nothing_that_is_measured_was_trained_on(tiny_folders, texts):
    made = fairlab.augment(texts, "counterfactual_groups", axis=LEXICON)
    assert made[0]["axis"] == "disability"
    assert set(made[0]["versions"]) == {"neutral", *ATTRIBUTES}
    settings = {"data.test": 0.2, "benchmark.cced.sets": ["embedded"], "trainer.accelerator": "cpu"}
    model = fairlab.load(tiny_folders["bert"], max_length=32)
    done = fairlab.debias(model, made, axis=LEXICON, benchmarks="cced", settings=settings)
    assert done.results["after/cced/held_out_disability/gap_all_pairs"] > 0
    assert done.results["data/polarity/train/union_accuracy"] == 100.0
    notes = [note for note in done.record.notes if "were trained on" in note.text]
    assert not [note for note in notes if note.subset == "held_out_disability"]
    results = fairlab.evaluate(done.model, ["seat"], settings={"benchmark.seat.tests": [TESTS]})
    names = [f"disability_seat_pleasant_{one}_vs_{other}" for one, other in PAIRS]
    assert {one.subset for one in results.record.readings} == {*names, "disability_seat_able", "average"}
    assert json.loads(json.dumps(results.record.config))["benchmark"]["seat"]["tests"] == [TESTS]
