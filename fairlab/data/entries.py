"""LightningDataModule over the entries of a small data set and what an augmentation makes of them, packed into blocks.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 4: a model is tuned on an augmented sample, or on as many original entries.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.batch_stream import Streamed
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
SHORTEST = 5  # words of an entry, so that titles and dates are none
NOT_SCORED = -100  # torch's cross-entropy leaves it out


@dataclass(frozen=True)
class PackedBatch:
    """B blocks of T tokens, each of several entries behind one another.

    Attributes:
        input_ids: token ids (B, T), padded.
        position_ids: position of each token in its entry, (B, T); they start again from 0 at each entry, by which the
            model keeps entries apart.
        targets: the next token of the same entry, (B, T); ``NOT_SCORED`` at the last one and at padding.
        positions: position of each block in its split, (B,).
    """

    input_ids: Tensor
    position_ids: Tensor
    targets: Tensor
    positions: Tensor

    def to(self, device: torch.device, non_blocking: bool = False) -> PackedBatch:
        """The batch on another device."""
        tensors = (self.input_ids, self.position_ids, self.targets, self.positions)
        return PackedBatch(*(tensor.to(device, non_blocking=non_blocking) for tensor in tensors))


class Entries(Streamed):
    """What a causal LM is tuned on: an augmented sample of a data set, or as many of the data set's own entries.

    One order of the distinct entries, drawn with ``seed``, decides everything: the first ``validation`` are held out,
    the next ``sample`` are the sample, and original entries to train on are taken from the sample on. So models tuned
    with one seed share sample and held-out entries, whatever they train on.

    Every entry stands behind the model's start token and is cut into pieces of at most ``block`` tokens, each a text of
    its own; pieces are packed into blocks, the longest first, each where it leaves the least room.

    Args:
        path: the data set: plain text, as ``data.paths`` of a corpus, or a file of rows with a field ``text``.
        unit: what an entry of plain text is, ``paragraph`` or ``sentence``; not used for a file of rows.
        sample: number of entries that the augmentation is given.
        expandable: whether the sample is drawn from the entries that the augmentation finds something to expand in.
        augmented: whether to train on what becomes of the sample, or on as many original entries.
        made: output folder of ``fairlab.augment``, or a file of rows, that holds what became of the sample; None makes
            it here with ``augmentation``.
        limit: number of entries to train on at most, a fair subsample of those made, as ``limit`` of
            ``fairlab.augment``; None uses all.
        validation: number of entries held out.
        block: length of a block in tokens, at most ``backbone.max_length``.
        batch_size: number of blocks in a training batch, over all processes.
        encoder: the causal LM with its tokenizer.
        epochs: number of passes over the entries.
        seed: seed of the order of the entries and of the batches.
        augmentation: an augmentation that gives the texts that take the place of one, or rows made of rows; None where
            ``made`` is given.

    Attributes:
        texts: the entries of each split.
        before_limit: the entries before ``limit``: those of the ``sample``, and under ``expansion`` all that became of
            them, each with the number of the sample's entry that it is of.
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
        augmentation: TextAugmentation | RowAugmentation | None = None,
    ) -> None:
        super().__init__()
        if min(sample, validation, batch_size, 1 if limit is None else limit) < 1:
            raise FairlabError(
                "data.sample, data.validation, data.batch_size and data.limit must be at least 1: "
                f"{sample}, {validation}, {batch_size}, {limit}"
            )
        if not 2 <= block <= encoder.max_length:
            raise FairlabError(f"data.block must lie in 2..{encoder.max_length}, backbone.max_length, not {block}")
        if made is None and not isinstance(augmentation, self.applies):
            raise FairlabError(
                "nothing says what becomes of the sample: choose an augmentation of texts, or give data.made=DIR, the "
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
        rng = np.random.default_rng(seed)
        ordered = [entries[k] for k in rng.permutation(len(entries))]
        held_out, rest = ordered[:validation], ordered[validation:]
        if expandable:
            rest = expandable_first(rest, sample, augmentation)
        made_of = self._expand(rest[:sample], made, augmentation)
        expanded = list(made_of)
        self.before_limit = {
            "sample": {text: str(k) for k, text in enumerate(rest[:sample], start=1)},
            "expansion": {text: entry for text, (_, entry) in made_of.items()},
        }
        if limit is not None:
            members = [member for member, _ in made_of.values()]
            expanded = [expanded[k] for k in fair_choice(members, limit, seed)]
        self.texts = {"train": expanded if augmented else rest[: len(expanded)], "validation": held_out}
        self.blocks = {split: self._pack(texts, block) for split, texts in self.texts.items()}

    def _expand(self, sample: Sequence[str], made: str | None, augmentation: Any) -> dict[str, tuple[str, str]]:
        """The distinct entries that became of the sample, with the member each was made for and the entry of which.

        A member is empty where there is none; entries of the sample are counted from 1.
        """
        found: list[tuple[str, str, str]]
        if made is not None:
            rows, hashes = read_made(made)
            self.hashes |= hashes
            found = [(row.text, row.extra.get("biaser", ""), str(row.extra.get("entry", row.id))) for row in rows]
        elif isinstance(augmentation, RowAugmentation):
            rows = [Row(str(k), text, {}, f"entry {k}", k) for k, text in enumerate(sample, start=1)]
            made_of = [
                (row, one) for row, of_row in zip(rows, augmentation.make(rows), strict=True) for one in of_row.rows
            ]
            found = [(one["text"], one.get("biaser", ""), row.id) for row, one in made_of]
        else:
            found = [
                (text, "", str(k)) for k, entry in enumerate(sample, start=1) for text in augmentation.texts(entry)
            ]
        if not found:
            raise FairlabError(
                f"nothing became of the {len(sample)} entries of the sample; raise data.sample or take another seed"
            )
        made_of_text: dict[str, tuple[str, str]] = {}
        for text, member, entry in found:
            made_of_text.setdefault(text, (member, entry))
        return made_of_text

    def _pack(self, texts: Sequence[str], block: int) -> list[list[list[int]]]:
        token_ids = self.encoder.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        room = block - 1
        pieces = [
            [self.start_id, *ids[start : start + room]] for ids in token_ids for start in range(0, len(ids), room)
        ]
        return [[pieces[k] for k in chosen] for chosen in packed([len(piece) for piece in pieces], block)]

    def facts(self) -> dict[str, object]:
        """What the record should hold about the data: files by hash, sizes."""
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
        """Keep the sample and its expansion beside a run, ``sample.jsonl`` and ``expansion.jsonl``, to be measured."""
        for name, texts in self.before_limit.items():
            rows = ({"text": text, "entry": entry} for text, entry in texts.items())
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            write_whole(folder / f"{name}.jsonl", "".join(lines))

    def fingerprints(self) -> Fingerprints:
        """Of the training entries and their sentences."""
        found = Fingerprints()
        found.add_running(self.texts["train"])
        return found

    def sizes(self) -> dict[str, int]:
        """What one pass over the training entries goes through, start tokens among the tokens, padding not counted."""
        tokens = sum(len(piece) for pieces in self.blocks["train"] for piece in pieces)
        return {"entries": len(self.texts["train"]), "tokens": tokens}

    def lengths(self, split: str) -> list[int]:
        """Of every block."""
        return [sum(map(len, pieces)) for pieces in self.blocks[split]]

    def collate(self, split: str, positions: list[int]) -> PackedBatch:
        """The blocks, padded."""
        return collated([self.blocks[split][position] for position in positions], positions, self.encoder.padding_id)


def expandable_first(entries: Sequence[str], count: int, augmentation: Any) -> list[str]:
    """The first ``count`` entries that the augmentation finds something to expand in, then the others, all in order.

    Raises:
        FairlabError: the augmentation cannot tell, or there are fewer.
    """
    if not isinstance(augmentation, ExpandingAugmentation):
        raise FairlabError("data.expandable=true needs an augmentation that can tell, such as biasers")
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
    """Distinct entries of a data set in order, and the SHA-256 of its files by name.

    Args:
        path: output folder of ``fairlab.augment``, a file of rows with a field ``text``, or plain text: a file or a
            folder of ``.txt`` files, which may lie below ``FAIRLAB_DATA``. An entry of plain text has five words or
            more.
        unit: what an entry of plain text is, ``paragraph`` or ``sentence``.

    Raises:
        FairlabError: there is no such place, it holds no entry, or there is no such unit.
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
    """Files of rows that a path names: the data of an output folder of ``fairlab.augment``, or the file itself."""
    place = Path(path)
    return sorted(place.glob("data-*.jsonl")) or [place] * (place.is_file() and place.suffix in TABLES)


def read_made(path: str) -> tuple[list[Row], dict[str, str]]:
    """Rows of a path in order, bad ones left out, and the SHA-256 of their files by name.

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


def packed(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Positions of pieces in blocks: the longest first, each into the block where it leaves the least room.

    Args:
        lengths: length of each piece in tokens, none above ``room``.
        room: length of a block in tokens.

    Example:
        >>> packed([2, 5, 3, 4], 7)
        [[1, 0], [3, 2]]
    """
    blocks: list[list[int]] = []
    left: list[tuple[int, int]] = []  # room left and number of every block, sorted
    for position in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        place = bisect_left(left, (lengths[position], -1))
        if place == len(left):
            rest, number = room, len(blocks)
            blocks.append([])
        else:
            rest, number = left.pop(place)
        blocks[number].append(position)
        insort(left, (rest - lengths[position], number))
    return blocks


def collated(blocks: Sequence[Sequence[Sequence[int]]], positions: Sequence[int], padding_id: int) -> PackedBatch:
    """Blocks as one batch, padded to the fullest; every padding token is a piece of its own."""
    longest = max(sum(map(len, pieces)) for pieces in blocks)
    shape = (len(blocks), longest)
    input_ids, position_ids = torch.full(shape, padding_id), torch.zeros(shape, dtype=torch.long)
    targets = torch.full(shape, NOT_SCORED)
    for row, pieces in enumerate(blocks):
        start = 0
        for piece in pieces:
            end = start + len(piece)
            input_ids[row, start:end] = torch.tensor(piece)
            position_ids[row, start:end] = torch.arange(len(piece))
            targets[row, start : end - 1] = torch.tensor(piece[1:])
            start = end
    return PackedBatch(input_ids, position_ids, targets, torch.tensor(positions))
