"""LightningDataModule over running text in blocks of equal length, for masked-language-model pretraining."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import lightning
import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.batch_stream import batches_done, loader
from fairlab.data.batching import BucketedBatches
from fairlab.data.corpus import SPLITS, TextBatch
from fairlab.data.stream.formats import PROBED, TABLES, BadRow
from fairlab.data.stream.rows import read_rows
from fairlab.data.text import SENTENCE_END, WRAPPED, held_out, join_sentences, text_files
from fairlab.files import sha256
from fairlab.protocols import TextAugmentation, TrainingData
from fairlab.text import gutenberg
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import DataUnavailable, FairlabError

Item = TypeVar("Item")
AT_ONCE = 2000  # sentences tokenized together


class PackedText(lightning.LightningDataModule, TrainingData):
    """Running text, read passage by passage, in blocks that are filled to the last token.

    A passage is a run of sentences of one file, up to so many tokens; it is what an augmentation rewrites and what is
    held out. The tokens of the training passages follow one another through the blocks, each block between the
    tokenizer's outer special tokens. Which passages there are, which are held out, and the order of the blocks depend
    on the original text and the seed alone, so two runs that differ in their augmentation are twins: they go through
    the same passages in the same order, up to the few tokens by which the passages before them grew or shrank, for the
    same number of batches, and are validated on the same original text.

    The text is streamed: its tokens lie in an unnamed temporary file, and memory does not grow with it.

    Args:
        paths: plain-text files, folders of ``.txt`` files, files of rows (.jsonl, .csv, .tsv, .parquet), or output
            folders of ``fairlab.augment``; a relative path may also lie below ``FAIRLAB_DATA``. A row is a passage.
        field: name of the column that holds a row's text.
        original: field of the text that a row was made of, by which it is held out and which is validated on; a row
            without it is original itself.
        twin: ``perturbed`` trains on ``field`` (and the augmentation), ``original`` on the text that was there before.
        passage: number of tokens of a passage at most, unless a single sentence is longer.
        block: length of a block in tokens, special ones included; None takes the encoder's ``max_length``.
        validation: share of the passages held out, above 0 and below 1.
        batch_size: number of blocks in a training batch, over all processes.
        limit_characters: number of characters of the original text to read, from the first; None reads all.
        encoder: the backbone whose tokenizer is used.
        epochs: number of passes over the blocks.
        seed: seed of the order of the blocks.
        augmentation: an augmentation that gives the text that takes the place of a training passage; None leaves
            passages as they are.

    Raises:
        FairlabError: on bad data or values, naming file or key.
    """

    applies = (TextAugmentation,)
    made_key = "paths"

    def __init__(
        self,
        *,
        paths: Sequence[str],
        field: str,
        original: str,
        twin: str,
        passage: int,
        block: int | None,
        validation: float,
        batch_size: int,
        limit_characters: int | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: TextAugmentation | None = None,
    ) -> None:
        super().__init__()
        self.block = encoder.max_length if block is None else block
        _check(paths, twin, passage, self.block, encoder, validation, batch_size, limit_characters)
        if augmentation is not None and not isinstance(augmentation, TextAugmentation):
            raise FairlabError("this augmentation works on counterfactual groups, not on text: augmentation=none")
        self.paths = list(paths)
        self.field, self.original = field, original
        self.augmentation = augmentation if twin == "perturbed" else None
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        self.hashes: dict[str, str] = {}
        self.counts = {"passages": 0, "passages_changed": 0}
        self.files = {split: tempfile.TemporaryFile() for split in SPLITS}  # noqa: SIM115  # they go with the process
        self.original_tokens = 0
        self._seen = Fingerprints()
        passages = up_to(self.passages(passage), limit_characters)
        for some in in_lots(passages):
            self._add(some, twin, validation)
        self.tokens = {split: self._stored(split) for split in SPLITS}
        for split in SPLITS:
            if not self.blocks(split):
                raise FairlabError(
                    f"{', '.join(self.paths)} leave no text for {split}; give more text or change data.validation"
                )

    def passages(self, size: int) -> Iterator[tuple[str, str]]:
        """Every passage of the paths as its original text and what stands in its place there."""
        for file in (file for path in self.paths for file in _files(path)):
            self.hashes[file.name] = sha256(file)
            if file.suffix in TABLES:
                yield from self._rows(file)
                continue
            sentences = (sentence for text in stream_paragraphs(file) for sentence in SENTENCE_END.split(text))
            for some in in_lots(sentences):
                lengths = [len(ids) for ids in self._ids(some)]
                yield from ((text, text) for text in join_sentences(some, lengths, size))

    def _rows(self, file: Path) -> Iterator[tuple[str, str]]:
        for row in read_rows(str(file), self.field):
            if isinstance(row, BadRow):
                raise FairlabError(f"{file}, {row.place}: {row.reason}; give data.field or mend the row")
            yield str(row.extra.get(self.original, row.text)), row.text

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self.encoder.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]

    def _add(self, passages: Sequence[tuple[str, str]], twin: str, validation: float) -> None:
        """Put the tokens of passages behind those of their split."""
        held = [held_out(original, validation) for original, _ in passages]
        chosen = []
        for (original, text), out in zip(passages, held, strict=True):
            if out or twin == "original":
                chosen.append(original)
            else:
                chosen.append(text if self.augmentation is None else " ".join(self.augmentation.texts(text)))
            self.counts["passages_changed"] += chosen[-1] != original
        self.counts["passages"] += len(passages)
        self._seen.add_running(text for text, out in zip(chosen, held, strict=True) if not out)
        originals = self._ids([original for original, _ in passages])
        ids = originals if chosen == [original for original, _ in passages] else self._ids(chosen)
        self.original_tokens += sum(len(row) for row, out in zip(originals, held, strict=True) if not out)
        for split, wanted in zip(SPLITS, (False, True), strict=True):
            rows = [row for row, out in zip(ids, held, strict=True) if out == wanted]
            self.files[split].write(np.fromiter(chain.from_iterable(rows), np.int32).tobytes())

    def _stored(self, split: str) -> NDArray[np.int32]:
        """The tokens of a split, read where they are asked for."""
        file = self.files[split]
        file.flush()
        if not file.tell():
            return np.empty(0, np.int32)
        return np.memmap(file, np.int32, "r")

    def blocks(self, split: str) -> int:
        """Number of blocks of a split, the last of which may be shorter."""
        return -(-len(self.tokens[split]) // (self.block - 2))

    @property
    def total_batches(self) -> int:
        """Number of training batches over all epochs: as many as the original text fills."""
        blocks = -(-self.original_tokens // (self.block - 2))
        return self.epochs * -(-blocks // self.batch_size)

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """The only path; None where there are several."""
        return settings["paths"][0] if len(settings["paths"]) == 1 else None

    def facts(self) -> dict[str, object]:
        """What the record should hold about the data: files by hash, sizes, how much an augmentation changed."""
        together = hashlib.sha256("".join(self.hashes.values()).encode()).hexdigest()
        return {
            "path": ", ".join(self.paths),
            "sha256": together,
            "files": self.hashes,
            "trained_on": f"{self.blocks('train')} blocks of {self.block} tokens",
            **{f"{split}_blocks": self.blocks(split) for split in SPLITS},
            **self.counts,
            "train_tokens": len(self.tokens["train"]),
            "original_train_tokens": self.original_tokens,
        }

    def fingerprints(self) -> Fingerprints:
        """Of the training passages and their sentences, taken while they were read."""
        return self._seen

    def sizes(self) -> dict[str, int]:
        """What one pass over the training blocks goes through."""
        return {"blocks": self.blocks("train"), "tokens": len(self.tokens["train"])}

    def train_dataloader(self) -> DataLoader[int]:
        """Batches of all epochs as one stream; a resumed run skips those it has used."""
        done = batches_done(self.trainer)
        # A perturbed text may fill more blocks or fewer than the original: the last are left out, the first come again.
        blocks = self.blocks("train")
        passes = -(-self.total_batches // -(-blocks // self.batch_size))
        lengths = [1] * blocks
        batches = BucketedBatches(lengths, self.batch_size, epochs=passes, seed=self.seed, skip=done)
        return self._loader("train", First(batches, self.total_batches, done))

    def val_dataloader(self) -> DataLoader[int]:
        """Blocks of the passages held out, always in the same order."""
        return self._loader(
            "validation",
            BucketedBatches([1] * self.blocks("validation"), self.batch_size, epochs=1, seed=0),
        )

    def _loader(self, split: str, batches: Any) -> DataLoader[int]:
        tokenizer = self.encoder.tokenizer
        first, last = tokenizer("")["input_ids"]
        room = self.block - 2

        def collate(positions: list[int]) -> TextBatch:
            rows = [[first, *self.tokens[split][k * room : (k + 1) * room].tolist(), last] for k in positions]
            return TextBatch(*pad(rows, self.encoder.padding_id), positions=torch.tensor(positions))

        return loader(range(self.blocks(split)), batches, collate)


class First:
    """The first so many batches of a stream.

    Args:
        batches: the stream, without those skipped.
        count: number of batches, those skipped included.
        skipped: number of batches skipped at the start.
    """

    def __init__(self, batches: Iterable[list[int]], count: int, skipped: int) -> None:
        self.batches, self.count, self.skipped = batches, count, skipped

    def __len__(self) -> int:
        """Number of batches, those skipped included."""
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        """Yield those that are not skipped."""
        return islice(iter(self.batches), max(0, self.count - self.skipped))


def up_to(passages: Iterator[tuple[str, str]], characters: int | None) -> Iterator[tuple[str, str]]:
    """Passages until their original texts have so many characters."""
    seen = 0
    for original, text in passages:
        if characters is not None and seen >= characters:
            return
        seen += len(original)
        yield original, text


def in_lots(items: Iterator[Item]) -> Iterator[list[Item]]:
    """The items in lists of ``AT_ONCE``."""
    while lot := list(islice(items, AT_ONCE)):
        yield lot


def _files(path: str) -> list[Path]:
    """The files of a path: what ``fairlab.augment`` wrote there, else text files."""
    return sorted(Path(path).glob("data-*.jsonl")) or text_files(path)


def stream_paragraphs(file: Path) -> Iterator[str]:
    """Paragraphs of a text file, as of :func:`fairlab.data.text.paragraphs`, one at a time.

    Raises:
        DataUnavailable: the file cannot be read.
        FairlabError: the file holds zero bytes, so it is no text.
    """
    if not file.is_file():
        raise DataUnavailable(f"{file} is no file; give data.paths of plain text")
    lines = _lines(file)
    first = list(islice(lines, PROBED))
    wrapped = max(map(len, first), default=0) < WRAPPED
    begins = any(gutenberg.START.match(line) for line in first)
    block: list[str] = []
    for line in chain(first, lines, [""]):
        if begins:  # until then it is what Project Gutenberg puts before a book
            begins = not gutenberg.START.match(line)
            continue
        if gutenberg.END.match(line):
            break
        if line.strip():
            block.append(line)
        if block and (not wrapped or not line.strip()):
            yield " ".join(" ".join(block).replace("_", "").split())
            block = []
    if block:
        yield " ".join(" ".join(block).replace("_", "").split())


def _lines(file: Path) -> Iterator[str]:
    """Lines, each UTF-8 or else Latin-1."""
    with file.open("rb") as stream:
        for line in stream:
            if b"\0" in line:
                raise FairlabError(f"{file} is not plain text (a byte is zero); save it as UTF-8")
            try:
                yield line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                yield line.decode("latin-1").rstrip("\r\n")


def _check(
    paths: Sequence[str],
    twin: str,
    passage: int,
    block: int,
    encoder: Backbone,
    validation: float,
    batch_size: int,
    limit_characters: int | None,
) -> None:
    if isinstance(paths, str) or not paths:
        raise FairlabError(f"data.paths must be a list of files or folders such as [my_texts], not {paths}")
    if twin not in ("perturbed", "original"):
        raise FairlabError(f"data.twin must be perturbed or original, not {twin}")
    if not 8 <= block <= encoder.max_length:
        raise FairlabError(f"data.block must lie in 8..backbone.max_length={encoder.max_length}, not {block}")
    if not 0 < validation < 1:
        raise FairlabError(f"data.validation must lie above 0 and below 1, not {validation}")
    if min(passage, batch_size, 1 if limit_characters is None else limit_characters) < 1:
        raise FairlabError(
            "data.passage, data.batch_size and data.limit_characters must be at least 1: "
            f"{passage}, {batch_size}, {limit_characters}"
        )
