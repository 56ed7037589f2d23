"""LightningDataModule over plain text: sentences and windows of sentences, for masked-language-model training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.applying import texts_of_augmentation
from fairlab.data.batch import Batch
from fairlab.data.batch_stream import Streamed
from fairlab.data.reads import facts_of_files
from fairlab.data.text import SENTENCE_END, SHORTEST, cut_sentences, held_out, read
from fairlab.distributed import own_share
from fairlab.protocols import TextAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import Bounds, Count, FairlabError, Fraction, Natural, Texts

SPLITS = ("train", "validation")


@dataclass(frozen=True)
class TextBatch(Batch):
    """Batch of B texts.

    Attributes:
        input_ids: Token ids (B, T), padded.
        attention_mask: Mask (B, T), 0 at padding.
        positions: Position of each text in its split, (B,).
        texts: Number of texts in the whole batch, over all processes; None if the batch is not divided among processes.
        documents: Number of the document to which each token belongs, (B, T), and -1 at padding. Tokens attend only to
            their own document. If None, tokens attend to the whole text.
    """

    input_ids: Tensor
    attention_mask: Tensor
    positions: Tensor
    texts: int | None = None
    documents: Tensor | None = None


class Corpus(Streamed):
    """LightningDataModule of texts cut from paragraphs, with some paragraphs held out for validation.

    Args:
        paths: Plain-text files, folders of ``.txt`` files, or ``embedded/NAME`` for the training sentences of groups
            that come with fairlab; a relative path may also be under ``FAIRLAB_DATA``.
        windows: Maximum lengths of a text in tokens. For each length, every paragraph is cut into texts of consecutive
            sentences; with 0, every sentence is a separate text.
        validation: Fraction of the paragraphs held out, above 0 and below 1. The choice depends only on the paragraphs'
            text.
        batch_size: Number of texts in a training batch, over all processes.
        limit: Maximum number of training texts, taken from the start; None for all.
        encoder: Backbone whose tokenizer and maximum length are used.
        epochs: Number of passes over the training texts.
        seed: Seed of the order of the batches.
        augmentation: Augmentation that returns replacements for a text, such as ``cda_text``; None leaves texts
            unchanged.

    Attributes:
        texts: Texts of each split.
        token_ids: Token ids of the texts of each split, including special tokens.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file or key.
    """

    applies = (TextAugmentation,)

    def __init__(
        self,
        *,
        paths: Texts,
        windows: Annotated[Sequence[Natural], Bounds(1)],
        validation: Fraction,
        batch_size: Count,
        limit: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: TextAugmentation | None = None,
    ) -> None:
        super().__init__()
        if augmentation is not None and not isinstance(augmentation, TextAugmentation):
            raise FairlabError(
                "this augmentation works on counterfactual groups, not on a corpus; set augmentation=none or cda_text"
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
                    f"too little text for {split} in {', '.join(self.paths)}; give more text or change data.validation"
                )

    def _add(self, split: str, paragraph: str, windows: Sequence[int]) -> None:
        sentences = SENTENCE_END.split(paragraph)
        lengths = [len(ids) - 2 for ids in self.encoder.tokenizer(sentences)["input_ids"]]
        cut = (some for window in windows for some in cut_sentences(sentences, lengths, window))
        cuts = list(dict.fromkeys(" ".join(some) for some in cut))
        if self.augmentation is not None:
            cuts = [made for text in cuts for made in texts_of_augmentation(self.augmentation, text)]
        for text, ids in zip(cuts, self.encoder.tokenize(cuts) if cuts else [], strict=True):
            if len(ids) >= SHORTEST:
                self.texts[split].append(text)
                self.token_ids[split].append(ids)
                self.num_truncated += len(ids) >= self.encoder.max_length

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record: hashes of the files, sizes, and the number of truncated texts."""
        return {
            **facts_of_files(", ".join(self.paths), self.hashes),
            "trained_on": f"{len(self.texts['train'])} texts",
            **{f"{split}_texts": len(texts) for split, texts in self.texts.items()},
            "texts_at_max_length": self.num_truncated,
        }

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of the training texts and their sentences."""
        return Fingerprints.from_running_texts(self.texts["train"])

    def axes(self) -> frozenset[str]:
        """Return the axis of the augmentation, or no axis without an augmentation."""
        axis = getattr(self.augmentation, "axis", None)
        return frozenset() if axis is None else frozenset([axis])

    def sizes(self) -> dict[str, int]:
        """Return the number of texts and tokens in one pass over the training texts, excluding padding."""
        return {"texts": len(self.texts["train"]), "tokens": sum(map(len, self.token_ids["train"]))}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every text."""
        return [len(ids) for ids in self.token_ids[split]]

    def collate(self, split: str, positions: list[int]) -> TextBatch:
        """Return the texts at ``positions`` as a padded batch."""
        return self._padded(split, positions, positions)

    def share(self, split: str, positions: list[int]) -> TextBatch:
        """Return this process's texts, padded to the longest text of the whole batch.

        All processes therefore use masks of the same shape.
        """
        return self._padded(split, positions, own_share(positions))

    def _padded(self, split: str, positions: Sequence[int], own: Sequence[int]) -> TextBatch:
        token_ids = self.token_ids[split]
        width = max(len(token_ids[position]) for position in positions)
        texts = pad([token_ids[position] for position in own], self.encoder.padding_id, width)
        return TextBatch(*texts, positions=torch.tensor(own, dtype=torch.long), texts=len(positions))
