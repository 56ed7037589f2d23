"""Causal transformers models that run in this process."""

from __future__ import annotations

import hashlib
import io
import math
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from typing import TYPE_CHECKING, Any

from fairlab.backbones.loading import DTYPES, find_weights, held_weights
from fairlab.backbones.trust import is_safe
from fairlab.checks.chat_templates import chat_text
from fairlab.files import sha256
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Request, answer_log_probability, without_reasoning
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from torch import Tensor

WORTH_SHARING = 32  # minimum number of first tokens that prompts must share to be read once
NUCLEUS = 128  # number of tokens that are sorted first to find a nucleus
HASH_SHOWN = 12  # digits of the weights' hash in the name under which answers are recorded


class Local:
    """Model that generates replies in batches, greedily at temperature 0, otherwise sampled with a seed per request.

    The tokens with which all prompts of a batch begin, such as instructions and examples, are read only once.

    Generation is not constrained to the schema; an invalid reply is repaired or fails, as with any other model. Answers
    are recorded under the model's name and the hash of its weights, so that they are never reused for other weights.

    Args:
        name: Folder in transformers format, or hub name, of the model.
        revision: Hub revision, or None for the hub's default branch.
        package: Installed Python package that contains the weights, instead of the hub.
        gguf: Name of the weights file in GGUF format in the package or folder, instead of ``model.safetensors``.
        weights_sha256: Expected hash of the weights file; a mismatch is an error.
        dtype: Torch name of the weights' number format, such as ``float32`` or ``bfloat16``.
        batch_size: Number of requests that are generated together.

    Raises:
        FairlabError: The weights are unavailable or have another hash, or a value is out of range.
    """

    workers = 1
    in_jobs = False

    def __init__(
        self,
        name: str,
        *,
        revision: str | None = None,
        package: str | None = None,
        gguf: str | None = None,
        weights_sha256: str | None = None,
        dtype: str = "float32",
        batch_size: int = 8,
    ) -> None:
        if dtype not in DTYPES:
            raise FairlabError(f"llm.dtype must be one of {', '.join(DTYPES)}, not {dtype}")
        files = held_weights(find_weights(name, revision=revision, package=package, gguf=gguf), gguf)
        self.weights = files[0]
        digest = sha256(*files)
        if weights_sha256 and digest != weights_sha256:
            raise FairlabError(f"the weights {self.weights} have SHA-256 {digest}, not {weights_sha256}")
        self.name = f"{name}@{digest[:HASH_SHOWN]}"
        self.gguf = gguf
        self.dtype = dtype
        self.batch_size = batch_size
        self._loaded: tuple[Any, Any] | None = None

    async def __aenter__(self) -> Local:
        if self._loaded is None:
            self._loaded = self._load()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Keep the model loaded."""

    def _load(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        of_file = {"gguf_file": self.gguf} if self.gguf else {}
        folder = self.weights.parent
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", trust_remote_code=False, **of_file)
        safe = {} if self.gguf else {"use_safetensors": is_safe([self.weights])}
        # The GGUF reader draws its own progress bar, which cannot be disabled.
        with nullcontext() if sys.stderr.isatty() else redirect_stderr(io.StringIO()):
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=getattr(torch, self.dtype),
                output_loading_info=True,
                trust_remote_code=False,
                **of_file,
                **safe,
            )
        model, loading = loaded
        if loading["missing_keys"]:
            missing = ", ".join(sorted(loading["missing_keys"])[:3])
            raise FairlabError(f"the weights {self.weights} lack {missing}; give the weights of a causal model")
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return tokenizer, model.eval().to(torch.device(device))

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Generate a reply to each request in one batch.

        A prompt that leaves no tokens for a reply is rejected.
        """
        assert self._loaded is not None
        tokenizer, model = self._loaded
        limit = getattr(model.config, "max_position_embeddings", None) or math.inf
        prompts = [tokenizer(_chat(tokenizer, request), add_special_tokens=False)["input_ids"] for request in requests]
        reason = f"the prompt leaves no room in the model's {limit} tokens"
        attempts = [Attempt(ExchangeOutcome.REJECTED, reason=reason) for _ in requests]
        fitting = [row for row, ids in enumerate(prompts) if len(ids) < limit]
        if fitting:
            made = self._generate([prompts[row] for row in fitting], [requests[row] for row in fitting], limit)
            for row, attempt in zip(fitting, made, strict=True):
                attempts[row] = attempt
        return attempts

    def _generate(self, prompts: list[list[int]], requests: Sequence[Request], limit: float) -> list[Attempt]:
        """Generate all replies in one batch, and return one attempt per prompt."""
        import torch
        from transformers import LogitsProcessorList

        assert self._loaded is not None
        tokenizer, model = self._loaded
        started = time.perf_counter()
        shared = shared_prefix(prompts)
        cache = read_once(model, prompts[0][:shared], len(prompts)) if shared else None
        if cache is None:
            shared = 0
        inputs = tokenizer.pad({"input_ids": [ids[shared:] for ids in prompts]}, return_tensors="pt").to(model.device)
        # The padding follows the shared tokens; it is masked, and models number only the other tokens.
        start = torch.tensor([ids[:shared] for ids in prompts], dtype=torch.long, device=model.device)
        ids = torch.cat([start, inputs["input_ids"]], dim=1)
        mask = torch.cat([torch.ones_like(start), inputs["attention_mask"]], dim=1)
        longest = max(request.max_tokens for request in requests)
        sampling = SeededSampling(requests)
        with torch.inference_mode():
            # Only inputs common to all causal models: token types, which some tokenizers add, have another meaning in
            # GPT-2.
            generated = model.generate(
                input_ids=ids,
                attention_mask=mask,
                past_key_values=cache,
                max_new_tokens=int(min(longest, limit - ids.shape[1])),
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=tokenizer.pad_token_id,
                logits_processor=LogitsProcessorList([sampling]),
            )
        seconds = (time.perf_counter() - started) / len(requests)
        ending = model.generation_config.eos_token_id
        ends = {tokenizer.eos_token_id, *(ending if isinstance(ending, list) else [ending])}
        replies = generated[:, ids.shape[1] :].tolist()
        values = sampling.log_probabilities(generated)
        return [
            _attempt(tokenizer, reply, ends, request, len(prompt), seconds, of_reply)
            for reply, request, prompt, of_reply in zip(replies, requests, prompts, values, strict=True)
        ]


def shared_prefix(prompts: Sequence[list[int]]) -> int:
    """Return the number of first tokens that all prompts share and that are read only once.

    It is 0 for a single prompt and for a short prefix. At least one token of each prompt is left.
    """
    if len(prompts) < 2:
        return 0
    first, last = min(prompts), max(prompts)
    same = next((k for k, both in enumerate(zip(first, last, strict=False)) if both[0] != both[1]), len(first))
    shared = min(same, min(map(len, prompts)) - 1)
    return shared if shared >= WORTH_SHARING else 0


def read_once(model: Any, start: Sequence[int], count: int) -> Any:
    """Read the first tokens, which ``count`` prompts share, once, and return the causal model's cache for all of them.

    Returns:
        The cache, or None if the model does not attend to all previous tokens: padding within a prompt would then
        change its replies.
    """
    import torch
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    with torch.inference_mode():  # only the layers below the logits run
        read = model.base_model(input_ids=torch.tensor([start], device=model.device), use_cache=True)
    cache = getattr(read, "past_key_values", None)
    if not isinstance(cache, DynamicCache) or any(type(layer) is not DynamicLayer for layer in cache.layers):
        return None
    cache.batch_repeat_interleave(count)
    return cache


class SeededSampling:
    """Logits processor that turns greedy generation into sampling, with Gumbel noise seeded per request.

    The argmax of logits / temperature + Gumbel noise is distributed as the softmax. The draws of one request do not
    depend on the other requests in its batch.

    Args:
        requests: One request per row of the batch; a row with a temperature of 0 or None stays greedy.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        import torch

        self.requests = requests
        self.generators = [torch.Generator().manual_seed(_seed(request)) for request in requests]
        self.kept = any(request.log_probabilities for request in requests)
        self.steps: list[Tensor] = []  # log-probabilities (rows,) of the tokens of finished steps
        self.last: Tensor | None = None  # log-probabilities (rows, vocabulary) of the current step

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return scores (rows, vocabulary) whose argmax is the next token, from tokens (rows, tokens) and logits."""
        import torch

        scores = scores.float().clone()
        self._keep(input_ids)
        if self.kept:
            self.last = scores.log_softmax(dim=-1)
        for row, (request, generator) in enumerate(zip(self.requests, self.generators, strict=True)):
            if not request.temperature:
                continue
            logits = scores[row] / request.temperature
            allowed = nucleus(logits, 1.0 if request.top_p is None else request.top_p)
            uniform = torch.rand(len(allowed), generator=generator, dtype=torch.float64).clamp_min(1e-300)
            noise = -(-uniform.log()).log().to(logits.device)
            drawn = allowed[(logits[allowed].double() + noise).argmax()]
            scores[row] = -math.inf
            scores[row, drawn] = 0.0
        return scores

    def _keep(self, input_ids: Tensor) -> None:
        """Store the log-probability of the last generated token, computed before temperature and noise are applied."""
        if self.last is not None:
            self.steps.append(self.last.gather(1, input_ids[:, -1:])[:, 0])

    def log_probabilities(self, generated: Tensor) -> list[list[float]]:
        """Return the log-probability of each token that follows the prompt in ``generated`` (rows, tokens), per row.

        The rows are empty if no request asked for log-probabilities.
        """
        import torch

        self._keep(generated)
        self.last = None
        return torch.stack(self.steps, dim=1).tolist() if self.steps else [[] for _ in self.requests]


def nucleus(logits: Tensor, top_p: float) -> Tensor:
    """Return the indices of the most probable tokens whose probabilities first sum to ``top_p``, or of all tokens.

    The logits have the shape (vocabulary,). From ``top_p`` = 1, all tokens are returned.
    """
    size, count = len(logits), NUCLEUS
    if top_p >= 1:
        return logits.argsort(descending=True)
    total = logits.logsumexp(dim=0)
    while True:  # a nucleus is small, and sorting the whole vocabulary is slow
        top = logits.topk(min(count, size))
        mass = (top.values - total).exp().cumsum(dim=0)
        if mass[-1] >= top_p or count >= size:
            return top.indices[: int((mass < top_p).sum()) + 1]
        count *= 8


def _seed(request: Request) -> int:
    """Return a seed derived from the request's seed and prompt, so that draws are independent between prompts."""
    digest = hashlib.sha256(f"{request.seed or 0}\n{request.prompt}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def _chat(tokenizer: Any, request: Request) -> str:
    """Format the prompt with the model's chat template, or as plain text if it has none."""
    messages = list(request.messages)
    if tokenizer.chat_template:
        return chat_text(tokenizer, messages)
    return "\n\n".join(message["content"] for message in messages) + "\n\n"


def _attempt(
    tokenizer: Any,
    ids: list[int],
    ends: set[int | None],
    request: Request,
    prompt_tokens: int,
    seconds: float,
    values: list[float],
) -> Attempt:
    """Return the attempt for one row, with its tokens up to the end token or the request's limit."""
    length = next((place for place, token in enumerate(ids) if token in ends), len(ids))
    ended = length < len(ids)
    text = without_reasoning(tokenizer.decode(ids[: min(length, request.max_tokens)], skip_special_tokens=True))
    cut = not ended or length > request.max_tokens
    tokens = [tokenizer.decode([token]) for token in ids[: min(length, len(values))]]
    return Attempt(
        ExchangeOutcome.TRUNCATED if cut else ExchangeOutcome.OK,
        text=text,
        reason=f"longer than {request.max_tokens} tokens" if cut else "",
        prompt_tokens=prompt_tokens,
        completion_tokens=min(length, request.max_tokens),
        seconds=seconds,
        log_probability=answer_log_probability(tokens, values[: len(tokens)]) if request.log_probabilities else None,
    )
