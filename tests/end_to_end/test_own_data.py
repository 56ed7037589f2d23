"""Data of one's own: what is read, what is kept, what the card says, and what is pushed."""

import datetime
import json

import datasets
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from huggingface_hub import DatasetCard, ModelCard
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results

import fairlab
from fairlab.record import Record
from tests.conftest import make_groups, row, write_rows
from tests.end_to_end.augmenting import augment_here, content
from tests.hub_stub import TOKEN, HubStub

CDA = ["+augmentation=cda", "augmentation.output=add"]
FEATURES = Features(
    {
        "text": Value("string"),
        "label": ClassLabel(names=["calm", "angry"]),
        "number": Value("int32"),
        "score": Value("float32"),
        "when": Value("timestamp[us]"),
        "tags": List(Value("string")),
    }
)


def part(texts):
    """A dataset of these texts, with columns of many types."""
    count = range(len(texts))
    days = [datetime.datetime(2024, 1, 1 + k, 12, 30, 1, k) for k in count]
    return Dataset.from_dict(
        {
            "text": texts,
            "label": [k % 2 for k in count],
            "number": list(count),
            "score": [None if k == 1 else k / 4 for k in count],
            "when": days,
            "tags": [["a", "b"][: k % 3] for k in count],
        },
        features=FEATURES,
    )


@pytest.fixture
def own():
    """Two splits; three rows have a word of the axis."""
    return DatasetDict({"train": part(["She left.", "It rained.", "He sang."]), "test": part(["The queen slept."])})


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def test_types_and_splits_of_a_saved_data_set_are_kept(own, tmp_path, capsys):
    own.save_to_disk("own")
    (tmp_path / "own" / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    assert augment_here(*CDA, "input=own", "output=out", "shard_rows=2") == 0
    assert "7 rows written of 4 read" in capsys.readouterr().out
    made = datasets.load_dataset("out", cache_dir="cache")
    assert list(made) == ["train", "test"]
    assert {name: made["test"].features[name] for name in FEATURES} == dict(FEATURES)
    assert made["train"]["text"] == ["She left.", "He left.", "It rained.", "He sang.", "She sang."]
    assert made["test"]["text"] == ["The queen slept.", "The king slept."]
    assert made["test"]["source_place"] == [None, "test, row 1"]
    for name in set(FEATURES) - {"text"}:
        assert [made["train"][name][k] for k in (0, 2, 3)] == own["train"][name][:]
    head = DatasetCard.load(tmp_path / "out" / "README.md").data
    assert (head.license, head.language, head.size_categories) == ("cc-by-4.0", "en", "n<1K")
    assert head.task_categories == ["text-classification"]
    listed = [one["name"] for one in head.dataset_info["features"]]
    assert listed == made["train"].column_names
    table = [line.split(" | ")[0][2:] for line in (tmp_path / "out" / "README.md").read_text().splitlines()]
    assert set(listed) <= set(table)
    assert not {"versions", "gamma", "perturbed"} & set(table)  # columns that are not there


def test_what_was_made_is_augmented_again_with_its_types(own, tmp_path):
    own.save_to_disk("own")
    assert augment_here(*CDA, "input=own:test", "output=once", "license=mit") == 0
    assert augment_here("+augmentation=perturbable", "input=once", "output=twice") == 0
    made = datasets.load_dataset("twice", cache_dir="cache")
    assert (list(made), made["test"].features["label"]) == (["test"], FEATURES["label"])
    assert DatasetCard.load(tmp_path / "twice" / "README.md").data.license == "mit"


@pytest.mark.slow
def test_one_split_and_groups_that_are_trained_on(own, tmp_path):
    own.save_to_disk("own")
    groups = ["+augmentation=counterfactual_groups", "rewriter.mode=lexical"]
    assert augment_here(*groups, "input=own", "output=out") == 0
    from fairlab.data.groups import read_groups

    assert [(one.extra["split"], one.extra["label"]) for one in read_groups("out")] == [
        ("train", 0),
        ("train", 0),
        ("test", 0),
    ]
    assert DatasetCard.load(tmp_path / "out" / "README.md").data.task_categories == [
        "text-classification",
        "feature-extraction",
    ]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_tables(own, tmp_path, ending):
    {"csv": own["train"].to_csv, "json": own["train"].to_json, "parquet": own["train"].to_parquet}[ending](
        f"own.{ending}"
    )
    assert augment_here(*CDA, f"input=own.{ending}", "output=out") == 0
    made = datasets.load_dataset("out", cache_dir="cache")["train"]
    assert made["text"] == ["She left.", "He left.", "It rained.", "He sang.", "She sang."]
    kept = {"csv": Value("string"), "json": Value("int64"), "parquet": FEATURES["label"]}[ending]
    assert made.features["label"] == kept  # the cells of a CSV file are texts, as they stand there


def test_a_data_set_of_the_hub(own, tmp_path, monkeypatch):
    asked = []

    def of_hub(name, config=None, *, streaming):
        asked.append((name, config))
        return DatasetDict(own)

    monkeypatch.setattr(datasets, "load_dataset", of_hub)
    monkeypatch.setattr(DatasetCard, "load", lambda *_, **__: DatasetCard("---\nlicense: mit\n---\n"))
    assert augment_here(*CDA, "input=user/name:cfg:", "output=all") == 0
    assert augment_here(*CDA, "input=user/name:test", "output=one") == 0
    assert set(asked) == {("user/name", "cfg"), ("user/name", None)}
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert list(datasets.load_dataset("all", cache_dir="cache")) == ["train", "test"]
    one = datasets.load_dataset("one", cache_dir="cache")
    assert (list(one), one["test"].features["label"]) == (["test"], FEATURES["label"])
    assert DatasetCard.load(tmp_path / "all" / "README.md").data.license == "mit"


def test_from_python_splits_and_types_are_kept(own):
    made = fairlab.augment(own, "cda", settings={"augmentation.output": "add"})
    assert isinstance(made, DatasetDict)
    assert {name: made["train"].features[name] for name in FEATURES} == dict(FEATURES)
    assert made["test"]["text"] == ["The queen slept.", "The king slept."]
    assert made["train"]["when"][:1] == own["train"]["when"][:1]
    alone = fairlab.augment(own["train"], "cda", settings={"augmentation.output": "replace"})
    assert isinstance(alone, Dataset)
    assert alone["text"] == ["He left.", "It rained.", "She sang."]


@pytest.fixture
def hub(monkeypatch):
    """A hub that this process talks to, with a token."""
    with HubStub() as stub:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", stub.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield stub


def holding_token(folder):
    """Files that hold the token."""
    return [path for path in folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_data_is_pushed_with_its_card(own, tmp_path, hub, capfd):
    own.save_to_disk("own")
    assert augment_here(*CDA, "input=own", "output=out", "push=me/swapped") == 0
    pushed = hub.repositories["dataset", "me/swapped"]
    data = {"data-train-00000.jsonl", "data-test-00001.jsonl"}
    assert set(pushed) == {"README.md", "croissant.json", "manifest.json", *data}
    assert all(content == (tmp_path / "out" / name).read_bytes() for name, content in pushed.items())
    assert hub.tokens - {None} == {f"Bearer {TOKEN}"}
    said = capfd.readouterr()
    assert f"pushed to {hub.url}/datasets/me/swapped" in said.out
    assert TOKEN not in said.out + said.err
    assert not holding_token(tmp_path)


def test_what_is_made_already_is_pushed_by_the_same_command(own, tmp_path, hub):
    own.save_to_disk("own")
    assert augment_here(*CDA, "input=own", "output=out") == 0
    before = content(tmp_path / "out")
    assert augment_here(*CDA, "input=own", "output=out", "push=lab/swapped") == 0
    assert ("dataset", "lab/swapped") in hub.repositories
    assert content(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("token", "name", "message"),
    [
        (TOKEN, "other/data", "push=other/data belongs to another user; give a name of the token's owners: me, lab"),
        ("hf_" + "x" * 30, "me/data", "push=me/data was rejected by the hub: "),
        (TOKEN, TOKEN, "push must be USER/NAME"),
    ],
)
def test_a_push_that_would_be_refused_is_said_before_any_work(
    own, tmp_path, hub, capfd, monkeypatch, token, name, message
):
    monkeypatch.setenv("HF_TOKEN", token)
    own.save_to_disk("own")
    assert augment_here(*CDA, "input=own", "output=out", f"push={name}") == 1
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert message in line
    assert token not in line
    assert not list((tmp_path / "out").glob("data*"))
    assert not hub.repositories
    assert not holding_token(tmp_path)


def test_a_hub_that_does_not_take_the_data_leaves_it_here(own, tmp_path, hub, capfd):
    own.save_to_disk("own")
    hub.commits = False
    assert augment_here(*CDA, "input=own", "output=out", "push=me/data") == 1
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert "push=me/data was rejected by the hub" in line
    assert "/out; give the same command again" in line
    assert Record.load(tmp_path / "out").status == "finished"
    assert TOKEN not in line
    hub.commits = True
    assert augment_here(*CDA, "input=own", "output=out", "push=me/data") == 0
    assert Record.load(tmp_path / "out").status == "finished"


@pytest.mark.slow
@pytest.mark.long
def test_a_model_is_pushed_with_its_readings(run, small, tmp_path):
    with HubStub() as hub:
        environment = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0"}
        done = run(*small, "hydra.run.dir=made", "push=me/fair", **environment)
        assert done.returncode == 0, done.stderr
        assert f"pushed to {hub.url}/me/fair" in done.stdout
        measured = write_rows(tmp_path / "more.jsonl", [row(group) for group in make_groups(9)])
        of_run = ["model=made", "benchmark=[cced]", f"benchmark.cced.sets=[{measured}]", "push=me/again"]
        again = run(*of_run, "hydra.run.dir=measured_again", entry="evaluate", **environment)
        assert again.returncode == 0, again.stderr
    assert not holding_token(tmp_path)
    assert TOKEN not in done.stdout + done.stderr + again.stdout + again.stderr
    first, second = (hub.repositories["model", name] for name in ("me/fair", "me/again"))
    assert {"model.safetensors", "config.json", "README.md"} <= set(first)
    assert set(first) == set(second)
    record = Record.load(tmp_path / "made")
    data = ModelCard(first["README.md"].decode()).data
    found = {(one.dataset_type, one.dataset_config, one.metric_type): one.metric_value for one in data.eval_results}
    wanted = [one for one in record.readings if one.headline and one.phase == "after"]
    assert wanted
    assert found == {(one.benchmark, one.subset, one.quantity): one.value for one in wanted}
    index = eval_results_to_model_index(data.model_name, data.eval_results)
    assert model_index_to_eval_results(index) == (data.model_name, data.eval_results)
    later = ModelCard(second["README.md"].decode()).data
    subsets = {one.dataset_config for one in later.eval_results}
    assert subsets == {"groups", "more"}
    assert json.loads(json.dumps(later.to_dict()))["pipeline_tag"] == "sentence-similarity"
