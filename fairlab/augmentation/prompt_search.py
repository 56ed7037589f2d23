"""Prompt search: rounds of rewriting, checking and correcting texts that yield few-shot examples for a prompt."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from fairlab.augmentation.rounds import read_corrected_round, write_round
from fairlab.checks.escapes import print_escaped
from fairlab.files import write_whole
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.llm_rewriter import STATED, Versions
from fairlab.rewriting.group_rewriters import LLMGroups, RuleGroups
from fairlab.rewriting.verifiers import LABEL, load_verifiers
from fairlab.text.reading import read_yaml_text
from fairlab.types import NEUTRAL, Count, FairlabError, Natural, ReviewNeeded, Row

REVIEW = """\
# The language model was sure of these versions, but: {finding}.
# Correct them (only words of the axis may differ from the text), set corrected: true at the end, and run the same
# command again.
"""

log = logging.getLogger(__name__)


class PromptSearch:
    """Search for the few-shot examples P of a rewriting prompt, guided by polarity or by other verifiers.

    In every round, the language model rewrites all texts with the examples so far. Of the groups that a verifier
    rejects, the group with the highest confidence (the probability of the answer's tokens or, if it is unknown, the
    agreement of sampled answers) is corrected and becomes an example. The last round only measures, so K rounds give at
    most K - 1 corrections. A text that is already an example is not chosen again, and the search ends early when no
    group is left to correct; the paper mentions neither rule.

    Args:
        rewriter: Rewriter that asks the language model.
        rounds: Maximum number of rounds, K.
        corrector: Source of corrections: ``terminal`` asks the user at the terminal. ``file`` writes a file and stops
            until it is filled in. ``rules`` uses the versions of the rule-based rewriter, for the most confident wrong
            group whose rule-based versions pass all verifiers.
        verify: Names of the verifiers that decide which groups are wrong; see
            :func:`fairlab.rewriting.verifiers.load_verifiers`; the paper uses only polarity. ``label`` is not allowed,
            because the search sees texts without labels.
        texts: Number of texts to search on, counted from the first text with a word of the axis; None for all.
        seeds: Initial examples, each with ``text`` and every version, or ``prompt`` for the examples in the prompt's
            file.
        samples: Number of additional answers whose agreement measures the confidence in a rejected group if the model
            returns no log-probabilities. With 0, and in a replay, the model's stated confidence is used.

    Raises:
        FairlabError: The verifiers need a label, or the rewriter does not use a language model.

    Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", algorithm 1 and section 3.3.
    """

    def __init__(
        self,
        *,
        rewriter: LLMGroups,
        rounds: Count = 10,
        corrector: Literal["terminal", "file", "rules"] = "file",
        verify: Sequence[str] = ("polarity",),
        texts: Count | None = None,
        seeds: Sequence[dict[str, str]] | Literal["prompt"] = (),
        samples: Natural = 5,
    ) -> None:
        if not isinstance(rewriter, LLMGroups):
            raise FairlabError(
                "prompt search works only with language models; use rewriter=llm, or counterfactual_groups"
            )
        self.rewriter = rewriter
        self.rounds = rounds
        self.corrector = corrector
        self.texts = texts
        if not verify or LABEL in verify:
            raise FairlabError(
                "a prompt search needs verifiers that separate right from wrong groups without a label, not "
                f"search.verify=[{','.join(verify)}]; give search.verify=[polarity]"
            )
        self.verifiers = load_verifiers(verify, rewriter.lexicon)
        self.samples = samples
        self.seeds = self._examples_of_prompt() if isinstance(seeds, str) else seeds
        self.polarity = Polarity(rewriter.lexicon)

    def _examples_of_prompt(self) -> list[dict[str, str]]:
        """Return the examples in the prompt's file that have every version of the axis."""
        versions = {NEUTRAL, *self.rewriter.lexicon.attributes}
        return [one for one in self.rewriter.rewriter.group_prompt.examples if versions <= set(one)]

    def wanted(self, text: str) -> bool:
        """Return whether a text contains a word of the axis, so that the search can use it."""
        return any(self.polarity.counts(text).values())

    def __call__(self, texts: Sequence[str], folder: Path) -> list[dict[str, Any]]:
        """Run the rounds and return them.

        Finished rounds of an earlier run are read from ``folder``.

        Args:
            texts: Texts to search on.
            folder: Folder for the files of each round: ``round-NN.json``, ``prompt-NN.yaml`` with the prompt of the
                round, and, with the corrector ``file``, ``review-NN.yaml``.

        Returns:
            One dictionary per round: its number, its examples, the numbers of texts, rewritten texts and right texts,
            the group selected for correction and its correction (None in the last round).

        Raises:
            ReviewNeeded: A correction has to be filled in.
        """
        folder.mkdir(parents=True, exist_ok=True)
        examples = [dict(seed) for seed in self.seeds]
        found = list[dict[str, Any]]()
        for number in range(1, self.rounds + 1):
            file = folder / f"round-{number:02}.json"
            if file.exists():
                one = read_corrected_round(file)
            else:
                one = self._round(number, examples, texts, folder)
                prompt = self.rewriter.rewriter.group_prompt.file_with(examples)
                write_whole(folder / f"prompt-{number:02}.yaml", prompt)
                write_round(file, one)
            found.append(one)
            if one["correction"] is None:
                break
            examples.append(one["correction"])
        return found

    def _round(self, number: int, examples: list[dict[str, str]], texts: Sequence[str], folder: Path) -> dict[str, Any]:
        self.rewriter.examples, self.rewriter.stage = examples, f"prompt search, round {number}"
        answers = self.rewriter.groups(texts)
        made = [(text, one) for text, one in zip(texts, answers, strict=True) if isinstance(one, Versions)]
        wrong = [Wrong(*one, finding) for one, finding in zip(made, self._findings(made), strict=True) if finding]
        known = {example["text"] for example in examples}
        candidates = [one for one in wrong if one.text not in known]
        chosen = (
            self._correction(number, self._sort_by_confidence(candidates), folder) if number < self.rounds else None
        )
        return {
            "round": number,
            "examples": list(examples),
            "prompt_sha256": self.rewriter.prompt_sha256(examples),
            "texts": len(texts),
            "rewritten": len(made),
            "right": len(made) - len(wrong),
            "chosen": None if chosen is None else chosen[0],
            "corrector": self.corrector,
            "correction": None if chosen is None else chosen[1],
        }

    def _findings(self, made: Sequence[tuple[str, Versions]]) -> list[str]:
        """Return the verifiers' objections to each group.

        The result is empty if no verifier objects.
        """
        rows = [Row("", text, {}, "", 0) for text, _ in made]
        found = [one.check(rows, [versions.versions for _, versions in made]) for one in self.verifiers]
        return ["; ".join(filter(None, of_one)) for of_one in zip(*found, strict=True)] if found else [""] * len(made)

    def _sort_by_confidence(self, candidates: Sequence[Wrong]) -> list[Wrong]:
        """Sort the candidates by descending confidence.

        If the model gives no log-probabilities, the agreement of samples replaces its stated confidence, which is
        nearly always 1. If there is a single candidate, no confidence is computed.
        """
        stated = [one for one in candidates if one.made.confidence_by == STATED]
        measured = dict[str, Wrong]()
        if stated and self.samples and len(candidates) > 1 and self.rewriter.llm.model is not None:
            log.info("confidence by the agreement of %d samples; its gain is not measured", self.samples)
            found = self.rewriter.agreed([(one.text, one.made) for one in stated], self.samples)
            measured = {one.text: replace(one, made=made) for one, made in zip(stated, found, strict=True)}
        chosen = [measured.get(one.text, one) for one in candidates]
        return sorted(chosen, key=lambda one: -(one.made.confidence or 0.0))

    def _correction(
        self, number: int, candidates: Sequence[Wrong], folder: Path
    ) -> tuple[dict[str, Any], dict[str, str]] | None:
        """Return the wrong group to correct and its correction, or None if no group can be corrected."""
        if self.corrector == "rules":
            return self._by_rules(candidates)
        if not candidates:
            return None
        wrong = candidates[0]
        if self.corrector == "terminal":
            return wrong.group, {"text": wrong.text, **_at_terminal(wrong)}
        return wrong.group, {"text": wrong.text, **_from_file(folder / f"review-{number:02}.yaml", wrong)}

    def _by_rules(self, candidates: Sequence[Wrong]) -> tuple[dict[str, Any], dict[str, str]] | None:
        rules = RuleGroups(lexicon=self.rewriter.lexicon)
        for wrong in candidates:
            (made,) = rules.groups([wrong.text])
            if isinstance(made, Versions) and self._findings([(wrong.text, made)]) == [""]:
                return wrong.group, {"text": wrong.text, **made.versions}
        return None


@dataclass(frozen=True)
class Wrong:
    """Text with the model's versions of it and the verifiers' objection to them."""

    text: str
    made: Versions
    finding: str

    @property
    def group(self) -> dict[str, Any]:
        """Return the group as it is stored in the file of a round."""
        confidence = {"confidence": self.made.confidence, "confidence_by": self.made.confidence_by}
        return {"text": self.text, "versions": self.made.versions, **confidence}


def _at_terminal(wrong: Wrong) -> dict[str, str]:
    """Ask the user at the terminal for each version.

    An empty input keeps the model's version.
    """
    if not sys.stdin.isatty():
        raise FairlabError("search.corrector=terminal needs a terminal; use search.corrector=file or rules")
    print_escaped(f"\n{wrong.text}\nwrong: {wrong.finding}. Type each version again, or press Enter to keep it.")
    return {name: input(f"{name} [{version}]: ").strip() or version for name, version in wrong.made.versions.items()}


def _from_file(file: Path, wrong: Wrong) -> dict[str, str]:
    """Return the corrected versions in a review file, which is written if it does not exist.

    Raises:
        ReviewNeeded: The file has not been corrected yet.
        FairlabError: The file is not YAML, or a version is missing.
    """
    versions = wrong.made.versions
    if not file.exists():
        content = {"text": wrong.text, "versions": dict(versions), "corrected": False}
        body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)
        write_whole(file, REVIEW.format(finding=wrong.finding) + body)
    content = read_yaml_text(file)
    if not isinstance(content, dict) or content.get("corrected") is not True:
        raise ReviewNeeded(
            f"{file} waits for you: correct its versions ({', '.join(versions)}), set corrected: true, and run the "
            "same command again"
        )
    corrected: Any = content.get("versions")
    for name in versions:
        if not isinstance(corrected, dict) or not isinstance(corrected.get(name), str) or not corrected[name].strip():
            raise FairlabError(
                f"{file} has no text for the version '{name}'; fill it in and run the same command again"
            )
    return {name: corrected[name] for name in versions}


def search_history(rounds: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return, per round, the percentages of texts that were rewritten and of rewrites that passed verification."""
    return [
        {
            "round": one["round"],
            "examples": len(one["examples"]),
            "accuracy": 100.0 * one["right"] / max(1, one["rewritten"]),
            "rewritten": 100.0 * one["rewritten"] / max(1, one["texts"]),
        }
        for one in rounds
    ]
