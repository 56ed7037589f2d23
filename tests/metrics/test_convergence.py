"""A training whose loss does not fall, and a classifier no better than a guess."""

from pathlib import Path

import numpy as np
import pytest

from fairlab.metrics.convergence import at_chance, too_short, unlearned
from fairlab.record import Record

RECORDS = Path(__file__).parents[2] / "experiments"


def history(losses, held_out=(), name="loss"):
    rows = [{"step": k, f"train/{name}": float(loss)} for k, loss in enumerate(losses, start=1)]
    return rows + [{"step": len(rows), f"validation/{name}": float(loss)} for loss in held_out]


def test_a_loss_that_stands_still_is_said():
    noise = np.random.default_rng(0).normal(1.1e-5, 2e-6, 100)
    found = unlearned(history(noise, held_out=[1.16e-5, 1.15e-5], name="bias_loss"))
    assert found.startswith("the bias loss did not fall: 1.")
    assert "1.16e-05 at first, 1.15e-05 at best" in found
    assert unlearned(history([1.1e-5] * 100))
    assert unlearned(history([0.0] * 100))


def test_a_loss_that_falls_is_not():
    falling = np.linspace(1.0, 0.5, 100)
    assert unlearned(history(falling)) == ""
    assert unlearned(history(falling + np.random.default_rng(0).normal(0, 0.2, 100))) == ""


def test_a_twentieth_and_beyond_noise():
    assert unlearned(history(np.linspace(1.0, 0.96, 100)))  # 3 % between the quarters
    assert unlearned(history(np.linspace(1.0, 0.92, 100))) == ""  # 6 %
    wild = np.random.default_rng(1).lognormal(0, 2, 40)[::-1]
    assert wild[-10:].mean() < 0.95 * wild[:10].mean()
    assert unlearned(history(wild))


def test_a_fall_of_exactly_a_twentieth_is_enough():
    first, middle = [201, 199, 202, 198, 200], list(range(197, 192, -1)) * 2
    assert unlearned(history([*first, *middle, 191, 189, 192, 188, 190])) == ""
    assert unlearned(history([*first, *middle, 191, 189, 192, 188, 191]))


def test_three_losses_below_three_others_are_no_evidence():
    assert unlearned(history(np.repeat(np.linspace(1.0, 0.5, 12), 2)))  # their p-value is 1/20


def test_held_out_losses_count_too():
    flat = [5.0, 4.9] * 50
    assert unlearned(history(flat, held_out=[5.0, 4.99]))
    assert unlearned(history(flat, held_out=[100.0, 99.0])) == ""
    assert unlearned(history(flat, held_out=[5.0, 4.93])) == ""  # of a language model, a hundredth
    assert unlearned(history(flat, held_out=[5.0, 4.93], name="bias_loss"))
    assert unlearned(history(flat, held_out=[5.0, 4.7], name="bias_loss")) == ""


def test_too_few_steps_say_nothing():
    assert unlearned(history([1.0] * 19)) == ""
    assert unlearned(history([1.0] * 20))
    assert unlearned([]) == ""


def test_too_few_steps_are_said_and_no_steps_are_not():
    assert too_short(history([1.0] * 19)) == (
        "19 steps with a loss are too few to show whether training converged; train for at least 20"
    )
    assert too_short(history([1.0] * 19, name="bias_loss")).startswith("19 steps")
    assert too_short(history([1.0])).startswith("1 steps")
    assert too_short(history([1.0] * 20)) == ""
    assert too_short([]) == ""


def test_batches_of_kinds_that_take_turns():
    """A neutral batch has a bias loss, the others repeat it and add to the loss."""
    rows = [{"step": k, "train/loss": 1 + k % 3, "train/bias_loss": 1 / (1 + k // 3)} for k in range(90)]
    assert unlearned(rows) == ""
    still = [{"step": k, "train/loss": 1 + k % 3, "train/bias_loss": 1e-5 + 1e-7 * (k // 3 % 2)} for k in range(90)]
    assert unlearned(still)


@pytest.mark.parametrize(
    ("run", "trained"),
    [
        *((f"ccd/records/study/{name}/seed_{seed}", True) for name in ("ccd", "dpce", "cda") for seed in (42, 43, 44)),
        *((f"ccd/records/study/adept/seed_{seed}", False) for seed in (42, 43, 44)),
        ("razor/records/study/fever_rew/seed_43", False),
        ("razor/records/study/fever_rew/seed_42", True),
        ("ccd/records/study/inlp/seed_42", True),  # fitted in closed form, without a step
        ("ccd/records/study/sentence_debias/seed_42", True),
    ],
)
def test_runs_of_the_experiments(run, trained):
    assert (unlearned(Record.load(RECORDS / run).history) == "") == trained


def test_a_classifier_at_chance():
    even = {"yes": 300, "no": 300}
    assert at_chance([{"validation/accuracy": 0.51}], even, 600).startswith(
        "its best validation accuracy, 51.0% of 600"
    )
    assert at_chance([{"validation/accuracy": 0.51}, {"validation/accuracy": 0.6}], even, 600) == ""
    assert at_chance([{"validation/accuracy": 0.7}], {"yes": 70, "no": 30}, 100)  # the commonest label, always
    assert at_chance([{"validation/accuracy": 0.77}], {"yes": 70, "no": 30}, 100)  # 77 or more: p 0.076
    assert at_chance([{"validation/accuracy": 0.78}], {"yes": 70, "no": 30}, 100) == ""  # p 0.048
    assert at_chance([{"validation/matthews": 0.0672}], even, 600) == ""  # 1.645 standard errors are 0.06716
    assert at_chance([{"validation/matthews": 0.05}], even, 600) == "its best validation matthews, 0.050 over 600 " + (
        "examples, is not beyond chance"
    )
    assert at_chance([{"validation/pearson": 0.4}], {}, 100) == ""
    assert at_chance([], even, 600) == at_chance([{"validation/accuracy": 0.1}], {}, 0) == ""


def test_a_value_that_rows_repeat_counts_once():
    """Four values say little: the first and last are one each, however many rows hold them."""
    assert unlearned(history(np.repeat([1.0, 0.9, 0.8, 0.7], 6)))
    assert unlearned(history(np.linspace(1.0, 0.7, 24))) == ""
