"""Files that few commands open, walked by the functions that read them: each is spoilt in many ways, without a process.

A reader has to succeed or to raise one sentence. The ways are drawn by the file's name, few or many.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import peft
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml
from safetensors.numpy import load_file
from transformers import AutoModel

import fairlab
from experiments.model_kinds.weights import Weights
from fairlab.audit.pairs import Pair
from fairlab.audit.sheet import read_rewrites, write_rewrites
from fairlab.backbones.peft_folder import merge_peft_folder
from fairlab.backbones.stored_texts import StoredWriter
from fairlab.backbones.trust import loading
from fairlab.benchmarks.decisions import people_of, read_decisions
from fairlab.benchmarks.refusals import read_requests
from fairlab.checks.gguf_header import check_header
from fairlab.data.stream.features import description_of
from fairlab.data.stream.rows import read_rows
from fairlab.files import save_arrays
from fairlab.judge.formats import item_tables
from fairlab.llm.exchange import ExchangeOutcome, Reply
from fairlab.llm.ledger import Ledger
from fairlab.methods.safety_ensemble.sources.score_cache import ScoreCache
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.record import Reading, Record
from fairlab.reporting.report import write_report
from fairlab.reporting.view.items import items_of
from fairlab.rewriting.by_llm.prompt import FOLDER as PROMPTS
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.types import FairlabError
from tests.conftest import write_rows
from tests.reporting.tables.test_method_tests import write_run
from tests.walking import SECRET, VARIABLE, Spoil, ways

TEXTS = ["She left.", "He left."]
PAIRS = [Pair(k, "gender", "woman", "man", ["She left."], ["He left."], ["She went."], 1, 1) for k in range(2)]
PARTS = Path(__file__).parents[1] / "fairlab" / "data" / "embedded"
KEYS = ["a", "b"]
FEW, MANY = 12, 400  # ways to spoil a file
Read = Callable[[], object]


@pytest.fixture(scope="module")
def base(tiny_folders):
    """A tiny encoder, for adapters to be merged into."""
    return AutoModel.from_pretrained(tiny_folders["bert"])


# ---------------------------------------------------------------- files, and what reads them


def of_gguf(place: Path, _: Any) -> tuple[Path, Read]:
    gguf = pytest.importorskip("gguf")
    file = place / "model.gguf"
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_block_count(1)
    writer.add_vocab_size(3)
    writer.add_token_list(["a", "b", "c"])
    writer.add_token_scores([0.5, 1.0, 2.0])
    writer.add_tensor("token_embd.weight", np.ones((3, 4), dtype=np.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()

    def read() -> None:
        check_header(file)
        with loading(file.name):
            gguf.GGUFReader(file)

    return file, read


def of_adapters(place: Path, model: Any) -> tuple[Path, Read]:
    torch.manual_seed(0)
    settings = peft.LoraConfig(target_modules=["query"], r=2, rank_pattern={"layer.0.attention.self.query": 1})
    adapted = peft.get_peft_model(AutoModel.from_config(model.config), settings)
    adapted.save_pretrained(place)
    (place / "README.md").unlink()
    return place / "adapter_config.json", lambda: merge_peft_folder(deepcopy(model), place)


def of_adapters_tensors(place: Path, model: Any) -> tuple[Path, Read]:
    _, read = of_adapters(place, model)
    return place / "adapter_model.safetensors", read


def of_a_sheet(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "rewrites.csv"
    write_rewrites(file, PAIRS, KEYS)
    file.write_text(file.read_text().replace(",,\n", ",no,He went.\n", 1).replace(",,\n", ",yes,\n"))
    return file, lambda: read_rewrites(file, PAIRS)


def of_a_prompt(place: Path, _: Any) -> tuple[Path, Read]:
    content = yaml.safe_load((PROMPTS / "counterfactual_group.yaml").read_text())
    content["examples"] = content["examples"][:1]
    (place / "own.yaml").write_text(yaml.safe_dump(content))
    return place / "own.yaml", lambda: load_prompt(str(place / "own.yaml")).file_with([])


def of_decisions(place: Path, _: Any) -> tuple[Path, Read]:
    file = Path(shutil.copy(PARTS / "decisions.yaml", place / "decisions.yaml"))

    def read() -> None:
        found = read_decisions(file)
        assert list(people_of(found.templates[0], found))

    return file, read


def of_refusals(place: Path, _: Any) -> tuple[Path, Read]:
    file = Path(shutil.copy(PARTS / "refusals.yaml", place / "refusals.yaml"))
    return file, lambda: read_requests(file)


def of_replies(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "scores.jsonl"
    scores = {"hate": 0.5, "violence": 0.1}
    answer = {"status": 200, "body": {"results": [{"category_scores": scores}]}}
    write_rows(
        file, [{"text": TEXTS[0], "response": answer}, {"text": TEXTS[1], "results": [{"category_scores": scores}]}]
    )
    return file, lambda: StoredScores(path=str(file)).score(TEXTS)


def of_attributes(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "perspective.jsonl"
    write_rows(file, [{"text": TEXTS[0], "attributeScores": {"TOXICITY": {"summaryScore": {"value": 0.5}}}}])
    return file, lambda: StoredScores(path=str(file)).score(TEXTS)


def of_scores_in_parquet(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "scores.parquet"
    pq.write_table(pa.table({"text": TEXTS, "hate": [0.5, 0.1]}), file)
    return file, lambda: StoredScores(path=str(file)).score(TEXTS)


def of_written_texts(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "texts.jsonl"
    write_rows(file, [{"prompt": "She", "text": " left.", "sample": 0, "ended": "end", "tokens": 2}])
    return file, lambda: StoredWriter(place)


def of_rows(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "rows.parquet"
    pq.write_table(pa.table({"text": TEXTS, "label": [0, 1], "nested": [{"a": [1]}, None]}), file, compression="none")
    return file, lambda: (description_of(str(file)), list(read_rows(str(file))))


def of_items(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "items.parquet"
    pq.write_table(pa.table({"id": KEYS, "score": [0.5, 1.0], "text": TEXTS}), file)
    return file, lambda: item_tables.recognises(file) and item_tables.read(file)


def of_a_saved_set(place: Path, _: Any) -> tuple[Path, Read]:
    datasets.Dataset.from_dict({"text": TEXTS, "label": [0, 1]}).save_to_disk(place / "saved")
    return place / "saved" / "dataset_info.json", lambda: (
        description_of(str(place / "saved")),
        list(read_rows(str(place / "saved"))),
    )


def of_its_state(place: Path, model: Any) -> tuple[Path, Read]:
    _, read = of_a_saved_set(place, model)
    return place / "saved" / "state.json", read


def of_its_table(place: Path, model: Any) -> tuple[Path, Read]:
    _, read = of_a_saved_set(place, model)
    return place / "saved" / "data-00000-of-00001.arrow", read


def of_cached_scores(place: Path, _: Any) -> tuple[Path, Read]:
    file, source = place / "scores.sqlite", Sentiment()
    cache = ScoreCache(file)
    cache.write(source, TEXTS, np.ones((2, len(source.outputs))))
    cache.connection.close()

    def read() -> None:
        cache = ScoreCache(file)
        with closing(cache.connection):
            found = cache.read(source, TEXTS)
        assert all(one.shape == (len(source.outputs),) for one in found.values())

    return file, read


def of_a_ledger(place: Path, _: Any) -> tuple[Path, Read]:
    file = place / "llm_ledger.sqlite"
    ledger = Ledger(file)
    ledger.put("key", "{}", Reply(ExchangeOutcome.OK, "text", "", 1, 1, 1, 0.5))
    ledger.close()

    def read() -> None:
        ledger = Ledger(file)
        with closing(ledger):
            ledger.get("key")
            ledger.claim("key")
            for told in (ledger.replies, ledger.models, ledger.spent, ledger.stages):
                list(told()) if told != ledger.spent else told()

    return file, read


def of_draws(place: Path, _: Any) -> tuple[Path, Read]:
    for name in KEYS:
        write_run(place / name, name, 1.0, 1, (0.3, 80.0))
    return next((place / "a").rglob("*.draws.safetensors")), lambda: fairlab.compare(
        place / "a", place / "b"
    ).to_pandas()


def of_embeddings(place: Path, _: Any) -> tuple[Path, Read]:
    readings = []
    for phase in ("before", "after"):
        (place / "items" / phase).mkdir(parents=True)
        arrays = {"held_out_pets": np.random.default_rng(0).normal(size=(6, 3, 4))}
        save_arrays(arrays, place / "items" / phase / "cced.safetensors")
        names = ("distance", "distance_cat", "distance_dog", "distance_kept")
        readings += [Reading("cced", "held_out_pets", name, 0.5, "", None, 6, 0.4, 0.6, phase=phase) for name in names]
    config = {"benchmark": {"cced": {"sets": ["embedded"]}}, "seed": 0}
    record = Record(place, config, "", status="finished", readings=readings)
    record.save()
    return place / "items" / "after" / "cced.safetensors", lambda: (write_report(record), items_of(record))


def of_a_record(place: Path, model: Any) -> tuple[Path, Read]:
    of_embeddings(place, model)

    def read() -> None:
        record = Record.load(place)
        write_report(record)
        items_of(record)

    return place / "record.json", read


FILES = {name.removeprefix("of_"): one for name, one in list(globals().items()) if name.startswith("of_")}


# ---------------------------------------------------------------- more ways


def with_numbers(file: Path) -> dict[str, Spoil]:
    """Ways to put a large number at every place near the beginning of a file."""

    def written(place: int, value: int) -> Spoil:
        def spoil(path: Path) -> None:
            content = bytearray(path.read_bytes())
            content[place : place + 8] = struct.pack("<Q", value)
            path.write_bytes(content)

        return spoil

    places = range(min(file.stat().st_size, 600))
    return {f"{value:x} at {place}": written(place, value) for place in places for value in (1 << 62, 1 << 31, 200)}


def with_cells(file: Path) -> dict[str, Spoil]:
    """Ways to put other texts into the cells of a table."""

    def written(row: int, cell: int, value: str) -> Spoil:
        def spoil(path: Path) -> None:
            lines = [line.split(",") for line in path.read_text().splitlines()]
            lines[row][cell] = value
            path.write_bytes("\n".join(map(",".join, lines)).encode("utf-8", "surrogatepass"))

        return spoil

    values = ["", "5", '"', "\0", "\ud800", "\x1b[2J", "x" * 100_000, f"${{oc.env:{VARIABLE}}}", "../outside/secret"]
    size = [len(line.split(",")) for line in file.read_text().splitlines()]
    return {
        f"row {row}, cell {cell} = {value[:20]!a}": written(row, cell, value)
        for row, cells in enumerate(size)
        for cell in range(cells)
        for value in values
    }


def with_columns(file: Path) -> dict[str, Spoil]:
    """Ways to write a column of a Parquet file in another type."""
    two = {
        "bytes": pa.array([b"\xff", b"b"]),
        "lists": pa.array([["a"], ["b"]]),
        "mappings": pa.array([{"a": 1}, {"a": 2}]),
        "a map": pa.array([[("a", 1)], [("b", 2)]], type=pa.map_(pa.string(), pa.int64())),
        "nothing": pa.nulls(2),
        "categories": pa.array(TEXTS).dictionary_encode(),
        "times": pa.array([1 << 62, 2], type=pa.timestamp("ns")),
        "months": pa.array([1, 2], type=pa.date32()),
        "decimals": pa.array([1, 2], type=pa.decimal128(5, 2)),
        "halves": pa.array(np.array([np.nan, np.inf], dtype=np.float16)),
        "texts": pa.array(["\x1b[2J", "a\0b"]),
    }

    def written(name: str, column: pa.Array) -> Spoil:
        def spoil(path: Path) -> None:
            table = pq.read_table(path)
            pq.write_table(table.set_column(table.schema.names.index(name), name, column), path)

        return spoil

    names = pq.read_schema(file).names
    return {f"{name} of {kind}": written(name, column) for name in names for kind, column in two.items()}


def with_cells_of_sqlite(file: Path) -> dict[str, Spoil]:
    """Ways to put values of other types into each column of a database, with the checksum that its reader expects."""

    def written(table: str, column: str, value: object) -> Spoil:
        def spoil(path: Path) -> None:
            with closing(sqlite3.connect(path)) as database, database:
                database.execute(f"UPDATE {table} SET {column} = ?", (value,))
                if table == "answers":
                    rows = database.execute("SELECT key, request, reply FROM answers").fetchall()
                    sums = [(ledger_checksum(*map(str, row)), row[0]) for row in rows]
                    database.executemany("UPDATE answers SET checksum = ? WHERE key = ?", sums)

        return spoil

    with closing(sqlite3.connect(file)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")] for name in tables}
        full = [name for name in tables if database.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]]
    values = [5, 1e300, "x", "", b"\xff", b"12345678", None, "[]", '{"text": 5}', json.dumps({"text": [1], "x": 2})]
    return {
        f"{table}.{column} = {value!a}": written(table, column, value)
        for table in full
        for column in columns[table]
        for value in values
        if column != "key"
    }


def ledger_checksum(key: str, request: str, reply: str) -> str:
    return hashlib.sha256(f"{key}\n{request}\n{reply}".encode()).hexdigest()


def with_arrays(file: Path) -> dict[str, Spoil]:
    """Ways to put arrays of other types and shapes into a file of arrays."""
    others: dict[str, Callable[[Any], Any]] = {
        "a number": lambda _: np.float32(1),
        "nothing": lambda array: array[:0],
        "no number": lambda array: np.full(array.shape, np.nan),
        "infinity": lambda array: np.full(array.shape, np.inf),
        "whole numbers": lambda array: np.full(array.shape, -(1 << 62)),
        "truths": lambda array: np.zeros(array.shape, dtype=bool),
        "the first item": lambda array: array[:1],
        "one more dimension": lambda array: array[None],
        "twice as many": lambda array: np.concatenate([array, array]),
        "transposed": lambda array: array.T.copy(),
    }

    def written(name: str, other: Callable[[Any], Any]) -> Spoil:
        def spoil(path: Path) -> None:
            arrays = load_file(path)
            arrays[name] = other(arrays[name])
            save_arrays(arrays, path)

        return spoil

    names = list(load_file(file))[:3]
    return {f"{name} as {kind}": written(name, other) for name in names for kind, other in others.items()}


MORE = {
    ".safetensors": with_arrays,
    ".gguf": with_numbers,
    ".csv": with_cells,
    ".parquet": with_columns,
    ".sqlite": with_cells_of_sqlite,
}


# ---------------------------------------------------------------- the walk


def fault_of(read: Read) -> str:
    """What is wrong with how a reader ended, or an empty text."""
    try:
        read()
    except FairlabError as error:
        said = str(error)
        return f"of several lines, or with a secret: {said!a}" if "\n" in said or SECRET in said else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def faults(write: Any, place: Path, model: Any, count: int) -> Iterator[str]:
    """Spoil a file in at most ``count`` drawn ways, and yield what goes wrong."""
    file, read = write(place, model)
    read()
    whole = file.read_bytes()
    found = ways(file) | MORE.get(file.suffix, lambda _: {})(file)
    for name in random.Random(file.name).sample(sorted(found), min(count, len(found))):
        found[name](file)
        if fault := fault_of(read):
            yield f"{name} | {fault}"
        for spoilt in (file, *file.parent.glob(f"{file.name}-*")):  # and what sqlite kept of it
            spoilt.unlink(missing_ok=True)
        file.write_bytes(whole)


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv(VARIABLE, SECRET)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
def test_a_spoilt_file_is_read_or_refused_in_a_sentence(write, tmp_path, base):
    assert "\n".join(faults(write, tmp_path, base, FEW)) == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
def test_a_file_spoilt_in_many_ways_is_read_or_refused_in_a_sentence(write, tmp_path, base):
    assert "\n".join(faults(write, tmp_path, base, MANY)) == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_spoilt_gguf_model_is_loaded_or_refused_in_a_sentence(tmp_path):
    def write(place: Path, _: Any) -> tuple[Path, Read]:
        file = Weights(place).gguf
        return file, lambda: fairlab.load(file)

    pytest.importorskip("gguf")
    assert "\n".join(faults(write, tmp_path, None, 60)) == ""


@pytest.mark.parametrize("name", ["adapters", "adapters_tensors", "a_saved_set", "its_state", "its_table"])
def test_a_link_in_a_folder_is_not_followed(name, tmp_path, base):
    (tmp_path / "here").mkdir()
    file, read = FILES[name](tmp_path / "here", base)
    file.rename(tmp_path / "outside")
    file.symlink_to(os.path.relpath(tmp_path / "outside", file.parent))
    with pytest.raises(FairlabError, match=f"{file.name} is a link out of the folder"):
        read()


@pytest.mark.parametrize("read", [read_rows, lambda name: StoredScores(path=name)], ids=["rows", "scores"])
def test_arrays_of_numpy_are_no_texts(read, tmp_path):
    np.savez(tmp_path / "x.npz", text=np.array(TEXTS))
    with pytest.raises(FairlabError, match=r"x\.npz"):
        list(read(str(tmp_path / "x.npz")))
