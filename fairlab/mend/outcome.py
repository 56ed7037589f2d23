"""Result of ``fairlab mend``: the answer, the verdicts it is based on, and the files of the debiased model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fairlab.files import write_whole
from fairlab.mend.judging import KeptUtility, MendJudgement
from fairlab.record import Record
from fairlab.reporting.citing import bibtex
from fairlab.reporting.exports.exporting import export_results
from fairlab.reporting.report import write_report

ANSWER, MODEL, TRIED = "mend.json", "model", "tried"
EXPORT = "every_eval_ever"
COMPARED = "All methods on the readings that were used for the choice:"  # heading of the lines per method
CHOSEN, PROVEN = "chosen_by", "measured"  # folders of the two evaluations


@dataclass(frozen=True)
class MendOutcome:
    """Result of ``fairlab mend``.

    Attributes:
        folder: Folder with all files of the result.
        sentence: Answer in one sentence.
        tried: Verdict on each method, from the readings for selection.
        skipped: Methods that do not fit the model or the data, with the reasons.
        proof: Verdict on the selected method, from the readings for confirmation; None if no method was selected.
        is_mended: Whether the readings for confirmation also support the selected method.
    """

    folder: Path
    sentence: str
    tried: list[MendJudgement]
    skipped: dict[str, str] = field(default_factory=dict)
    proof: MendJudgement | None = None
    is_mended: bool = False

    @property
    def lines(self) -> list[str]:
        """Return one line of text per method."""
        return [*(one.line for one in self.tried), *(f"{name}: not tried: {why}" for name, why in self.skipped.items())]

    def save(self) -> None:
        """Write the result to a JSON file."""
        content = {"sentence": self.sentence, "mended": self.is_mended, "tried": [asdict(one) for one in self.tried]}
        content |= {"skipped": self.skipped, "proof": None if self.proof is None else asdict(self.proof)}
        write_whole(self.folder / ANSWER, json.dumps(content, indent=1) + "\n")


def concluded(
    folder: Path,
    name: str,
    price: KeptUtility,
    tried: list[MendJudgement],
    skipped: dict[str, str],
    proof: MendJudgement | None,
) -> MendOutcome:
    """Return the result, with the answer derived from the verdicts."""
    if proof is None:
        sentence = (
            f"No method makes {name} fairer and keeps its utility ({price}): with none of {len(tried)}, a reading is "
            f"significantly closer to its ideal value, none further away, and utility kept.{_failed_checks(tried)}"
        )
        return MendOutcome(folder, sentence, tried, skipped)
    failed = _failed_checks([proof])
    numbers = f"on readings that were not used to choose the method, {proof.line.partition(': ')[2]}"
    if proof.mends:
        sentence = f"{proof.label} makes {name} fairer and keeps its utility ({price}): {numbers}.{failed}"
        return MendOutcome(folder, sentence, tried, skipped, proof, True)
    sentence = f"No method is shown to make {name} fairer and keep its utility ({price}). "
    sentence += f"The best was {proof.label}: {numbers}."
    return MendOutcome(folder, sentence + failed, tried, skipped, proof)


def _failed_checks(judgements: Sequence[MendJudgement]) -> str:
    """Return a sentence about models that fail the behaviour check, with a leading space and the reasons of the first.

    The sentence is empty if there are no such models.
    """
    failed = list(dict.fromkeys(one for judged in judgements for one in judged.failed))
    if not failed:
        return ""
    others = ", ".join(one.partition(" (")[0] for one in failed[1:])
    said = f"{failed[0]}{others and f'; also for {others}'}"
    return f" However, these readings say nothing about bias, because the behaviour check failed for {said}."


def publish(outcome: MendOutcome, proof: Record, others: Sequence[Record], called: str) -> None:
    """Add the name and the answer to the record, and write the report, citations and an Every Eval Ever record."""
    proof.config["name"] = called
    proof.provenance["answers"] = {"": {"sentence": outcome.sentence, "lines": [COMPARED, *outcome.lines]}}
    proof.save()
    shutil.copyfile(write_report(proof), outcome.folder / "report.html")
    write_whole(outcome.folder / "citation.bib", bibtex([*others, proof]))
    shutil.rmtree(outcome.folder / EXPORT, ignore_errors=True)  # left by a killed run
    export_results(proof, "eee", outcome.folder / EXPORT)
