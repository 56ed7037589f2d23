"""Model objects of other evaluation tools, through their published interfaces: lm-evaluation-harness and MTEB.

Sources: ``lm_eval.api.model.LM`` and ``TemplateLM`` of lm-evaluation-harness 0.4 (``loglikelihood`` of requests whose
``args`` are a context and a continuation, ``loglikelihood_rolling`` of requests whose ``args`` are one text, and
``tok_encode``); ``mteb.EncoderProtocol`` of MTEB 2 (``encode`` of a data loader whose batches have the key ``text``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from fairlab.backbones.model_object import Limit, calling
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.types import CannotScore

MTEB_TASK = "STSBenchmark"  # task whose prompt, if an encoder has prompts, is the one for comparing sentences
BATCH = 32


def is_harness_model(model: object) -> bool:
    """Return whether an object is a language model of lm-evaluation-harness."""
    parts = ("loglikelihood", "loglikelihood_rolling")
    return all(callable(getattr(model, name, None)) for name in parts)


def is_mteb_encoder(model: object) -> bool:
    """Return whether an object is an encoder of MTEB 2, whose ``encode`` takes the task as an argument."""
    encode = getattr(model, "encode", None)
    try:
        return callable(encode) and "task_metadata" in signature(encode).parameters
    except (TypeError, ValueError):  # a built-in function without a signature
        return False


def limit_of(model: Any) -> Limit | None:
    """Return the length to which an object truncates texts, or None if its tokenizer or length is not available.

    Args:
        model: Object with ``tokenizer`` and ``max_seq_length``, such as a SentenceTransformer of any backend; a method
            of such an object; or a wrapper that stores such an object as ``model``.
    """
    from transformers import PreTrainedTokenizerBase

    owner = getattr(model, "__self__", model)
    for one in (owner, getattr(owner, "model", None)):
        tokenizer, tokens = getattr(one, "tokenizer", None), getattr(one, "max_seq_length", None)
        if isinstance(tokenizer, PreTrainedTokenizerBase) and isinstance(tokens, int):
            prompts, named = getattr(one, "prompts", None) or {}, getattr(one, "default_prompt_name", None)
            return Limit(tokens, _counter(tokenizer, prompts.get(named) or ""))
    return None


def _counter(tokenizer: Any, prompt: str) -> Callable[[list[str]], list[int]]:
    def count(texts: list[str]) -> list[int]:
        return [len(ids) for ids in tokenizer([prompt + text for text in texts], verbose=False)["input_ids"]]

    return count


def mteb_encode(encoder: Any) -> Callable[[list[str]], Any]:
    """Return a function that embeds texts with an MTEB 2 encoder and its prompt for sentence similarity."""

    def encode(texts: list[str]) -> Any:
        import mteb  # type: ignore[import-not-found]  # the package of the object
        from datasets import Dataset
        from torch.utils.data import DataLoader

        metadata = mteb.get_task(MTEB_TASK).metadata
        batches = DataLoader(Dataset.from_dict({"text": texts}), batch_size=BATCH)  # MTEB's wrappers read its columns
        return encoder.encode(batches, task_metadata=metadata, hf_split="test", hf_subset="default")

    return encode


@dataclass(frozen=True)
class _Asked:
    """Request in the form that lm-evaluation-harness expects."""

    args: tuple[str, ...]
    request_type: str

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.args


class HarnessScorer:
    """Scorer of texts that uses a model of lm-evaluation-harness with its own tokenization and start token.

    Args:
        model: Object that meets ``lm_eval.api.model.TemplateLM``.
        name: Name of the object in messages.
    """

    cut = 0
    max_length = 0

    def __init__(self, model: Any, name: str) -> None:
        self.model = model
        self.name = name

    def log_likelihoods(
        self, texts: Sequence[str], *, start_apart: bool = False, stride: int | None = None, progress: str = ""
    ) -> LogLikelihoods:
        """Return the log-likelihood and token count of each text.

        The model splits long texts into windows.

        Raises:
            CannotScore: If ``start_apart`` or ``stride`` is requested.
        """
        del progress
        if start_apart or stride is not None:
            raise CannotScore(f"{self.name} only reads texts in its own way; give (model, tokenizer)")
        distinct = list(dict.fromkeys(texts))
        asked = [_Asked((text,), "loglikelihood_rolling") for text in distinct]
        found = self._answers(self.model.loglikelihood_rolling, asked)
        counts = [len(self.model.tok_encode(text)) for text in distinct]
        return self._in_order(texts, distinct, found, counts)

    def continuation_log_likelihoods(self, pairs: Sequence[tuple[str, str]], *, progress: str = "") -> LogLikelihoods:
        """Return the log-likelihood of each second text given the first."""
        del progress
        distinct = list(dict.fromkeys(pairs))
        found = self._answers(self.model.loglikelihood, [_Asked(pair, "loglikelihood") for pair in distinct])
        encode = self.model.tok_encode
        counts = [len(encode("".join(pair))) - len(encode(pair[0])) for pair in distinct]
        return self._in_order(pairs, distinct, [one[0] for one in found], counts)

    def _answers(self, method: Callable[[list[_Asked]], Any], asked: list[_Asked]) -> Any:
        with calling(self.name):
            return method(asked) if asked else []

    def _in_order(self, asked: Sequence[Any], distinct: Sequence[Any], found: Any, counts: Any) -> LogLikelihoods:
        try:
            values = np.array(found, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise CannotScore(
                f"{self.name} returns no log-likelihoods ({error}); return one number per request"
            ) from error
        if np.isnan(values).any():
            raise CannotScore(f"{self.name} returns log-likelihoods that are NaN; fix it")
        if values.shape != (len(distinct),):
            raise CannotScore(f"{self.name} returns {len(values)} log-likelihoods for {len(distinct)} requests; fix it")
        place = {one: row for row, one in enumerate(distinct)}
        rows = [place[one] for one in asked]
        return LogLikelihoods(values[rows], np.array(counts, dtype=np.int64)[rows])
