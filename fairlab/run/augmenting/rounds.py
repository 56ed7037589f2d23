"""Plan of RAZOR: rounds process the whole dataset before any row is written.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR", section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.record import Note, Reading
from fairlab.run.augmenting.building import PlanOfRun, build_llm, build_rewriter
from fairlab.run.command_line import cli
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.build import build
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.data.stream.manifest import Manifest

REWRITERS = ("paraphrase", "llm_labelled")


class Rounds(PlanOfRun):
    """Plan of RAZOR, an implementation of :class:`fairlab.protocols.Plan`."""

    made_with: dict[str, Any]

    def prepare(self) -> tuple[Iterator[Any], partial[Any]]:
        """Run all rounds, and return the unchanged rows and a builder of the object that writes the rewritten texts.

        The rounds store their files in the folder ``rounds`` of the run.

        Raises:
            FairlabError: No row can be read, a row has no label, there is only one label, a value is wrong, or the
                rewriter does not keep labels.
        """
        from fairlab.augmentation.razor import RAZOR, Razor, Replaced, rejection_reasons, rounds_history
        from fairlab.rewriting.labelled.label_keeping import LabelledRewriter, labelled_item, refuse_unlabelled

        record, node = self.record, self.values["augmentation"]
        rows = [row for row in self.read() if isinstance(row, Row)]
        refuse_unlabelled(self.values["input"], rows, node["label"])
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
            for one in (
                *_probe_readings(some, phase, self.values["seed"]),
                *_negation_readings(some, phase, self.values["seed"]),
            )
        ]
        texts = [*_notes(rounds, rejection_reasons(rounds), node["k"], len(items)), *_notes_without_probe(items)]
        record.notes = [Note(RAZOR.name, text) for text in texts]
        record.save()
        tried = {rows[int(place)].number: one for one_round in rounds for place, one in one_round["tried"].items()}
        self.made_with = {**rewriter.provenance, "check": check.name}
        return self.read(), partial(Replaced, tried, node["label"], self.made_with)

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the rewriter and the name of the label check."""
        return self.made_with

    def report(self, manifest: Manifest, made: int) -> tuple[list[Reading], list[Note]]:
        """Return the readings and notes that :meth:`prepare` added to the record."""
        return self.record.readings, self.record.notes


def label_check(names: str | Sequence[str] | None, llm: Any, labels: Sequence[str]) -> Any:
    """Return a check of whether rewrites keep their labels.

    If there are several checks, a rewrite must pass all of them. ``names`` are names of checks and folders of
    classifiers; None selects ``llm`` if there is a language model, else ``lexical``.

    Raises:
        FairlabError: The check does not exist, its language model is missing, or the classifier has other labels.
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
                f"augmentation.verify={name} needs a language model; add llm=local or another, see --help"
            )
        return by_llm[name](llm, labels)
    if not Path(name).is_dir():
        known = ", ".join([*by_llm, *by_words])
        raise FairlabError(
            f"augmentation.verify must be one or more of {known}, the folder of a sequence classifier, or null, not "
            f"{name}"
        )
    return ClassifierCheck(load_model(name), labels)


def _embedder(name: str) -> Any:
    """Return a function that embeds texts with a backbone, given by name or by the folder of its weights."""
    backbone = load_model(name)
    return lambda texts: backbone.embed(list(texts)).numpy()


def load_model(name: str) -> Any:
    """Load a model by name.

    A named backbone is built as configured. Any other model truncates texts at its own maximum length only.
    """
    return build(backbone_node(name, {} if name in cli.choices("backbone") else {"max_length": None}))


def _notes(rounds: Sequence[Mapping[str, Any]], counts: Counter[str], k: int, n: int) -> list[str]:
    """Return notes on the number of rewritten documents and the change in the objective."""
    selected = sum(len(one["tried"]) for one in rounds)
    rewritten = selected - sum(counts.values())
    texts = [f"{rewritten:,} of {n:,} documents rewritten, {selected:,} selected, in {len(rounds)} rounds"]
    if rounds:
        texts.append(f"objective {rounds[0]['objective_before']:.6f} to {rounds[-1]['objective']:.6f}")
    if not rewritten:
        texts.append("no rewrite was taken, so the dataset is unchanged")
    if k > n:
        texts.append(f"augmentation.k={k} is above the number of documents, so all were selected")
    return texts


def _notes_without_probe(items: Sequence[Any]) -> list[str]:
    """Return a list with one note that states why no probe was trained, or an empty list if a probe was trained."""
    from fairlab.metrics.surface_probe import too_little

    short = too_little([item.label for item in items], [item.text for item in items])
    return [f"what the texts reveal about labels was not measured: a probe cannot be trained, {short}"] if short else []


def _probe_readings(items: Sequence[Any], phase: str, seed: int) -> list[Reading]:
    """Return the accuracy gain of a bag-of-words probe over always predicting the most frequent label.

    The list is empty if there are too few texts.
    """
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


def _negation_readings(items: Sequence[Any], phase: str, seed: int) -> list[Reading]:
    """Return the association of negation with the label (Cramer's V) and the percentage of texts with a negation."""
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
