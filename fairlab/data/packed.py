"""LightningDataModule over running text in blocks of equal length, for masked-language-model pretraining."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from fairlab.backbones.backbone import Backbone
from fairlab.data.batch_stream import Loading, batches_done
from fairlab.data.block_collator import refuse_block
from fairlab.data.block_order import BlockBatches
from fairlab.data.corpus import SPLITS, TextBatch
from fairlab.data.prepared import FORMAT, NAME
from fairlab.data.preparing import PartMaker, prepare
from fairlab.data.reads import facts_of_files
from fairlab.data.text import text_files
from fairlab.data.word_tokens import tokenizer_sha256
from fairlab.distributed import own_share
from fairlab.files import sha256
from fairlab.protocols import DescribedAugmentation, TextAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.text.pipeline import SPACY
from fairlab.types import Count, FairlabError, Fraction, Texts

UNKNOWN = "not told"  # for an augmentation that does not describe itself
RULES = (".py", ".yaml", ".csv", ".txt", ".xz", ".safetensors")


class PackedText(Loading):
    """Running text that is divided into passages and packed into blocks without padding.

    A passage consists of consecutive sentences of one file, up to a number of tokens. An augmentation rewrites whole
    passages, and whole passages are held out. The tokens of consecutive training passages fill the blocks. Each block
    starts and ends with the tokenizer's special tokens.

    The division into passages, the choice of held-out passages and the order of the blocks depend only on the original
    text and the seed. Two runs that differ only in their augmentation (twins) therefore read the same passages in the
    same order for the same number of batches. A passage is shifted only if preceding passages became longer or shorter.
    Both runs are validated on the same original text.

    The text is read, perturbed and tokenized once, and stored in shards on disk (see :mod:`fairlab.data.prepared`). All
    processes, resumed runs, and other runs with the same text and settings read these shards. Memory use does not
    depend on the size of the text.

    Args:
        paths: Plain-text files, folders of ``.txt`` files, files of rows (.jsonl, .csv, .tsv, .parquet), or output
            folders of ``fairlab.augment``; a relative path may also be under ``FAIRLAB_DATA``. A row is a passage.
        field: Name of the column that holds a row's text.
        original: Name of the column with the text that a row was derived from. This text decides whether the row is
            held out, and is used for validation. A row without this column is itself original.
        twin: Training text: ``perturbed`` for ``field`` with the augmentation applied, ``original`` for the text before
            perturbation.
        passage: Maximum number of tokens of a passage, unless a single sentence is longer.
        block: Length of a block in tokens, including special tokens; None for the encoder's ``max_length``.
        validation: Fraction of the passages held out, above 0 and below 1.
        separators: Whether to put the tokenizer's separator after every document. A document is a row, or a file of
            running text.
        across_documents: Whether tokens attend to other documents in the same block. False requires ``separators``.
        validation_tokens: Number of held-out tokens used for validation, rounded up to whole batches; None uses all.
            The blocks are chosen at random, but are the same each time.
        batch_size: Number of blocks in a training batch, over all processes.
        limit_characters: Number of characters to read from the start of the original text; None for all.
        prepared: Folder with a subfolder for each prepared text, or the folder of one prepared text. If it is None, or
            if the augmentation does not describe itself, a temporary folder is used.
        num_proc: Number of processes that prepare the text.
        encoder: Backbone whose tokenizer is used.
        epochs: Number of passes over the blocks.
        seed: Seed of the order of the blocks.
        augmentation: Augmentation that returns a replacement for a training passage; None leaves passages unchanged.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file or key.
    """

    applies = (TextAugmentation,)
    made_key = "paths"

    def __init__(
        self,
        *,
        paths: Texts,
        field: str,
        original: str,
        twin: Literal["perturbed", "original"],
        passage: Count,
        block: int | None,
        validation: Fraction,
        batch_size: Count,
        limit_characters: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        prepared: str | None = None,
        num_proc: Count = 1,
        separators: bool = False,
        across_documents: bool = True,
        validation_tokens: Count | None = None,
        augmentation: TextAugmentation | None = None,
    ) -> None:
        super().__init__()
        self.block = encoder.max_length if block is None else block
        refuse_block(self.block, encoder, least=8)
        if augmentation is not None and not isinstance(augmentation, TextAugmentation):
            raise FairlabError("this augmentation works on counterfactual groups, not on text; set augmentation=none")
        if not (separators or across_documents):
            raise FairlabError("data.across_documents=false needs data.separators=true, which mark documents")
        self.paths = list(paths)
        if separators and encoder.tokenizer.sep_token_id is None:
            raise FairlabError("the tokenizer has no separator token; set data.separators=false")
        self.separator = int(encoder.tokenizer.sep_token_id) if separators else None  # type: ignore[call-overload]
        self.across_documents = across_documents
        self.augmentation = augmentation if twin == "perturbed" else None
        self.batch_size = batch_size
        self.validation_tokens = validation_tokens
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        self.sources = [file for path in self.paths for file in _files(path)]
        decides: dict[str, str | float | int | None] = {
            "passage": passage,
            "validation": validation,
            "twin": twin,
            "field": field,
            "original": original,
            "limit_characters": limit_characters,
        }
        if separators:  # a separate key, so that text prepared without separators keeps its folder
            decides["separators"] = True
        self._prepare(decides, prepared, num_proc)
        self.tokens = {split: self.manifest.tokens(self.folder, split) for split in SPLITS}
        for split in SPLITS:
            if not self.blocks(split):
                raise FairlabError(
                    f"too little text for {split} in {', '.join(self.paths)}; give more text or change data.validation"
                )

    def _prepare(self, decides: dict[str, Any], prepared: str | None, num_proc: int) -> None:
        """Open the prepared text, and prepare it first if needed."""
        tokenizer = self.encoder.tokenizer
        described = augmentation_facts(self.augmentation)
        identified = {"tokenizer": tokenizer_sha256(tokenizer), "vocabulary": len(tokenizer)}
        made_of = {"format": FORMAT, **identified, **described, **decides}
        if made_of["augmentation"] == UNKNOWN:
            prepared = None
        self._private = None if prepared else tempfile.TemporaryDirectory()
        self.folder = prepared_folder(Path(prepared or self._private.name), made_of, self.sources)  # type: ignore[union-attr]
        maker = partial(
            PartMaker,
            tokenizer,
            dtype="uint16" if len(tokenizer) <= 2**16 else "uint32",
            passage=decides["passage"],
            validation=decides["validation"],
            twin=decides["twin"],
            augmentation=self.augmentation,
            separator=self.separator,
        )
        self.manifest = prepare(self.folder, made_of, self.sources, maker, num_proc)

    def blocks(self, split: str) -> int:
        """Return the number of blocks in a split. The last block may be shorter."""
        return -(-len(self.tokens[split]) // (self.block - 2))

    @property
    def original_blocks(self) -> int:
        """Return the number of blocks that the original text of the training passages fills."""
        return -(-self.manifest.original_tokens // (self.block - 2))

    @property
    def total_batches(self) -> int:
        """Return the number of training batches over all epochs, computed from the original text."""
        return self.epochs * -(-self.original_blocks // self.batch_size)

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """Return the path of the text if there is only one, otherwise None."""
        return settings["paths"][0] if len(settings["paths"]) == 1 else None

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record: hashes of the files, sizes, and how much an augmentation changed."""
        names = [source.name for source in self.sources]
        several = [names.count(name) > 1 for name in names]  # for example, outputs of fairlab.augment
        places = [str(one) if doubled else one.name for one, doubled in zip(self.sources, several, strict=True)]
        hashes = {place: entry["sha256"] for place, entry in zip(places, self.manifest.files, strict=True)}
        return {
            **facts_of_files(", ".join(self.paths), hashes),
            "trained_on": f"{self.blocks('train')} blocks of {self.block} tokens",
            **{f"{split}_blocks": self.blocks(split) for split in SPLITS},
            **self.manifest.counts,
            "perturbed_by": self.manifest.made_of["augmentation"],
            "train_tokens": len(self.tokens["train"]),
            "original_train_tokens": self.manifest.original_tokens,
        }

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of the training passages and their sentences, computed during preparation."""
        return Fingerprints.load(self.folder) or Fingerprints()

    def sizes(self) -> dict[str, int]:
        """Return the number of blocks and tokens in one pass over the training blocks."""
        return {"blocks": self.blocks("train"), "tokens": len(self.tokens["train"])}

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the batches of all epochs as one stream. A resumed run skips the batches it has already used.

        An epoch has as many blocks as the original text fills, so that runs with and without perturbation take the same
        number of steps. If the perturbed text fills more blocks, the last blocks are left out; if it fills fewer, the
        first blocks are repeated.
        """
        batches = BlockBatches(
            self.original_blocks,
            self.batch_size,
            epochs=self.epochs,
            seed=self.seed,
            skip=batches_done(self.trainer),
            there=self.blocks("train"),
        )
        return self._loader("train", batches)

    def val_dataloader(self) -> DataLoader[Any]:
        """Return the batches of held-out passages, always the same blocks in the same order."""
        batches = BlockBatches(self.blocks("validation"), self.batch_size, epochs=1, seed=0)
        if self.validation_tokens is None:
            return self._loader("validation", batches)
        taken = -(-self.validation_tokens // (self.block - 2))
        first = range(min(len(batches), -(-taken // self.batch_size)))
        return self._loader("validation", [batches.batch(number) for number in first])

    def _loader(self, split: str, batches: Iterable[list[int]]) -> DataLoader[Any]:
        first, last = self.encoder.tokenizer("")["input_ids"]
        tokens, room = self.tokens[split], self.block - 2

        def share(positions: list[int]) -> TextBatch:
            own = own_share(positions)
            width = 2 + max(min(room, len(tokens) - position * room) for position in positions)
            input_ids = np.full((len(own), width), self.encoder.padding_id)
            attention_mask = np.zeros((len(own), width), np.int64)
            for row, position in enumerate(own):
                ids = tokens.read(position * room, (position + 1) * room)
                end = len(ids) + 1
                input_ids[row, 0], input_ids[row, 1:end], input_ids[row, end] = first, ids, last
                attention_mask[row, : end + 1] = 1
            texts = torch.from_numpy(input_ids), torch.from_numpy(attention_mask)
            documents = None
            if self.separator is not None and not self.across_documents:
                documents = documents_of(*texts, self.separator)
            positions_B = torch.tensor(own, dtype=torch.long)
            return TextBatch(*texts, positions_B, texts=len(positions), documents=documents)

        return self.make_loader(split, batches, share)


def documents_of(input_ids: Tensor, attention_mask: Tensor, separator: int) -> Tensor:
    """Return the number of each token's document within its block, (B, T), with -1 at padding.

    A separator belongs to the document that it ends.
    """
    ends = (input_ids == separator).long()
    return (ends.cumsum(dim=1) - ends).masked_fill(attention_mask == 0, -1)


def prepared_folder(root: Path, made_of: Mapping[str, Any], sources: Sequence[Path]) -> Path:
    """Return the folder of the prepared text: ``root`` if it holds prepared text, otherwise a subfolder of it.

    The subfolder's name depends on the settings and on the paths of the files, but not on their content. A changed text
    at the same path is therefore reported, and is not prepared in another subfolder.
    """
    if (root / NAME).is_file():
        return root
    content = json.dumps([made_of, [str(file.resolve()) for file in sources]], sort_keys=True)
    return root / f"{sources[0].stem}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def augmentation_facts(augmentation: TextAugmentation | None) -> dict[str, Any]:
    """Return an augmentation's description of itself, and the revision of its rules and lexicons."""
    if augmentation is None:
        return {"augmentation": None, "revision": None}
    if not isinstance(augmentation, DescribedAugmentation):
        return {"augmentation": UNKNOWN, "revision": None}
    return {"augmentation": augmentation.described(), "revision": rules_revision()}


def rules_revision() -> str:
    """Return an identifier of what affects rule-based rewriting: code, lists, and a parser that is not the default."""
    return _code_revision() + os.environ.get(SPACY, "")


@cache
def _code_revision() -> str:
    """Return a hash of the code and lists used for rule-based rewriting."""
    package = Path(__file__).parents[1]
    parts = ("rewriting", "text", "lexicons", "augmentation")
    files = sorted(file for part in parts for file in (package / part).rglob("*") if file.suffix in RULES)
    return sha256(*files)[:16]


def _files(path: str) -> list[Path]:
    """Return the files at a path: the data files of ``fairlab.augment`` if there are any, otherwise text files."""
    return sorted(Path(path).glob("data-*.jsonl")) or text_files(path)
