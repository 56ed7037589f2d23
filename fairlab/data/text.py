"""Reader of plain text: files, paragraphs and sentences, and the choice of held-out paragraphs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlab.data.groups import groups_files, read_groups
from fairlab.files import sha256
from fairlab.text.gutenberg import book_lines
from fairlab.text.reading import text_lines
from fairlab.text.sentences import is_wrapped
from fairlab.types import DataUnavailable

SHORTEST = 5  # minimum number of tokens of a training text, including special tokens
# The pattern begins with white space, so only white space is examined, which is several times as fast.
TITLES = "".join(rf"(?<!\b{title}\.\s)" for title in ("Mr", "Mrs", "Ms", "Dr", "St", "[A-Z]"))
SENTENCE_END = re.compile(rf"""\s(?:(?<=[.!?]\s)|(?<=[.!?]["')\]]\s)){TITLES}\s*(?=["'(\[]?[A-Z])""")


def read(path: str) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield the name, the SHA-256 and the paragraphs of every file at a path.

    Each paragraph is paired with the key that decides whether it is held out. The versions of a counterfactual group
    are paragraphs with the same key, so that they stay together.

    Raises:
        FairlabError: There is no such file or folder, it holds no text, or a file is not text.
    """
    if path.startswith("embedded/"):
        (file,) = groups_files(path)
        groups = [group for group in read_groups(path) if group.extra.get("split", "train") == "train"]
        yield file.name, sha256(file), [(group.id, text) for group in groups for text in group.texts]
        return
    for file in text_files(path):
        yield file.name, sha256(file), [(text, text) for text in paragraphs(read_text(file))]


def text_files(path: str) -> list[Path]:
    """Return the file at a path, or the ``.txt`` files of a folder, sorted by name.

    Raises:
        DataUnavailable: The path does not exist, or a folder holds no ``.txt`` file.
    """
    folder = os.environ.get("FAIRLAB_DATA")
    places = [Path(path), *([Path(folder) / path] if folder else [])]
    place = next((place for place in places if place.exists()), None)
    if place is None:
        tried = "FAIRLAB_DATA holds none" if folder else "FAIRLAB_DATA is not set"
        raise DataUnavailable(f"there is no file or folder {path}, and {tried}; give data.paths of plain text")
    files = [place] if place.is_file() else sorted(place.glob("*.txt"))
    if not files:
        raise DataUnavailable(f"the folder {path} holds no .txt file; put the corpus there as plain text")
    return files


def read_text(file: Path) -> str:
    """Read a file's text, as UTF-8 or else Latin-1, without Project Gutenberg's front and back matter.

    Raises:
        FairlabError: The file is not text; see :func:`fairlab.text.reading.text_lines`.
    """
    return "\n".join(book_lines(text_lines(file, latin_1=True)))


def paragraphs(text: str) -> list[str]:
    """Split a text into paragraphs at blank lines, or at every line end if lines are not wrapped.

    Each paragraph is returned on one line.
    """
    lines = text.split("\n")
    blocks = re.split(r"\n\s*\n", text) if is_wrapped(lines) else lines
    flat = (" ".join(block.replace("_", "").split()) for block in blocks)  # Gutenberg marks italics by underscores
    return [block for block in flat if block]


def cut_sentences(sentences: Sequence[str], lengths: Sequence[int], window: int) -> list[list[str]]:
    """Divide sentences into texts of consecutive sentences. A sentence that is longer than ``window`` is a text.

    Args:
        sentences: Sentences in order.
        lengths: Number of tokens of each sentence.
        window: Maximum number of tokens of a text.
    """
    cuts: list[list[str]] = []
    room = -1  # below every length, so that the first sentence begins a text
    for sentence, length in zip(sentences, lengths, strict=True):
        if length > room:
            cuts.append([])
            room = window
        cuts[-1].append(sentence)
        room -= length
    return cuts


def held_out(key: str, share: float) -> bool:
    """Return whether a paragraph is in the held-out ``share``, which depends only on a hash of its key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) < share * 2**64
