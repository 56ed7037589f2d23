"""Log-likelihoods that benchmarks compare, by the head a model has: masked or causal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import RAISE_LENGTH, Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM, MaskQuery
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.data.published.pronouns import PronounSentence
from fairlab.types import CannotScore


def sentence_log_likelihoods(
    scorer: MaskedLM | CausalLM, texts: Sequence[str], *, progress: str = ""
) -> LogLikelihoods:
    """Pseudo-log-likelihoods under a masked LM, log-likelihoods under a causal one.

    Raises:
        CannotScore: a text is longer than the model takes, or a likelihood is no number.
    """
    if isinstance(scorer, MaskedLM):
        found = scorer.pseudo_log_likelihoods(scorer.tokenize(texts), progress=progress)
    else:
        found = scorer.log_likelihoods(texts, progress=progress)
    if scorer.cut:
        raise CannotScore(
            f"{scorer.cut} sentences are longer than max_length={scorer.backbone.max_length}; {RAISE_LENGTH}"
        )
    return LogLikelihoods(_finite(found.sums), found.counts)


def pronoun_log_likelihoods(
    backbone: Backbone, sentences: Sequence[PronounSentence], *, progress: str = ""
) -> NDArray[np.float64]:
    """How likely each sentence's pronouns are where they stand, in nats, (N,).

    Masked LM: the sum over the pronouns' tokens of log p(token | sentence), the token and every other pronoun of the
    sentence masked, so that none gives the gender of the next away. For the one pronoun of one token that is usual it
    is log p(pronoun | the rest of the sentence). Causal LM: log-likelihood of the whole sentence, which for sentences
    alike but for a pronoun differs by how likely the pronoun is and by how well the rest follows from it.

    Raises:
        CannotScore: the model has no language-modelling head, a sentence is longer than it takes, or a likelihood is
            no number.
    """
    scorer = likelihood(backbone)
    if isinstance(scorer, CausalLM):
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
    """Positions of the tokens that overlap a span of characters; special tokens have none."""
    return [k for k, (start, end) in enumerate(offsets) if start < span[1] and end > span[0]]


def _queries(token_ids: Sequence[int], pronouns: Sequence[Sequence[int]], mask_id: int) -> list[MaskQuery]:
    """One query per token of each pronoun, all tokens of the other pronouns masked."""
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
        raise CannotScore("the model gives likelihoods that are no numbers; load it with dtype float32")
    return values
