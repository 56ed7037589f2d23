"""Parallel preparation of a corpus: it is cut into passages, perturbed, tokenized and stored as shards of token ids."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from fairlab.data.applying import texts_of_augmentation
from fairlab.data.corpus import SPLITS
from fairlab.data.prepared import NAME, Prepared, ShardEntry, file_entry, open_prepared
from fairlab.data.stream.formats import PROBED, TABLES, BadRow
from fairlab.data.stream.manifest import data_files
from fairlab.data.stream.parts import FinishedPart, changed_facts
from fairlab.data.stream.rows import read_rows
from fairlab.data.stream.shards import NAMED, drawn_ahead, process_pool
from fairlab.data.text import SENTENCE_END, cut_sentences, held_out
from fairlab.data.word_tokens import WordTokens
from fairlab.files import check_folder, no_space_is_one_sentence, remove_unfinished, replaced_when_written, write_whole
from fairlab.protocols import BatchedTextAugmentation, TextAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.text.gutenberg import book_lines
from fairlab.text.reading import text_lines
from fairlab.text.sentences import is_wrapped
from fairlab.types import DataUnavailable, FairlabError, Natural

PART = 4_000_000  # characters per shard, slightly exceeded if a paragraph ends later
AT_ONCE = 2000  # sentences tokenized together
TOGETHER = 256  # passages perturbed together
BEGUN, PARTS = "begun.json", "parts"  # files from which a killed preparation resumes

Made = tuple[dict[str, Any], Fingerprints]
Pair = tuple[str, str]  # the original text, and its replacement in the corpus


@dataclass(frozen=True)
class Passage:
    """Passage of a corpus.

    Attributes:
        original: Original text.
        there: Text that replaces the original in the corpus.
        ids: Token ids of the original text.
        sentences: Sentences of the text; None if the text is a row.
        is_document: Whether the passage is a whole document.
    """

    original: str
    there: str
    ids: NDArray[np.int64]
    sentences: list[str] | None
    is_document: bool = False


@dataclass(frozen=True)
class TextPart:
    """Part of the text that becomes one shard.

    Attributes:
        number: Number of the shard.
        paragraphs: Paragraphs of running text.
        rows: Rows that are whole passages. Either ``rows`` or ``paragraphs`` is empty.
        room: Number of characters of original text after which to stop, at the end of a passage; None for all.
        ends: Whether the part is the last one of a file of running text, which is one document.
    """

    number: int
    paragraphs: list[str]
    rows: list[Pair]
    room: int | None
    ends: bool


class PreparedPart(TypedDict):
    """Layout of the stored counts of a finished part, with an entry for each split that has tokens."""

    passages: Natural
    passages_changed: Natural
    original_tokens: Natural
    files: dict[str, ShardEntry]


@dataclass
class PartMaker:
    """Maker of shards. Each process has one.

    Attributes:
        tokenizer: Fast tokenizer.
        folder: Folder to write shards to.
        dtype: Data type of the token ids.
        passage: Maximum number of tokens of a passage, unless a single sentence is longer.
        validation: Fraction of the passages held out.
        twin: ``original`` to ignore the replacement of a passage, otherwise ``perturbed``.
        augmentation: Augmentation that rewrites training passages; None leaves them unchanged.
        separator: Token id to add after the last token of a document; None adds no token.
    """

    tokenizer: PreTrainedTokenizerBase
    folder: Path
    dtype: str
    passage: int
    validation: float
    twin: str
    augmentation: TextAugmentation | None
    separator: int | None = None

    def __post_init__(self) -> None:
        self.ids = WordTokens(self.tokenizer)

    def passages(self, part: TextPart) -> Iterator[Passage]:
        """Yield the passages of a part until its ``room`` is used up."""
        seen = 0
        for passage in chain(self._cut(part.paragraphs), self._rows(part.rows)):
            if part.room is not None and seen >= part.room:
                return
            seen += len(passage.original)
            yield passage

    def _cut(self, paragraphs: list[str]) -> Iterator[Passage]:
        sentences = (sentence for text in paragraphs for sentence in SENTENCE_END.split(text))
        while lot := list(islice(sentences, AT_ONCE)):
            ids = self.ids(lot)
            place = 0
            for some in cut_sentences(lot, [len(one) for one in ids], self.passage):
                text = " ".join(some)
                yield Passage(text, text, np.concatenate(ids[place : place + len(some)]), some)
                place += len(some)

    def _rows(self, rows: list[Pair]) -> Iterator[Passage]:
        for start in range(0, len(rows), AT_ONCE):
            lot = rows[start : start + AT_ONCE]
            for (original, there), ids in zip(lot, self.ids([original for original, _ in lot]), strict=True):
                yield Passage(original, there, ids, None, is_document=True)

    def make(self, part: TextPart) -> Made:
        """Write the shard of a part unless it is finished, and return its counts and training fingerprints."""
        own = self.folder / PARTS / f"{part.number:05}"
        finished = FinishedPart(self.folder, own / "counts.json", PreparedPart)
        found, seen = finished.read(), Fingerprints.load(own)
        if found is None or seen is None:
            found, seen = self._make(part)
            own.mkdir(parents=True, exist_ok=True)
            seen.save(own)
            finished.write(found)
        return found, seen

    def _make(self, part: TextPart) -> Made:
        ids: dict[str, list[NDArray[np.int64]]] = {split: [] for split in SPLITS}
        found, seen = {"passages": 0, "passages_changed": 0, "original_tokens": 0}, Fingerprints()
        replaced: list[tuple[int, str]] = []
        passages = self.passages(part)
        while lot := list(islice(passages, TOGETHER)):
            found["passages"] += len(lot)
            held = [held_out(passage.original, self.validation) for passage in lot]
            for passage in (passage for passage, out in zip(lot, held, strict=True) if out):
                ids["validation"] += [passage.ids, *self._separators(passage.is_document)]
            training = [passage for passage, out in zip(lot, held, strict=True) if not out]
            for passage, text in zip(training, self._texts(training), strict=True):
                if text != passage.original:
                    replaced.append((len(ids["train"]), text))
                if text == passage.original and passage.sentences is not None:
                    seen.add(passage.sentences)
                else:
                    seen.add_running([text])
                ends = self._separators(passage.is_document)
                found["original_tokens"] += len(passage.ids) + len(ends)
                ids["train"] += [passage.ids, *ends]
        for (place, _), made in zip(replaced, self.ids([text for _, text in replaced]), strict=True):
            ids["train"][place] = made
        found["passages_changed"] = len(replaced)
        for rows in filter(None, ids.values()):
            rows += self._separators(part.ends)
        found["original_tokens"] += len(self._separators(part.ends)) * bool(ids["train"])
        shard = {split: self._write(f"{split}-{part.number:05}.tokens", rows) for split, rows in ids.items()}
        return {**found, "files": {split: entry for split, entry in shard.items() if entry["tokens"]}}, seen

    def _separators(self, ends: bool) -> list[NDArray[np.int64]]:
        """Return a list with the separator as a row of tokens if a document ends, otherwise an empty list."""
        return [np.array([self.separator])] if ends and self.separator is not None else []

    def _texts(self, passages: Sequence[Passage]) -> list[str]:
        """Return the text to train on for each passage."""
        if self.twin == "original":
            return [passage.original for passage in passages]
        there = [passage.there for passage in passages]
        if self.augmentation is None:
            return there
        if isinstance(self.augmentation, BatchedTextAugmentation):
            return [" ".join(made) for made in self.augmentation.all_texts(there)]
        return [" ".join(texts_of_augmentation(self.augmentation, text)) for text in there]

    def _write(self, name: str, rows: list[NDArray[np.int64]]) -> dict[str, Any]:
        if not sum(map(len, rows)):
            return {"tokens": 0}
        tokens = np.concatenate(rows).astype(np.dtype(self.dtype).newbyteorder("<"))
        file = self.folder / name
        with no_space_is_one_sentence(file), replaced_when_written(file) as temporary:
            temporary.write_bytes(tokens.tobytes())
        return {**file_entry(file), "tokens": len(tokens)}


def prepare(
    folder: Path,
    made_of: dict[str, Any],
    sources: Sequence[Path],
    maker: Callable[[Path], PartMaker],
    num_proc: int,
) -> Prepared:
    """Open the prepared text in a folder, and prepare it first if it is missing.

    If several processes need the same text, only one prepares it. An interrupted preparation resumes after the shards
    that it had finished.

    Args:
        folder: Folder of the prepared text. It appears only when it is complete.
        made_of: Settings that determine the shards; see :data:`fairlab.data.prepared.DECIDES`.
        sources: Files of the text.
        maker: Function that returns the maker of the shards in a folder; must be picklable.
        num_proc: Number of processes, which does not affect the shards.

    Raises:
        FairlabError: The text or a setting is invalid, or the folder has other content. No partial files are left.
        DataUnavailable: An output of ``fairlab.augment`` has not finished.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):  # one process at a time prepares; the others wait
        if not (folder / NAME).is_file():
            for made in dict.fromkeys(file.parent for file in sources if NAMED.fullmatch(file.name)):
                data_files(made)  # an output of fairlab.augment must be complete and unchanged
            making = folder.with_name(f".{folder.name}.new")
            begin(making, {"made_of": made_of, "files": [file_entry(file) for file in sources], "characters": PART})
            try:
                _make(making, made_of, sources, maker, num_proc)
            except FairlabError:
                shutil.rmtree(making)  # the text is invalid; other errors keep the finished parts for resuming
                raise
            if folder.is_dir():
                folder.rmdir()  # an empty folder that the user made for the prepared text
            making.rename(folder)
    return open_prepared(folder, made_of, sources)


def begin(folder: Path, facts: dict[str, Any]) -> None:
    """Create the folder of a preparation, or keep the folder of an interrupted preparation with the same settings.

    Raises:
        FairlabError: The folder is a link, or links lead out of it.
    """
    if folder.is_symlink():
        raise FairlabError(f"{folder} is a link; remove it, because text is prepared in a folder of that name")
    if folder.is_dir():
        check_folder(folder)
    if changed_facts(folder / BEGUN, facts):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_whole(folder / BEGUN, json.dumps(facts))
    remove_unfinished(folder)


def _make(
    folder: Path,
    made_of: dict[str, Any],
    sources: Sequence[Path],
    maker: Callable[[Path], PartMaker],
    num_proc: int,
) -> None:
    own = maker(folder)
    manifest = Prepared(made_of, [file_entry(file) for file in sources], own.dtype)
    seen = Fingerprints()
    parts = text_parts(sources, made_of["field"], made_of["original"], made_of["limit_characters"])
    made = map(own.make, parts) if num_proc == 1 else _in_processes(parts, partial(maker, folder), num_proc)
    for found, some in made:
        manifest.shards.append(found["files"])
        manifest.original_tokens += found["original_tokens"]
        for name in manifest.counts:
            manifest.counts[name] += found[name]
        seen.take(some)
    seen.save(folder)
    shutil.rmtree(folder / PARTS, ignore_errors=True)  # these record only the progress of a preparation
    (folder / BEGUN).unlink()
    manifest.write(folder)


def _in_processes(parts: Iterable[TextPart], build: Callable[[], PartMaker], num_proc: int) -> Iterator[Made]:
    """Yield the result for each part in order, with a bounded number of parts in memory."""
    with process_pool(num_proc, build) as submit:
        for future in drawn_ahead((submit(_make_part, part) for part in parts), num_proc):
            yield future.result()


def _make_part(part: TextPart, maker: PartMaker) -> Made:
    return maker.make(part)


def text_parts(sources: Sequence[Path], field: str, original: str, limit: int | None) -> Iterator[TextPart]:
    """Yield the parts of the text, one per shard. They depend only on the sources, the columns and the limit."""
    number, before = 0, 0
    for file in sources:
        rows = file.suffix in TABLES
        items: Iterator[Any] = _rows(file, field, original) if rows else stream_paragraphs(file)
        lot: list[Any] = []
        length = 0
        for item, following in pairwise(chain(items, [None])):
            lot.append(item)
            length += len(item[0] if rows else item)
            if following is None or length >= PART or (limit is not None and before + length >= limit):
                room = None if limit is None else limit - before
                ends = following is None and not rows
                yield TextPart(number, [] if rows else lot, lot if rows else [], room, ends)
                number, before, lot, length = number + 1, before + length, [], 0
                if limit is not None and before >= limit:
                    return


def _rows(file: Path, field: str, original: str) -> Iterator[Pair]:
    for row in read_rows(str(file), field):
        if isinstance(row, BadRow):
            raise FairlabError(f"{file}, {row.place}: {row.reason}; give data.field or fix the row")
        yield str(row.extra.get(original, row.text)), row.text


def stream_paragraphs(file: Path) -> Iterator[str]:
    """Yield the paragraphs of a text file one at a time, as :func:`fairlab.data.text.paragraphs` defines them.

    Raises:
        DataUnavailable: The file cannot be read.
        FairlabError: The file is not text; see :func:`fairlab.text.reading.text_lines`.
    """
    if not file.is_file():
        raise DataUnavailable(f"{file} is not a file; give data.paths of plain text")
    lines = book_lines(text_lines(file, latin_1=True))
    first = list(islice(lines, PROBED))
    wrapped = is_wrapped(first)
    block: list[str] = []
    for line in chain(first, lines, [""]):
        if not wrapped or not line or line.isspace():
            text = " ".join((" ".join([*block, line]) if block else line).replace("_", "").split())
            block = []
            if text:
                yield text
        else:
            block.append(line)
