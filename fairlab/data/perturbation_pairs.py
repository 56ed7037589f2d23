"""Training data of a perturber: pairs of a text and a rewrite in which one person has another attribute.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 3 (PANDA).
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.batch import Batch
from fairlab.data.batch_stream import Streamed
from fairlab.data.reads import facts_of_files
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.rows import read_rows
from fairlab.data.text import SENTENCE_END, held_out, read
from fairlab.files import sha256
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.decoding import IGNORED, longest, tokenize_rewritings
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.mentions import UNALIGNED, Unaligned
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax, parse_views
from fairlab.rewriting.perturber import NAMES, source_text
from fairlab.text.difference import stretches
from fairlab.text.fingerprints import Fingerprints
from fairlab.text.view import View
from fairlab.types import NEUTRAL, Count, FairlabError, Fraction, Share

SPLITS = ("train", "validation")
FIELDS = ("original", "selected_word", "target_attribute", "perturbed")
AT_ONCE = 1000  # sentences parsed together
WORDS = (4, 40)  # minimum and maximum number of words of a sentence for silver pairs


@dataclass(frozen=True)
class PerturbationPair:
    """Text and its rewrite.

    Attributes:
        original: Text before rewriting.
        word: Selected word of the original text, which refers to a person.
        target: Target attribute, by its name in PANDA: ``woman``, ``non-binary``, ``native-american``, ...
        perturbed: Text in which the person that ``word`` refers to has the attribute ``target``.
    """

    original: str
    word: str
    target: str
    perturbed: str


def read_pairs(source: str) -> list[PerturbationPair]:
    """Read pairs from a file (.jsonl, .csv, .parquet) or a hub dataset (``NAME:SPLIT``) with PANDA's columns.

    Raises:
        FairlabError: A row lacks a column or a rewrite, or names an attribute unknown to PANDA. The message names the
            row.
    """
    pairs, absent = [], []
    for row in read_rows(source, FIELDS[0]):
        if isinstance(row, BadRow):
            raise FairlabError(f"{source}, {row.place}: {row.reason}")
        if missing := [name for name in FIELDS[1:] if not isinstance(row.extra.get(name), str)]:
            raise FairlabError(f"{source}, {row.place} has no '{missing[0]}'; PANDA's columns are {', '.join(FIELDS)}")
        word, target, perturbed = (row.extra[name].strip() for name in FIELDS[1:])
        if not perturbed:
            raise FairlabError(f"{source}, {row.place} has an empty 'perturbed'; give the rewrite or delete the row")
        if word.casefold() not in row.text.casefold():
            absent.append(f"'{word}' of {row.place}")
        if target not in NAMES:
            raise FairlabError(
                f"{source}, {row.place} has the unknown target '{target}'; the known ones are: {', '.join(NAMES)}"
            )
        pairs.append(PerturbationPair(row.text.strip(), word, target, perturbed))
    if absent:  # a note, not an error, because the pairs may be published ones
        warnings.warn(
            f"{source}: the selected word of {len(absent)} of {len(pairs)} pairs is not in the original text, "
            f"such as {absent[0]}",
            stacklevel=2,
        )
    return pairs


def silver_pairs(
    texts: Iterable[str], axes: Sequence[str], seed: int, limit: int | None = None
) -> list[PerturbationPair]:
    """Make silver pairs with the rule rewriter, and return the pairs whose text changed.

    For each text and axis, one word and one target are sampled uniformly.

    Args:
        texts: Sentences to rewrite. Sentences with fewer or more words than :data:`WORDS` are left out.
        axes: Names of lexicons whose attributes occur in PANDA. For gender, *neutral* is also a target, named
            ``non-binary``.
        seed: Random seed. The sampled word and target depend only on the seed, the axis and the text. With a limit, the
            texts are also shuffled.
        limit: Number of pairs after which to stop, which may be slightly exceeded; None for all.
    """
    kept = [text for text in dict.fromkeys(texts) if WORDS[0] <= len(text.split()) <= WORDS[1]]
    if limit is not None:
        random.Random(seed).shuffle(kept)
    rewriters = {axis: RuleRewriter(load_lexicon(axis), seed=seed) for axis in axes}
    pairs: list[PerturbationPair] = []
    left_out = 0
    for start in range(0, len(kept), AT_ONCE):
        if limit is not None and len(pairs) >= limit:
            break
        some = kept[start : start + AT_ONCE]
        finders = [rewriter.finder for rewriter in rewriters.values()]
        listed = [view for view in map(read_cased, some) if any(one.may_change(view.text) for one in finders)]
        docs = list(parse_views(listed))
        for axis, rewriter in rewriters.items():
            made, refused = _silver(listed, docs, axis, rewriter, seed)
            pairs += made
            left_out += refused
    if left_out:
        warnings.warn(f"{left_out} texts give no pair on an axis because {UNALIGNED} in them", stacklevel=2)
    return pairs


def _silver(
    views: Sequence[View], docs: Sequence[Any], axis: str, rewriter: RuleRewriter, seed: int
) -> tuple[list[PerturbationPair], int]:
    """Return the pairs of one axis, and the number of texts whose words cannot be aligned with their parse."""
    targets = [*rewriter.vocabulary.lexicon.attributes, *([NEUTRAL] if axis == "gender" else [])]
    drawn, refused = [], 0
    for view, doc in zip(views, docs, strict=True):
        text = view.original
        syntax = Syntax(doc, rewriter.vocabulary.lexicon.people)
        try:
            mentions = rewriter.finder.find(view.text, syntax)
        except Unaligned:
            refused += 1
            continue
        found = [m for m in mentions if m.sense.attribute != NEUTRAL]
        choices = [(m, target) for m in found for target in targets if target != m.sense.attribute]
        if choices:
            drawn.append((view, doc, *random.Random(f"{seed} {axis} {text}").choice(choices)))
    rewritten = rewriter.rewrite_entities(
        [view.original for view, *_ in drawn],
        [[(view.span(mention.start, mention.end)[0], target)] for view, _, mention, target in drawn],
        [doc for _, doc, *_ in drawn],
    )
    made = [
        PerturbationPair(view.original, mention.found, "non-binary" if target == NEUTRAL else target, new)
        for (view, _, mention, target), new in zip(drawn, rewritten, strict=True)
        if new != view.original
    ]
    return made, refused


def find_pairs(
    path: str | None, paths: Sequence[str] | None, axes: Sequence[str], seed: int, limit: int | None = None
) -> tuple[list[PerturbationPair], dict[str, str]]:
    """Read pairs, or make about ``limit`` silver pairs from plain text, and return them with the SHA-256 of each file.

    Raises:
        FairlabError: There are no pairs.
    """
    if path is not None:
        pairs = read_pairs(path)
        hashes = {Path(path).name: sha256(Path(path)) if Path(path).is_file() else _digest(pairs)}
    else:
        files = [file for place in paths or () for file in read(place)]
        texts = [text for _, _, blocks in files for _, block in blocks for text in SENTENCE_END.split(block)]
        pairs = silver_pairs(texts, axes, seed, limit)
        hashes = {name: digest for name, digest, _ in files}
    if not pairs:
        raise FairlabError(f"{path or ', '.join(paths or ())} yield no pairs; give texts about people")
    return pairs, hashes


def part_of(original: str, validation: float, test: float) -> str:
    """Return the split of a text: ``test``, ``validation`` or ``train``.

    The split depends only on a hash of the text, not on the run's seed, and is the same for all pairs of a text. The
    official script splits PANDA's rows at random (70 %, 20 % and 10 %) without a seed, so a text may occur in all three
    splits. The proportions are the same here, but the pairs in each split differ.
    """
    if held_out(original, test):
        return "test"
    return "validation" if held_out(original, test + validation) else "train"


def _digest(pairs: Sequence[PerturbationPair]) -> str:
    return hashlib.sha256(repr(list(pairs)).encode()).hexdigest()


def axis_of(target: str) -> str:
    """Return the axis of an attribute, given by its name in PANDA."""
    return NAMES[target].partition(":")[0]


@dataclass(frozen=True)
class EncodedPair:
    """Token ids of a pair.

    Attributes:
        source: Token ids of the perturber's input.
        target: Token ids of the rewrite.
        changed: 1 for each token of the target that is missing from the original text, otherwise 0.
    """

    source: list[int]
    target: list[int]
    changed: list[int]

    @property
    def length(self) -> int:
        """Return the number of tokens of the longer text."""
        return max(len(self.source), len(self.target))


def encode_pairs(backbone: Backbone, pairs: Sequence[PerturbationPair], format: str) -> list[EncodedPair]:
    """Tokenize pairs, truncated to the backbone's maximum length.

    Tokens of the rewrite that are not in a longest common subsequence with the original are marked as changed.
    """
    most = longest(backbone)
    inputs = backbone.tokenize(source_text(format, pair.word, pair.target, pair.original) for pair in pairs)
    sources = [ids[:most] for ids in inputs]
    originals = tokenize_rewritings(backbone, (pair.original for pair in pairs))
    targets = tokenize_rewritings(backbone, (pair.perturbed for pair in pairs))
    return [
        EncodedPair(source, target, _mark_changes(original, target))
        for source, original, target in zip(sources, originals, targets, strict=True)
    ]


def _mark_changes(original: list[int], target: list[int]) -> list[int]:
    marks: list[int] = []
    for before, after in stretches(original, target):
        marks += [int(before != after)] * len(after)
    return marks


@dataclass(frozen=True)
class PairBatch(Batch):
    """Batch of B pairs.

    Attributes:
        input_ids: Token ids of the perturber's inputs (B, S), padded.
        attention_mask: Mask (B, S), 0 at padding.
        targets: Token ids of the rewrites (B, T), ``IGNORED`` at padding.
        changed: Boolean (B, T), whether a target token is not in the original text.
        given: Positions, in the flattened batch (B * T,), of the M target tokens that are not padding, (M,).
    """

    input_ids: Tensor
    attention_mask: Tensor
    targets: Tensor
    changed: Tensor
    given: Tensor


class PerturbationPairs(Streamed):
    """Pairs for training a perturber, some of which are held out by their original text.

    Args:
        path: File of pairs with PANDA's columns, see :func:`read_pairs`; None makes silver pairs from ``paths``, see
            :func:`silver_pairs`.
        paths: Plain text from whose sentences silver pairs are made, as for :class:`fairlab.data.corpus.Corpus`; None
            if ``path`` is given.
        axes: Axes on which silver pairs are made, such as ``gender``.
        format: Format of the model's input, one of :data:`fairlab.rewriting.perturber.FORMATS`.
        validation: Fraction of the original texts held out, above 0 and below 1.
        test: Fraction of the original texts reserved for ``benchmark=perturber``, and not used for training or
            validation. It is at least 0, and its sum with ``validation`` is below 1.
        batch_size: Number of pairs in a training batch, over all processes.
        limit: Maximum number of training pairs, sampled with ``seed``; None for all.
        encoder: Model whose tokenizer and maximum length are used.
        epochs: Number of passes over the training pairs.
        seed: Seed for all random choices and for the order of the batches.
        augmentation: Argument that must be None, because there are no augmentations of pairs.

    Attributes:
        pairs: Pairs of each split.
        encoded: Tokenized pairs of each split.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file, row or key.
    """

    def __init__(
        self,
        *,
        path: str | None,
        paths: Sequence[str] | None,
        axes: Sequence[str],
        format: str,
        validation: Fraction,
        batch_size: Count,
        limit: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        test: Share = 0.0,
        augmentation: object | None = None,
    ) -> None:
        super().__init__()
        if (path is None) == (paths is None):
            raise FairlabError("give either data.path (pairs) or data.paths (plain text to make pairs from)")
        if validation + test >= 1:
            raise FairlabError(f"data.validation and data.test must together be below 1, not {validation} and {test}")
        if augmentation is not None:
            raise FairlabError("there is no augmentation of a perturber's pairs; set augmentation=none")
        self.where = path or ", ".join(paths or ())
        self.format = format
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        pairs, self.hashes = find_pairs(
            path, paths, axes, seed, None if limit is None else round(limit / (1 - validation - test))
        )
        parts: dict[str, list[PerturbationPair]] = {"train": [], "validation": [], "test": []}
        for pair in pairs:
            parts[part_of(pair.original, validation, test)].append(pair)
        random.Random(seed).shuffle(parts["train"])
        self.left_out = len(parts["test"])
        self.pairs = {"train": parts["train"][:limit], "validation": parts["validation"]}
        for split, part in self.pairs.items():
            if not part:
                raise FairlabError(
                    f"{self.where}: none of the {len(pairs)} pairs is for {split}; give more or change data.validation"
                )
        self.encoded = {split: encode_pairs(encoder, part, format) for split, part in self.pairs.items()}

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record: hashes of the files, sizes, and the number of truncated texts."""
        most = longest(self.encoder)
        return {
            **facts_of_files(self.where, self.hashes),
            "trained_on": f"{len(self.pairs['train'])} pairs",
            **{f"{split}_pairs": len(part) for split, part in self.pairs.items()},
            "test_pairs": self.left_out,
            "pairs_at_max_length": sum(one.length >= most for part in self.encoded.values() for one in part),
        }

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of both texts of the training pairs."""
        return Fingerprints.from_texts(text for pair in self.pairs["train"] for text in (pair.original, pair.perturbed))

    def sizes(self) -> dict[str, int]:
        """Return the number of pairs and tokens in one pass over the training pairs, excluding padding."""
        rows = self.encoded["train"]
        return {"pairs": len(rows), "tokens": sum(len(row.source) + len(row.target) for row in rows)}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every pair."""
        return [one.length for one in self.encoded[split]]

    def collate(self, split: str, positions: list[int]) -> PairBatch:
        """Return the pairs at ``positions`` as a padded batch."""
        rows = [self.encoded[split][position] for position in positions]
        sources = pad([row.source for row in rows], self.encoder.padding_id)
        targets, _ = pad([row.target for row in rows], IGNORED)
        changed, _ = pad([row.changed for row in rows], 0)
        given = (targets != IGNORED).flatten().nonzero().squeeze(1)
        return PairBatch(*sources, targets, changed.bool(), given)
