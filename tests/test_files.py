import errno
import hashlib
from pathlib import Path

import pytest

from fairlab.files import no_space_is_one_sentence, sha256, write_whole
from fairlab.types import FairlabError


def test_sha256(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_whole(path, "old")

    def full(self, text, encoding):
        with self.open("w") as file:
            file.write(text[:3])
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(FairlabError, match=r"no space left to write .*; free some space"):
        write_whole(path, "new content")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


def test_an_error_that_holds_its_number_in_its_text_alone(tmp_path):
    with pytest.raises(FairlabError, match="no space left"), no_space_is_one_sentence(tmp_path):
        raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(RuntimeError), no_space_is_one_sentence(tmp_path):
        raise RuntimeError("os error 2")


def test_other_errors_pass_through(tmp_path):
    with pytest.raises(PermissionError), no_space_is_one_sentence(tmp_path):
        raise PermissionError(errno.EACCES, "no", "x")
