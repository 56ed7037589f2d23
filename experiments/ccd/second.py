"""The second study's rule of choice, and its tables, from the trials on the bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from experiments.ccd.validation.trials import settings_of, tried
from experiments.rendering import markdown
from fairlab.metrics.significance import ALPHA, holm

ENCODERS = ("minilm", "mpnet")
GAP_KEPT, ASSOCIATION_KEPT = 0.10, 0.65  # at most, of what the encoder has before
EVEN, LEAKAGE, STS = 0.15, 0.60, 0.5  # margin of the share of men's documents, accuracy at most, margin in points
PLANNED = {
    "sentence_debias": "SentenceDebias",
    "inlp": "INLP",
    "leace": "LEACE",
    "ccd_linear": "linear map of CCD",
    "ccd": "CCD",
    "ccd_aligned": "aligned CCD",
    "dpce": "DPCE, fixed formulas",
    "adept": "ADEPT-F, scaled bandwidth",
    "cda": "CDA",
}
Trial = Mapping[str, Any]
LEFT_OUT: dict[str, list[dict[str, Any]]] = {  # settings not tried on mpnet, for lack of time
    "ccd": [{"beta": 1.5, "epochs": 3, "lr": 5e-5}],
    "ccd_aligned": [
        {"alignment": alignment, "beta": beta, "epochs": epochs}
        for alignment, beta, epochs in [(0.1, 1, 3), (0.3, 1, 1), (0.3, 1, 3), (1, 0.5, 3), (1, 1, 3)]
    ],
}


def association(one: Trial) -> float:
    """Return the mean absolute effect size of the association tests."""
    return fmean(map(abs, one["effects"]))


def astray(one: Trial, before: Trial) -> list[int]:
    """Return the places of association tests that grew, or that turned over beyond chance.

    A test has grown if its effect is larger than before in the same direction, by any amount. It has turned over if its
    sign changed and it is significant in its new direction, with p-values adjusted over all tests of the encoder.
    """
    adjusted = holm(one["p"])
    return [
        k
        for k, (now, then) in enumerate(zip(one["effects"], before["effects"], strict=True))
        if (now * then > 0 and abs(now) > abs(then)) or (now * then < 0 and adjusted[k] < ALPHA)
    ]


def goals(one: Trial, before: Trial) -> list[str]:
    """Return the goals that a trial reaches on the bench, in the order of the plan.

    Args:
        one: Trial.
        before: Readings of the encoder that the method began from.
    """
    low, high = one["men_first_bounds"]
    reached = {
        "gap": one["gap_pronouns"] <= GAP_KEPT * before["gap_pronouns"],
        "associations": association(one) <= ASSOCIATION_KEPT * association(before) and not astray(one, before),
        "order": max(abs(low - 0.5), abs(high - 0.5)) < EVEN,
        "leakage": one["leakage"] <= LEAKAGE,
        "STS-B": one["sts_lost_at_most"] < STS,
    }
    return [name for name, holds in reached.items() if holds]


class Setting:
    """A method with a setting, and its trials by encoder."""

    def __init__(self, method: str, settings: Trial, found: Mapping[str, Trial], before: Mapping[str, Trial]) -> None:
        self.method = method
        self.settings = settings
        self.found = found
        self.goals = {encoder: goals(one, before[encoder]) for encoder, one in found.items()}

    @property
    def count(self) -> int:
        """Number of goals reached, added over the encoders."""
        return sum(map(len, self.goals.values()))

    @property
    def association(self) -> float:
        """Mean absolute association, over the encoders."""
        return fmean(map(association, self.found.values()))


def originals(trials: Sequence[Trial]) -> dict[str, Trial]:
    """Return the readings of each encoder before any method."""
    return {one["encoder"]: one for one in trials if one["method"] == "none"}


def all_settings(trials: Sequence[Trial]) -> list[Setting]:
    """Return every setting of which a trial was made, by method in the order of the plan."""
    before = originals(trials)
    planned = [(method, settings) for method in PLANNED for settings in settings_of(method)]
    planned += [(one["method"], one["settings"]) for one in trials if "+" in one["method"]]  # sequences
    found = []
    for method, settings in planned:
        made = [one for one in trials if (one["method"], one["settings"]) == (method, settings)]
        if made and (method, settings) not in [(one.method, one.settings) for one in found]:
            found.append(Setting(method, settings, {one["encoder"]: one for one in made}, before))
    return found


def leading(settings: Sequence[Setting]) -> Setting:
    """Return the setting with the most goals; among equals, the one with the lowest mean absolute association.

    Settings are compared only if they were tried on the largest number of encoders.

    Args:
        settings: Settings of one method.
    """
    most = max(len(one.found) for one in settings)
    compared = [one for one in settings if len(one.found) == most]
    return min(compared, key=lambda one: (-one.count, one.association))


def chosen(method: str, settings: Sequence[Setting]) -> Setting | None:
    """Return the setting that the rule of choice gives a method, or None before all were tried that are to be."""
    planned = [one for one in settings_of(method) if one not in LEFT_OUT.get(method, [])]
    made = [one for one in settings if one.method == method and set(one.found) == set(ENCODERS)]
    return leading(made) if len(made) == len(planned) else None


def leaders() -> str:
    """Return what the bench reads of each encoder, and of the setting of each method that leads by the rule."""
    trials = tried()
    before, settings = originals(trials), all_settings(trials)
    rows = [["none", "", *bench_cells(before[name], before[name])] for name in ENCODERS if name in before]
    for method in dict.fromkeys(one.method for one in settings):
        best = leading([one for one in settings if one.method == method])
        rows += [
            [title(method), words(best.settings), *bench_cells(best.found[encoder], before[encoder])]
            for encoder in ENCODERS
            if encoder in best.found
        ]
    header = ["method", "setting", "encoder", "goals reached", "change in the gap, pronouns", "association"]
    header += ["tests with a larger or reversed effect"]
    return markdown([*header, "men's document first", "leakage", "change on STS-B, training pairs"], rows)


def bench_cells(one: Trial, before: Trial) -> list[str]:
    """Return what the bench reads of a trial, beside the encoder before it."""
    low, high = one["men_first_bounds"]
    return [
        one["encoder"],
        str(len(goals(one, before))),
        f"{100 * (one['gap_pronouns'] / before['gap_pronouns'] - 1):+.1f}%",
        f"{association(before):.2f} to {association(one):.2f}",
        str(len(astray(one, before))),
        f"{one['men_first']:.2f} [{low:.2f}, {high:.2f}]",
        f"{one['leakage']:.2f}",
        f"{one['sts'] - before['sts']:+.2f}, at most {max(0.0, one['sts_lost_at_most']):.2f} lost",
    ]


def every() -> str:
    """Return the goals that every setting reaches on the bench."""
    rows = []
    for one in all_settings(tried()):
        reached = [", ".join(one.goals[encoder]) or "none" if encoder in one.goals else "" for encoder in ENCODERS]
        rows.append([title(one.method), words(one.settings), *reached, str(one.count), f"{one.association:.2f}"])
    return markdown(
        ["method", "setting", *(f"goals reached, {name}" for name in ENCODERS), "number of goals", "association"], rows
    )


def title(method: str) -> str:
    """Return the name of a method or of a sequence on the page."""
    return ", then ".join(PLANNED[part] for part in method.split("+"))


def words(settings: Trial) -> str:
    """Return a setting in words; the two settings of a sequence stand in its methods' rows."""
    if "first" in settings:
        return "as chosen for each"
    return ", ".join(f"{name} {str(value).lower()}" for name, value in settings.items())
