"""Croissant metadata of made data; where mlcroissant is installed, its validator reads them with the rows."""

import hashlib
import json

import datasets
import pytest

from fairlab.data.stream.manifest import Manifest
from fairlab.reporting.croissant import RAI, croissant

ROW = {"id": "1", "versions": {"man": "He left.", "it's": "It left."}, "seed": 3, "perturbed": True, "changed": [["a"]]}


@pytest.fixture
def made(tmp_path):
    """A folder of one row with its metadata."""
    (tmp_path / "data-00000.jsonl").write_text(json.dumps(ROW) + "\n")
    digest = hashlib.sha256((tmp_path / "data-00000.jsonl").read_bytes()).hexdigest()
    shard = {"data": {"file": "data-00000.jsonl", "rows": 1, "sha256": digest}}
    made_by = {"augmentation": "cda", "axis": "gender", "rewriter": None}
    manifest = Manifest("0.1", {"name": "mine.txt", "sha256": "f" * 64}, made_by, read=2, shards=[shard])
    text = datasets.Value("string")
    columns = {"id": text, "versions": {"man": text, "it's": text}, "seed": datasets.Value("int64")}
    columns |= {"perturbed": datasets.Value("bool"), "changed": datasets.Sequence(datasets.Sequence(text))}
    file = tmp_path / "croissant.json"
    file.write_text(croissant(manifest, datasets.Features(columns), "cc0-1.0"), encoding="utf-8")
    return file, digest


def test_what_the_metadata_say(made):
    file, digest = made
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["name"] == "cda, gender"
    assert content["license"] == "cc0-1.0"
    assert content["conformsTo"][1] == f"{RAI}1.0"
    assert content["distribution"][0]["sha256"] == digest
    fields = {field["name"]: field for field in content["recordSet"][0]["field"]}
    kinds = {name: field.get("dataType") for name, field in fields.items()}
    assert kinds == {
        "rows/id": "sc:Text", "rows/versions": None, "rows/seed": "sc:Integer", "rows/perturbed": "sc:Boolean",
        "rows/changed": "sc:Text",
    }  # fmt: skip
    paths = [inner["source"]["transform"]["jsonPath"] for inner in fields["rows/versions"]["subField"]]
    assert paths == ['$["man"]', '$["it\'s"]']
    assert content["rai:dataManipulationProtocol"] == (
        "Rewritten by machine: augmentation cda, axis gender. 1 rows of 2 read."
    )
    assert all(name in content["@context"] for name in ("cr", "rai", "sc"))


def test_the_validator_reads_the_rows(made):
    mlcroissant = pytest.importorskip("mlcroissant")
    (row,) = mlcroissant.Dataset(jsonld=str(made[0])).records("rows")
    assert row["rows/seed"] == 3
    assert row["rows/versions"]["rows/versions/it's"] == b"It left."
