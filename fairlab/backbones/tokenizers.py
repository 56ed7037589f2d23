"""Tokenizers as published: letter case of the vocabulary, embedding rows of the model, and maximum length."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.backbones.trust import loading
from fairlab.checks.foreign import read_object
from fairlab.files import read_bounded
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

MIN_LENGTH = 4
LONGEST = 1024  # maximum tokens of a text if neither the user nor the model sets a limit
UNLIMITED = 2**30  # value of ``longest`` with which a model reads as many tokens as it can
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert")
WORDS, SETTINGS, WHOLE = "vocab.txt", "tokenizer_config.json", "tokenizer.json"
CAPITALISED = re.compile(r"[A-Z][a-z]+")
LEAST_CAPITALISED = 0.02  # minimum share of capitalised words in a cased vocabulary; about a third in BERT's
SHOWN = 3  # number of tokens that a message names
MOST_GROWTH = 100  # maximum number of characters that replace one; published tokenizers have one or two


def load_tokenizer(folder: Path, name: str, gguf: str | None = None) -> PreTrainedTokenizerBase:
    """Load a folder's tokenizer, which keeps capitals if its vocabulary has them and no file specifies otherwise.

    BERT's tokenizer converts to lower case by default. BioBERT, SciBERT and others with capitals in their vocabulary
    are published without the file that disables this.

    Raises:
        FairlabError: If there is no tokenizer, or it is damaged.
    """
    from transformers import AutoTokenizer

    if not gguf:
        _need_reader(folder, name)
    cased: dict[str, Any] = {} if gguf or not has_unsaid_capitals(folder) else {"do_lower_case": False}
    with loading(f"the tokenizer of {name}"):
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=gguf, trust_remote_code=False, **cased)
        tokenizer.convert_tokens_to_ids(tokenizer.all_special_tokens)  # recurses without end if one has no row
        return tokenizer  # type: ignore[no-any-return]


def _need_reader(folder: Path, name: str) -> None:
    """Raise if a folder's only tokenizer is a sentencepiece file, and the package sentencepiece is missing."""
    file = next(iter(sorted(folder.glob("*.model"))), None)
    others = any((folder / other).is_file() for other in (WHOLE, WORDS, "vocab.json"))
    if file is not None and not others and importlib.util.find_spec("sentencepiece") is None:
        raise FairlabError(
            f"the tokenizer of {name} is in {file.name}, which sentencepiece reads; run pip install sentencepiece, or "
            f"save the tokenizer with a {WHOLE} on a machine that has that package"
        )


def has_unsaid_capitals(folder: Path) -> bool:
    """Return whether a folder's vocabulary has capitalised words, and no other file specifies the letter case."""
    words, settings = folder / WORDS, folder / SETTINGS
    if not words.is_file() or (folder / WHOLE).is_file():
        return False
    if settings.is_file() and "do_lower_case" in read_object(settings):
        return False
    lines = [line.strip() for line in read_bounded(words).split("\n")]
    letters = sum(line.isalpha() and line.isascii() for line in lines)
    return sum(CAPITALISED.fullmatch(line) is not None for line in lines) > LEAST_CAPITALISED * letters


def refuse_tokens_without_row(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise if the tokenizer has tokens without an embedding in the model.

    Raises:
        FairlabError: If there are such tokens (the message lists some), or if the model reads no tokens.
    """
    try:
        rows = int(model.get_input_embeddings().num_embeddings)  # type: ignore[arg-type]
    except (NotImplementedError, AttributeError) as error:
        name = type(model).__name__
        raise FairlabError(
            f"this {name} has no embeddings of tokens, so it cannot read texts; give a model that can"
        ) from error
    last_added = max(getattr(tokenizer, "added_tokens_decoder", {}), default=0)
    if max(len(tokenizer) - 1, last_added) < rows:
        return
    beyond = sorted((number, token) for token, number in tokenizer.get_vocab().items() if number >= rows)
    if beyond:
        named = ", ".join(f"{token} ({number})" for number, token in beyond[:SHOWN])
        raise FairlabError(
            f"the tokenizer has {len(beyond)} tokens that the model, with embeddings of {rows}, cannot read: {named}; "
            "call model.resize_token_embeddings(len(tokenizer)) and train them, or use the tokenizer without them"
        )


def refuse_growth(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise FairlabError if a tokenizer may replace one character by more than :data:`MOST_GROWTH` characters."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        part = getattr(backend, name, None)
        try:
            state = part.__getstate__() if part is not None else "null"
        except Exception:  # a user's Python class, which no file can name
            continue
        if (growth := _growth(json.loads(state))) > MOST_GROWTH:
            raise FairlabError(
                f"the {name} of the tokenizer {tokenizer.name_or_path} replaces one character by up to {growth:,}; do "
                "not use this model"
            )


def _growth(node: Any) -> int:
    """Return the product of the lengths of all replacements in a part of a tokenizer."""
    if isinstance(node, dict):
        own = len(str(node.get("content"))) if node.get("type") == "Replace" else 1
        return max(own, 1) * _growth(list(node.values()))
    return math.prod(map(_growth, node)) if isinstance(node, list) else 1


def readable_length(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    name: str,
    longest: int = LONGEST,
) -> int:
    """Return the maximum number of tokens per text: ``max_length``, or the model's own limit up to ``longest`` if None.

    Raises:
        FairlabError: If the model cannot read ``max_length`` tokens.
    """
    with loading(f"the tokenizer of {name}"):
        own = int(tokenizer.model_max_length)
    limit = min(readable_positions(model.config) or max_length or LONGEST, own)
    return in_range(min(limit, longest) if max_length is None else max_length, limit, name)


def in_range(length: int, limit: int, name: str) -> int:
    """Return a number of tokens; raise FairlabError if the model cannot read that many."""
    if not MIN_LENGTH <= length <= limit:
        raise FairlabError(f"backbone.max_length must be in {MIN_LENGTH}..{limit} for {name}, not {length}")
    return length


def readable_positions(config: PretrainedConfig) -> int | None:
    """Return the number of token positions of a model, or None if it is unlimited."""
    config = config.get_text_config()
    found = getattr(config, "max_position_embeddings", None)
    if not found or found < 0:  # XLNet uses -1
        return None
    # RoBERTa and related models count positions from the one after the padding position.
    return int(found) - (config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0)
