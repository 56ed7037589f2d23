"""Descriptions of an audit's quantities: labels, meanings, units, ideal values and bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from itertools import chain, count

from fairlab.benchmarks.scales import percent, points
from fairlab.types import ALIKE, Description, QuantityInfo

AUDIT = "audit"
_gap = partial(QuantityInfo, unit="points", ideal=0.0, low=0.0, high=100.0, folded=True)
_score = partial(QuantityInfo, unit="score")

FLIPS = {
    "flips": percent("changed predictions", "predictions that change if a person in the text is changed"),
    "control_flips": percent(
        "changed predictions in the control",
        "predictions that change when the same number of words change but no person does; the model's instability",
    ),
    "excess_flips": points(
        "changed predictions beyond the control",
        "share of predictions that change with people, minus the share in the control (0 is fair)",
        ideal=0.0,
        headline=True,
    ),
    "detectable_flips": points(
        "smallest detectable excess", "true excess of changed predictions that is found with a power of 80 %", low=0.0
    ),
    "score_change": points("change of probabilities", "mean distance of the probabilities before and after", low=0.0),
    "control_score_change": points(
        "change of probabilities in the control",
        "mean distance of the probabilities before and in the control",
        low=0.0,
    ),
    "excess_score_change": points(
        "change of probabilities beyond the control", "change with people, minus the control's (0 is fair)", ideal=0.0
    ),
    "mean_change": _score("change of the score", "mean absolute change of the score if a person changes", low=0.0),
    "control_mean_change": _score(
        "change of the score in the control", "mean absolute change of the score if no person changes", low=0.0
    ),
    "excess_mean_change": _score(
        "change of the score beyond the control",
        "change with people, minus the control's (0 is fair)",
        ideal=0.0,
        headline=True,
    ),
    "shift": points(
        "shift of the last label's probability",
        "mean change from the first attribute to the second, minus the control's (0 is fair)",
        ideal=0.0,
        headline=True,
    ),
    "score_shift": _score(
        "shift of the score",
        "mean change from the first attribute to the second, minus the control's (0 is fair)",
        ideal=0.0,
        headline=True,
    ),
    "detectable_mean_change": _score(
        "smallest detectable change of the score", "true change beyond the control found with a power of 80 %", low=0.0
    ),
    "detectable_score_shift": _score(
        "smallest detectable shift of the score", "true shift found with a power of 80 %", low=0.0
    ),
    "refused": percent("texts that refuse", "written texts that refuse to answer"),
    "people": percent("texts with people", "rows in which the lexicon finds a person of the axis"),
    "rewriter_error": percent("wrong rewrites", "rewrites on the sheet that a person marked as wrong", ideal=0.0),
}
GROUPS = {
    "accuracy": percent("accuracy", "rows of the group with a right prediction", ideal=100.0, useful=True),
    "false_positive_rate": percent("false-positive rate", "rows without the label that are given it", ideal=0.0),
    "false_negative_rate": percent("false-negative rate", "rows with the label that are not given it", ideal=0.0),
    "selection_rate": percent("selection rate", "rows of the group that are given the label"),
    "calibration": points("calibration", "mean probability of the label minus its share (0 is calibrated)", ideal=0.0),
    "subgroup_auc": percent("subgroup AUC", "AUC within the group (100 separates the labels)", ideal=100.0),
    "bpsn_auc": percent("BPSN AUC", "AUC of others with the label and the group without it", ideal=100.0),
    "bnsp_auc": percent("BNSP AUC", "AUC of others without the label and the group with it", ideal=100.0),
    "accuracy_gap": _gap("gap in accuracy", "largest difference between two groups (0 is fair)", headline=True),
    "equalized_odds": _gap("equalized odds", "larger gap of true- and false-positive rate (0 is fair)", headline=True),
    "*_gap": _gap("gap in {}", "largest difference between two groups (0 is fair); its interval cannot reach 0"),
    "detectable_*": points("smallest detectable gap in {}", "true gap that is found with a power of 80 %", low=0.0),
    "mean_error": _score("mean error of the score", "score minus the true score (0 is fair)", ideal=0.0),
    "mean_error_gap": _score(
        "gap in mean error",
        "largest difference between two groups (0 is fair)",
        ideal=0.0,
        low=0.0,
        headline=True,
        folded=True,
    ),
    "model_accuracy": percent("accuracy", "share of all rows with a right prediction", ideal=100.0, useful=True),
}
DESCRIPTION = Description(
    AUDIT,
    "Audit",
    "Does the classifier treat people alike?",
    {**FLIPS, **GROUPS},
    topic=ALIKE,
    subsets={"all": "all rows", "*": "{}"},
    citation="The audit is fairlab's own; its parts are of Qian et al. 2022, Hardt et al. 2016 and Borkan et al. 2019.",
)


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Return the form of each name in keys of readings, without white space and slashes.

    Distinct names have distinct forms: a form that an earlier name has is followed by a number.

    Example:
        >>> slugs(["a text", "C#", "C++"])
        {'a text': 'a_text', 'C#': 'C_', 'C++': 'C__2'}
    """
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w*&.-]+", "_", name.strip())
        forms = chain([plain], (f"{plain}_{number}" for number in count(2)))
        found[name] = next(form for form in forms if form not in found.values())
    return found
