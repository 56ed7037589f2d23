"""What settings do on validation: by hand, and by texts outside of a fold alone."""

from __future__ import annotations

import numpy as np
import pytest

from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.choosing import Compared


def text(key, label, subgroup="", *, seed=True):
    return SafetyText("", key, subgroup, {"hate": label}, seed)


TEXTS = [
    text("a", 1, "Religion:Islam"),
    text("a", 1, "Religion:Judaism", seed=False),
    text("b", 0),
    text("c", 1, "Religion:Islam"),
    text("c", 1, "Religion:Judaism", seed=False),
    text("d", 0),
]
FOLDS = np.array([0, 0, 0, 1, 1, 1])
BASELINE = np.array([0.8, 0.4, 0.2, 0.9, 0.5, 0.1])  # ranks both folds right; both variances are 0.04


def test_changes_are_those_of_precision_and_variance():
    narrow = np.array([0.7, 0.5, 0.2, 0.3, 0.3, 0.4])  # variances 0.01 and 0; the second fold is ranked wrong
    compared = Compared(TEXTS, "hate", FOLDS[None], BASELINE[None], {"narrow": narrow[None]})
    (found,) = compared.candidates()
    assert found.precision == pytest.approx(-25)  # (1 + 1/2) / 2 of 1
    assert found.variance == pytest.approx(-87.5)
    (first,) = compared.candidates(FOLDS == 0)
    assert (first.precision, first.variance) == (pytest.approx(0), pytest.approx(-75))


def test_texts_without_a_label_or_always_trained_on_do_not_count():
    more = [*TEXTS, SafetyText("", "e", "", {}), text("f", 1)]
    folds, narrow = np.array([*FOLDS, 0, -1]), np.array([0.7, 0.5, 0.2, 0.3, 0.3, 0.4, 1.0, 1.0])
    (found,) = Compared(more, "hate", folds[None], np.array([[*BASELINE, 0, 0]]), {"a": narrow[None]}).candidates()
    assert (found.precision, found.variance) == (pytest.approx(-25), pytest.approx(-87.5))
    (found,) = Compared(TEXTS, "hate", FOLDS[None], BASELINE[None], {"a": BASELINE[None]}).candidates(
        np.array([name.key in "bd" for name in TEXTS])
    )
    assert (found.precision, found.variance) == (0, 0)


def test_repeats_are_averaged():
    twice = Compared(
        TEXTS, "hate", np.stack([FOLDS] * 2), np.stack([BASELINE] * 2), {"a": np.stack([BASELINE, 0 * BASELINE])}
    )
    (found,) = twice.candidates()
    assert found.variance == pytest.approx(-50)
