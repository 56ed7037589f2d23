"""RAZOR: its rounds go over a whole data set before its rows are written.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR", section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.record import Note, Reading, Record
from fairlab.run.augmenting.building import build_llm, build_rewriter
from fairlab.run.command_line import cli
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.build import build
from fairlab.run.config.values import target_of
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported where it is used: --help answers at once
    from fairlab.data.stream.manifest import Manifest

REWRITERS = ("paraphrase", "llm_labelled")


class Rounds:
    """The plan of RAZOR; see :mod:`fairlab.plans`."""

    def __init__(self, values: dict[str, Any], read: Callable[[], Iterator[Any]], record: Record) -> None:
        self.values, self.read, self.record = values, read, record
        self.made_with: dict[str, Any] = {}

    def made_by(self) -> dict[str, Any]:
        """The settings of the search."""
        return target_of(self.values["augmentation"]).made_by(self.values)

    def prepare(self) -> tuple[Iterator[Any], partial[Any]]:
        """The rows, and what writes them, after the rounds in the folder ``rounds`` of the run.

        Raises:
            FairlabError: no row can be read, one has no label, there is one label only, a value is wrong, or the
                rewriter keeps no labels.
        """
        from fairlab.augmentation.razor import RAZOR, Razor, Replaced, rejection_reasons, rounds_history
        from fairlab.rewriting.labelled.label_keeping import LabelledRewriter, labelled_item

        record, node = self.record, self.values["augmentation"]
        rows = [row for row in self.read() if isinstance(row, Row)]
        items = [labelled_item(row, node["label"]) for row in rows]
        llm = build_llm(self.values)
        rewriter = build_rewriter(self.values, llm)
        if not isinstance(rewriter, LabelledRewriter):
            raise FairlabError(f"razor needs a rewriter that keeps labels: rewriter={' or '.join(REWRITERS)}")
        check = label_check(node["verify"], llm, sorted({item.label for item in items}))
        embed = None if node["features"] != "embedding" else _embedder(node["vectors"])
        razor: Razor = build(node, rewriter=rewriter, check=check, embed=embed)
        rewritten, rounds = razor(items, record.folder / "rounds")
        record.history = rounds_history(items, rounds)
        phases = {"before": items, "after": rewritten}
        record.readings = [
            one
            for phase, some in phases.items()
            for one in (*_probed(some, phase, self.values["seed"]), *_negations(some, phase, self.values["seed"]))
        ]
        texts = [*_notes(rounds, rejection_reasons(rounds), node["k"], len(items)), *_unprobed(items)]
        record.notes = [Note(RAZOR.name, text) for text in texts]
        record.save()
        tried = {rows[int(place)].number: one for one_round in rounds for place, one in one_round["tried"].items()}
        self.made_with = {**rewriter.provenance, "check": check.name}
        return self.read(), partial(Replaced, tried, node["label"], self.made_with)

    def provenance(self) -> dict[str, Any]:
        """Of the rewriter, and the check of its rewrites."""
        return self.made_with

    def report(self, manifest: Manifest, made: int) -> tuple[list[Reading], list[Note]]:
        """What the rounds left in the record."""
        return self.record.readings, self.record.notes


def label_check(names: str | Sequence[str] | None, llm: Any, labels: Sequence[str]) -> Any:
    """The check of rewrites, by its name or a classifier's folder, or several that must all let a rewrite pass.

    Raises:
        FairlabError: there is none of the name, no language model for it, or the classifier is none of these labels.
    """
    from fairlab.rewriting.labelled.label_keeping import AllOf

    given = names or ("lexical" if llm is None else "llm")
    checks = [_check(name, llm, labels) for name in ([given] if isinstance(given, str) else given)]
    return checks[0] if len(checks) == 1 else AllOf(checks)


def _check(name: str, llm: Any, labels: Sequence[str]) -> Any:
    from fairlab.rewriting.labelled.classifier_check import ClassifierCheck
    from fairlab.rewriting.labelled.label_keeping import LLMLabelCheck, LLMVerdictCheck
    from fairlab.rewriting.labelled.paraphrase import LexicalEntailment
    from fairlab.rewriting.labelled.same_facts import SameFacts

    by_words = {check.name: check for check in (LexicalEntailment, SameFacts)}
    by_llm = {check.name: check for check in (LLMLabelCheck, LLMVerdictCheck)}
    if name in by_words:
        return by_words[name]()
    if name in by_llm:
        if llm is None:
            raise FairlabError(
                f"augmentation.verify={name} asks a language model; add llm=local or another, see --help"
            )
        return by_llm[name](llm, labels)
    if not Path(name).is_dir():
        known = ", ".join([*by_llm, *by_words])
        raise FairlabError(
            f"augmentation.verify must be some of {known}, the folder of a sequence classifier, or null, not {name}"
        )
    return ClassifierCheck(loaded(name), labels)


def _embedder(name: str) -> Any:
    """What embeds texts: a named backbone, or the weights in a folder."""
    backbone = loaded(name)
    return lambda texts: backbone.embed(list(texts)).numpy()


def loaded(name: str) -> Any:
    """A named backbone as it is configured, or another model, which cuts texts only where it cannot read on."""
    return build(backbone_node(name, {} if name in cli.choices("backbone") else {"max_length": None}))


def _notes(rounds: Sequence[Mapping[str, Any]], counts: Counter[str], k: int, n: int) -> list[str]:
    """What the rounds did, in sentences."""
    selected = sum(len(one["tried"]) for one in rounds)
    rewritten = selected - sum(counts.values())
    texts = [f"{rewritten:,} of {n:,} documents rewritten, {selected:,} selected, in {len(rounds)} rounds"]
    if rounds:
        texts.append(f"objective {rounds[0]['objective_before']:.6f} to {rounds[-1]['objective']:.6f}")
    if not rewritten:
        texts.append("no rewrite was taken, so the data set is unchanged")
    if k > n:
        texts.append(f"augmentation.k={k} is above the number of documents, so all were selected")
    return texts


def _unprobed(items: Sequence[Any]) -> list[str]:
    """Why no probe is in the readings, where none is."""
    from fairlab.metrics.surface_probe import too_little

    short = too_little([item.label for item in items], [item.text for item in items])
    return [f"how much the texts give away was not measured: a probe cannot be trained, {short}"] if short else []


def _probed(items: Sequence[Any], phase: str, seed: int) -> list[Reading]:
    """What a bag of words of the texts gains over the commonest label; nothing where there are too few."""
    from fairlab.augmentation.razor import RAZOR
    from fairlab.benchmarks.readings import described_reading
    from fairlab.metrics.bootstrap import mean_draws, percentile_interval
    from fairlab.metrics.surface_probe import commonest_share, probe, too_little

    texts, labels = [item.text for item in items], [item.label for item in items]
    if too_little(labels, texts):
        return []
    gains = 100.0 * (probe(texts, labels, seed) - commonest_share(labels))
    value, bounds = float(gains.mean()), percentile_interval(mean_draws(gains, seed))
    return [described_reading(RAZOR, "claim_only", "gain", value, len(items), bounds, phase=phase, seed=seed)]


def _negations(items: Sequence[Any], phase: str, seed: int) -> list[Reading]:
    """Association of any negation with the label (Cramer's V), and share of documents with one."""
    from fairlab.augmentation.razor import RAZOR
    from fairlab.benchmarks.readings import described_reading
    from fairlab.metrics.bootstrap import percentile_interval
    from fairlab.metrics.lmi import association_draws, cramers_v, presence_table
    from fairlab.metrics.significance import wilson_interval
    from fairlab.text.surface_tokens import negations, surface_tokens

    present = [negations(surface_tokens(item.text)) > 0 for item in items]
    table = presence_table(present, [item.label for item in items])
    n, of_negations = len(items), partial(described_reading, RAZOR, "negation", phase=phase, seed=seed)
    value, bounds = float(cramers_v(table)), percentile_interval(association_draws(table, seed))
    low, high = (100.0 * bound for bound in wilson_interval(sum(present), n))
    return [
        of_negations("association", value, n, bounds),
        of_negations("share", 100.0 * sum(present) / n, n, (low, high)),
    ]
