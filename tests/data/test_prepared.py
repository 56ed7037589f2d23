"""Text prepared once: shared, the same with any number of processes, and refused where it does not fit."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fairlab.augmentation.perturbed_text import PerturbedText
from fairlab.data import packed, preparing
from fairlab.data.prepared import DECIDES, NAME, Tokens
from fairlab.files import temporary_beside
from fairlab.text import reading
from fairlab.types import DataUnavailable, FairlabError
from tests.data.stream.test_shards import in_a_thread
from tests.data.test_packed import file, make  # noqa: F401  # a fixture


def test_parts_by_hand(tmp_path, monkeypatch):
    """Rows count by their originals; only the last part of running text ends a document."""
    text, rows = tmp_path / "a.txt", tmp_path / "b.jsonl"
    text.write_text("Abc\n\nDe\n\nFghij\n\nK\n")
    rows.write_text('{"text": "lmn", "from": "opqrs"}\n{"text": "t"}\n')
    both = [("opqrs", "lmn"), ("t", "t")]

    def parts(size, limit):
        monkeypatch.setattr(preparing, "PART", size)
        found = preparing.text_parts([text, rows], "text", "from", limit)
        return [(part.number, part.paragraphs, part.rows, part.room, part.ends) for part in found]

    first = (["Abc", "De"], [])
    assert parts(5, None) == [
        (0, *first, None, False),
        (1, ["Fghij"], [], None, False),
        (2, ["K"], [], None, True),
        (3, [], both[:1], None, False),
        (4, [], both[1:], None, False),
    ]
    assert parts(5, 5) == [(0, *first, 5, False)]
    assert parts(5, 6) == [(0, *first, 6, False), (1, ["Fghij"], [], 1, False)]
    assert parts(100, 5) == [(0, *first, 5, False)]
    assert parts(100, 16) == [(0, ["Abc", "De", "Fghij", "K"], [], 16, True), (1, [], both[:1], 5, False)]
    text.write_text("Abc\n\nDe\n")
    assert parts(5, 1) == [(0, ["Abc"], [], 1, False)]
    assert parts(5, 5) == [(0, *first, 5, True)], "a document ends there, even if the part is full"


def test_passages_end_at_the_room_and_two_thousand_sentences_are_cut_together(tokenizer, tmp_path):
    maker = preparing.PartMaker(tokenizer, tmp_path, "uint16", 10**6, 0.1, "original", None)
    rows = [("ab", "x"), ("cd", "y"), ("e", "z")]
    for room, count in ((3, 2), (4, 2), (5, 3), (None, 3)):
        found = maker.passages(preparing.TextPart(0, [], rows, room, False))
        assert [(passage.original, passage.there) for passage in found] == rows[:count]
    found = list(maker.passages(preparing.TextPart(0, ["Go. " * 1500, "Go. " * 501], [], None, False)))
    assert [len(passage.sentences) for passage in found] == [2000, 1]


def test_tokens_are_read_across_shards(tmp_path):
    for name, ids in (("a", [1, 2, 3]), ("b", [4]), ("c", [5, 6])):
        np.array(ids, "<u2").tofile(tmp_path / name)
    tokens = Tokens([tmp_path / name for name in "abc"], [3, 1, 2], "uint16")
    assert len(tokens) == 6
    for start in range(7):
        for stop in range(start, 9):
            assert tokens.read(start, stop).tolist() == [1, 2, 3, 4, 5, 6][start:stop]


@pytest.mark.parametrize(("size", "dtype"), [(2**16, "uint16"), (2**16 + 1, "uint32")])
def test_token_ids_of_a_large_vocabulary_take_four_bytes(tiny, file, monkeypatch, size, dtype):  # noqa: F811
    monkeypatch.setattr(type(tiny.tokenizer), "__len__", lambda _: size)
    data = make(tiny, file)
    assert data.manifest.dtype == dtype
    (shard,) = data.manifest.shards
    assert {entry["bytes"] / entry["tokens"] for entry in shard.values()} == {np.dtype(dtype).itemsize}


def tokens_of(data):
    return {split: tokens.read(0, len(tokens)).tolist() for split, tokens in data.tokens.items()}


@pytest.fixture
def everybody():
    return PerturbedText(axes=["gender"], person="everybody")


def test_a_text_is_prepared_once_for_all_who_ask_the_same(tiny, file, tmp_path, everybody, monkeypatch):  # noqa: F811
    kept = str(tmp_path / "texts" / "kept")
    first = make(tiny, file, prepared=kept, augmentation=everybody)
    assert re.fullmatch("text-[0-9a-f]{12}", first.folder.name)

    def never(*_):
        raise AssertionError("prepared again")

    monkeypatch.setattr(preparing.PartMaker, "make", never)
    again = make(tiny, file, prepared=kept, augmentation=everybody, seed=5, batch_size=2, block=12)
    assert tokens_of(again) == tokens_of(first)
    assert again.fingerprints().hashes.tolist() == first.fingerprints().hashes.tolist() != []
    assert make(tiny, file, prepared=str(first.folder), augmentation=everybody).folder == first.folder
    manifest = json.loads((first.folder / NAME).read_text())
    assert manifest["made_of"]["augmentation"]["person"] == "everybody"
    assert (manifest["dtype"], manifest["made_of"]["format"]) == ("uint16", 1)
    assert first.manifest.counts["passages"] == 40  # of three of the 120 sentences each
    assert first.facts()["perturbed_by"]["person"] == "everybody"


@pytest.mark.slow  # processes start anew, and import anew
@pytest.mark.long
def test_shards_do_not_depend_on_the_number_of_processes(tiny, file, tmp_path, everybody, monkeypatch):  # noqa: F811
    monkeypatch.setattr(preparing, "PART", 1000)
    made = [
        make(tiny, file, prepared=str(tmp_path / f"{n}"), num_proc=n, augmentation=everybody, limit_characters=2500)
        for n in (1, 2)
    ]
    shards = [[entry["sha256"] for shard in data.manifest.shards for entry in shard.values()] for data in made]
    assert shards[0] == shards[1]
    assert len(made[0].manifest.shards) == 3
    assert made[0].manifest.counts == made[1].manifest.counts
    assert made[0].fingerprints().hashes.tolist() == made[1].fingerprints().hashes.tolist()


def changed(folder, **values):
    manifest = json.loads((folder / NAME).read_text())
    manifest["made_of"] |= values
    (folder / NAME).write_text(json.dumps(manifest))


def test_what_does_not_fit_is_one_sentence(tiny, file, tmp_path, everybody):  # noqa: F811
    data = make(tiny, file, prepared=str(tmp_path / "kept"), augmentation=everybody)
    folder = data.folder

    def again():
        return make(tiny, file, prepared=str(folder), augmentation=everybody)

    for values, words in (
        ({"tokenizer": "0"}, "made with another tokenizer"),
        ({"revision": "0"}, "made with another revision of the rules"),
        ({"passage": 7}, r"made with another data.passage \(7, not 24\)"),
    ):
        before = data.manifest.made_of
        changed(folder, **values)
        with pytest.raises(FairlabError, match=words):
            again()
        changed(folder, **before)
    with pytest.raises(FairlabError, match="made with another augmentation"):
        make(tiny, file, prepared=str(folder), augmentation=PerturbedText(axes=["age"], person="everybody"))
    os.utime(file, ns=(1, 1))  # touched, not changed
    assert again().folder == folder
    text = file.read_text()
    file.write_text(text.replace("boat", "goat", 1))
    with pytest.raises(FairlabError, match=r"text\.txt has changed since .*prepared\.json was prepared; delete"):
        again()
    file.write_text(text)
    shard = folder / "train-00000.tokens"
    content = shard.read_bytes()
    shard.write_bytes(content[::-1])
    with pytest.raises(FairlabError, match=r"train-00000\.tokens has changed since it was written"):
        again()
    shard.unlink()
    with pytest.raises(DataUnavailable, match=r"train-00000\.tokens is missing"):
        again()
    (folder / NAME).write_text("{")
    with pytest.raises(FairlabError, match=r"prepared\.json cannot be read as JSON"):
        again()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"One. Two.\n\nA\0b", "a byte is zero"), (b"One.\n\n" + b"word " * 300, "line 3 is longer than 1,000 bytes")],
)
def test_bad_text_leaves_nothing_half_written(tiny, tmp_path, monkeypatch, content, words):
    monkeypatch.setattr(reading, "LONGEST_LINE", 1000)
    monkeypatch.setattr(preparing, "PART", 1)
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(FairlabError, match=words):
        make(tiny, tmp_path / "bad.txt", prepared=str(tmp_path / "kept"))
    assert [path for path in (tmp_path / "kept").iterdir() if path.suffix != ".lock"] == []


def shards_of(data):
    return [(entry["file"], entry["sha256"]) for shard in data.manifest.shards for entry in shard.values()]


def stopped_at(monkeypatch, number, stop):
    """From now on the shards that are made are counted, and one of them ends the process."""
    made = []
    plain = preparing.PartMaker._make

    def watched(self, part):
        made.append(part.number)
        if part.number == number:
            stop()
        return plain(self, part)

    monkeypatch.setattr(preparing.PartMaker, "_make", watched)
    return made


def interrupt():
    raise KeyboardInterrupt


def test_a_finished_part_is_kept_and_made_again_if_a_file_of_it_is_missing(tokenizer, tmp_path, monkeypatch):
    maker = preparing.PartMaker(tokenizer, tmp_path, "uint16", 24, 0.0, "original", None)
    part = preparing.TextPart(0, ["She left the house. He stayed."], [], None, True)
    made = stopped_at(monkeypatch, None, interrupt)
    first, seen = maker.make(part)
    for missing, times in ((None, 1), ("parts/00000/trained_on.safetensors", 2), ("parts/00000/counts.json", 3)):
        if missing:
            (tmp_path / missing).unlink()
        again, known = maker.make(part)
        assert (again["passages"], known.hashes.tolist(), len(made)) == (1, seen.hashes.tolist(), times)
    assert set(first["files"]) == {"train"}


def test_parts_are_made_in_workers_as_here(tiny, file, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(preparing, "PART", 1000)
    workers = in_a_thread(monkeypatch)
    here, there = (make(tiny, file, prepared=str(tmp_path / f"{n}"), num_proc=n) for n in (1, 2))
    assert workers == [2]
    assert len(here.manifest.shards) > 2
    for one, other in zip(here.manifest.shards, there.manifest.shards, strict=True):
        assert {split: entry["sha256"] for split, entry in one.items()} == {
            split: entry["sha256"] for split, entry in other.items()
        }


@pytest.mark.slow
def test_a_stopped_preparation_goes_on_after_its_finished_shards(tiny, file, tmp_path, everybody, monkeypatch):  # noqa: F811
    monkeypatch.setattr(preparing, "PART", 700)
    whole = make(tiny, file, prepared=str(tmp_path / "whole"), augmentation=everybody)
    kept = str(tmp_path / "kept")
    with monkeypatch.context() as patched:
        stopped_at(patched, 2, interrupt)
        with pytest.raises(KeyboardInterrupt):
            make(tiny, file, prepared=kept, augmentation=everybody)
    (left,) = (path for path in (tmp_path / "kept").iterdir() if path.suffix == ".new")
    (left / "train-00001.tokens").write_bytes(b"damaged")
    temporary_beside(left / "train-00002.tokens").write_bytes(b"half")
    made = stopped_at(monkeypatch, None, interrupt)
    again = make(tiny, file, prepared=kept, augmentation=everybody)
    assert made == [1, *range(2, len(whole.manifest.shards))]  # the first was finished, the second damaged
    assert shards_of(again) == shards_of(whole)
    assert again.manifest.counts == whole.manifest.counts
    assert again.fingerprints().hashes.tolist() == whole.fingerprints().hashes.tolist()
    assert sorted(path.name for path in again.folder.iterdir()) == sorted(path.name for path in whole.folder.iterdir())


def test_what_was_finished_of_another_text_is_not_taken_up(tiny, file, tmp_path, everybody, monkeypatch):  # noqa: F811
    monkeypatch.setattr(preparing, "PART", 700)
    kept = str(tmp_path / "kept")
    with monkeypatch.context() as patched:
        stopped_at(patched, 1, interrupt)
        with pytest.raises(KeyboardInterrupt):
            make(tiny, file, prepared=kept, augmentation=everybody)
    file.write_text(file.read_text().replace("boat", "goat"))
    made = stopped_at(monkeypatch, None, interrupt)
    make(tiny, file, prepared=kept, augmentation=everybody)
    assert made[0] == 0


KILLED = """
import os, pickle, signal, sys
from fairlab.data import preparing
preparing.PART = 700
plain = preparing.PartMaker._make
def killed(self, part):
    made = plain(self, part)
    if part.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return made
preparing.PartMaker._make = killed
preparing.prepare(*pickle.load(open(sys.argv[1], "rb")))
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_killed_preparation_goes_on(tokenizer, file, tmp_path, monkeypatch):  # noqa: F811
    made_of = dict.fromkeys(DECIDES, 0) | {"field": "text", "original": "source_text", "limit_characters": None}
    maker = partial(
        preparing.PartMaker, tokenizer, dtype="uint16", passage=24, validation=0.1, twin="original", augmentation=None
    )
    (tmp_path / "call").write_bytes(pickle.dumps((tmp_path / "kept", made_of, [file], maker, 1)))
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "call"], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "kept").exists()
    monkeypatch.setattr(preparing, "PART", 700)
    made = stopped_at(monkeypatch, None, interrupt)
    again = preparing.prepare(tmp_path / "kept", made_of, [file], maker, 1)
    assert made[0] == 2  # which was written, but not told to be finished
    whole = preparing.prepare(tmp_path / "whole", made_of, [file], maker, 1)
    assert again.shards == [
        {split: {**entry, "mtime_ns": again.shards[k][split]["mtime_ns"]} for split, entry in shard.items()}
        for k, shard in enumerate(whole.shards)
    ]
    assert again.counts == whole.counts


def test_the_revision_of_the_rules_is_a_hash_of_this_code():
    assert len(packed.rules_revision()) == 16


def test_the_revision_of_the_rules_covers_every_file_of_their_folders(monkeypatch):
    covered = []
    monkeypatch.setattr(packed, "sha256", lambda *files: covered.extend(files) or "0" * 64)
    packed._code_revision.__wrapped__()
    package = Path(packed.__file__).parents[1]
    folders = [package / name for name in ("rewriting", "text", "lexicons", "augmentation")]
    found = {path for folder in folders for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc"}
    assert set(covered) == found >= {package / "lexicons" / "names.csv.xz"}


def test_what_publishers_add_to_a_book_is_no_paragraph(tmp_path):
    book = "*** START OF THE EBOOK ***\n\nShe left\n_early_.\n\nHe came.\n\n*** END OF THE EBOOK ***\n\n"
    (tmp_path / "book.txt").write_text(f"Title\n\n{book}Licence.\n")
    assert list(preparing.stream_paragraphs(tmp_path / "book.txt")) == ["She left early.", "He came."]
