"""db-index of datasets: what is read, embedded, counted and said."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.benchmarks.db_index import DBIndexBenchmark, Read, embedded_texts, nearest_categories, remarks
from fairlab.data.stream.manifest import Manifest
from fairlab.files import sha256
from fairlab.types import DataUnavailable, FairlabError


def embed(texts):
    """Vectors of texts such as ``3 -1``."""
    return np.array([[float(number) for number in text.split()] for text in texts])


def write(path, texts, **more):
    rows = [{"text": text, **{key: values[k] for key, values in more.items()}} for k, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def files(tmp_path):
    targets = ["10 0", "11 0", "0 10", "0 12", "10 0"]
    comparison = write(tmp_path / "c.jsonl", ["1 0", "1 1", "0 -1"], kind=["x", "y", "y"])
    return write(tmp_path / "t.jsonl", targets), comparison


def measured(files, tmp_path, **settings):
    target, comparison = files
    benchmark = DBIndexBenchmark(vectors="", comparison=comparison, category="kind", **settings)
    return benchmark.measure_data(target, "text", embed, tmp_path)


def test_readings_by_hand(files, tmp_path):
    outcome = measured(files, tmp_path)
    readings = {(r.subset, r.quantity): r for r in outcome.readings}
    # Clusters along both axes; cosines to (1, 0), (1, 1), (0, -1): 1, sqrt 1/2, 0 and 0, sqrt 1/2, -1.
    half = np.sqrt(0.5)
    of_entries = np.array([0.5, half, -0.5])
    assert readings["all", "expectation"].value == pytest.approx(of_entries.mean())
    assert readings["all", "expectation"].headline
    assert readings["all", "spread"].value == pytest.approx(of_entries.std())
    assert readings["cluster_01", "expectation"].value == pytest.approx((half - 1) / 3)
    assert readings["cluster_02", "expectation"].value == pytest.approx((1 + half) / 3)
    assert [readings[f"cluster_0{k}", "expectation"].n for k in (1, 2)] == [2, 3]
    random = readings["all", "random_entry"]
    assert random.n == 5
    assert random.low < random.value < random.high
    assert outcome.items["of_entries"] == pytest.approx(of_entries)
    assert outcome.items["sizes"].tolist() == [2, 3]
    assert outcome.items["silhouettes"].shape[1] == 2  # a number of clusters and its silhouette
    assert any(note.text.startswith("0 of 3 comparison entries") for note in outcome.notes)
    assert any("2 clusters of 5 entries are hardly meaningful" in note.text for note in outcome.notes)
    assert not list(tmp_path.glob(".vectors*"))


def test_categories_of_the_nearest_entries_and_no_text(files, tmp_path):
    items = measured(files, tmp_path).items
    assert items["share/y"] == pytest.approx([200 / 3])
    assert items["nearest/x"] == pytest.approx([100 / 3, 100 / 3])  # fewer than a hundred: all of them
    cosines = np.array([[0.9, 0.1], [0.5, 0.8], [0.1, 0.3]])
    assert nearest_categories(cosines, ["x", "y", "y"])["nearest/y"].tolist() == pytest.approx([200 / 3] * 2)
    many = np.stack([-np.arange(150.0), np.arange(150.0)], axis=1)  # the first 90 of 150 are x
    found = nearest_categories(many, ["x"] * 90 + ["y"] * 60)
    assert {name: values.tolist() for name, values in found.items()} == {
        **{"share/x": [60.0], "nearest/x": [90.0, 40.0]},  # of the first and of the last hundred
        **{"share/y": [40.0], "nearest/y": [10.0, 60.0]},
    }


def test_outliers_draws_and_repeats_are_settings(files, tmp_path):
    by_cluster = measured(files, tmp_path, draw="cluster", repeats=3)
    assert next(r.n for r in by_cluster.readings if r.quantity == "random_entry") == 3
    with pytest.raises(FairlabError, match="draw must be run or cluster"):
        measured(files, tmp_path, draw="text")
    with pytest.raises(FairlabError, match="9 clusters need at least 9 distinct entries, but there are 4"):
        measured(files, tmp_path, k=9)


def test_rows_made_of_one_entry_are_resampled_together(files, tmp_path):
    _, comparison = files
    copies = write(tmp_path / "u.jsonl", ["10 0"] * 5 + ["0 10"] * 5 + ["10 1"], entry=[*"aaaaabbbbb", "c"])
    outcome = measured((copies, comparison), tmp_path)
    assert any(
        "its 11 entries come from 3 originals, which the intervals resample" in note.text for note in outcome.notes
    )
    alone = measured((copies, comparison), tmp_path, source="id")
    widths = [
        next(r.high - r.low for r in found.readings if r.quantity == "over_entries") for found in (outcome, alone)
    ]
    assert widths[0] > widths[1]


def test_a_fixed_number_of_clusters_stands_beside_the_chosen_one(files, tmp_path):
    found = {(r.subset, r.quantity): r.value for r in measured(files, tmp_path, fixed=1).readings}
    assert found["fixed", "expectation"] == pytest.approx(found["all", "over_entries"])
    assert found["fixed", "expectation"] != pytest.approx(found["all", "expectation"], abs=1e-3)
    apart = write(tmp_path / "apart.jsonl", ["10 0", "0 10", "-10 0"]), files[1]
    for fixed, shown in ((3, True), (4, False)):  # of three entries
        readings = measured(apart, tmp_path, k=1, fixed=fixed).readings
        assert any(one.subset == "fixed" for one in readings) == shown


def test_zero_vectors_are_said(tmp_path):
    target, comparison = write(tmp_path / "t.jsonl", ["1 0", "0 0"]), write(tmp_path / "c.jsonl", ["1 0"])
    outcome = DBIndexBenchmark(vectors="", comparison=comparison).measure_data(target, "text", embed, tmp_path)
    assert any("1 target entries have a zero vector" in note.text for note in outcome.notes)


def test_vectors_are_a_map_of_a_file(tmp_path):
    target = write(tmp_path / "t.jsonl", [f"{k} 1" for k in range(9000)])
    sizes = []
    counted = lambda texts: sizes.append(len(texts)) or embed(texts)  # noqa: E731
    vectors, read = embedded_texts(target, "text", counted, tmp_path / "v")
    assert sizes == [4096, 4096, 808]
    assert isinstance(vectors, np.memmap)
    assert vectors[:, 0].tolist() == list(range(9000))
    assert read == Read(0, None)


def test_an_output_of_augment_is_a_data_set(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    write(folder / "data-00000.jsonl", ["1 0", "0 1"])
    with pytest.raises(DataUnavailable, match=r"holds no \.txt file"):
        embedded_texts(str(folder), "text", embed, tmp_path / "v")
    manifest = Manifest("0", {"name": "x"}, {})
    files = {"data": {"file": "data-00000.jsonl", "rows": 2, "sha256": sha256(folder / "data-00000.jsonl")}}
    manifest.add({"read": 2, "reasons": {}, "counts": {}, "files": files})
    manifest.write(folder)
    assert len(embedded_texts(str(folder), "text", embed, tmp_path / "v")[0]) == 2


@pytest.mark.parametrize(
    ("n", "k", "zeros", "sources", "unread", "count"),
    [
        (20, 2, (0, 0), None, 0, 2),  # the range of one entry, and the outliers
        (19, 2, (0, 0), None, 0, 3),  # with less than ten entries a cluster
        (5, 1, (0, 0), None, 0, 3),
        (20, 2, (1, 1), ["a"] * 20, 1, 6),
    ],
)
def test_what_is_remarked(n, k, zeros, sources, unread, count):
    index = SimpleNamespace(labels=np.arange(n), cosines=np.zeros((4, k)), of_entries=np.arange(4.0), zeros=zeros)
    assert len(remarks(index, Read(unread, sources), 1, SimpleNamespace(k=k))) == count


def test_data_without_texts(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"body": "1 0"}\n')
    with pytest.raises(FairlabError, match=r"holds no text in the field 'text' \(1 rows cannot be read\)"):
        embedded_texts(str(tmp_path / "t.jsonl"), "text", embed, tmp_path / "v")
    with pytest.raises(FairlabError, match=r"holds no text in the field 'text' \(1 rows cannot be read\)"):
        DBIndexBenchmark(vectors="").check_data(str(tmp_path / "t.jsonl"), "text")
    DBIndexBenchmark(vectors="").check_data(str(tmp_path / "t.jsonl"), "body")
