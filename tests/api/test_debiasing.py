"""fairlab.rewrite, augment and debias on tiny models, as the README's lines put them together."""

import json

import pytest
from datasets import Dataset

import fairlab
from fairlab.record import Record
from fairlab.rewriting.english.syntax import Syntax
from fairlab.text.pipeline import MODELS, _load
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows

TEXTS = ["He is a nurse.", "The rain fell all day.", "She saw her brother.", "A policeman asked for bread."]


def test_texts_are_turned():
    assert fairlab.rewrite("The chairman left.", to="woman") == "The chairwoman left."
    assert fairlab.rewrite(["He is a nurse.", "She left."], axis="gender", to="neutral") == [
        "They are a nurse.",
        "They left.",
    ]
    assert fairlab.rewrite("She left.", to="man", rewriter="word_swap") == "He left."


def test_texts_are_parsed_by_the_chosen_pipeline():
    with pytest.raises(FairlabError, match="the spaCy pipeline 'en_nowhere' is neither"):
        fairlab.rewrite("She left.", to="man", settings={"spacy": "en_nowhere"})


@pytest.mark.slow
def test_without_a_model_of_spacy_texts_are_rewritten_by_words_with_a_warning(monkeypatch):
    monkeypatch.setattr("fairlab.text.pipeline.MODELS", ("en_nowhere",))
    _load.cache_clear()
    try:
        with pytest.warns(UserWarning, match=r"rewriter\.mode=lexical.*pip install 'fairlab\[offline\]'"):
            assert fairlab.rewrite("The chairman left.", to="woman") == "The chairwoman left."
        with pytest.raises(FairlabError, match="mode=lexical does not need"):
            fairlab.rewrite("She left.", to="man", settings={"rewriter.mode": "syntax"})
    finally:
        _load.cache_clear()
    assert fairlab.rewrite("She left.", to="man") == "He left."


@pytest.mark.slow
def test_groups_are_made_of_texts_and_of_a_data_set(tmp_path):
    groups = fairlab.augment(TEXTS, "counterfactual_groups", axis="gender")
    assert groups["source_text"] == [TEXTS[0], TEXTS[2], TEXTS[3]]  # the rain has no gender
    versions = {"neutral": "They are a nurse.", "man": "He is a nurse.", "woman": "She is a nurse."}
    assert groups[0]["versions"] == versions
    data = Dataset.from_dict({"sentence": TEXTS, "label": [0, 1, 0, 1]})
    chosen = {"spacy": MODELS[0]}
    made = fairlab.augment(data, "counterfactual_groups", field="sentence", output=tmp_path / "made", settings=chosen)
    assert made["label"] == [0, 0, 1]
    assert made["versions"] == groups["versions"]
    assert json.loads((tmp_path / "made" / "manifest.json").read_text())["made_by"]["field"] == "sentence"
    record = Record.load(tmp_path / "made")
    assert record.status == "finished"
    assert record.provenance["spacy"] == record.config["spacy"] == MODELS[0]


@pytest.mark.slow
def test_what_was_left_out_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Syntax, "part", lambda syntax, spans: None)  # words stay joined to signs
    texts = ["He is a nurse.", "The rain fell all day.", "She said that ¬he left."]
    groups = fairlab.augment(texts, "counterfactual_groups", axis="gender", output=tmp_path / "made")
    assert groups["source_text"] == texts[:1]
    said = capsys.readouterr().out
    assert said.startswith(
        "1 row written of 3 read; 1 row without a word of the axis; 1 rejected: rewriter: a word is joined to others"
    )
    (rejected,) = (tmp_path / "made").glob("reject*")
    assert "'he' cannot be separated from what it is joined to" in rejected.read_text(encoding="utf-8")
    fairlab.augment(texts[:1], "counterfactual_groups", axis="gender")
    assert capsys.readouterr().out == ""


def test_how_often_rules_are_wrong_is_told_by_manifest_notes_and_report(tmp_path):
    folder = tmp_path / "made"
    fairlab.augment(["A Muslim baker sang."], "counterfactual_groups", axis="religion", output=folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["made_by"]["rewrites_by_rules"] == {"religion": "30 of 100 wrong"}
    told = "errors of rule-based rewriting on the axis religion: 30 of 100 wrong"
    assert told in [note.text for note in Record.load(folder).notes]
    assert told in (folder / "report.html").read_text(encoding="utf-8")
    fairlab.augment(["A Muslim baker sang."], "cda", axis="religion", output=tmp_path / "swapped")
    assert not any("rule-based" in note.text for note in Record.load(tmp_path / "swapped").notes)  # words were swapped


@pytest.fixture
def small(tmp_path):
    """Settings of a training that takes a moment."""
    path = write_rows(tmp_path / "measured.jsonl", [row(group) for group in make_groups(12)])
    return {"benchmark.cced.sets": [path], "trainer.accelerator": "cpu"}


@pytest.mark.slow
def test_a_model_is_debiased_on_groups_and_stays_as_it_was(tiny, small, tmp_path):
    before = tiny.digest()
    data = [row(group) for group in make_groups(40)]
    run = fairlab.debias(tiny, data, method="ccd", beta=0.5, lr=1e-3, benchmarks="cced", seed=3, settings=small)
    assert tiny.digest() == before
    assert run.record.status == "finished"
    assert (run.record.config["method"]["beta"], run.record.config["seed"]) == (0.5, 3)
    assert run.results.record.phases == ["before", "after"]
    sets = {"benchmark.cced.sets": small["benchmark.cced.sets"]}
    again = fairlab.evaluate(run.model, "cced", settings=sets)
    assert again["cced/measured/gap"] == pytest.approx(run.results["after/cced/measured/gap"], abs=1e-6)
    by_folder = fairlab.evaluate(run.folder, "cced", settings=sets)  # which says what it was trained on
    assert by_folder["cced/measured/gap"] == pytest.approx(again["cced/measured/gap"], abs=1e-6)
    assert [note for note in by_folder.record.notes if "were also trained on" in note.text]
    start = fairlab.evaluate(tiny, "cced", settings=sets)
    assert start["cced/measured/gap"] == pytest.approx(run.results["before/cced/measured/gap"], abs=1e-6)
    (found,) = [c for c in fairlab.compare(start, run).comparisons if c.quantity == "gap"]
    (own,) = [c for c in run.results.comparisons if c.quantity == "gap"]
    assert (found.difference, found.p) == pytest.approx((own.difference, own.p), abs=1e-6)
    run.save(tmp_path / "outputs" / "first")
    assert fairlab.runs(tmp_path / "outputs")[0].metrics() == run.record.metrics()
    assert fairlab.load(tmp_path / "outputs" / "first").digest() == run.model.digest()


def test_a_method_without_steps_takes_groups_as_objects(tiny, small, tmp_path):
    run = fairlab.debias(
        tiny,
        make_groups(40),
        method="sentence_debias",
        benchmarks=["cced"],
        limit=6,
        output=tmp_path / "run",
        settings=small,
    )
    assert run.folder == tmp_path / "run"
    assert {reading.n for reading in run.results.readings if reading.benchmark == "cced"} == {6}
    assert any(note.text.startswith("limit=6") for note in run.results.notes)
    assert (tmp_path / "run" / "report.html").is_file()


CASES = {
    "no benchmark": ({"benchmarks": []}, "benchmarks is an empty list"),
    "an unknown method": (
        {"method": "cdd"},
        "method=cdd: no such choice; the nearest is ccd; there are: adept, causal_lm, ccd",
    ),
    "an unknown setting": (
        {"betta": 1},
        "there is no key 'betta' in 'method'; the nearest is beta; there are: _target_, alignment",
    ),
    "no items": ({"limit": 0, "benchmarks": "cced"}, "limit must be a whole number of at least 1 or null, not 0"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence(case, tiny):
    values, message = CASES[case]
    with pytest.raises(FairlabError) as raised:
        fairlab.debias(tiny, make_groups(40), **values)
    assert str(raised.value).startswith(message)


def test_bad_data_is_one_sentence(tiny, tmp_path):
    with pytest.raises(FairlabError, match="data contains no counterfactual groups to train on"):
        fairlab.debias(tiny, [])
    with pytest.raises(FairlabError, match=r"a str is not a counterfactual group; give the result of fairlab\.augment"):
        fairlab.debias(tiny, ["He left."])
    with pytest.raises(FairlabError, match="texts is empty; give at least one"):
        fairlab.augment([], "counterfactual_groups")
    with pytest.raises(FairlabError, match="a int is not a text; give texts, or rows with a column 'text'"):
        fairlab.augment([1], "counterfactual_groups")
    with pytest.raises(FairlabError, match="augmentation=groups: no such choice; there are: aflite, balanced"):
        fairlab.augment(TEXTS, "groups")
    with pytest.raises(FairlabError, match="no augmentation was chosen; give"):
        fairlab.augment(TEXTS, "none")
    with pytest.raises(FairlabError, match="the axis 'gender' has no attribute 'old'; it has neutral, man, woman"):
        fairlab.rewrite("He left.", to="old")
    with pytest.raises(FairlabError, match="no lexicon for the axis 'height'; there are lexicons for: age"):
        fairlab.rewrite("He left.", to="tall", axis="height")
    (tmp_path / "something").touch()
    with pytest.raises(FairlabError, match="already exists; give a new folder as output"):
        fairlab.augment(TEXTS, "counterfactual_groups", output=tmp_path)


def test_an_axis_of_ones_own_with_an_attribute_without_words(tmp_path):
    lexicon = tmp_path / "own.yaml"
    lexicon.write_text("axis: own\nattributes: [seeing, blind]\nwords:\n  people: [[person, '', blind person]]\n")
    with pytest.raises(FairlabError, match=r"own\.yaml has no word for the attribute 'seeing' .*; give it"):
        fairlab.rewrite("A blind person left.", axis=str(lexicon), to="blind")
