"""Trained language model that rewrites one person in a text to another attribute.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 4 (the perturber).
Shapes: N texts; S tokens in the longest input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from fairlab.backbones.backbone import Backbone, batches_by_tokens, pad
from fairlab.backbones.loading import load_backbone
from fairlab.checks.progress import with_progress
from fairlab.lexicons import Lexicon
from fairlab.rewriting.decoding import PERT_SEP, SEP, can_rewrite, ends, longest, start, token_steps
from fairlab.text.difference import stretches
from fairlab.text.papers import QIAN_2022
from fairlab.text.words import match_case
from fairlab.types import NEUTRAL, CannotScore, FairlabError

if TYPE_CHECKING:
    from fairlab.rewriting.word_rewriters import Selection

TOKENS_AT_ONCE = 8192  # maximum number of padded input tokens decoded together
WORD_OR_SIGN = re.compile(r"<SEP>|\[UNK\]|[^\W_]+|_|[^\w\s]")
ROOM = 16  # maximum number of tokens by which a rewrite may exceed its text

# Attributes by PANDA's name, as written with their axis in table 1 and section 2 of the paper.
NAMES = {
    "man": "gender:man",
    "woman": "gender:woman",
    "non-binary": "gender:non-binary/underspecified",
    "white": "race:white",
    "black": "race:black",
    "hispanic": "race:hispanic or latino",
    "asian": "race:asian",
    "native-american": "race:native american or alaska native",
    "pacific-islander": "race:hawaiian or pacific islander",
    "child": "age:child (<18)",
    "young": "age:young (18-44)",
    "middle-aged": "age:middle-aged (45-64)",
    "senior": "age:senior (65+)",
    "adult": "age:adult (unspecified)",
}

# Input formats for the selected word, the target and the text, by the name of the models that use them.
FORMATS: dict[str, Callable[[str, str, str], str]] = {
    "paper": lambda word, target, text: f"{word} {NAMES[target]} {PERT_SEP} {text}",
    "facebook/perturber": lambda word, target, text: f"{word}, {target} {PERT_SEP} {text}",
    "perturbers": lambda word, target, text: f"{word}{SEP} {target}{PERT_SEP} {text}",
}


def source_text(format: str, word: str, target: str, text: str) -> str:
    """Return the input of a perturber for a text, its selected word and the target.

    Args:
        format: Name of the format, one of :data:`FORMATS`.
        word: Selected word, as written in the text.
        target: Target attribute, by PANDA's name, or ``neutral`` for ``non-binary``.
        text: Text to rewrite.

    Raises:
        FairlabError: The format or attribute is unknown.

    Example:
        >>> source_text("facebook/perturber", "her", "man", "Kate lost her pen.")
        'her, man <PERT_SEP> Kate lost her pen.'
    """
    if format not in FORMATS:
        raise FairlabError(f"the format of a perturber must be {', '.join(FORMATS)}, not {format}")
    target = "non-binary" if target == NEUTRAL else target
    if target not in NAMES:
        raise FairlabError(f"a perturber knows no attribute '{target}'; there are: {', '.join(NAMES)}")
    return FORMATS[format](word, target, text)


class Perturber:
    """Rewriter that decodes the output of a trained perturber greedily.

    If the tokenizer is lower-case, words copied from the text keep their original case, and new words take the case of
    the words they replace.

    Args:
        backbone: Encoder-decoder or causal LM that was trained as a perturber.
        format: Name of the input's format, one of :data:`FORMATS`; None for the format of the model's training.
        budget: Maximum number of input tokens in a batch, including padding.

    Attributes:
        cut: Number of texts left unchanged so far because they exceed the model's maximum length; see
            :func:`fairlab.rewriting.decoding.longest`.

    Raises:
        CannotScore: The model is neither an encoder-decoder nor a causal LM, or no format is given and it was not
            trained as a perturber.
    """

    def __init__(self, backbone: Backbone, *, format: str | None = None, budget: int = TOKENS_AT_ONCE) -> None:
        if not can_rewrite(backbone.model):
            name = type(backbone.model).__name__
            raise CannotScore(f"{name} is neither an encoder-decoder nor a causal LM; give a perturber")
        format = format or getattr(backbone.model.config, "perturber_format", None)
        if format is None:
            raise CannotScore(
                "the model was not trained as a perturber by fairlab; train it with +experiment=perturber, or name the "
                f"format it reads: {', '.join(FORMATS)}"
            )
        source_text(format, "", "man", "")
        self.backbone = backbone
        self.format = format
        self.budget = budget
        self.cut = 0

    def rewrite(
        self, texts: Sequence[str], words: Sequence[str], targets: Sequence[str], *, progress: str = ""
    ) -> list[str]:
        """Return every text with the person meant by its selected word rewritten to the target, in order.

        Targets are names of PANDA, or ``neutral``.

        Raises:
            FairlabError: A target attribute is unknown.
        """
        inputs = [source_text(self.format, *each) for each in zip(words, targets, texts, strict=True)]
        token_ids = self.backbone.tokenizer(inputs, verbose=False)["input_ids"] if inputs else []
        fitting = [k for k, ids in enumerate(token_ids) if len(ids) <= longest(self.backbone)]
        self.cut += len(inputs) - len(fitting)
        lengths = [len(token_ids[k]) for k in fitting]
        rewritten = list(texts)
        for batch in with_progress(list(batches_by_tokens(lengths, self.budget)), progress):
            places = [fitting[k] for k in batch]
            outputs = greedy(self.backbone, [token_ids[place] for place in places])
            for place, ids in zip(places, outputs, strict=True):
                rewritten[place] = self._text(ids, texts[place])
        return rewritten

    def _text(self, token_ids: list[int], original: str) -> str:
        """Decode generated tokens to text, in the case of the original if the tokenizer is lower-case."""
        tokenizer = self.backbone.tokenizer
        kept = {tokenizer.convert_tokens_to_ids(SEP), tokenizer.unk_token_id} - set(ends(self.backbone))
        dropped = set(tokenizer.all_special_ids) - kept
        text = str(tokenizer.decode([token for token in token_ids if token not in dropped])).strip()
        if tokenizer.tokenize("A") != tokenizer.tokenize("a"):
            return text
        return in_the_case_of(original, text, self._fold)

    def _fold(self, word: str) -> str:
        """Return a word in the form that a lower-case tokenizer gives it."""
        tokenizer = self.backbone.tokenizer
        if word == SEP or tokenizer.tokenize(word) == [tokenizer.unk_token]:
            return SEP if word == SEP else str(tokenizer.unk_token)
        return str(tokenizer.backend_tokenizer.normalizer.normalize_str(word))


def greedy(backbone: Backbone, token_ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Decode every input greedily, with the same result as ``generate`` without beams or sampling.

    Every step runs the decoder only on unfinished sequences.

    Returns:
        Generated token ids of every input, up to and including the end token.
    """
    device, last = backbone.device, ends(backbone)
    forced = backbone.model.generation_config.forced_bos_token_id
    inputs = [tensor.to(device) for tensor in pad(token_ids, backbone.padding_id)]
    most = torch.tensor([min(len(ids) + ROOM, longest(backbone)) for ids in token_ids])
    outputs: list[list[int]] = [[] for _ in token_ids]
    rows = list(range(len(token_ids)))
    with backbone.measuring():
        decoder = token_steps(backbone, *inputs)
        next_N1 = torch.full((len(rows), 1), start(backbone), device=device)
        for step in range(int(most.max())):
            next_N = decoder.logits(next_N1).float().argmax(dim=-1)
            if step == 0 and forced is not None:
                next_N = torch.full_like(next_N, forced)
            for row, token in zip(rows, next_N.tolist(), strict=True):
                outputs[row].append(token)
            going = [k for k, row in enumerate(rows) if outputs[row][-1] not in last and step + 1 < most[row]]
            if not going:
                break
            next_N1 = next_N[:, None]
            # Removing rows copies the cache, so rows are removed only when a quarter of them are finished.
            if len(going) <= 0.75 * len(rows):
                kept = torch.tensor(going, device=device)
                rows = [rows[k] for k in going]
                decoder.keep(kept)
                next_N1 = next_N1[kept]
    return [_truncate(ids, last, int(limit)) for ids, limit in zip(outputs, most, strict=True)]


def _truncate(token_ids: list[int], ends: Sequence[int], most: int) -> list[int]:
    """Truncate tokens after the first end token, and to at most ``most`` tokens."""
    end = next((k + 1 for k, token in enumerate(token_ids) if token in ends), len(token_ids))
    return token_ids[: min(end, most)]


def in_the_case_of(original: str, rewritten: str, fold: Callable[[str], str]) -> str:
    """Restore the case and spacing of the original in a lower-case rewrite of it.

    Args:
        original: Text before rewriting.
        rewritten: Rewritten text in lower case, with words and punctuation separated as by its tokenizer.
        fold: Function that maps a word of the original to the form that the tokenizer gives it.

    Example:
        >>> in_the_case_of("Amy didn't see HER cat (again).", "he didn ' t see his cat ( again ) .", str.lower)
        "He didn't see HIS cat (again)."
    """
    old = list(WORD_OR_SIGN.finditer(original))
    words, starts = [match.group() for match in old], [match.start() for match in old]
    gaps = [original[end:start] for end, start in zip([0, *(match.end() for match in old)], starts, strict=False)]
    text, place = "", 0
    for before, after in stretches([fold(word) for word in words], WORD_OR_SIGN.findall(rewritten)):
        there = words[place : place + len(before)]
        if before == after:
            after = there
        elif len(before) == len(after):
            after = [match_case(word, new) for word, new in zip(there, after, strict=True)]
        else:
            joined = " ".join(after)
            after = [match_case(there[0], joined) if there else joined] if after else []
        spaces = gaps[place : place + len(before)] or [" "]
        text += "".join(space + word for space, word in zip(spaces, after, strict=False))
        place += len(before)
    return text.strip()


class PerturberWords:
    """Adapter through which augmentations use a perturber as their rewriter.

    Args:
        lexicon: Words of the axis, which are unused; accepted because every rewriter is built with a lexicon.
        model: Folder or hub name of a perturber, such as the ``model`` of a run of ``+experiment=perturber``.
        format: Name of the input's format, one of :data:`FORMATS`; None for the format that fairlab trained it with.
        dtype: Torch name of the weights' number format; ``auto`` is bfloat16 on a GPU that supports it, else float32.
        seed: Unused, because greedy decoding is deterministic; accepted because every rewriter is built with a seed.

    Raises:
        FairlabError: The weights are not available, or are not a perturber's.
    """

    title = "trained perturber"
    limits = "It works well for texts like its training pairs, but can change words that should stay."
    citation = QIAN_2022

    def __init__(
        self, *, lexicon: Lexicon, model: str, format: str | None = None, dtype: str = "auto", seed: int = 0
    ) -> None:
        self.lexicon = lexicon
        self.perturber = load_perturber(model, format, dtype)
        self.provenance: dict[str, Any] = {"rewriter": "perturber", "model": model, "format": self.perturber.format}

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str]:
        """Return every text with the person meant by its selected word rewritten.

        Texts that exceed the model's maximum length stay unchanged.
        """
        words, targets = [one.word for one in selections], [one.target for one in selections]
        return self.perturber.rewrite(texts, words, targets)

    def groups(self, texts: Sequence[str]) -> list[Any]:
        """Raise FairlabError: this rewriter does not support groups."""
        del texts
        raise FairlabError(
            "rewriter=perturber rewrites one selected person; use rewriter=rules or llm for whole groups"
        )

    def swapped(self, texts: Sequence[str]) -> list[str]:
        """Raise FairlabError: this rewriter does not support swaps."""
        del texts
        raise FairlabError("rewriter=perturber does not exchange attributes; use rewriter=word_swap or rewriter=rules")


@cache
def load_perturber(model: str, format: str | None, dtype: str) -> Perturber:
    """Load a perturber by its folder or hub name, on a GPU if there is one.

    The result is cached, so the rewriters of all axes share one model.
    """
    gpu = torch.cuda.is_available()
    if dtype == "auto":
        dtype = "bfloat16" if gpu and torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    backbone = load_backbone(model, pooling="mean", max_length=None, normalize=False, dtype=dtype)
    return Perturber(backbone.to("cuda" if gpu else "cpu"), format=format)
