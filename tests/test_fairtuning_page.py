"""What the fairtuning study compares, by hand."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from experiments.over_seeds import compared
from experiments.perturbation.controls import changed, in_the_hypothesis, next_colours
from experiments.perturbation.paired import flipped
from experiments.perturbation.tables import FOLDER
from experiments.rewriting.sets import exchanged
from fairlab.data.published.tasks import Example
from fairlab.record import Record


def test_words_are_exchanged_in_their_case_and_wherever_they_stand():
    partner = {"he": "she", "she": "he", "man": "woman", "woman": "man"}
    assert exchanged("He saw a woman; the woman's man.", partner) == "She saw a man; the woman's woman."


def test_colours_go_round_and_examples_without_one_are_left_out():
    examples = [Example("A red car", "A pink car", 0), Example("A car", "A black car", 1)]
    assert changed(examples, next_colours()) == [(examples[0], Example("A blue car", "A red car", 0))]


def test_only_the_hypothesis_of_pairs_that_entail_is_exchanged():
    partner = {"man": "woman", "he": "she"}
    entails = Example("A man sings", "He sings", 0)
    others = [Example("A man sings", "He sleeps", 2), Example("A dog barks", "He barks", 0)]
    assert in_the_hypothesis([entails, *others], partner, 0) == [(entails, Example("A man sings", "She sings", 0))]


@pytest.fixture
def runs(tmp_path):
    """Two seeds of a classifier on three examples, which have copies of two axes, of one and of none."""
    for seed, perturbed in ((1, [1, 0, 0]), (2, [1, 1, 0])):
        folder = tmp_path / "x_rte" / f"seed_{seed}" / "items" / "after"
        folder.mkdir(parents=True)
        items = {
            "dev_axes": [0, 0, -1, -1, -1, -1, 2, -1, -1],  # gender, race and age of every example in turn
            "dev_original": [0, 0, 0],
            "dev_perturbed": perturbed,
        }
        arrays = {name: np.array(values, dtype=np.float32) for name, values in items.items()}
        save_file(arrays, folder / "rte_fairscore.safetensors")
    return tmp_path


def test_flips_add_up_over_the_copies_of_an_example(runs):
    sums, counts = flipped(runs / "x_rte", [1, 2], "rte")
    assert sums.tolist() == [[100, 0], [100, 100]]
    assert counts.tolist() == [2, 1]
    sums, counts = flipped(runs / "x_rte", [1, 2], "rte", "age")
    assert (sums.tolist(), counts.tolist()) == ([[0], [0]], [1])


def test_a_difference_is_over_seeds_and_copies(runs):
    later = flipped(runs / "x_rte", [1, 2], "rte")
    change = compared(later, (np.zeros((2, 2)), later[1]), ("rte_fairscore", "dev", "fairscore"), "one less other")
    assert change.difference == pytest.approx(100 * 3 / 6)  # three flips of two seeds by three copies
    assert change.n == 3
    assert change.low <= change.difference <= change.high


def changes_of(name):
    return {one.key: one for one in Record.load(FOLDER / "records" / name).comparisons}


def test_what_the_page_says_of_fairtuning_is_what_the_records_hold():
    paired, phase = changes_of("paired"), "roberta_fair less roberta_orig"
    for task in ("snli_validation/test", "qqp_halves/dev"):
        name, split = task.split("/")
        assert paired[f"{phase}/{name}_fairscore/{split}/fairscore"].high < -1
    for task in ("sst2_halves", "bios"):
        change = paired[f"{phase}/{task}_fairscore/dev/fairscore"]
        assert change.low < 0 < change.high
        assert 1.0 < 2.8 * (change.high - change.low) / 3.92 < 1.5  # the difference that would have been found
    assert all(one.low < 0 < one.high for key, one in paired.items() if key.startswith(phase) and "accuracy" in key)
    perturbed = paired["fairberta_orig less roberta_orig/snli_validation_fairscore/test/fairscore"]
    assert perturbed.low > 0


def test_what_the_page_says_of_both_texts_and_of_controls_is_what_the_records_hold():
    sides, controls, phase = changes_of("sides"), changes_of("controls"), "roberta_fair less roberta_orig"
    both = sides[f"{phase}/snli_validation_fairscore/both/fairscore"]
    assert -0.55 < both.low < 0 < both.high < 0.65
    assert sides[f"{phase}/snli_validation_fairscore/half/fairscore"].high < -10
    assert sides[f"{phase}/qqp_halves_fairscore/both/fairscore"].high < 0
    numbers = [sides[f"{phase}/snli_validation_fairscore/{side}/fairscore"].n for side in ("both", "one", "half")]
    assert numbers[2] / sum(numbers) == pytest.approx(0.19, abs=0.01)  # a fifth
    kept = {one.phase: one.value for one in Record.load(FOLDER / "records" / "controls").readings if "hypo" in one.key}
    assert kept["roberta_orig"] == pytest.approx(76, abs=1)
    assert kept["roberta_fair"] == pytest.approx(17, abs=1)
    for kind in ("57_pairs", "colours"):
        assert controls[f"{phase}/snli_validation_{kind}/test/fairscore"].p > 0.05
