"""Client of servers with OpenAI's chat completions API, such as OpenAI, Gemini, vLLM, llama.cpp and Ollama."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fairlab.llm.endpoint import Answer, Endpoint, token_count
from fairlab.llm.exchange import (
    Attempt,
    ExchangeOutcome,
    Request,
    answer_log_probability,
    estimated_tokens,
    without_reasoning,
)

log = logging.getLogger(__name__)
# Ways to request JSON of a schema, in the order tried: OpenAI's, llama.cpp's, JSON without a schema (older models such
# as gpt-3.5-turbo), and no parameter. The last two rely on the prompt and on the check of the reply.
SCHEMA_FORMS = ("json_schema", "json_object with schema", "json_object", "prompt alone")
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")  # names of the reply limit: the older one and OpenAI's newer one
LOG_PROBABILITIES, ALTERNATIVES = "logprobs", "top_logprobs"
# Parameters that are omitted if a server refuses them.
OPTIONAL = ("temperature", "top_p", "seed", ALTERNATIVES, LOG_PROBABILITIES)
PATIENCE = 2  # bare 500s for one form before the next is tried; an explicit refusal counts immediately


class Server(Endpoint):
    """Client that sends one chat per request.

    Args:
        base_url, model: Address of the server, and name of the model on it, as for :class:`Endpoint`.
        token_limit_key: Name of the server's parameter for the maximum reply length: ``max_tokens`` or
            ``max_completion_tokens``. The other name is used if the server asks for it.
        settings: Further arguments of :class:`Endpoint`.

    Raises:
        FairlabError: The address or another value is invalid.
    """

    path = "/chat/completions"
    asked: ClassVar[Mapping[str, Any]] = {}  # own parameters of this kind of server, which are part of an address
    alternatives: ClassVar[int] = 1  # llama-cpp-python gives no log-probabilities without any

    def __init__(self, base_url: str, model: str, *, token_limit_key: str = "max_tokens", **settings: Any) -> None:
        super().__init__(base_url, model, **settings)
        self.token_limit_key = token_limit_key
        self.left_out: set[str] = set()  # parameters that the server refused
        self.forms: tuple[str, ...] = SCHEMA_FORMS
        self.form_known = False
        self.strikes = 0
        self.named = False  # whether the model's name was compared with that in an answer

    async def send_one(self, request: Request) -> Attempt:
        """Send one request, and return its attempt."""
        form = self.forms[0] if request.schema is not None else ""
        payload = self._payload(request, form)
        found = await self.exchange(payload)
        if found.answer is None:
            return found.failure(request)
        return self._read(found.answer, request, payload, form, found.seconds)

    def _payload(self, request: Request, form: str) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": self.name,
            "messages": list(request.messages),
            self.token_limit_key: request.max_tokens,
        }
        for name in ("temperature", "top_p", "seed"):
            if (value := getattr(request, name)) is not None and name not in self.left_out:
                payload[name] = value
        if request.log_probabilities and LOG_PROBABILITIES not in self.left_out:
            payload[LOG_PROBABILITIES] = True
            if ALTERNATIVES not in self.left_out:
                payload[ALTERNATIVES] = self.alternatives
        if form == "json_schema":
            wrapped = {"name": "answer", "strict": True, "schema": request.schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": wrapped}
        elif form == "json_object with schema":
            payload["response_format"] = {"type": "json_object", "schema": request.schema}
        elif form == "json_object":
            payload["response_format"] = {"type": "json_object"}
        return payload | self.extra

    def _read(self, answer: Answer, request: Request, payload: Mapping[str, Any], form: str, seconds: float) -> Attempt:
        """Convert a successful response to an attempt."""
        if answer.status != 200:
            return self._adapt_to_refusal(answer, payload, form, seconds)
        body = answer.body
        try:
            choice = body["choices"][0]
            message = choice["message"]
            text = without_reasoning(_content(message))
            thought = message.get("reasoning_content") or message.get("reasoning") or ""
            finish = choice.get("finish_reason") or ""
            usage = body.get("usage")
            refusal = message.get("refusal")
            prompt_tokens = token_count(usage, "prompt_tokens", estimated_tokens(request.prompt))
            details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
            completion_tokens = token_count(usage, "completion_tokens", estimated_tokens(text))
            text = text.encode(errors="replace").decode()  # an unpaired surrogate cannot be stored
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            return Attempt.in_full(
                ExchangeOutcome.SERVER_ERROR, request, "the answer is not a chat completion", seconds=seconds
            )
        self.form_known |= form == self.forms[0]
        self._warn_of_other_model(body)
        outcome, reason = ExchangeOutcome.OK, ""
        if refusal or finish == "content_filter":
            outcome, reason = ExchangeOutcome.REFUSED, self.clean(str(refusal or "content filter"))
        elif finish == "length":
            outcome = ExchangeOutcome.TRUNCATED
            reason = f"longer than {request.max_tokens} tokens, including reasoning; raise llm.reply_tokens"
        elif not text.strip():
            outcome, reason = ExchangeOutcome.MALFORMED, "the reply is empty"
            if thought or _content(message):
                outcome = ExchangeOutcome.TRUNCATED
                reason += " except for reasoning; raise llm.reply_tokens, or turn off reasoning with llm.extra"
        return Attempt(
            outcome,
            text=self.api_key.blank(text),
            reason=reason,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            seconds=seconds,
            cached_tokens=token_count(details, "cached_tokens", 0),
            log_probability=_log_probability(choice),
        )

    def _warn_of_other_model(self, body: Any) -> None:
        """Warn once if the response names another model.

        Other names are allowed, because they may be aliases.
        """
        if not self.named and (other := self.other_model(body)):
            log.warning("%s answers as %s; answers are recorded under %s", self.url, other, self.name)
        self.named = True

    def _adapt_to_refusal(self, answer: Answer, payload: Mapping[str, Any], form: str, seconds: float) -> Attempt:
        """Convert an error response to an attempt, and adapt later requests to what the server rejects."""
        status, said = answer.status, self.said(answer)
        attempt = self.refusal(answer, seconds)
        # llama-cpp-python answers 500 if it was started without the logits of all tokens.
        names = status in (400, 422) or (status == 500 and LOG_PROBABILITIES in payload and LOG_PROBABILITIES in said)
        if names and self._omits_parameter(answer.body, said, payload):
            return replace(attempt, outcome=ExchangeOutcome.PARAMETER_REFUSED)
        if form and status in (400, 422, 500) and self._switches_form(form, status, answer.text):
            return replace(attempt, outcome=ExchangeOutcome.SCHEMA_FORM_REFUSED)
        return attempt

    def _omits_parameter(self, body: Any, said: str, payload: Mapping[str, Any]) -> bool:
        """Omit or rename a parameter that the server rejects by name, and return whether it rejects one.

        If the temperature is omitted, the model samples with its default.
        """
        error = body.get("error") if isinstance(body, dict) else None
        named = error.get("param") if isinstance(error, dict) else None
        for name in (*OPTIONAL, *TOKEN_LIMITS):
            if name not in payload or name in self.extra or not (named == name or re.search(rf"\b{name}\b", said)):
                continue
            if name in OPTIONAL:
                new = name not in self.left_out
                self.left_out.add(name)
                instead = "it is left out"
            else:
                other = TOKEN_LIMITS[1 - TOKEN_LIMITS.index(name)]
                if not re.search(rf"\b{other}\b", said) and named != name:
                    continue  # for example a limit that is too high
                new = self.token_limit_key != other
                self.token_limit_key = other
                instead = f"{other} is used instead"
            if new:
                log.warning("%s refuses the parameter %s, so %s (%s)", self.name, name, instead, said)
            return True
        return False

    def _switches_form(self, form: str, status: int, said: str) -> bool:
        """Switch the schema's form if the server rejects it, and return whether to repeat the request immediately."""
        if form != self.forms[0]:  # changed by another request in the meantime
            return True
        if self.form_known:
            return False
        explicit = status != 500 or "response_format" in said or "schema" in said
        self.strikes += PATIENCE if explicit else 1
        if self.strikes < PATIENCE:
            return False
        self.strikes = 0
        self.forms = self.forms[1:] or SCHEMA_FORMS
        return self.forms != SCHEMA_FORMS  # if all forms are refused, the form is not the cause


def _content(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content can also be a list of parts. Parts of other kinds are left out."""
    content: Any = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    return content  # type: ignore[no-any-return]


def _log_probability(choice: Mapping[str, Any]) -> float | None:
    """Return the log-probability of an answer, or None if the server returned no token log-probabilities."""
    try:
        found = [(str(one["token"]), float(one["logprob"])) for one in choice["logprobs"]["content"]]
    except (KeyError, TypeError, ValueError):
        return None
    return answer_log_probability([token for token, _ in found], [value for _, value in found])
