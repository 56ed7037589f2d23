"""LightningDataModule over the entries of a small dataset and the entries that an augmentation derives from them.

Entries are packed into blocks.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 4: a model is tuned on an augmented sample, or on the same number of original entries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.applying import texts_of_augmentation
from fairlab.data.batch_stream import Streamed
from fairlab.data.block_collator import PackedBatch, collated, packed, refuse_block
from fairlab.data.reads import facts_of_files
from fairlab.data.stream.formats import TABLES
from fairlab.data.stream.rows import read_rows
from fairlab.data.stream.subsample import fair_choice
from fairlab.data.text import SENTENCE_END, read
from fairlab.files import sha256, write_whole
from fairlab.protocols import ExpandingAugmentation, RowAugmentation, TextAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import Bounds, Count, FairlabError, Row

SPLITS = ("train", "validation")
UNITS = ("paragraph", "sentence")
SHORTEST = 5  # minimum number of words of an entry; excludes titles and dates


class Origin(NamedTuple):
    """Record of how an entry was obtained.

    Attributes:
        entry: Number of the original entry in the sample, counting from 1. For rows read from a file, the value of the
            field ``entry``, or else the row's id.
        member: Biaser (attribute) that the entry was written for; empty for an entry without a biaser.
        kind: ``entry``, ``copy``, ``upshift`` or ``downshift``; empty if the augmentation does not distinguish kinds.
    """

    entry: str
    member: str = ""
    kind: str = ""


class Entries(Streamed):
    """Fine-tuning data of a causal LM: an augmented sample of a dataset, or the same number of original entries.

    The distinct entries are shuffled with the seed ``draw``. The first ``validation`` entries are held out, and the
    next ``sample`` entries are the sample. Original training entries are taken in order, beginning with the sample.
    Models tuned with the same ``draw`` therefore share the sample and the held-out entries in every condition.

    Every entry is cut into pieces of at most ``block`` tokens. Each piece begins with the model's start token and is an
    independent text. Pieces are packed into blocks with best-fit decreasing.

    Args:
        path: Path of the dataset: plain text, as ``data.paths`` of a corpus, or a file of rows with a field ``text``.
        unit: Unit of plain text that makes an entry, ``paragraph`` or ``sentence``; not used for a file of rows.
        sample: Number of entries passed to the augmentation.
        expandable: Whether to sample only from entries that the augmentation can expand.
        augmented: Whether to train on the augmented sample instead of the same number of original entries.
        made: Output folder of ``fairlab.augment``, or a file of rows, that holds the augmented sample; None makes the
            augmented sample with ``augmentation``.
        kinds: Kinds of entries to train on: ``entry``, ``copy``, ``upshift`` or ``downshift``; None for all.
        limit: Maximum number of training entries; None for all. From a larger number, a balanced subsample is drawn, as
            with ``limit`` of ``fairlab.augment``.
        tokens: Number of training tokens; None uses each entry once. Entries are taken in random order until the number
            is reached, repeatedly if necessary, and the last one is truncated. Original entries are then not limited to
            the number of augmented entries.
        validation: Number of entries held out.
        block: Length of a block in tokens, at most ``backbone.max_length``.
        batch_size: Number of blocks in a training batch, over all processes.
        encoder: Causal LM with its tokenizer.
        epochs: Number of passes over the entries.
        seed: Seed for the order of the batches, and for the random choices of ``limit`` and ``tokens``.
        draw: Seed for the order of the entries, and so for the sample; None to use ``seed``.
        augmentation: Augmentation that returns replacements for a text, or rows made from rows; None if ``made`` is
            given.

    Attributes:
        texts: Entries of each split.
        before_limit: Entries before ``kinds`` and ``limit`` are applied, each with its origin: ``sample`` holds the
            sample, and ``expansion`` all entries derived from it.
        blocks: Blocks of each split. A block is a list of pieces, and a piece is a list of token ids.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file or key.
    """

    applies = (TextAugmentation, RowAugmentation)

    def __init__(
        self,
        *,
        path: str,
        unit: Literal["paragraph", "sentence"],
        sample: Count,
        expandable: bool,
        augmented: bool,
        made: str | None,
        limit: Count | None,
        validation: Count,
        block: int,
        batch_size: Count,
        encoder: Backbone,
        epochs: int,
        seed: int,
        kinds: Sequence[Literal["entry", "copy", "upshift", "downshift"]] | None = None,
        tokens: Annotated[int, Bounds(2)] | None = None,
        draw: int | None = None,
        augmentation: TextAugmentation | RowAugmentation | None = None,
    ) -> None:
        super().__init__()
        if tokens is not None and limit is not None:
            raise FairlabError(f"data.tokens replaces data.limit: {tokens}, {limit}; set one of them to null")
        refuse_block(block, encoder, least=2)
        if made is None and not isinstance(augmentation, self.applies):
            raise FairlabError(
                "the sample has no augmentation; choose an augmentation of texts, or give data.made=DIR, the "
                "output of python -m fairlab.augment"
            )
        self.path, self.sample, self.augmented = path, sample, augmented
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
        """Return texts in random order with ``tokens`` tokens in total.

        Texts are repeated if necessary, and the last text is truncated.
        """
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
        """Return the distinct entries derived from the sample, each with its origin."""
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
                (text, Origin(str(k)))
                for k, entry in enumerate(sample, start=1)
                for text in texts_of_augmentation(augmentation, entry)
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
        """Return the facts for the run's record: hashes of the files, and sizes."""
        kind = f"made of {self.sample}" if self.augmented else "original"
        return {
            **facts_of_files(self.path, self.hashes),
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
        return Fingerprints.from_running_texts(self.texts["train"])

    def sizes(self) -> dict[str, int]:
        """Return the number of training entries and of their tokens, including start tokens but not padding."""
        tokens = sum(len(piece) for pieces in self.blocks["train"] for piece in pieces)
        return {"entries": len(self.texts["train"]), "tokens": tokens}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every block."""
        return [sum(map(len, pieces)) for pieces in self.blocks[split]]

    def collate(self, split: str, positions: list[int]) -> PackedBatch:
        """Return the blocks at ``positions`` as a padded batch."""
        return collated([self.blocks[split][position] for position in positions], positions, self.encoder.padding_id)


def taken_kinds(made_of: Mapping[str, Origin], kinds: Sequence[str] | None, limit: int | None, seed: int) -> list[str]:
    """Return the derived entries of the given kinds (None for all), or a balanced subsample of ``limit`` of them.

    Raises:
        FairlabError: There is no entry of the given kinds.
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
    """Move to the front the first ``count`` entries that the augmentation can expand, and keep the order otherwise.

    Raises:
        FairlabError: The augmentation cannot tell which entries it can expand, or it can expand fewer than ``count``.
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
        path: Output folder of ``fairlab.augment``, a file of rows with a field ``text``, or plain text: a file or a
            folder of ``.txt`` files, which may be under ``FAIRLAB_DATA``. An entry of plain text has five words or
            more.
        unit: Unit of plain text that makes an entry, ``paragraph`` or ``sentence``.

    Raises:
        FairlabError: The path does not exist, it holds no entry, or the unit is unknown.
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
    """Return the files of rows at a path: the data of an output folder of ``fairlab.augment``, or the file itself."""
    place = Path(path)
    return sorted(place.glob("data-*.jsonl")) or [place] * (place.is_file() and place.suffix in TABLES)


def read_made(path: str) -> tuple[list[Row], dict[str, str]]:
    """Return the readable rows at a path in order, and the SHA-256 of their files by name.

    Raises:
        FairlabError: There is no file of rows at the path.
    """
    files = row_files(path)
    if not files:
        raise FairlabError(
            f"{path} is neither an output folder of fairlab.augment nor a file ending in .jsonl, .csv, .tsv or .parquet"
        )
    rows = [row for file in files for row in read_rows(str(file)) if isinstance(row, Row)]
    return rows, {file.name: sha256(file) for file in files}
