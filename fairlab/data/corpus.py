"""LightningDataModule over plain text: sentences and windows of sentences, for masked-language-model training."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.groups import groups_files, read_groups
from fairlab.data.streamed import Streamed
from fairlab.files import sha256
from fairlab.text import gutenberg
from fairlab.types import DataUnavailable, FairlabError

SPLITS = ("train", "validation")
WRAPPED = 200  # a file without a longer line is wrapped by hand: its paragraphs end at blank lines, not at line ends
SHORTEST = 5  # tokens of a text worth training on, special ones included
BOOK = re.compile(rf"^{gutenberg.START.pattern}.*?$(.*?)^(?:{gutenberg.END.pattern})", re.M | re.S)
TITLES = "".join(rf"(?<!\b{title}\.)" for title in ("Mr", "Mrs", "Ms", "Dr", "St", "[A-Z]"))
SENTENCE_END = re.compile(rf"""(?:(?<=[.!?])|(?<=[.!?]["')\]])){TITLES}\s+(?=["'(\[]?[A-Z])""")


class TextAugmentation(Protocol):
    """Texts from a text."""

    def texts(self, text: str) -> list[str]:
        """The texts that take the place of one; none leaves it out."""


@dataclass(frozen=True)
class TextBatch:
    """B texts.

    Attributes:
        input_ids: (B, T), padded.
        attention_mask: the same shape, 0 at padding.
        positions: of the texts in their split, (B,).
    """

    input_ids: Tensor
    attention_mask: Tensor
    positions: Tensor

    def to(self, device: torch.device, non_blocking: bool = False) -> TextBatch:
        """The batch on another device."""
        tensors = (self.input_ids, self.attention_mask, self.positions)
        return TextBatch(*(tensor.to(device, non_blocking=non_blocking) for tensor in tensors))


class Corpus(Streamed):
    """Texts cut from paragraphs, split into training and validation by paragraph, in length-bucketed batches.

    Args:
        paths: plain-text files, folders of ``.txt`` files, or ``embedded/NAME`` for the training sentences of groups
            that come with fairlab; a relative path may also lie below ``FAIRLAB_DATA``.
        windows: every paragraph is cut once for each of these numbers of tokens: consecutive sentences are joined up to
            so many; 0 leaves every sentence alone.
        validation: share of the paragraphs held out, above 0 and below 1; which ones depends on their text alone.
        batch_size: texts per batch.
        limit: use only so many training texts, from the first; None uses all.
        encoder: whose tokenizer and maximal length are used.
        epochs: passes over the training texts.
        seed: of the order of the batches.
        augmentation: gives the texts that take the place of one, such as ``cda_text``; None leaves them as they are.

    Attributes:
        texts: by split.
        token_ids: of the texts, special ones included.

    Raises:
        FairlabError: on bad data or values, naming file or key.
    """

    def __init__(
        self,
        *,
        paths: Sequence[str],
        windows: Sequence[int],
        validation: float,
        batch_size: int,
        limit: int | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: TextAugmentation | None = None,
    ) -> None:
        super().__init__()
        _check(paths, windows, validation, batch_size, limit)
        if augmentation is not None and not hasattr(augmentation, "texts"):
            raise FairlabError(
                "this augmentation works on counterfactual groups, not on a corpus: augmentation=none or cda_text"
            )
        self.augmentation = augmentation
        self.paths = list(paths)
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        self.texts: dict[str, list[str]] = {split: [] for split in SPLITS}
        self.token_ids: dict[str, list[list[int]]] = {split: [] for split in SPLITS}
        self.num_truncated = 0
        self.hashes = {}
        for path in self.paths:
            for name, digest, paragraphs in read(path):
                self.hashes[name] = digest
                for key, paragraph in paragraphs:
                    self._add("validation" if held_out(key, validation) else "train", paragraph, windows)
        self.texts["train"] = self.texts["train"][:limit]
        self.token_ids["train"] = self.token_ids["train"][:limit]
        for split in SPLITS:
            if not self.texts[split]:
                raise FairlabError(
                    f"{', '.join(self.paths)} leave no text for {split}; give more text or change data.validation"
                )

    def _add(self, split: str, paragraph: str, windows: Sequence[int]) -> None:
        sentences = SENTENCE_END.split(paragraph)
        lengths = [len(ids) - 2 for ids in self.encoder.tokenizer(sentences)["input_ids"]]
        cuts = list(dict.fromkeys(text for window in windows for text in joined(sentences, lengths, window)))
        if self.augmentation is not None:
            cuts = [made for text in cuts for made in self.augmentation.texts(text)]
        for text, ids in zip(cuts, self.encoder.tokenize(cuts) if cuts else [], strict=True):
            if len(ids) >= SHORTEST:
                self.texts[split].append(text)
                self.token_ids[split].append(ids)
                self.num_truncated += len(ids) >= self.encoder.max_length

    def facts(self) -> dict[str, object]:
        """What the record should hold about the data: files by hash, sizes, what was cut."""
        together = hashlib.sha256("".join(self.hashes.values()).encode()).hexdigest()
        return {
            "path": ", ".join(self.paths),
            "sha256": together,
            "files": self.hashes,
            "trained_on": f"{len(self.texts['train'])} texts",
            **{f"{split}_texts": len(texts) for split, texts in self.texts.items()},
            "texts_at_max_length": self.num_truncated,
        }

    def sizes(self) -> dict[str, int]:
        """What one pass over the training texts goes through, padding not counted."""
        return {"texts": len(self.texts["train"]), "tokens": sum(map(len, self.token_ids["train"]))}

    def lengths(self, split: str) -> list[int]:
        """Of every text."""
        return [len(ids) for ids in self.token_ids[split]]

    def collate(self, split: str, positions: list[int]) -> TextBatch:
        """The texts, padded."""
        rows = [self.token_ids[split][position] for position in positions]
        return TextBatch(*pad(rows, self.encoder.padding_id), positions=torch.tensor(positions))


def read(path: str) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield name, SHA-256 and paragraphs of every file of a path; a paragraph comes with the key that places it.

    The versions of a counterfactual group are paragraphs of one key, so that they are never split.

    Raises:
        FairlabError: there is no such file or folder, it holds no text, or a file is no text.
    """
    if path.startswith("embedded/"):
        (file,) = groups_files(path)
        groups = [group for group in read_groups(path) if group.extra.get("split", "train") == "train"]
        yield file.name, sha256(file), [(group.id, text) for group in groups for text in group.texts]
        return
    for file in text_files(path):
        yield file.name, sha256(file), [(text, text) for text in paragraphs(read_text(file))]


def text_files(path: str) -> list[Path]:
    """The file itself, or the ``.txt`` files of a folder by name.

    Raises:
        DataUnavailable: there is no such place, or a folder holds none.
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
    """A file's text, UTF-8 or else Latin-1, without what Project Gutenberg puts around a book.

    Raises:
        FairlabError: the file holds zero bytes, so it is no text in either encoding.
    """
    content = file.read_bytes()
    if b"\0" in content:
        raise FairlabError(f"{file} is not plain text (byte {content.index(0)} is zero); save it as UTF-8")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    book = BOOK.search(text)
    return book[1] if book else text


def paragraphs(text: str) -> list[str]:
    """Paragraphs on one line each: split at blank lines, or at every line end where lines are not wrapped."""
    lines = text.splitlines()
    wrapped = max(map(len, lines), default=0) < WRAPPED
    blocks = re.split(r"\n\s*\n", "\n".join(lines)) if wrapped else lines
    flat = (" ".join(block.replace("_", "").split()) for block in blocks)  # Gutenberg marks italics by underscores
    return [block for block in flat if block]


def joined(sentences: Sequence[str], lengths: Sequence[int], window: int) -> list[str]:
    """Consecutive sentences joined up to ``window`` tokens; a longer sentence stands alone."""
    cuts: list[list[str]] = []
    room = 0
    for sentence, length in zip(sentences, lengths, strict=True):
        if not cuts or length > room:
            cuts.append([])
            room = window
        cuts[-1].append(sentence)
        room -= length
    return [" ".join(cut) for cut in cuts]


def held_out(key: str, share: float) -> bool:
    """Whether a paragraph is held out: a fixed choice, evenly spread over keys."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) < share * 2**64


def _check(paths: Sequence[str], windows: Sequence[int], validation: float, batch_size: int, limit: int | None) -> None:
    if isinstance(paths, str) or not paths:
        raise FairlabError(f"data.paths must be a list of files or folders such as [my_texts], not {paths}")
    if isinstance(windows, int | str) or not windows or min(windows) < 0:
        raise FairlabError(f"data.windows must be a list of numbers of tokens, 0 or more, not {windows}")
    if not 0 < validation < 1:
        raise FairlabError(f"data.validation must lie above 0 and below 1, not {validation}")
    if batch_size < 1 or (limit is not None and limit < 1):
        raise FairlabError(f"data.batch_size and data.limit must be at least 1: {batch_size}, {limit}")
