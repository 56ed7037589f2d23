"""Rewriters under one interface: from texts to all their versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from fairlab.lexicons import Lexicon
from fairlab.llm.client import LLM
from fairlab.rewriting.llm_rewriter import LLMRewriter, NotRewritten, Versions
from fairlab.rewriting.rules import RuleRewriter
from fairlab.rewriting.word_swap import WordSwap
from fairlab.types import NEUTRAL, FairlabError


class GroupRewriter(Protocol):
    """What an augmentation asks of a rewriter.

    Attributes:
        lexicon: of the axis.
        provenance: columns that tell how a row was made: ``rewriter``, and a seed or the prompt's hash.
    """

    lexicon: Lexicon
    provenance: dict[str, Any]

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Every text's neutral version and one version per attribute of the lexicon, in order."""
        ...

    def swapped(self, texts: Sequence[str]) -> list[str]:
        """Every text with the two attributes of the axis exchanged.

        Raises:
            FairlabError: the axis has not two attributes, or the rewriter cannot do it.
        """
        ...


class WordSwapGroups:
    """Versions by word-list swapping; see :class:`fairlab.rewriting.word_swap.WordSwap`.

    Args:
        lexicon: of the axis.
        seed: there is nothing to draw; it is taken for the sake of the interface.
    """

    def __init__(self, *, lexicon: Lexicon, seed: int = 0) -> None:
        self.lexicon = lexicon
        self.rewriter = WordSwap(lexicon)
        self.provenance: dict[str, Any] = {"rewriter": "word_swap"}

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Versions of every text; nothing fails."""
        targets = (NEUTRAL, *self.lexicon.attributes)
        return [Versions({target: self.rewriter(text, target) for target in targets}) for text in texts]

    def swapped(self, texts: Sequence[str]) -> list[str]:
        """Every text with the two attributes exchanged."""
        return [self.rewriter.swap(text) for text in texts]


class RuleGroups:
    """Versions by rules; see :class:`fairlab.rewriting.rules.RuleRewriter` for the arguments."""

    def __init__(
        self,
        *,
        lexicon: Lexicon,
        seed: int = 0,
        mode: Literal["syntax", "lexical"] = "syntax",
        names: Literal["swap", "keep"] = "swap",
    ) -> None:
        if mode not in ("syntax", "lexical"):
            raise FairlabError(f"rewriter.mode must be syntax or lexical, not {mode}")
        if names not in ("swap", "keep"):
            raise FairlabError(f"rewriter.names must be swap or keep, not {names}")
        self.lexicon = lexicon
        self.rewriter = RuleRewriter(lexicon, mode=mode, names=names, seed=seed)
        self.provenance: dict[str, Any] = {"rewriter": "rules", "seed": seed}

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Versions of every text; nothing fails."""
        targets = (NEUTRAL, *self.lexicon.attributes)
        columns = [self.rewriter.rewrite_all(texts, [target] * len(texts)) for target in targets]
        return [Versions(dict(zip(targets, row, strict=True))) for row in zip(*columns, strict=True)]

    def swapped(self, texts: Sequence[str]) -> list[str]:
        """Every text with the two attributes exchanged."""
        return self.rewriter.swap_all(texts)


class LLMGroups:
    """Versions by a language model; see :class:`fairlab.rewriting.llm_rewriter.LLMRewriter`.

    Args:
        lexicon: of the axis.
        seed: greedy decoding draws nothing; it is taken for the sake of the interface.
        llm: the model behind its ledger.
        prompt: a name, or the path of a file of one's own.
        temperature: of all requests; 0 is greedy, None leaves it to the server.
        examples: shown to the model, each with ``text`` and every version; None takes the prompt file's.
        stage: under which the ledger adds up what this takes.
    """

    def __init__(
        self,
        *,
        lexicon: Lexicon,
        llm: LLM,
        seed: int = 0,
        prompt: str = "counterfactual_group",
        temperature: float | None = 0.0,
        examples: Sequence[dict[str, str]] | None = None,
        stage: str = "groups",
    ) -> None:
        self.lexicon = lexicon
        self.llm = llm
        self.rewriter = LLMRewriter(llm, group_prompt=prompt, temperature=temperature)
        self.examples = examples
        self.stage = stage

    @property
    def provenance(self) -> dict[str, Any]:
        """Model, and the hash of all that stands in the prompt before the text."""
        return {"rewriter": "llm", "model": self.llm.name, "prompt_sha256": self.prompt_sha256(self.examples)}

    def prompt_sha256(self, examples: Sequence[dict[str, str]] | None) -> str:
        """Hash of the prompt's file, and of the examples where they are not the file's."""
        file = self.rewriter.group_prompt.sha256
        if examples is None:
            return file
        content = json.dumps([file, list(examples)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Versions of every text, or why the model gave none."""
        return self.rewriter.groups(
            texts,
            axis=self.lexicon.axis,
            attributes=self.lexicon.attributes,
            examples=self.examples,
            stage=self.stage,
        )

    def swapped(self, texts: Sequence[str]) -> list[str]:
        """Not offered.

        Raises:
            FairlabError: always.
        """
        raise FairlabError("rewriter=llm does not exchange attributes; use rewriter=word_swap or rewriter=rules")
