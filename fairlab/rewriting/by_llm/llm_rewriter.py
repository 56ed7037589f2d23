"""Rewriting by a language model: all counterfactual versions of a text, or one person rewritten to a target."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome, Reply, Request, chat, estimated_tokens, object_schema
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.group_prompt import MARKED, TEXTS, answer_form, group_task, shown_examples
from fairlab.rewriting.by_llm.marked import answered_line, counterparts, marked_spans, span_names, with_marks
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.rewriting.replacements import replaced
from fairlab.text.words import Span
from fairlab.types import NEUTRAL, FairlabError

CONFIDENCE, WORDS = "confidence", "words"  # keys of an answer
TOKENS, SAMPLES, STATED = "tokens", "samples", "stated"  # origins of a confidence
SHORT = {"type": "string", "maxLength": 40}  # a replacement; limited, because a small model may never end it
# tokens of a reply: multiple of the texts' estimated tokens, plus tokens for JSON
LENGTH_FACTOR, LENGTH_EXTRA = 2, 100


@dataclass(frozen=True)
class Versions:
    """Counterfactual versions of a text.

    Attributes:
        versions: Text of each version by its name, neutral first.
        confidence: Confidence in [0, 1], or None for versions made by rules.
        confidence_by: Origin of the confidence: ``tokens`` (probability of the whole answer), ``samples`` (proportion
            of additional answers that agree), or ``stated`` (number stated by the model); empty without a confidence.
    """

    versions: dict[str, str]
    confidence: float | None = None
    confidence_by: str = ""

    @property
    def empty(self) -> str:
        """Return the name of the first version without any text, or an empty string."""
        return next((name for name, text in self.versions.items() if not text.strip()), "")


@dataclass(frozen=True)
class NotRewritten:
    """Reason why a text has no rewrite.

    Attributes:
        outcome: Kind of the fault, in a few words: how the request to the model ended, the defect in its answer, or
            why rules could not rewrite the text.
        reason: Description of the fault.
    """

    outcome: str
    reason: str


@dataclass(frozen=True)
class Target:
    """Request to rewrite the person that ``word`` refers to in ``text`` to ``target``."""

    text: str
    word: str
    target: str


class LLMRewriter:
    """Rewriter that requests counterfactuals from a language model, whose ledger answers repeated requests.

    Args:
        llm: Language model with its ledger.
        group_prompt: Prompt for :meth:`groups`: the name of an included prompt, or the path of a custom file.
        target_prompt: Prompt for :meth:`targets`: the name of an included prompt, or the path of a custom file.
        temperature: Sampling temperature of all requests; 0 is greedy, None uses the server's default.
        polarity: Words of the axis by attribute, for a prompt with marked words; None for other prompts.
        log_probabilities: Whether to request the log-probabilities of the answers for :meth:`groups`, which then
            determine their confidence.

    Attributes:
        group_prompt, target_prompt: Both prompts as read from their files, with version and SHA-256 for the record.

    Source: Deng et al. 2024 (CCD), section 3.3 and equation 5, for groups; Qian et al. 2022, "Perturbation Augmentation
    for Fairer NLP", section 2, for single targets.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        group_prompt: str = "counterfactual_group",
        target_prompt: str = "single_target",
        temperature: float | None = 0.0,
        polarity: Polarity | None = None,
        log_probabilities: bool = True,
    ) -> None:
        self.llm = llm
        self.group_prompt = load_prompt(group_prompt)
        self.target_prompt = load_prompt(target_prompt)
        self.temperature = temperature
        self.form = answer_form(self.group_prompt)
        if self.form == MARKED and polarity is None:
            raise FairlabError(f"the prompt {group_prompt} marks words, but no words of the axis were given")
        self.polarity = polarity
        self.log_probabilities = log_probabilities

    def groups(
        self,
        texts: Sequence[str],
        *,
        axis: str,
        attributes: Sequence[str],
        examples: Sequence[dict[str, str]] | None = None,
        stage: str = "groups",
    ) -> list[Versions | NotRewritten]:
        """Return the neutral version, one version per attribute and a confidence for each text, in order.

        Args:
            texts: Texts to rewrite; equal texts share one request.
            axis: Name of the axis, e.g. ``gender``.
            attributes: Names of the attributes, e.g. ``("man", "woman")``.
            examples: Examples shown to the model, each ``{"text": ..., "neutral": ..., attribute: ...}``; None uses
                the examples of the prompt file.
            stage: Name under which the ledger sums calls, tokens, seconds and dollars.

        Raises:
            FairlabError: An example lacks a version, or a request fails as in :meth:`fairlab.llm.client.LLM.ask`.
        """
        requests = self.group_requests(texts, axis=axis, attributes=attributes, examples=examples)
        replies = self.llm.ask(requests, stage=stage)
        return [self.read(text, reply, attributes) for text, reply in zip(texts, replies, strict=True)]

    def targets(self, asked: Sequence[Target], *, stage: str = "targets") -> list[str | NotRewritten]:
        """Return the rewritten text of each request, in order.

        Raises:
            FairlabError: See :meth:`fairlab.llm.client.LLM.ask`.
        """
        replies = self.llm.ask(self.target_requests(asked), stage=stage)
        return [_find_failure(reply, ("text",)) or reply.value["text"] for reply in replies]

    def group_requests(
        self,
        texts: Sequence[str],
        *,
        axis: str,
        attributes: Sequence[str],
        examples: Sequence[dict[str, str]] | None = None,
    ) -> list[Request]:
        """Return the requests that :meth:`groups` sends, which also serve to forecast its cost."""
        names = (NEUTRAL, *attributes)
        if len(set(names)) < len(names) or CONFIDENCE in names:
            raise FairlabError(f"the attributes {', '.join(attributes)} repeat a name or use a reserved one")
        task = group_task(self.group_prompt, axis, attributes)
        turns = [
            (self._shown_text(example["text"]), _dumps({**self._correct_answer(example, names), CONFIDENCE: 1.0}))
            for example in shown_examples(self.group_prompt, names, examples)
        ]
        return [
            self._request(
                task,
                turns,
                self._shown_text(text),
                object_schema(self._answer_schema(text, names) | {CONFIDENCE: CONFIDENCE_SCHEMA}),
                room=len(names) * estimated_tokens(text),
                log_probabilities=self.log_probabilities,
            )
            for text in texts
        ]

    def _marked_words(self, text: str) -> dict[str, Span]:
        """Return the words of a text that the model has to replace, by their names in the answer."""
        spans = marked_spans(text, self.polarity.finder) if self.polarity is not None else []
        return dict(zip(span_names(text, spans), spans, strict=True))

    def _own_attribute(self, span: Span) -> str:
        """Return the attribute of a marked word. The word stays unchanged in this attribute's version."""
        return self.polarity.marks[span.term] if self.polarity is not None else ""

    def _shown_text(self, text: str) -> str:
        """Return the text in the form that is shown to the model."""
        return with_marks(text, list(self._marked_words(text).values())) if self.form == MARKED else text

    def _correct_answer(self, example: dict[str, str], names: Sequence[str]) -> dict[str, Any]:
        """Return the correct answer to an example, in the prompt's format."""
        text, versions = example["text"], {name: example[name] for name in names}
        if self.form == TEXTS:
            return versions
        marked = self._marked_words(text)
        lines = counterparts(text, list(marked.values()), versions)
        return {
            WORDS: {
                word: {
                    name: new for name, new in zip(names, line[1:], strict=True) if name != self._own_attribute(span)
                }
                for (word, span), line in zip(marked.items(), lines, strict=True)
            }
        }

    def _answer_schema(self, text: str, names: Sequence[str]) -> dict[str, Any]:
        """Return the JSON schema of each field in an answer of the prompt's format, without the confidence."""
        if self.form == TEXTS:
            return {name: {"type": "string"} for name in names}
        lines = {
            word: object_schema({name: SHORT for name in names if name != self._own_attribute(span)})
            for word, span in self._marked_words(text).items()
        }
        return {WORDS: object_schema(lines)}

    def read(self, text: str, reply: Reply, attributes: Sequence[str]) -> Versions | NotRewritten:
        """Return the versions of a text that a reply contains, or the reason why it contains none."""
        names = (NEUTRAL, *attributes)
        if self.form == TEXTS:
            if failure := _find_failure(reply, names):
                return failure
            versions = {name: reply.value[name] for name in names}
        elif reply.ok:
            try:
                versions = replaced(text, self._lines(text, reply.value[WORDS], names), names)
            except ValueError as error:
                return NotRewritten(ExchangeOutcome.WRONG_SCHEMA, str(error))
        else:
            return NotRewritten(reply.outcome, reply.reason)
        if reply.log_probability is None:
            return Versions(versions, float(reply.value[CONFIDENCE]), STATED)
        return Versions(versions, math.exp(reply.log_probability), TOKENS)

    def _lines(self, text: str, words: Any, names: Sequence[str]) -> list[list[str]]:
        """Convert the words of a reply to lines, each with a word and its replacement in every version."""
        return [
            answered_line(text, span, words[word] | {self._own_attribute(span): text[span.start : span.end]}, names)
            for word, span in self._marked_words(text).items()
        ]

    def target_requests(self, asked: Sequence[Target]) -> list[Request]:
        """Return the requests that :meth:`targets` sends, which also serve to forecast its cost."""
        turns = [
            (_dumps({key: example[key] for key in ("text", "word", "target")}), _dumps({"text": example["rewritten"]}))
            for example in self.target_prompt.examples
        ]
        schema = object_schema({"text": {"type": "string"}})
        return [
            self._request(
                self.target_prompt.task,
                turns,
                _dumps({"text": item.text, "word": item.word, "target": item.target}),
                schema,
                room=estimated_tokens(item.text),
            )
            for item in asked
        ]

    def _request(
        self,
        task: str,
        turns: Sequence[tuple[str, str]],
        text: str,
        schema: dict[str, Any],
        room: int,
        log_probabilities: bool = False,
    ) -> Request:
        """Build a request from the task, the examples as earlier turns, and the text."""
        return Request(
            chat(task, text, turns),
            schema=schema,
            max_tokens=LENGTH_FACTOR * room + LENGTH_EXTRA,
            temperature=self.temperature,
            log_probabilities=log_probabilities,
        )


CONFIDENCE_SCHEMA = {"type": "number", "minimum": 0, "maximum": 1}


def _dumps(value: dict[str, Any]) -> str:
    """Return JSON without spaces.

    The model imitates this form, which saves a third of the tokens if words are short.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _find_failure(reply: Reply, names: Sequence[str]) -> NotRewritten | None:
    """Return the reason why a reply is not a rewrite, or None if it is one."""
    if not reply.ok:
        return NotRewritten(reply.outcome, reply.reason)
    if empty := [name for name in names if not reply.value[name].strip()]:
        return NotRewritten(ExchangeOutcome.WRONG_SCHEMA, f"'{empty[0]}' is empty")
    return None
