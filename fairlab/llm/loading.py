"""From values of a configuration to a language model behind its ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlab.llm.budget import Budget, Price
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.types import Count, FairlabError, Positive


def load_server(
    *,
    base_url: str,
    model: str,
    api_key_env: str | None,
    concurrency: Count,
    token_limit_key: str,
    price: Mapping[str, float] | None,
    budget: Mapping[str, float | None],
    ledger: str,
    extra: Mapping[str, Any] | None = None,
    reply_tokens: Count | None = None,
    total_timeout: Positive = 300.0,
) -> LLM:
    """A model behind any OpenAI-compatible server.

    Args:
        base_url: address of the server up to and including the version, such as ``https://api.openai.com/v1``.
        model: name of the model as the server calls it.
        api_key_env: environment variable that holds the key; None sends none.
        concurrency: number of requests in flight at a time.
        token_limit_key: the server's name for the longest reply.
        price: prices ``{input: ..., output: ...}`` in dollars per million tokens; None where nothing is paid or known.
        budget: bounds ``{calls: ..., tokens: ..., dollars: ...}``, each a number or None.
        ledger: file of the answers; made where it is missing.
        extra: further parameters of every request, sent as they are, such as ``{reasoning_effort: low}``.
        reply_tokens: room for every reply in tokens, reasoning included; None leaves it to whoever asks.
        total_timeout: number of seconds a call may take in all.

    Raises:
        FairlabError: a value cannot be used.
    """
    from fairlab.llm.server import Server

    server = Server(
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
        Ledger(ledger),
        budget=_budget(budget),
        price=_price(price),
        extra=extra,
        reply_tokens=reply_tokens,
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
    total_timeout: Positive = 300.0,
) -> LLM:
    """A model of a GGUF file behind a server that this process starts; as :class:`fairlab.llm.served.ServedModel`."""
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
    return LLM(served, served.name, Ledger(ledger), budget=_budget(budget), price=Price(0.0, 0.0))


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
    """A causal model of transformers, run in this process; arguments as for :class:`fairlab.llm.local.Local`."""
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
    return LLM(local, local.name, Ledger(ledger), budget=_budget(budget), price=Price(0.0, 0.0))


def load_replay(*, ledger: str, model: str | None) -> LLM:
    """A recorded ledger, answering offline.

    Args:
        ledger: ledger file of the recorded run, which is never changed.
        model: name of the model whose answers are replayed; None where the ledger holds those of one model only.

    Raises:
        FairlabError: there is no such ledger or model in it.
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


def _budget(values: Mapping[str, Any]) -> Budget:
    if unknown := sorted(set(values) - {"calls", "tokens", "dollars"}):
        raise FairlabError(f"there is no setting '{unknown[0]}' in llm.budget; there are: calls, tokens, dollars")
    return Budget(**values)


def _price(values: Mapping[str, float] | None) -> Price | None:
    if values is None:
        return None
    if set(values) != {"input", "output"}:
        raise FairlabError("llm.price needs input and output, in dollars per million tokens")
    return Price(**values)
