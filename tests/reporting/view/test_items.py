"""Items beside their texts: of fairlab's own benchmarks by their data, of others by what a run keeps."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import fairlab
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.crows_pairs import CrowSPairs
from fairlab.benchmarks.kept_items import kept_texts
from fairlab.benchmarks.stereoset import StereoSet
from fairlab.benchmarks.stsb import STSB
from fairlab.benchmarks.winobias import WinoBias
from fairlab.benchmarks.winogender import Winogender
from fairlab.record import Reading, Record
from fairlab.reporting.view.items import items_of
from fairlab.types import FairlabError

OWN = [
    CCED(["embedded", "winogender"], limit=3),
    CrowSPairs("meade", bias_types=["age"], items="regular", limit=3),
    StereoSet(task=["intrasentence"], domains=["gender"], limit=3),
    STSB(limit=3),
    WinoBias(limit=3),
    Winogender(limit=2),
]
PART = {"key": "a", "values": ["length"], "ids": ["one", "two"], "texts": [["1"], ["2"]]}


@pytest.mark.data
@pytest.mark.parametrize("benchmark", OWN, ids=lambda one: one.name)
def test_texts_go_with_the_values_that_are_kept_whatever_the_limit(benchmark, tiny_folders):
    model = fairlab.load(tiny_folders["bert_mlm"], max_length=64)
    items = benchmark.measure(model).items
    parts = benchmark.texts()
    assert {part.key for part in parts} == set(items)
    for part in parts:
        assert benchmark.scores(items[part.key]).shape == (len(part.ids), len(part.values))
        assert len(part.texts) == len(part.ids) == (8 if benchmark.name == "winogender" else 3)
        assert len(part.groups) in (0, len(part.ids))


@pytest.fixture
def record(tmp_path):
    (tmp_path / "items" / "after").mkdir(parents=True)
    save_file({"a": np.array([1.0, 3.0])}, tmp_path / "items" / "after" / "mine.safetensors")
    save_file({"all/a": np.zeros(2000)}, tmp_path / "items" / "after" / "mine.draws.safetensors")
    reading = Reading("mine", "all", "a", 2.0, "", None, 2, 1.0, 3.0, phase="after")
    return Record(tmp_path, {"benchmark": {"mine": {"_target_": "gone.Mine"}}}, "", readings=[reading])


def test_kept_texts_of_another_benchmark_are_shown_and_nothing_of_it_runs(record):
    file = record.folder / "items" / "mine.texts.json"
    file.write_text(json.dumps([PART | {"part": "some"}]))
    (found,) = items_of(record)  # the class is nowhere, and bootstrap draws are no items
    assert (found.name, found.ids, found.texts, found.free) == ("mine/some", ["one", "two"], [["1"], ["2"]], False)
    file.write_text(json.dumps([PART | {"licence": "MIT"}]))
    assert [one.free for one in items_of(record)] == [True]
    file.write_text(json.dumps([PART | {"ids": ["one"], "texts": [["1"]]}]))  # of other items
    assert [(one.texts, one.scores["after"].tolist()) for one in items_of(record)] == [([], [[1.0], [3.0]])]


@pytest.mark.parametrize(
    "content",
    [
        *("{", "3", "[3]", "[" * 100_000),
        *(json.dumps([PART | part]) for part in ({"texts": [[1], ["2"]]}, {"ids": ["one"]}, {"texts": [3, 4]})),
        json.dumps([PART | {"more": 1}]),
    ],
)
def test_damaged_texts_are_one_sentence_and_the_values_are_shown(record, content):
    (record.folder / "items" / "mine.texts.json").write_text(content)
    with pytest.raises(FairlabError, match=r"mine.texts.json (is damaged|cannot be read as JSON) \(.*\); "):
        kept_texts(record.folder, "mine")
    (found,) = items_of(record)
    assert (found.texts, found.scores["after"].tolist()) == ([], [[1.0], [3.0]])
    assert "mine.texts.json" in found.missing
