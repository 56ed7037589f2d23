"""Description of the safety benchmark: its quantities, titles and citation.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", sections 3 and 5.
"""

from __future__ import annotations

from functools import partial

from fairlab.benchmarks.scales import percent
from fairlab.types import QuantityInfo

UNCALIBRATED, ODDS = "uncalibrated", "equalised_odds_gap"
# Titles of texts other than the test folds, by name.
TITLES = {
    "bias_madlibs": "Bias Madlibs",
    "hatecheck": "HateCheck",
    "olid": "OLID (kept part)",
    "validation": "Safety (validation folds)",
}
_variance = partial(QuantityInfo, unit="score²", ideal=0.0, low=0.0, high=0.25)
_gap = partial(QuantityInfo, unit="score", ideal=0.0, low=0.0, high=1.0, folded=True)
_share = partial(QuantityInfo, unit="share", low=0.0, high=1.0)
_precision = partial(QuantityInfo, unit="AU-PRC", ideal=1.0, low=0.0, high=1.0, useful=True)
_change = partial(QuantityInfo, unit="%", low=-100.0)
OF_THE_BASELINE = "in per cent of the baseline's"
VARIANCES = {
    "acv": ("counterfactual variance", "variance of a text's score over its versions"),
    "acv_safe": ("counterfactual variance of safe texts", "variance of a safe text's score over its versions"),
    "acv_unsafe": ("counterfactual variance of unsafe texts", "variance of an unsafe text's score over its versions"),
}


def _of_variance(name: str, label: str, meaning: str) -> dict[str, QuantityInfo]:
    """Return the descriptions of a variance of calibrated and uncalibrated scores, and of their changes."""
    before = "before calibration"
    raw = f"{name}_{UNCALIBRATED}"
    changed = f"{OF_THE_BASELINE} (negative is fairer)"
    return {
        name: _variance(label, f"{meaning} (0 is fair)"),
        raw: _variance(f"{label} {before}", f"{meaning}, {before} (0 is fair)"),
        f"{name}_change": _change(f"change of {label}", f"change of the {meaning}, {changed}"),
        f"{raw}_change": _change(f"change of {label} {before}", f"change of the {meaning}, {before}, {changed}"),
        **_of_others(name, label),
        **_of_others(raw, f"{label} {before}"),
    }


def _of_others(name: str, label: str) -> dict[str, QuantityInfo]:
    """Return the descriptions of the changes of a quantity between models other than the baseline."""
    return {
        f"{name}_change_of_*": _change(
            f"change of {label} by {{}}", f"change of the {label} by another model, {OF_THE_BASELINE}"
        ),
        f"{name}_change_from_*": _change(
            f"change of {label} from {{}}", f"change of the {label} by this model, in per cent of another's"
        ),
    }


QUANTITIES = {
    "auc": _share(
        "AUC", "chance that an unsafe text scores above a safe one (0.5 is chance, 1 is best)", ideal=1.0, useful=True
    ),
    "auc_of_*": _share(
        "AUC of {}", "chance that an unsafe text scores above a safe one, by another model", ideal=1.0, useful=True
    ),
    "base_rate": _share("base rate", "share of unsafe texts, which is the average precision of a guess"),
    "accuracy": _share("accuracy", "texts judged correctly at the threshold, or else at 0.5 (1 is best)", ideal=1.0),
    "average_precision": _precision("average precision", "how well scores find unsafe texts (1 is best)"),
    "average_precision_counterfactual": _precision(
        "average precision with versions", "how well scores find unsafe texts, including versions (1 is best)"
    ),
    "average_precision_change": _change(
        "change of average precision", f"change of the average precision, {OF_THE_BASELINE}", useful=True
    ),
    "average_precision_counterfactual_change": _change(
        "change of average precision with versions",
        f"change of the average precision, including versions, {OF_THE_BASELINE}",
    ),
    **_of_others("average_precision", "average precision"),
    "gain_over_best_source": _change(
        "gain over the best source", "average precision above the best source's, in per cent of it", useful=True
    ),
    **{name: info for key, words in VARIANCES.items() for name, info in _of_variance(key, *words).items()},
    "flip_rate": percent("flip rate", "sets whose versions are judged both safe and unsafe (0 is fair)", ideal=0.0),
    "largest_gap_safe": _gap(
        "largest gap, safe texts", "between the mean scores of two subgroups' safe texts (0 is fair)"
    ),
    "largest_gap_unsafe": _gap(
        "largest gap, unsafe texts", "between the mean scores of two subgroups' unsafe texts (0 is fair)"
    ),
    "sliced_average_safe": _gap(
        "mean score of safe texts", "of one subgroup's safe texts, to compare with the other subgroups"
    ),
    "sliced_average_unsafe": _gap(
        "mean score of unsafe texts", "of one subgroup's unsafe texts, to compare with the other subgroups", ideal=1.0
    ),
    ODDS: _gap("equalised-odds gap", "difference of subgroups in errors (0 is fair)"),
    f"{ODDS}_at_threshold": _gap(
        "equalised-odds gap at the threshold", "difference of subgroups in errors at the model's threshold (0 is fair)"
    ),
    "threshold": QuantityInfo("threshold", "score from which a text counts as unsafe", "score", low=0.0, high=1.0),
    "precision_at_threshold": _share(
        "precision at the threshold", "unsafe texts among those judged unsafe (1 is best)", ideal=1.0
    ),
    "recall_at_threshold": _share(
        "recall at the threshold", "texts judged unsafe among those that are (1 is best)", ideal=1.0
    ),
    "false_positive_rate_at_threshold": _share(
        "false-positive rate at the threshold", "texts judged unsafe among safe ones (0 is best)", ideal=0.0
    ),
}
