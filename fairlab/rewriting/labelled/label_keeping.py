"""Rewriting of labelled texts by a language model without changing the label, with a check in a separate session.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR: Sharpening Knowledge by Cutting Bias with Unsupervised Text Rewriting",
section 3.3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from fairlab.llm.client import LLM
from fairlab.llm.exchange import Reply, Request, chat, estimated_tokens, object_schema
from fairlab.protocols import Rewriter
from fairlab.rewriting.by_llm.kept_facts import lost_fact
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.text.fields import join_fields
from fairlab.text.labels import as_written, is_missing, missing_label
from fairlab.text.naming import listed_names
from fairlab.text.papers import YANG_2025
from fairlab.types import FairlabError, NotNegative, Row, Share

REWRITING, CHECKING = "label-keeping rewrites", "label of rewrites"  # stages of the ledger
CONTRASTS = {"SUPPORTS": "REFUTES", "entailment": "contradiction"}  # labels of pairs, and their opposites
ROOM = 100  # tokens of a reply in addition to twice the text's tokens
TEXT = object_schema({"text": {"type": "string"}})


@dataclass(frozen=True)
class Labelled:
    """Text with its label.

    Attributes:
        text: Text to rewrite; the second text of a pair.
        label: Label of the text or of the pair.
        context: First text of a pair, which stays unchanged; empty for a single text.
    """

    text: str
    label: str
    context: str = ""


def labelled_item(row: Row, label: str) -> Labelled:
    """Convert a row to a labelled text.

    The last field of the row is the text to rewrite, and earlier fields are its context.
    """
    return Labelled(row.fields[-1], as_written(row.extra[label]), join_fields(row.fields[:-1]))


def refuse_unlabelled(source: str, rows: Iterable[Row], label: str) -> None:
    """Raise an error if a row has no label.

    Raises:
        FairlabError: A row lacks the column of the label, or its cell is empty or contains several labels.
    """
    for row in rows:
        place = f"{source}, {row.place}"
        if label not in row.extra:
            there = listed_names(row.extra, "no other column")
            raise FairlabError(
                f"{place} has no '{label}'; it has: {there}; give augmentation.label=NAME, or a label to every row"
            )
        if isinstance(row.extra[label], list | dict):
            raise FairlabError(f"{place}: '{label}' is not one label; write a text or a number, or remove the row")
        if is_missing(row.extra[label]):
            raise FairlabError(f"{place}: the cell of '{label}' {missing_label(row.extra[label])}")


@runtime_checkable
class LabelledRewriter(Rewriter, Protocol):
    """Interface of the rewriters used by RAZOR.

    Attributes:
        provenance: Columns that describe how a row was produced.
    """

    provenance: dict[str, Any]

    def rewrites(self, items: Sequence[Labelled], count: int) -> list[list[str]]:
        """Return at most ``count`` different rewrites of every item, best first. The list may be empty."""
        ...


class LabelCheck(Protocol):
    """Interface of the checks of rewrites used by RAZOR.

    Attributes:
        name: Name of the check in the record.
    """

    name: str

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return, for every item and its rewrite, a short reason why the label may be lost, or None if it is kept."""
        ...


class LLMLabelled:
    """Rewriter that samples rewrites from a language model, one per request.

    The ledger answers repeated requests. A reply that is not a text in the required format is dropped.

    Args:
        llm: Language model G_alpha, with its ledger; required.
        prompt: Name of an included prompt, or the path of a custom file. Examples of a file have the keys ``text``,
            ``label`` and ``new``, and for pairs ``context``.
        temperature: Sampling temperature.
        top_p: Proportion of the probability mass that is sampled from.
        seed: Seed of the first sample of each text; each further sample uses the next seed.
        facts: Whether to drop a rewrite that loses a number or a name of its text; see
            :mod:`fairlab.rewriting.by_llm.kept_facts`.

    Raises:
        FairlabError: There is no language model.
    """

    title = "language model asked to keep the label"
    limits = "Whether a label is kept is also judged by a language model, often the same one."
    citation = YANG_2025

    def __init__(
        self,
        llm: LLM | None,
        *,
        prompt: str = "label_rewrite",
        temperature: NotNegative = 0.7,
        top_p: Share = 0.9,
        seed: int = 0,
        facts: bool = True,
    ) -> None:
        if llm is None:
            raise FairlabError("rewriter=llm_labelled needs a language model; add llm=local or another, see --help")
        self.llm = llm
        self.prompt = load_prompt(prompt)
        self.examples = [
            (_asked({"text": one["text"], "label": one["label"]}, one.get("context", "")), _dumps({"text": one["new"]}))
            for one in self.prompt.examples
        ]
        self.temperature, self.top_p, self.seed, self.facts = temperature, top_p, seed, facts
        self.provenance = {"rewriter": f"llm {llm.name}", "prompt_sha256": self.prompt.sha256}

    def rewrites(self, items: Sequence[Labelled], count: int) -> list[list[str]]:
        """Return the rewrites of each item; see :class:`LabelledRewriter`.

        Raises:
            FairlabError: See :meth:`fairlab.llm.client.LLM.ask`.
        """
        requests = [self._request(item, self.seed + draw) for item in items for draw in range(count)]
        replies = iter(self.llm.ask(requests, stage=REWRITING))
        said = [[reply.value["text"].strip() for reply in islice(replies, count) if reply.ok] for _ in items]
        return [
            [
                text
                for text in dict.fromkeys(texts)
                if text and not (self.facts and lost_fact(item.text, {"": text}, ()))
            ]
            for item, texts in zip(items, said, strict=True)
        ]

    def _request(self, item: Labelled, seed: int) -> Request:
        return Request(
            chat(self.prompt.task, _asked({"text": item.text, "label": item.label}, item.context), self.examples),
            schema=TEXT,
            max_tokens=2 * estimated_tokens(item.text) + ROOM,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=seed,
        )


class LLMLabelCheck:
    """Blind check by a language model: without knowing the required label, it must give this label to the rewrite.

    Every question is asked in a separate session, so G_beta may be the model that produced the rewrite.

    Args:
        llm: Language model G_beta, with its ledger.
        labels: Labels that the model may choose from.
        prompt: Name of an included prompt, or the path of a custom file.

    Source: Yang, Prenkaj and Kasneci 2025, "RAZOR", equation 13 and footnote 3.
    """

    name = "llm"

    def __init__(self, llm: LLM, labels: Sequence[str], *, prompt: str = "label_of") -> None:
        self.llm, self.labels = llm, list(labels)
        self.prompt = load_prompt(prompt)
        self.schema = object_schema({"label": {"type": "string", "enum": self.labels}})

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return the fault of each rewrite; see :class:`LabelCheck`.

        Raises:
            FairlabError: See :meth:`fairlab.llm.client.LLM.ask`.
        """
        requests = [self._request(item, text) for item, text in zip(items, made, strict=True)]
        replies = self.llm.ask(requests, stage=CHECKING)
        return [_objection(reply, item.label) for item, reply in zip(items, replies, strict=True)]

    def _request(self, item: Labelled, text: str) -> Request:
        messages = chat(self.prompt.task, _asked({"text": text, "labels": self.labels}, item.context))
        return Request(messages, schema=self.schema, max_tokens=ROOM)


class LLMVerdictCheck(LLMLabelCheck):
    """Check by a language model: it must give the rewrite and the original the same label, whether right or wrong.

    This variant of equation 13 is the project's own. If a model assigns one label almost everywhere, rewrites with the
    other label pass equation 13 only when the model errs. This check applies the same standard to both labels.
    """

    name = "verdict"

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return the fault of each rewrite; see :class:`LabelCheck`.

        Raises:
            FairlabError: See :meth:`fairlab.llm.client.LLM.ask`.
        """
        requests = [self._request(item, item.text) for item in items]
        originals = self.llm.ask(requests, stage=CHECKING)
        rewrites = self.llm.ask([self._request(*both) for both in zip(items, made, strict=True)], stage=CHECKING)
        return [
            _objection(new, old.value["label"]) if old.ok else _objection(old, "")
            for old, new in zip(originals, rewrites, strict=True)
        ]


class AllOf:
    """Combination of checks. A rewrite must pass all of them, and the first failed check gives the reason.

    Args:
        checks: Checks in order, cheap checks first, because a rewrite that fails a check skips the later checks.
    """

    def __init__(self, checks: Sequence[LabelCheck]) -> None:
        self.checks = checks
        self.name = " and ".join(check.name for check in checks)

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return the fault of each rewrite; see :class:`LabelCheck`."""
        found: list[str | None] = [None] * len(made)
        for check in self.checks:
            left = [place for place, fault in enumerate(found) if fault is None]
            if not left:
                break
            for place, fault in zip(left, check.faults([items[k] for k in left], [made[k] for k in left]), strict=True):
                found[place] = fault
        return found


def _objection(reply: Reply, label: str) -> str | None:
    """Return the reason why a verdict is not ``label``, or None if it is."""
    if not reply.ok:
        return f"no verdict ({reply.outcome})"
    return None if reply.value["label"] == label else "another label"


def _asked(content: dict[str, Any], context: str) -> str:
    return _dumps(content | ({"context": context} if context else {}))


def _dumps(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
