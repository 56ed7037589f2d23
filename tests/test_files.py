import errno
import hashlib
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from fairlab.files import (
    COMPACT,
    MOST_BYTES,
    PLAIN,
    compressed,
    holds_run,
    no_space_is_one_sentence,
    read_record,
    record_file,
    run_folders,
    save_arrays,
    sha256,
    write_whole,
)
from fairlab.record import Record
from fairlab.types import FairlabError


def test_sha256(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_whole(path, "old")

    def full(self, text, **_):
        with self.open("w") as file:
            file.write(text[:3])
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(FairlabError, match=r"no space left to write .*; free some space"):
        write_whole(path, "new content")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


def test_missing_folders_are_made_but_nothing_replaces_a_file(tmp_path):
    write_whole(tmp_path / "new" / "folder" / "record.json", "x")
    assert (tmp_path / "new" / "folder" / "record.json").read_text() == "x"
    with pytest.raises(OSError, match=r"record\.json"):
        write_whole(tmp_path / "new" / "folder" / "record.json" / "y", "x")


@pytest.mark.parametrize("place", ["/dev/full", "/dev/stdout", "/proc/self/new.csv", "/sys/new", "/dev/fd/1"])
def test_nothing_of_the_system_is_replaced(place):
    with pytest.raises(FairlabError, match="in a folder reserved for the system; choose another place"):
        write_whole(Path(place), "x")


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FairlabError, match="pipe is a pipe, a socket or a device, not a file"):
        write_whole(tmp_path / "pipe", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_an_error_that_holds_its_number_in_its_text_alone(tmp_path):
    with pytest.raises(FairlabError, match="no space left"), no_space_is_one_sentence(tmp_path):
        raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(RuntimeError), no_space_is_one_sentence(tmp_path):
        raise RuntimeError("os error 2")


def test_other_errors_pass_through(tmp_path):
    with pytest.raises(PermissionError), no_space_is_one_sentence(tmp_path):
        raise PermissionError(errno.EACCES, "no", "x")


def test_a_record_is_read_in_either_form_and_the_plain_one_counts(tmp_path):
    assert not holds_run(tmp_path)
    (tmp_path / COMPACT).write_bytes(compressed('{"a": "compressed, ü"}'))
    assert holds_run(tmp_path)
    assert read_record(record_file(tmp_path)) == '{"a": "compressed, ü"}'
    (tmp_path / PLAIN).write_text("plain")
    assert read_record(record_file(tmp_path)) == "plain"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / COMPACT).write_bytes(compressed("b"))
    assert run_folders(tmp_path) == [tmp_path, tmp_path / "b"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: b"no archive " * 9, "it cannot be decompressed"),
        (lambda: compressed("x" * 1000)[:-9], "its end is missing|it cannot be decompressed"),
        (lambda: lzma.compress(b"x" * (MOST_BYTES + 1), preset=0), "it decompresses to more than 64 MiB"),
        # A dictionary of 1.5 GiB, which the reader would have to make room for.
        (
            lambda: lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": (1 << 30) + (1 << 29)}]),
            "it cannot be decompressed: Memory",
        ),
    ],
    ids=["no archive", "cut off", "a bomb", "too much memory"],
)
@pytest.mark.slow
def test_a_compressed_record_that_cannot_be_read_is_one_sentence(tmp_path, content, said):
    (tmp_path / COMPACT).write_bytes(content())
    assert (tmp_path / COMPACT).stat().st_size < 100_000
    with pytest.raises(ValueError, match=said):
        read_record(tmp_path / COMPACT)
    with pytest.raises(FairlabError, match=rf"record.json.xz is damaged \(({said}).*move {tmp_path} away$"):
        Record.load(tmp_path)


@pytest.mark.parametrize("name", [PLAIN, COMPACT])
def test_a_record_of_a_terabyte_is_one_sentence(tmp_path, name):
    with (tmp_path / name).open("wb") as file:
        file.truncate(1 << 40)  # it takes no room on the disk
    with pytest.raises(FairlabError, match=f"{name} .*it has more than 64 MiB"):
        Record.load(tmp_path)


def test_arrays_of_any_order_in_memory_are_read_as_they_were(tmp_path):
    rows = np.arange(6.0).reshape(2, 3)
    arrays = {"c": rows, "transposed": rows.T, "strided": rows[:, ::2], "scalar": np.array(3.0)}
    save_arrays(arrays, tmp_path / "arrays.safetensors")
    found = load_file(tmp_path / "arrays.safetensors")
    assert {name: array.tolist() for name, array in found.items()} == {n: a.tolist() for n, a in arrays.items()}
