"""Log-likelihoods of sentences and pronouns under masked and causal language models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import RAISE_LENGTH, Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM, MaskQuery
from fairlab.backbones.scoring import LogLikelihoods, TextScorer
from fairlab.data.published.pronouns import PronounSentence
from fairlab.types import CannotScore


def sentence_log_likelihoods(
    scorer: MaskedLM | TextScorer, texts: Sequence[str], *, progress: str = ""
) -> LogLikelihoods:
    """Return pseudo-log-likelihoods under a masked LM, or log-likelihoods under a causal LM.

    Raises:
        CannotScore: A text exceeds the model's maximum length, or a likelihood is not finite.
    """
    if isinstance(scorer, MaskedLM):
        found = scorer.pseudo_log_likelihoods(scorer.tokenize(texts), progress=progress)
    else:
        found = scorer.log_likelihoods(texts, progress=progress)
    if scorer.cut:
        raise CannotScore(f"{scorer.cut} sentences are longer than max_length={scorer.max_length}; {RAISE_LENGTH}")
    return LogLikelihoods(_finite(found.sums), found.counts)


def pronoun_log_likelihoods(
    backbone: Backbone, sentences: Sequence[PronounSentence], *, progress: str = ""
) -> NDArray[np.float64]:
    """Return the log-likelihood of each sentence's pronouns in their context, in nats, (N,).

    For a masked LM, this is the sum over the pronouns' tokens of log p(token | sentence), with the token and every
    other pronoun of the sentence masked, so that no pronoun reveals the gender of another. In the usual case of one
    pronoun with one token, it is log p(pronoun | the rest of the sentence).

    For a causal LM, it is the log-likelihood of the whole sentence. For sentences that differ only in a pronoun, this
    reflects both the likelihood of the pronoun and that of the rest given the pronoun.

    Raises:
        CannotScore: The model has no language-modelling head, a sentence exceeds its maximum length, or a likelihood is
            not finite.
    """
    scorer = likelihood(backbone)
    if not isinstance(scorer, MaskedLM):
        return sentence_log_likelihoods(scorer, [sentence.text for sentence in sentences], progress=progress).sums
    encoded = backbone.tokenizer([sentence.text for sentence in sentences], return_offsets_mapping=True, verbose=False)
    longest = max((len(ids) for ids in encoded["input_ids"]), default=0)
    if longest > backbone.max_length:
        raise CannotScore(
            f"a sentence has {longest} tokens, more than max_length={backbone.max_length}; {RAISE_LENGTH}"
        )
    queries: list[MaskQuery] = []
    owners: list[int] = []
    for number, (sentence, ids, offsets) in enumerate(
        zip(sentences, encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ):
        found = _queries(ids, [_tokens_of(span, offsets) for span in sentence.spans], scorer.mask_id)
        queries += found
        owners += [number] * len(found)
    scores = np.zeros(len(sentences))
    np.add.at(scores, owners, scorer.log_probabilities(queries, progress=progress))
    return _finite(scores)


def _tokens_of(span: tuple[int, int], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Return positions of the tokens that overlap a span of characters, which excludes special tokens."""
    return [k for k, (start, end) in enumerate(offsets) if start < span[1] and end > span[0]]


def _queries(token_ids: Sequence[int], pronouns: Sequence[Sequence[int]], mask_id: int) -> list[MaskQuery]:
    """Return one query per token of each pronoun, with that token and all tokens of the other pronouns masked."""
    queries = []
    for pronoun in pronouns:
        others = {position for other in pronouns if other is not pronoun for position in other}
        for position in pronoun:
            hidden = others | {position}
            ids = [mask_id if k in hidden else token for k, token in enumerate(token_ids)]
            queries.append(MaskQuery(ids, position, token_ids[position]))
    return queries


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise CannotScore("the model's likelihoods are not finite numbers; load it with dtype float32")
    return values
