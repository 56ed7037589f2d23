"""Every benchmark on every architecture: what runs, what says why it does not, and numbers that no batch changes."""

import csv
import json
import math
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.next_sentence import NextSentence
from fairlab.benchmarks import crows_pairs, stereoset
from fairlab.benchmarks.runner import measure
from fairlab.record import Record
from fairlab.run.config.build import build
from fairlab.types import CannotScore
from tests.conftest import make_groups, row, write_rows

CONF = Path(__file__).parents[2] / "conf" / "benchmark"
MODELS = ["bert", "bert_two_heads", "roberta", "distilbert", "albert", "gpt2", "llama"]
FIRST = {"bert_two_heads", "gpt2"}  # between them, all that a benchmark can ask of a model; the others are slow
EVERY = [pytest.param(name, marks=[] if name in FIRST else pytest.mark.slow) for name in MODELS]
FOLLOWING = {"bert_two_heads", "gpt2", "llama"}  # those that can tell whether a sentence follows another
EMBEDDING = {"cced", "seat", "bias_ir", "stsb", "sst2_probe", "mrpc_probe", "rte_probe"}
LIKELIHOOD = {"stereoset", "crows_pairs", "holistic_bias", "winogender", "winobias", "perplexity"}
LINES = {  # folder of published data -> so many lines of each of its files, None for all
    "bias_ir": None,
    "corpora/newstest": 20,
    "glue/MRPC": 80,
    "glue/RTE": 80,
    "glue/STS-B": 80,
    "holistic_bias": None,
    "seat": None,
    "sst2": 80,
    "winobias": 20,
    "winogender": 73,
}
AWAY = {"bias_ir/average/deviation", "seat/average/absolute_effect_size"}  # intervals that lie high, as documented


def first_of_each(things, kinds, count):
    """So many of each kind."""
    seen = Counter()
    return [thing for thing, kind in zip(things, kinds, strict=True) if seen.update([kind]) or seen[kind] <= count]


@pytest.fixture(scope="module")
def little_data(data_folder, tmp_path_factory) -> Path:
    """The published data, less of it."""
    folder = tmp_path_factory.mktemp("data")
    for name, lines in LINES.items():
        (folder / name).mkdir(parents=True)
        for file in (data_folder / name).iterdir():
            kept = file.read_text(encoding="utf-8").split("\n")[:lines]
            (folder / name / file.name).write_text("\n".join(kept), encoding="utf-8")
    file = "crows_pairs/crows_pairs_anonymized.csv"
    with (data_folder / file).open(encoding="utf-8", newline="") as source:
        header, *pairs = csv.reader(source)
    kinds = [tuple(pair[3:5]) for pair in pairs]
    (folder / "crows_pairs").mkdir()
    with (folder / file).open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows([header, *first_of_each(pairs, kinds, 3)])
    file = "stereoset/stereoset.json"
    content = json.loads((data_folder / file).read_text(encoding="utf-8"))
    rows = content["stereotype"]
    kinds = [(row["bias_type"], "BLANK" in row["context"]) for row in rows]
    chosen = {row["id"] for row in first_of_each(rows, kinds, 5)}
    kept = {label: [row for row in rows if row["id"] in chosen] for label, rows in content.items()}
    (folder / "stereoset").mkdir()
    (folder / file).write_text(json.dumps(kept), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory):
    """All benchmarks of ``benchmark=full`` and perplexity, with settings in place of those that would take long."""
    groups = write_rows(tmp_path_factory.mktemp("groups") / "groups.jsonl", [row(group) for group in make_groups(9)])
    small = {
        "cced": {"sets": [groups]},
        "seat": {"tests": ["6", "7b"]},
        "holistic_bias": {"axes": ["age"], "templates": 1, "sentences": 256},
    }
    names = [*OmegaConf.load(CONF / "full.yaml").defaults, "perplexity"]
    nodes = {name: OmegaConf.load(CONF / f"{name}.yaml")[name] for name in names}
    return [build(OmegaConf.merge(node, small.get(name, {}))) for name, node in nodes.items()]


@pytest.fixture(scope="module")
def record_of(language_models, little_data, benchmarks, tmp_path_factory):
    """The record of all benchmarks on a model, measured once."""
    records: dict[str, Record] = {}

    def measured(model: str) -> Record:
        if model not in records:
            record = Record(tmp_path_factory.mktemp("run"), {"seed": 0}, "")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("FAIRLAB_DATA", str(little_data))
                measure(benchmarks, language_models[model], "", record)
            records[model] = record
        return records[model]

    return measured


@pytest.mark.data
@pytest.mark.parametrize("model", EVERY)
@pytest.mark.slow
def test_every_benchmark_runs_on_every_language_model(record_of, benchmarks, model):
    record = record_of(model)
    assert {benchmark.name for benchmark in benchmarks} == EMBEDDING | LIKELIHOOD
    assert {reading.benchmark for reading in record.readings} == EMBEDDING | LIKELIHOOD
    for reading in record.readings:
        assert all(map(math.isfinite, (reading.value, reading.low, reading.high))), reading
        assert reading.low <= reading.high, reading
        if reading.key not in AWAY:
            assert reading.low <= reading.value <= reading.high, reading
    without = {(entry.benchmark, entry.subset): entry.reason for entry in record.not_run}
    if model in FOLLOWING:
        assert without == {}
    else:
        assert set(without) == {("stereoset", "intersentence"), ("stereoset", "overall")}
        assert "has no next-sentence head; take BERT as pretrained" in without["stereoset", "intersentence"]
    subsets = {reading.subset for reading in record.readings if reading.benchmark == "stereoset"}
    assert ("intersentence" in subsets) == ("overall" in subsets) == (model in FOLLOWING)


@pytest.mark.data
@pytest.mark.parametrize("model", EVERY)
def test_without_its_head_a_model_has_embeddings_and_says_what_it_lacks(
    language_models, little_data, benchmarks, monkeypatch, tmp_path, model
):
    monkeypatch.setenv("FAIRLAB_DATA", str(little_data))
    body = headless(language_models[model])
    record = Record(tmp_path, {"seed": 0}, "")
    of_likelihood = [benchmark for benchmark in benchmarks if benchmark.name in LIKELIHOOD]
    measure(of_likelihood, body, "", record)
    assert record.readings == []
    name = type(body.model).__name__
    assert {entry.benchmark for entry in record.not_run} == LIKELIHOOD
    assert {(entry.subset, entry.reason) for entry in record.not_run} == {
        ("all", f"{name} has no language-modelling head; take a checkpoint saved with one")
    }
    assert body.digest() == language_models[model].digest()


def headless(backbone: Backbone) -> Backbone:
    """The same model without its head."""
    return Backbone(backbone.model.base_model, backbone.tokenizer, pooling="mean", max_length=128, normalize=False)


@pytest.mark.data
@pytest.mark.parametrize("model", EVERY)
@pytest.mark.slow
def test_any_budget_gives_the_same_readings(language_models, record_of, little_data, monkeypatch, tmp_path, model):
    monkeypatch.setenv("FAIRLAB_DATA", str(little_data))

    def frugal(backbone):
        return type(likelihood(backbone))(backbone, budget=300)

    monkeypatch.setattr(stereoset, "likelihood", frugal)
    monkeypatch.setattr(crows_pairs, "likelihood", frugal)
    monkeypatch.setattr(stereoset, "NextSentence", partial(NextSentence, budget=300))
    record = Record(tmp_path, {"seed": 0}, "")
    measure([crows_pairs.CrowSPairs(), stereoset.StereoSet()], language_models[model], "", record)
    expected = record_of(model).metrics()
    found = record.metrics()
    assert found.keys() == {key for key in expected if key.split("/")[0] in ("crows_pairs", "stereoset")}
    assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-5)


BODIES = ["bert_mlm", "roberta_mlm", "distilbert_mlm", "albert_mlm", "llama"]


@pytest.mark.parametrize("name", BODIES)
def test_a_checkpoint_that_names_a_head_it_does_not_hold_has_none(tiny_folders, tmp_path, name):
    settings = {"pooling": "mean", "max_length": 32, "normalize": False}
    whole = load_backbone(str(tiny_folders[name]), **settings)
    whole.model.base_model.save_pretrained(tmp_path)
    whole.tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": [type(whole.model).__name__]}))
    with pytest.raises(CannotScore, match="has no language-modelling head"):
        likelihood(load_backbone(str(tmp_path), **settings))
