"""LightningDataModule over the entries of a small dataset and the entries an augmentation derives from them.

Entries are packed into blocks.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 4: a model is tuned on an augmented sample, or on the same number of original entries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.batch_stream import Streamed
from fairlab.data.block_collator import PackedBatch, collated
from fairlab.data.entry_blocks import packed
from fairlab.data.stream.formats import TABLES
from fairlab.data.stream.rows import read_rows
from fairlab.data.stream.subsample import fair_choice
from fairlab.data.text import SENTENCE_END, read
from fairlab.files import sha256, write_whole
from fairlab.protocols import ExpandingAugmentation, RowAugmentation, TextAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import FairlabError, Row

SPLITS = ("train", "validation")
UNITS = ("paragraph", "sentence")
SHORTEST = 5  # minimum number of words of an entry; excludes titles and dates


class Origin(NamedTuple):
    """Source of an entry.

    Attributes:
        entry: number of the sample's entry, from 1, or the value stored in the row that was read.
        member: member that the entry was made for; empty if there is no member.
        kind: ``entry``, ``copy``, ``upshift`` or ``downshift``; empty if the augmentation has no kinds.
    """

    entry: str
    member: str = ""
    kind: str = ""


class Entries(Streamed):
    """Tuning data of a causal LM: an augmented sample of a dataset, or the same number of its original entries.

    One order of the distinct entries, drawn with ``draw``, decides everything: the first ``validation`` entries are
    held out, the next ``sample`` entries are the sample, and original training entries are taken from the start of the
    sample onwards. Models tuned with the same draw therefore share sample and held-out entries in every condition.

    Every entry follows the model's start token and is cut into pieces of at most ``block`` tokens, each an independent
    text. Pieces are packed into blocks, longest first, each into the block where it leaves the least room.

    Args:
        path: path of the dataset: plain text, as ``data.paths`` of a corpus, or a file of rows with a field ``text``.
        unit: unit of plain text that makes an entry, ``paragraph`` or ``sentence``; not used for a file of rows.
        sample: number of entries passed to the augmentation.
        expandable: whether the sample is drawn only from entries that the augmentation can expand.
        augmented: whether to train on the augmented sample, or on the same number of original entries.
        made: output folder of ``fairlab.augment``, or a file of rows, that holds the augmented sample; None makes it
            here with ``augmentation``.
        kinds: kinds of entries to train on: ``entry``, ``copy``, ``upshift`` or ``downshift``; None for all.
        limit: maximum number of training entries, a fair subsample of those made, like ``limit`` of
            ``fairlab.augment``; None for all.
        tokens: number of training tokens. Entries are taken in a drawn order, repeated when all were used, until the
            number is reached; the last one is cut. The number of made entries then does not limit the originals. None
            uses each entry once.
        validation: number of entries held out.
        block: length of a block in tokens, at most ``backbone.max_length``.
        batch_size: number of blocks in a training batch, over all processes.
        encoder: the causal LM with its tokenizer.
        epochs: number of passes over the entries.
        seed: seed of the order of the batches, and of ``limit`` and ``tokens``.
        draw: seed of the order of the entries, and so of the sample; None to use ``seed``.
        augmentation: augmentation that returns replacements for a text, or rows made from rows; None if ``made`` is
            given.

    Attributes:
        texts: the entries of each split.
        before_limit: the entries before ``limit``, each with its source: ``sample``, and under ``expansion`` all
            entries derived from the sample.
        blocks: the blocks of each split; a block is a list of pieces, a piece a list of token ids.

    Raises:
        FairlabError: on bad data or values, naming file or key.
    """

    applies = (TextAugmentation, RowAugmentation)

    def __init__(
        self,
        *,
        path: str,
        unit: Literal["paragraph", "sentence"],
        sample: int,
        expandable: bool,
        augmented: bool,
        made: str | None,
        limit: int | None,
        validation: int,
        block: int,
        batch_size: int,
        encoder: Backbone,
        epochs: int,
        seed: int,
        kinds: Sequence[Literal["entry", "copy", "upshift", "downshift"]] | None = None,
        tokens: int | None = None,
        draw: int | None = None,
        augmentation: TextAugmentation | RowAugmentation | None = None,
    ) -> None:
        super().__init__()
        refuse_sizes(sample, validation, batch_size, limit, tokens)
        if not 2 <= block <= encoder.max_length:
            raise FairlabError(f"data.block must be in 2..{encoder.max_length}, backbone.max_length, not {block}")
        if made is None and not isinstance(augmentation, self.applies):
            raise FairlabError(
                "the sample has no augmentation; choose an augmentation of texts, or give data.made=DIR, the "
                "output of python -m fairlab.augment"
            )
        self.path = path
        self.sample = sample
        self.augmented = augmented
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        self.start_id = CausalLM(encoder).start_id
        entries, self.hashes = read_entries(path, unit)
        if len(entries) < validation + sample:
            raise FairlabError(
                f"{path} holds {len(entries)} entries, fewer than data.validation={validation} and "
                f"data.sample={sample} take; lower one of them"
            )
        rng = np.random.default_rng(seed if draw is None else draw)
        ordered = [entries[k] for k in rng.permutation(len(entries))]
        held_out, rest = ordered[:validation], ordered[validation:]
        if expandable:
            rest = expandable_first(rest, sample, augmentation)
        made_of = self._expand(rest[:sample], made, augmentation)
        self.before_limit = {
            "sample": {text: Origin(str(k)) for k, text in enumerate(rest[:sample], start=1)},
            "expansion": made_of,
        }
        expanded = taken_kinds(made_of, kinds, limit, seed)
        train = expanded if augmented else rest[: len(expanded)]
        if tokens is not None:
            train = self._filled(expanded if augmented else rest, tokens, seed)
        self.texts = {"train": train, "validation": held_out}
        self.blocks = {split: self._pack(texts, block) for split, texts in self.texts.items()}

    def _filled(self, texts: Sequence[str], tokens: int, seed: int) -> list[str]:
        """Return texts in a drawn order, repeated as needed, with ``tokens`` tokens in total; the last text is cut."""
        tokenizer = self.encoder.tokenizer
        order = cycle(np.random.default_rng([seed, 1]).permutation(len(texts)))
        taken: list[str] = []
        while True:
            text = texts[next(order)]
            token_ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            if len(token_ids) >= tokens:
                return [*taken, str(tokenizer.decode(token_ids[:tokens]))]
            taken.append(text)
            tokens -= len(token_ids)

    def _expand(self, sample: Sequence[str], made: str | None, augmentation: Any) -> dict[str, Origin]:
        """Return the distinct entries derived from the sample, each with its source."""
        found: list[tuple[str, Origin]]
        if made is not None:
            rows, hashes = read_made(made)
            self.hashes |= hashes
            found = [(row.text, Origin(str(row.extra.get("entry", row.id)), *_about(row.extra))) for row in rows]
        elif isinstance(augmentation, RowAugmentation):
            rows = [Row(str(k), text, {}, f"entry {k}", k) for k, text in enumerate(sample, start=1)]
            found = [
                (made_row["text"], Origin(row.id, *_about(made_row)))
                for row, of_row in zip(rows, augmentation.make(rows), strict=True)
                for made_row in of_row.rows
            ]
        else:
            found = [
                (text, Origin(str(k))) for k, entry in enumerate(sample, start=1) for text in augmentation.texts(entry)
            ]
        if not found:
            raise FairlabError(
                f"no entry was made from the {len(sample)} entries of the sample; "
                "raise data.sample or choose another seed"
            )
        distinct: dict[str, Origin] = {}
        for text, origin in found:
            distinct.setdefault(text, origin)
        return distinct

    def _pack(self, texts: Sequence[str], block: int) -> list[list[list[int]]]:
        token_ids = self.encoder.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        room = block - 1
        pieces = [
            [self.start_id, *ids[start : start + room]] for ids in token_ids for start in range(0, len(ids), room)
        ]
        return [[pieces[k] for k in chosen] for chosen in packed([len(piece) for piece in pieces], block)]

    def facts(self) -> dict[str, object]:
        """Return the facts for the record: files by hash, and sizes."""
        together = hashlib.sha256("".join(self.hashes.values()).encode()).hexdigest()
        kind = f"made of {self.sample}" if self.augmented else "original"
        return {
            "path": self.path,
            "sha256": together,
            "files": self.hashes,
            "trained_on": f"{len(self.texts['train'])} entries, {kind}",
            "train_entries": len(self.texts["train"]),
            "validation_entries": len(self.texts["validation"]),
            "made_of_the_sample": len(self.before_limit["expansion"]),
        }

    def write(self, folder: Path) -> None:
        """Write the sample and its expansion to a run's folder, as ``sample.jsonl`` and ``expansion.jsonl``."""
        for name, texts in self.before_limit.items():
            rows = ({"text": text, "entry": origin.entry, "kind": origin.kind} for text, origin in texts.items())
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            write_whole(folder / f"{name}.jsonl", "".join(lines))

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of the training entries and their sentences."""
        found = Fingerprints()
        found.add_running(self.texts["train"])
        return found

    def sizes(self) -> dict[str, int]:
        """Return the number of training entries, and of their tokens with start tokens and without padding."""
        tokens = sum(len(piece) for pieces in self.blocks["train"] for piece in pieces)
        return {"entries": len(self.texts["train"]), "tokens": tokens}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every block."""
        return [sum(map(len, pieces)) for pieces in self.blocks[split]]

    def collate(self, split: str, positions: list[int]) -> PackedBatch:
        """Return the blocks, padded."""
        return collated([self.blocks[split][position] for position in positions], positions, self.encoder.padding_id)


def refuse_sizes(sample: int, validation: int, batch_size: int, limit: int | None, tokens: int | None) -> None:
    """Refuse numbers of entries or tokens that are too small or that exclude each other.

    Raises:
        FairlabError: the numbers are too small or exclude each other.
    """
    if min(sample, validation, batch_size, 1 if limit is None else limit) < 1:
        raise FairlabError(
            "data.sample, data.validation, data.batch_size and data.limit must be at least 1: "
            f"{sample}, {validation}, {batch_size}, {limit}"
        )
    if tokens is not None and (limit is not None or tokens < 2):
        raise FairlabError(f"data.tokens (at least 2) replaces data.limit: {tokens}, {limit}; set one of them to null")


def taken_kinds(made_of: Mapping[str, Origin], kinds: Sequence[str] | None, limit: int | None, seed: int) -> list[str]:
    """Return the made entries of the given kinds (all kinds if None), or a fair subsample of ``limit`` of them.

    Raises:
        FairlabError: no entry is of these kinds.
    """
    found = [text for text, origin in made_of.items() if kinds is None or origin.kind in kinds]
    if not found:
        there = ", ".join(sorted({origin.kind for origin in made_of.values()} - {""})) or "none"
        raise FairlabError(
            f"of the sample gave no entry of data.kinds={list(kinds or [])}; the kinds available are: {there}"
        )
    if limit is None:
        return found
    return [found[k] for k in fair_choice([made_of[text].member for text in found], limit, seed)]


def _about(row: Mapping[str, Any]) -> tuple[str, str]:
    return row.get("biaser", ""), row.get("kind", "")


def expandable_first(entries: Sequence[str], count: int, augmentation: Any) -> list[str]:
    """Return the first ``count`` entries that the augmentation can expand, then all others, each part in order.

    Raises:
        FairlabError: the augmentation cannot identify such entries, or there are fewer of them.
    """
    if not isinstance(augmentation, ExpandingAugmentation):
        raise FairlabError("data.expandable=true needs an augmentation that finds expandable entries, such as biasers")
    found = (
        start + k
        for start in range(0, len(entries), 64)
        for k, expands in enumerate(augmentation.expands(entries[start : start + 64]))
        if expands
    )
    first = dict.fromkeys(islice(found, count))
    if len(first) < count:
        raise FairlabError(
            f"the augmentation expands {len(first)} of {len(entries)} entries, fewer than data.sample={count}; "
            "lower it, or set data.expandable=false"
        )
    others = (k for k in range(len(entries)) if k not in first)
    return [entries[k] for k in (*first, *others)]


def read_entries(path: str, unit: str) -> tuple[list[str], dict[str, str]]:
    """Return the distinct entries of a dataset in order, and the SHA-256 of its files by name.

    Args:
        path: output folder of ``fairlab.augment``, a file of rows with a field ``text``, or plain text: a file or a
            folder of ``.txt`` files, which may be below ``FAIRLAB_DATA``. An entry of plain text has five words or
            more.
        unit: unit of plain text that makes an entry, ``paragraph`` or ``sentence``.

    Raises:
        FairlabError: the path does not exist, it holds no entry, or the unit is unknown.
    """
    if unit not in UNITS:
        raise FairlabError(f"the unit of entries must be {' or '.join(UNITS)}, not {unit}")
    if row_files(path):
        rows, hashes = read_made(path)
        texts = [row.text for row in rows]
    else:
        files = list(read(path))
        hashes = {name: digest for name, digest, _ in files}
        paragraphs = [text for _, _, keyed in files for _, text in keyed]
        found = (
            paragraphs if unit == "paragraph" else [part for text in paragraphs for part in SENTENCE_END.split(text)]
        )
        texts = [text for text in found if len(text.split()) >= SHORTEST]
    if not texts:
        raise FairlabError(f"{path} holds no entry of {SHORTEST} words or more")
    return list(dict.fromkeys(texts)), hashes


def row_files(path: str) -> list[Path]:
    """Return the row files of a path: the data of an output folder of ``fairlab.augment``, or the file itself."""
    place = Path(path)
    return sorted(place.glob("data-*.jsonl")) or [place] * (place.is_file() and place.suffix in TABLES)


def read_made(path: str) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of a path in order, without bad ones, and the SHA-256 of their files by name.

    Raises:
        FairlabError: the path names no file of rows.
    """
    files = row_files(path)
    if not files:
        raise FairlabError(
            f"{path} is neither an output folder of fairlab.augment nor a file ending in .jsonl, .csv, .tsv or .parquet"
        )
    rows = [row for file in files for row in read_rows(str(file)) if isinstance(row, Row)]
    return rows, {file.name: sha256(file) for file in files}
