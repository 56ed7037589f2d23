"""Construction of language models with ledgers from configuration values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fairlab.llm.budget import Budget, Price
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.prices import listed_price
from fairlab.types import Count, FairlabError, Natural, Positive

if TYPE_CHECKING:  # it is needed only to make a client
    from fairlab.llm.server import Server

LISTED = "listed"  # price of the table of published ones


def load_server(
    *,
    base_url: str,
    model: str,
    api_key_env: str | None,
    concurrency: Count,
    token_limit_key: str,
    price: Mapping[str, float] | Literal["listed"] | None,
    budget: Mapping[str, float | None],
    ledger: str,
    extra: Mapping[str, Any] | None = None,
    reply_tokens: Count | None = None,
    tokens_per_minute: Count | None = None,
    retries: Natural = 6,
    probe_above: Natural | None = None,
    batch: bool = False,
    total_timeout: Positive = 300.0,
    kind: type[Server] | None = None,
) -> LLM:
    """Create a client of an OpenAI-compatible server.

    Args:
        base_url: Address of the server up to and including the version, such as ``https://api.openai.com/v1``.
        model: Name of the model on the server.
        api_key_env: Name of the environment variable that holds the API key, or None to send no key.
        concurrency: Maximum number of requests in flight.
        token_limit_key: Name of the server's parameter for the maximum reply length.
        price: Prices ``{input: ..., output: ...}`` in dollars per million tokens, ``listed`` for those in
            :mod:`fairlab.llm.prices`, or None if the model is free or its price is unknown.
        budget: Limits ``{calls: ..., tokens: ..., dollars: ...}``, each a number or None.
        ledger: File of the answers, which is created if it is missing.
        extra: Additional parameters of every request, sent unchanged, such as ``{reasoning_effort: low}``.
        reply_tokens: Maximum tokens of every reply, including reasoning, or None to use each request's own limit.
        tokens_per_minute: Maximum number of prompt and reply tokens per minute, or None for no limit.
        retries: Maximum number of retries of a lost call, see :class:`fairlab.llm.client.LLM`.
        probe_above: Number of calls above which the first call is made alone, or None to make no such call.
        batch: Whether requests are sent as batch jobs, which cost half as much and are answered within a day.
        total_timeout: Maximum duration of a call, in seconds.
        kind: Class of the server, or None for one that returns the text of a reply.

    Raises:
        FairlabError: A value is invalid.
    """
    from fairlab.llm.batch_server import BatchServer
    from fairlab.llm.server import Server

    opened = Ledger(ledger)
    make = kind or (partial(BatchServer, ledger=opened) if batch else Server)
    server = make(
        base_url,
        model,
        api_key_env=api_key_env,
        concurrency=concurrency,
        token_limit_key=token_limit_key,
        extra=extra,
        total_timeout=total_timeout,
    )
    return LLM(
        server,
        model,
        opened,
        budget=as_budget(budget),
        price=as_price(price, base_url, model),
        extra={**(kind.asked if kind else {}), **(extra or {})},
        reply_tokens=reply_tokens,
        tokens_per_minute=tokens_per_minute,
        retries=retries,
        probe_above=probe_above,
    )


def load_served(
    *,
    model: str,
    program: str | None,
    arguments: Sequence[str],
    port: int | None,
    context: Count,
    concurrency: Count,
    budget: Mapping[str, float | None],
    ledger: str,
    retries: Natural = 6,
    total_timeout: Positive = 300.0,
) -> LLM:
    """Create a client of a GGUF model on a server that is started on this machine.

    The arguments are the same as for :class:`fairlab.llm.served.ServedModel`.
    """
    from fairlab.llm.served import ServedModel

    served = ServedModel(
        model,
        program=program,
        arguments=arguments,
        port=port,
        context=context,
        concurrency=concurrency,
        total_timeout=total_timeout,
    )
    return LLM(served, served.name, Ledger(ledger), budget=as_budget(budget), price=Price(0.0, 0.0), retries=retries)


def load_local(
    *,
    name: str,
    revision: str | None,
    package: str | None,
    gguf: str | None,
    weights_sha256: str | None,
    dtype: str,
    batch_size: Count,
    budget: Mapping[str, float | None],
    ledger: str,
) -> LLM:
    """Load a causal transformers model in this process.

    The arguments are the same as for :class:`fairlab.llm.local.Local`.
    """
    from fairlab.llm.local import Local

    local = Local(
        name,
        revision=revision,
        package=package,
        gguf=gguf,
        weights_sha256=weights_sha256,
        dtype=dtype,
        batch_size=batch_size,
    )
    return LLM(local, local.name, Ledger(ledger), budget=as_budget(budget), price=Price(0.0, 0.0))


def load_replay(*, ledger: str, model: str | None) -> LLM:
    """Open a recorded ledger, which answers offline.

    Args:
        ledger: Ledger file of the recorded run, which is never changed.
        model: Name of the model whose answers are replayed, or None if the ledger contains answers of only one model.

    Raises:
        FairlabError: The ledger does not exist, or holds no answers of the model.
    """
    opened = Ledger(ledger, read_only=True)
    models = opened.models()
    if model is None and len(models) == 1:
        model = models[0]
    if model not in models:
        raise FairlabError(
            f"the ledger {ledger} holds answers of {', '.join(models) or 'no model'}; choose one as llm.model"
        )
    return LLM(None, model, opened)


def as_budget(values: Mapping[str, Any]) -> Budget:
    """Convert the configured limits to a budget.

    Raises:
        FairlabError: There is no such limit, or its value is invalid.
    """
    if unknown := sorted(set(values) - {"calls", "tokens", "dollars"}):
        raise FairlabError(f"there is no setting '{unknown[0]}' in llm.budget; there are: calls, tokens, dollars")
    return Budget(**values)


def as_price(values: Mapping[str, float] | Literal["listed"] | None, base_url: str, model: str) -> Price | None:
    """Return the configured prices, or None if there are none.

    For ``listed``, the host of the address and the model's name determine the prices.

    Raises:
        FairlabError: A price is missing or invalid.
    """
    if values is None:
        return None
    if values == LISTED:
        return listed_price(base_url, model)
    if isinstance(values, str):
        raise FairlabError(f"llm.price must be listed, null or {{input: ..., output: ...}}, not {values}")
    if not {"input", "output"} <= set(values) <= {"input", "output", "cached"}:
        raise FairlabError("llm.price needs input and output, and may have cached, in dollars per million tokens")
    return Price(**values)
