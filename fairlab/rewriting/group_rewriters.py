"""Rewriters that return all counterfactual versions of texts: by word lists, English rules or a language model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from fairlab.lexicons import Lexicon
from fairlab.lexicons.names import load_names
from fairlab.llm.client import LLM
from fairlab.llm.exchange import SAID
from fairlab.metrics.polarity import Polarity
from fairlab.protocols import Rewriter
from fairlab.rewriting.by_llm.agreement import with_agreement
from fairlab.rewriting.by_llm.kept_facts import FACT_LOST, lost_fact
from fairlab.rewriting.by_llm.llm_rewriter import LLMRewriter, NotRewritten, Target, Versions
from fairlab.rewriting.english.linkers import RULES
from fairlab.rewriting.english.mentions import UNALIGNED, Unaligned
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.rewriting.word_rewriters import Selection
from fairlab.text.difference import changes
from fairlab.text.papers import DENG_2024
from fairlab.text.words import word_pieces
from fairlab.types import NEUTRAL, FairlabError, NotNegative, Row

NO_WORD = "rows without a word of the axis"
Made = TypeVar("Made")


@runtime_checkable
class GroupRewriter(Rewriter, Protocol):
    """Interface of the rewriters used by augmentations.

    Attributes:
        lexicon: Words of the axis, and its attributes.
        provenance: Columns that describe how a row was produced: ``rewriter``, and a seed or the prompt's hash.
    """

    lexicon: Lexicon
    provenance: dict[str, Any]

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Return the neutral version and one version per attribute of every text, in the lexicon's order.

        A text that cannot be rewritten has the reason for failure instead.
        """
        ...

    def swapped(self, texts: Sequence[str]) -> list[str | NotRewritten]:
        """Return every text with the two attributes of the axis swapped, or the reason for failure.

        Raises:
            FairlabError: The axis does not have exactly two attributes, or the rewriter does not support swaps.
        """
        ...


def columns(row: Row, augmentation: str, rewriter: GroupRewriter, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the provenance columns of a generated row: source, rewriter, and the words changed in each version."""
    return {
        "source_id": row.id,
        "source_place": row.place,
        "source_text": row.text,
        "augmentation": augmentation,
        **rewriter.provenance,
        "lexicon_sha256": rewriter.lexicon.sha256,
        "changed": {name: changes(row.text, text) for name, text in versions.items()},
    }


def group_row(
    row: Row, augmentation: str, rewriter: GroupRewriter, versions: Mapping[str, str], **more: Any
) -> dict[str, Any]:
    """Return the output row of a counterfactual group.

    The row has the other fields of the input row, the group, the provenance :func:`columns`, and ``more``. Its id is
    the number of the input row, because ids may be repeated in the input.
    """
    group = {"id": str(row.number), "axis": rewriter.lexicon.axis, "versions": dict(versions)}
    return {**row.extra, **group, **columns(row, augmentation, rewriter, versions), **more}


class WordSwapGroups:
    """Rewriter that swaps words by word lists; see :class:`fairlab.rewriting.english.word_swap.WordSwap`.

    Args:
        lexicon: Words of the axis, and its attributes.
        seed: Unused, because swapping is deterministic; accepted because every rewriter is built with a seed.
    """

    title = "swapping of listed words"
    limits = "Words are swapped without regard to syntax, so the grammar and names around them can be wrong."
    citation = "This rewriter is fairlab's own."

    def __init__(self, *, lexicon: Lexicon, seed: int = 0) -> None:
        self.lexicon = lexicon
        self.rewriter = WordSwap(lexicon)
        self.provenance: dict[str, Any] = {"rewriter": "word_swap"}

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Return the versions of every text. Swapping never fails."""
        targets = (NEUTRAL, *self.lexicon.attributes)
        return [Versions({target: self.rewriter(text, target) for target in targets}) for text in texts]

    def swapped(self, texts: Sequence[str]) -> list[str | NotRewritten]:
        """Return every text with the two attributes swapped."""
        return [self.rewriter.swap(text) for text in texts]

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Rewrite every text to its target attribute: all words with the same attribute as the selected word."""
        return [
            self.rewriter.turned(text, {one.source: one.target}) for text, one in zip(texts, selections, strict=True)
        ]


class RuleGroups:
    """Rewriter that applies English rules; arguments as in :class:`fairlab.rewriting.english.rules.RuleRewriter`."""

    title = "English rules that also adapt the grammar around words"
    limits = "Rules infer which person is meant; if this fails, texts stay unchanged or are rewritten wrongly."
    citation = "This rewriter is fairlab's own."

    def __init__(
        self,
        *,
        lexicon: Lexicon,
        seed: int = 0,
        mode: Literal["syntax", "lexical"] = "syntax",
        names: Literal["swap", "keep"] = "swap",
        linker: str = RULES,
    ) -> None:
        if mode not in ("syntax", "lexical"):
            raise FairlabError(f"rewriter.mode must be syntax or lexical, not {mode}")
        if names not in ("swap", "keep"):
            raise FairlabError(f"rewriter.names must be swap or keep, not {names}")
        self.lexicon = lexicon
        self.rewriter = RuleRewriter(lexicon, mode=mode, names=names, linker=linker, seed=seed)
        self.provenance: dict[str, Any] = {"rewriter": "rules", "seed": seed}
        if linker != RULES:
            self.provenance["linker"] = linker

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Return the versions of every text.

        A text fails if the parser does not separate a listed word from its neighbours; the failure names the word.
        """
        targets = (NEUTRAL, *self.lexicon.attributes)
        return [
            _refusal(made) if isinstance(made, Unaligned) else Versions(dict(zip(targets, made, strict=True)))
            for made in self.rewriter.versions(texts, targets)
        ]

    def swapped(self, texts: Sequence[str]) -> list[str | NotRewritten]:
        """Return every text with its two attributes swapped.

        A text fails if the parser does not separate a listed word from its neighbours; the failure names the word.
        """
        return [_refusal(made) if isinstance(made, Unaligned) else made for made in self.rewriter.exchanges(texts)]

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Return every text with the person meant by its selected word rewritten, or the reason for failure.

        With ``mode="lexical"``, which has no coreference, all words with the attribute of the selected word are
        rewritten.
        """
        if self.rewriter.mode == "lexical":
            lexical = self.rewriter.lexical
            return [lexical.rewrite(text, one.target, one.source) for text, one in zip(texts, selections, strict=True)]
        found = self.rewriter.turn_people(texts, [[(one.start, one.target)] for one in selections])
        return [_refusal(made) if isinstance(made, Unaligned) else made for made in found]


def _refusal(error: Unaligned) -> NotRewritten:
    return NotRewritten(UNALIGNED, str(error))


NON_BINARY = "non-binary"  # name of a neutral target in prompts


class LLMGroups:
    """Rewriter that asks a language model; see :class:`fairlab.rewriting.by_llm.llm_rewriter.LLMRewriter`.

    Args:
        lexicon: Words of the axis, and its attributes.
        seed: Unused, because greedy decoding is deterministic; accepted because every rewriter is built with a seed.
        llm: Language model with its ledger of calls; required.
        prompt: Name of an included prompt, or the path of a custom file.
        temperature: Sampling temperature of all requests; 0 is greedy, None uses the server's default.
        examples: Examples shown to the model, each with ``text`` and every version; None uses the examples of the
            prompt file.
        stage: Name under which the ledger sums calls, tokens, seconds and dollars.
        unanswered: Treatment of texts that the server repeatedly fails to answer: ``stop`` ends the run, which can be
            restarted; ``reject`` excludes them with the reason.
        facts: Whether to reject a version that loses a number or a name of its text; see
            :mod:`fairlab.rewriting.by_llm.kept_facts`.
        log_probabilities: Whether to use the probability of an answer's tokens as its confidence, instead of the
            confidence that the model states.

    Raises:
        FairlabError: There is no language model, or the value of ``unanswered`` is unknown.
    """

    title = "language model asked for all versions"
    limits = "The model may change more than was requested, and the checks do not find every error."
    citation = DENG_2024

    def __init__(
        self,
        *,
        lexicon: Lexicon,
        llm: LLM | None,
        seed: int = 0,
        prompt: str = "counterfactual_group",
        temperature: NotNegative | None = 0.0,
        examples: Sequence[dict[str, str]] | None = None,
        stage: str = "groups",
        unanswered: Literal["stop", "reject"] = "stop",
        facts: bool = True,
        log_probabilities: bool = True,
    ) -> None:
        if llm is None:
            raise FairlabError("rewriter=llm needs a language model; add llm=local, openai, gemini, vllm or replay")
        if unanswered not in ("stop", "reject"):
            raise FairlabError(f"rewriter.unanswered must be stop or reject, not {unanswered}")
        self.unanswered = unanswered
        self.lexicon = lexicon
        self.llm = llm
        self.rewriter = LLMRewriter(
            llm,
            group_prompt=prompt,
            temperature=temperature,
            polarity=Polarity(lexicon),
            log_probabilities=log_probabilities,
        )
        self.examples = examples
        self.stage = stage
        forms = {piece for entry in lexicon.entries for form in entry.forms for piece in word_pieces(form)}
        self.free = forms | set(load_names()) if facts else None

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the rewriter, the model and the hash of the prompt; texts do not enter the hash."""
        return {"rewriter": "llm", "model": self.llm.name, "prompt_sha256": self.prompt_sha256(self.examples)}

    def prompt_sha256(self, examples: Sequence[dict[str, str]] | None) -> str:
        """Return the hash of the prompt file, combined with ``examples`` unless they are None."""
        file = self.rewriter.group_prompt.sha256
        if examples is None:
            return file
        content = json.dumps([file, list(examples)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def groups(self, texts: Sequence[str]) -> list[Versions | NotRewritten]:
        """Return the versions of every text, or the reason why the model returned none."""
        made = self.rewriter.groups(
            texts, axis=self.lexicon.axis, attributes=self.lexicon.attributes, examples=self.examples, stage=self.stage
        )
        self._refuse_unanswered(made)
        return self._reject_lost_facts(texts, made, [one.versions if isinstance(one, Versions) else {} for one in made])

    def agreed(self, made: Sequence[tuple[str, Versions]], samples: int) -> list[Versions]:
        """Return the versions of texts with a new confidence: the proportion of sampled answers that agree."""
        return with_agreement(
            self.rewriter,
            made,
            samples,
            stage=f"{self.stage}, samples",
            axis=self.lexicon.axis,
            attributes=self.lexicon.attributes,
            examples=self.examples,
        )

    def _reject_lost_facts(
        self, texts: Sequence[str], made: Sequence[Made | NotRewritten], versions: Sequence[Mapping[str, str]]
    ) -> list[Made | NotRewritten]:
        """Replace rewrites with a version that loses a fact of its text by the reason for rejecting them."""
        if self.free is None:
            return list(made)
        lost = [lost_fact(text, some, self.free) for text, some in zip(texts, versions, strict=True)]
        return [NotRewritten(FACT_LOST, fault) if fault else one for fault, one in zip(lost, made, strict=True)]

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Return every text with the person meant by its selected word rewritten, or the reason for failure."""
        asked = [
            Target(text, one.word, NON_BINARY if one.target == NEUTRAL else one.target)
            for text, one in zip(texts, selections, strict=True)
        ]
        made = self.rewriter.targets(asked, stage="perturbation")
        self._refuse_unanswered(made)
        versions = [{one.target: text} if isinstance(text, str) else {} for one, text in zip(asked, made, strict=True)]
        return self._reject_lost_facts(texts, made, versions)

    def _refuse_unanswered(self, made: Sequence[object]) -> None:
        lost = [one for one in made if isinstance(one, NotRewritten) and one.outcome not in SAID]
        if lost and self.unanswered == "stop":
            raise FairlabError(
                f"{len(lost)} of {len(made)} calls got no answer ({lost[0].outcome}: {lost[0].reason}); run the same "
                "command again to request only these, or leave the texts out with rewriter.unanswered=reject"
            )

    def swapped(self, texts: Sequence[str]) -> list[str | NotRewritten]:
        """Raise FairlabError: this rewriter does not support swaps."""
        del texts
        raise FairlabError("rewriter=llm does not exchange attributes; use rewriter=word_swap or rewriter=rules")
