"""Sentences that contain attribute words or neutral words, for debiasing methods that compare the two.

The sentences are found in plain text with word lists, as in DPCE and ADEPT (Kaneko and Bollegala 2021, section 4.1;
Yang et al. 2023; and their code), or are the versions of counterfactual groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.batch import Batch
from fairlab.data.batch_stream import Loading, batches_done
from fairlab.data.batching import AlternatingBatches, BucketedBatches
from fairlab.data.counterfactual import CounterfactualData, GroupBatch
from fairlab.data.reads import facts_of_files
from fairlab.data.text import SENTENCE_END, read
from fairlab.data.word_lists import (
    NEUTRAL_KIND,
    Found,
    balanced,
    find_words,
    lexicon_words,
    listed_words,
    split_by_hash,
)
from fairlab.lexicons import load_lexicon
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import NEUTRAL, Count, FairlabError, Positive, Texts

SPLITS = ("train", "validation")


@dataclass(frozen=True)
class Sentence:
    """Tokenized sentence with the positions of its listed word.

    Attributes:
        token_ids: Token ids of the sentence, including special tokens.
        targets: Positions of the word's tokens; empty if a version of a group has no differing tokens.
        kind: Kind of the sentence: 0 for neutral, 1 for the first attribute, and so on.
    """

    token_ids: list[int]
    targets: list[int]
    kind: int


@dataclass(frozen=True)
class SentenceBatch(Batch):
    """Batch of B sentences of one or several kinds.

    Attributes:
        input_ids: Token ids (B, T), padded.
        attention_mask: Mask (B, T), 0 at padding.
        targets: Boolean (B, T), True at the tokens of the listed words.
        kinds: Kind of each sentence, (B,); see :class:`Sentence`.
    """

    input_ids: Tensor
    attention_mask: Tensor
    targets: Tensor
    kinds: Tensor

    @classmethod
    def of(cls, sentences: Sequence[Sentence], padding_id: int) -> SentenceBatch:
        """Return the sentences as a batch, padded to the longest."""
        input_ids, attention_mask = pad([sentence.token_ids for sentence in sentences], padding_id)
        targets = torch.zeros_like(input_ids, dtype=torch.bool)
        for row, sentence in enumerate(sentences):
            targets[row, sentence.targets] = True
        return cls(input_ids, attention_mask, targets, torch.tensor([sentence.kind for sentence in sentences]))

    def __getitem__(self, rows: Tensor) -> SentenceBatch:
        """Return a batch of the sentences at the indices ``rows``."""
        return SentenceBatch(self.input_ids[rows], self.attention_mask[rows], self.targets[rows], self.kinds[rows])

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.kinds)


class AttributeSentences(Loading):
    """LightningDataModule of sentences with listed words, found in plain text; each batch has sentences of one kind.

    Args:
        paths: Plain-text files, folders of ``.txt`` files, or ``embedded/NAME``, as for a corpus.
        axis: Name of the lexicon with the attribute words and the stereotyped (neutral) words, such as ``gender``.
        lists: Published word lists to use instead of the lexicon: for each attribute and for ``neutral``, the name of a
            file under ``FAIRLAB_DATA`` with one word per line. Words on the same line of two attributes' files are
            counterparts.
        mixed: Treatment of a sentence with words of several attributes. ``drop`` leaves it out, and uses every other
            sentence once, for its first listed word (DPCE). ``keep`` uses it once for every attribute word, and a
            sentence without attribute words once for every stereotyped word (ADEPT).
        at_least: Minimum frequency of the rarest word among counterparts such as *he* and *she*. All counterparts are
            used as often as the rarest of them. If its frequency is below ``at_least``, none of them is used. None uses
            all words (DPCE).
        validation: Number of sentences of each kind to hold out, chosen by their hash, or a fraction if below 1.
        batch_size: Number of sentences in a training batch, over all processes.
        limit: Maximum number of training sentences of each kind; None for all.
        encoder: Backbone whose tokenizer and maximum length are used.
        epochs: Number of epochs. The kind with the fewest sentences determines the length of an epoch.
        seed: Seed of the order of the batches.
        augmentation: Argument that must be None, because augmentations work on other kinds of data.

    Attributes:
        sentences: Neutral sentences of each split, followed by the sentences of each attribute.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file or key.
    """

    def __init__(
        self,
        *,
        paths: Texts,
        axis: str,
        lists: Mapping[str, str] | None,
        mixed: Literal["drop", "keep"],
        at_least: Count | None,
        validation: Positive,
        batch_size: Count,
        limit: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: object | None = None,
    ) -> None:
        super().__init__()
        if augmentation is not None:
            raise FairlabError(
                "this augmentation does not work on sentences found by word lists; set augmentation=none"
            )
        self.paths = list(paths)
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        words = listed_words(lists) if lists else lexicon_words(axis)
        self.names = (NEUTRAL, *words.attributes)
        self.axis = load_lexicon(axis).axis
        self.hashes: dict[str, str] = {}
        self._seen = Fingerprints()
        found = list(find_words(self._lines(), words, mixed))
        if at_least is not None:
            found = balanced(found, words, at_least)
        self.by_kind: dict[str, list[list[Sentence]]] = {split: [] for split in SPLITS}
        for kind, name in enumerate(self.names):
            held_out, rest = split_by_hash([entry for entry in found if entry.kind == kind], validation)
            self._seen.add(entry.text for entry in rest[:limit])
            for split, entries in (("validation", held_out), ("train", rest[:limit])):
                sentences = tokenized(entries, encoder)
                if not sentences:
                    raise FairlabError(
                        f"{', '.join(self.paths)} contain no sentence with a word of '{name}' for {split}; give more "
                        "text, or change data.validation or the word lists"
                    )
                self.by_kind[split].append(sentences)

    def _lines(self) -> Iterator[str]:
        for path in self.paths:
            for name, digest, paragraphs in read(path):
                self.hashes[name] = digest
                for _, paragraph in paragraphs:
                    yield from SENTENCE_END.split(paragraph)

    @property
    def sentences(self) -> dict[str, list[Sentence]]:
        """Return all sentences of each split: neutral sentences, followed by the sentences of each attribute."""
        return {split: [sentence for kind in kinds for sentence in kind] for split, kinds in self.by_kind.items()}

    @property
    def total_batches(self) -> int:
        """Return the number of training batches over all epochs."""
        return len(self._batches())

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record: hashes of the files, and the number of sentences of each kind."""
        counts = {
            f"{split}_{name}": len(kind)
            for split, kinds in self.by_kind.items()
            for name, kind in zip(self.names, kinds, strict=True)
        }
        return {
            **facts_of_files(", ".join(self.paths), self.hashes),
            "trained_on": f"{len(self.sentences['train'])} sentences with attribute or neutral words",
            **counts,
        }

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of the training sentences."""
        return self._seen

    def axes(self) -> frozenset[str]:
        """Return the lexicon's axis, which also applies to published lists."""
        return frozenset([self.axis])

    def sizes(self) -> dict[str, int]:
        """Return the average number of sentences and tokens per epoch, excluding padding."""
        count = self.total_batches // self.epochs * self.batch_size
        sentences = self.sentences["train"]
        tokens = sum(len(sentence.token_ids) for sentence in sentences)
        return {"sentences": count, "tokens": count * tokens // len(sentences)}

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the batches of all epochs as one stream. A resumed run skips the batches it has already used."""
        done = batches_done(self.trainer)
        return self._loader("train", self._batches(skip=done))

    def val_dataloader(self) -> DataLoader[Any]:
        """Return the batches of the validation sentences, one kind after the other, always in the same order."""
        batches: list[list[int]] = []
        start = 0
        for kind in self.by_kind["validation"]:
            lengths = [len(sentence.token_ids) for sentence in kind]
            bucketed = BucketedBatches(lengths, self.batch_size, epochs=1, seed=self.seed)
            batches += [[start + position for position in batch] for batch in bucketed]
            start += len(kind)
        return self._loader("validation", batches)

    def _batches(self, skip: int = 0) -> AlternatingBatches:
        lengths = [[len(sentence.token_ids) for sentence in kind] for kind in self.by_kind["train"]]
        return AlternatingBatches(lengths, self.batch_size, epochs=self.epochs, seed=self.seed, skip=skip)

    def _loader(self, split: str, batches: Iterable[list[int]]) -> DataLoader[Any]:
        def share(positions: list[int]) -> SentenceBatch:
            return SentenceBatch.of([self.sentences[split][one] for one in positions], self.encoder.padding_id)

        return self.make_loader(split, batches, share)


def tokenized(found: Sequence[Found], encoder: Backbone) -> list[Sentence]:
    """Tokenize sentences, and leave out those in which truncation removes the listed word."""
    if not found:
        return []
    encoded = encoder.tokenizer(
        [entry.text for entry in found], truncation=True, max_length=encoder.max_length, return_offsets_mapping=True
    )
    sentences = []
    for entry, token_ids, offsets in zip(found, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        targets = [k for k, (start, end) in enumerate(offsets) if max(start, entry.start) < min(end, entry.end)]
        if targets:
            sentences.append(Sentence(token_ids, targets, entry.kind))
    return sentences


def group_sentences(data: CounterfactualData, split: str) -> list[Sentence]:
    """Return the versions of counterfactual groups as sentences, group by group, the neutral version first.

    The targets of an attribute's version are the tokens that differ from the neutral version. The targets of the
    neutral version are its tokens that differ from any attribute's version.
    """
    sentences = []
    for neutral, *versions in data.token_ids[split]:
        own: set[int] = set()
        for kind, version in enumerate(versions, start=1):
            steps = SequenceMatcher(None, neutral, version, autojunk=False).get_opcodes()
            differing = [step for step in steps if step[0] != "equal"]
            own |= {place for _, start, end, _, _ in differing for place in range(start, end)}
            targets = [place for _, _, _, start, end in differing for place in range(start, end)]
            sentences.append(Sentence(version, targets, kind))
        sentences.insert(len(sentences) - len(versions), Sentence(neutral, sorted(own), NEUTRAL_KIND))
    return sentences


def sentences_of(data: object, split: str) -> list[Sentence]:
    """Return the sentences of a split, from attribute sentences or counterfactual groups.

    Raises:
        FairlabError: The data contains neither attribute sentences nor groups.
    """
    if isinstance(data, AttributeSentences):
        return data.sentences[split]
    if isinstance(data, CounterfactualData):
        return group_sentences(data, split)
    raise FairlabError(
        "this method needs attribute and neutral sentences; choose data=attribute_sentences or data=groups"
    )


def as_sentences(batch: SentenceBatch | GroupBatch, sentences: Sequence[Sentence], padding_id: int) -> SentenceBatch:
    """Convert a batch of counterfactual groups to a batch of sentences.

    Args:
        batch: Batch of groups. A batch of sentences is returned unchanged.
        sentences: All sentences of the batch's split, see :func:`group_sentences`; not used for a batch of sentences.
        padding_id: Token id of the tokenizer's padding.
    """
    if isinstance(batch, SentenceBatch):
        return batch
    versions = len(batch.input_ids) // len(batch.ids)
    rows = [position * versions + k for position in batch.positions.tolist() for k in range(versions)]
    return SentenceBatch.of([sentences[row] for row in rows], padding_id).to(batch.input_ids.device)
