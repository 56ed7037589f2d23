"""Report page of a sweep over reweighting strengths: fairness and utility on validation, and the selected strength.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", tables 7 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlab.methods.safety_ensemble.strengths import MOST_LOST, Candidate, choose, pareto_front
from fairlab.record import Reading, Record
from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.page import Block, Figure, Section, Text, Verdict, page

PRECISION, VARIANCE = "average_precision_change", "acv_change"
VALIDATION = "safety_validation"


def compare_strengths(records: Sequence[Record]) -> dict[str, Any]:
    """Return each harm's candidates, the names of the candidates on the Pareto front, and the selected candidate.

    The records are those of finished runs that measured ``safety_validation``.
    """
    found = {}
    for harm in dict.fromkeys(harm for record in records for harm in _harms(record)):
        measured = [(setting(record, harm), _validation_readings(record, harm)) for record in records]
        candidates = [
            Candidate(name, readings[PRECISION].value, readings[VARIANCE].value)
            for name, readings in measured
            if {PRECISION, VARIANCE} <= readings.keys()
        ]
        if candidates:
            best = choose(candidates)
            found[harm] = {
                "candidates": [vars(one) for one in candidates],
                "front": [one.name for one in pareto_front(candidates)],
                "chosen": best.name,
                "allowed": best.precision >= -MOST_LOST,
            }
    return found


def setting(record: Record, harm: str) -> str:
    """Return the reweighting strength of a run for a harm, as text."""
    strengths = record.config["method"]["reweighting"]
    values = strengths.get(harm) or strengths["others"]
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def rendered_strengths(records: Sequence[Record], found: Mapping[str, Any]) -> str:
    """Render the page on reweighting strengths.

    The page states the selected strength of each harm, and plots AU-PRC against ACV for each harm.
    """
    rule = (
        "Changes from the baseline on the validation folds. The choice is the point of the Pareto front with the "
        f"lowest ACV that costs no more than {MOST_LOST:g} % of AU-PRC; if all cost more, the one that costs least."
    )
    chosen = [f"{harm}. Chosen: {strength_verdict(of_harm)}." for harm, of_harm in found.items()]
    sections = [Section(harm, [pareto_plot(of_harm)]) for harm, of_harm in found.items()]
    lead: list[Block] = [Verdict(f"{len(records)} strengths were measured.", chosen), Text(rule, "note")]
    return page("fairlab: strengths of reweighting", "Strengths of reweighting", lead, sections)


def strength_verdict(of_harm: Mapping[str, Any]) -> str:
    """Return the selected strength, with a remark if all strengths cost more AU-PRC than allowed."""
    chosen = str(of_harm["chosen"])
    return chosen if of_harm["allowed"] else f"{chosen}; all cost more than {MOST_LOST:g} % of AU-PRC"


def pareto_plot(of_harm: Mapping[str, Any]) -> Figure:
    """Plot AU-PRC against ACV for several models on one harm, with the Pareto front."""
    marks = []
    for name, colour, inside in (("not on the front", None, False), ("Pareto front", 0, True)):
        some = [one for one in of_harm["candidates"] if (one["name"] in of_harm["front"]) is inside]
        marks.append(_candidates(name, some, "both" if inside else "dots", colour, 4))
    chosen = [one for one in of_harm["candidates"] if one["name"] == of_harm["chosen"]]
    marks.append(_candidates("chosen", chosen, "dots", 1, 7))
    return figure([Panel("", marks, "change of ACV, %", "change of AU-PRC, %")])


def _candidates(name: str, some: Sequence[Mapping[str, Any]], kind: str, colour: int | None, size: float) -> Marks:
    listed = sorted(some, key=lambda one: one["variance"])
    x, y = ([one[part] for one in listed] for part in ("variance", "precision"))
    return Marks(name, x, y, kind, colour, texts=[one["name"] for one in listed], size=size)


def _harms(record: Record) -> list[str]:
    return [str(harm) for harm in record.config["method"]["harms"]]


def _validation_readings(record: Record, harm: str) -> dict[str, Reading]:
    """Return the validation readings of the debiased model for a harm, by quantity."""
    return {
        one.quantity: one
        for one in record.readings
        if (one.phase, one.benchmark, one.subset) == ("after", VALIDATION, harm)
    }
