"""Checks of the tokenizer: it must belong to the model, know English, and treat capitals as its vocabulary does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.validity.finding import Finding, failed, not_judged, refused
from fairlab.benchmarks.validity.texts import RARE, SENTENCES

MOST_UNKNOWN = 0.5  # maximum share of unknown tokens
LEAST_CAPITALS = 0.02  # minimum share of the vocabulary's words with capitals in a cased vocabulary
CAPITAL = re.compile("[A-Z]")


def check_tokens(backbone: Backbone) -> Iterator[Finding]:
    """Yield defects of the tokenizer."""
    rows, highest = len(word_embeddings(backbone)), max(backbone.tokenizer.get_vocab().values(), default=-1)
    if highest >= rows:
        yield refused(
            f"the tokenizer produces token {highest}, but the model has only {rows} tokens; "
            "use the tokenizer of the model"
        )
        return
    ids, unknown = _read(backbone, SENTENCES)
    if not ids or unknown > MOST_UNKNOWN * len(ids):
        share = "all" if not ids else f"{unknown} of {len(ids)}"
        yield refused(
            f"{share} tokens of plain English are unknown to the tokenizer, which has {len(backbone.tokenizer):,}; is "
            "its file (tokenizer.json) missing from the model's folder?"
        )
        return
    yield from _check_capitals(backbone, unknown)
    plain, *rarer = backbone.tokenize(("", *RARE))
    mark = backbone.tokenizer.unk_token_id
    # some tokenizers mark every start with the same token
    if mark not in plain and (rare := sum(mark in ids for ids in rarer)):
        yield not_judged(f"{rare} of {len(RARE)} rarer words and names are unknown, and so alike, to its tokenizer")


def word_embeddings(backbone: Backbone) -> Tensor:
    """Return the input embeddings (V, D)."""
    return backbone.model.get_input_embeddings().weight  # type: ignore[union-attr,return-value]


def _read(backbone: Backbone, texts: tuple[str, ...]) -> tuple[list[int], int]:
    """Return the tokens of texts without special tokens, and the number of unknown tokens among them."""
    tokenizer = backbone.tokenizer
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    ids = [token for text in backbone.tokenize(texts) for token in text if token not in special]
    return ids, sum(token == tokenizer.unk_token_id for token in ids)


def _check_capitals(backbone: Backbone, unknown: int) -> Iterator[Finding]:
    """Yield a failure if the tokenizer keeps capitals that its vocabulary lacks, or removes capitals that it has."""
    tokenizer = backbone.tokenizer
    ids, lower_unknown = _read(backbone, tuple(text.lower() for text in SENTENCES))
    if lower_unknown < unknown:
        yield failed(
            f"the tokenizer keeps capitals that its vocabulary lacks: {unknown} tokens of plain English are unknown, "
            f"{lower_unknown} of the same in lower case; is do_lower_case set wrong?"
        )
    special = set(tokenizer.all_special_tokens)  # stored, because it is computed again at each access
    words = [word for word in tokenizer.get_vocab() if word not in special and word[:1] != "["]
    capitals = sum(CAPITAL.search(word) is not None for word in words)
    if words and capitals > LEAST_CAPITALS * len(words) and ids == _read(backbone, SENTENCES)[0]:
        yield failed(
            f"the tokenizer lower-cases text, but its vocabulary has capitals in {capitals / len(words):.0%} of its "
            "words; is do_lower_case set wrong?"
        )
