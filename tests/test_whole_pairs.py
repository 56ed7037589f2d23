"""What the second study of fairtuning measures, by hand."""

import numpy as np
import pytest

from experiments.over_seeds import p_over_seeds, t_interval
from experiments.perturbation.whole_pairs import ColoursOfThings
from experiments.perturbation.whole_pairs_compared import by_example, learned
from experiments.perturbation.whole_pairs_tables import differences, facts, record
from fairlab.metrics.significance import holm
from fairlab.record import Record


def test_colours_of_things_are_exchanged_in_all_fields_but_not_words_for_people():
    colours = ColoursOfThings(axes=["race"], sampling="uniform", mode="lexical")
    fields = ["A man in a black hat", "A dog runs", "A red and white car"]
    assert colours.exchanged(fields) == ["A man in a white hat", "A dog runs", "A blue and brown car"]
    of_people = ["A Black man in a white hat", "A red hat"]
    assert colours.exchanged(of_people) == ["A Black man in a white hat", "A blue hat"]
    chosen = colours.choose(["A dog runs", "A red car"], [1, 2], {})
    assert [one is None for one in chosen] == [True, False]
    assert [one.fields for one in colours.rewrite([["A pink car", "A car"]], chosen[1:])] == [["A red car", "A car"]]


def test_copies_add_up_over_their_example():
    sums, sizes = by_example([4, 0, 4], np.array([[100.0, 0.0, 100.0], [0.0, 100.0, 100.0]]))
    assert sums.tolist() == [[0, 200], [100, 100]]
    assert sizes.tolist() == [1, 2]


def test_an_interval_over_three_seeds_is_student_s():
    low, high = t_interval([1.0, 2.0, 3.0])  # 2 ± 4.3027 / sqrt(3)
    assert (low, high) == pytest.approx((-0.4841, 4.4841), abs=1e-4)


def test_losses_are_those_of_training_steps(tmp_path):
    run = Record(tmp_path, {}, "")
    run.history = [{"train/loss": value} for value in [3.0] * 50 + [1.0] * 50] + [{"validation/loss": 9.0}]
    assert learned(run) == [3.0, 1.0]


def changes_of(task):
    return {(one.phase, one.subset): one for one in record().comparisons if one.benchmark == task}


def test_what_the_page_says_of_qqp_is_what_the_record_holds():
    changes = changes_of("qqp_halves")
    whole, published = (changes[f"{arm} less finetuned", "both"] for arm in ("whole", "published"))
    assert whole.n == 233
    assert whole.low < whole.difference < 0 < whole.high
    assert published.low < published.difference < 0 < published.high
    low, high = t_interval(differences(whole))
    assert low < 0 < high
    assert t_interval(differences(published))[1] < 0
    snli = changes_of("snli_validation")
    for name, arm, by_seeds, by_bootstrap in (("whole", whole, 0.15, 0.36), ("published", published, 0.01, 0.13)):
        both = [snli[f"{name} less finetuned", "both"], arm]
        assert holm([p_over_seeds(differences(one)) for one in both])[1] == pytest.approx(by_seeds, abs=0.006)
        assert holm([one.p for one in both])[1] == pytest.approx(by_bootstrap, abs=0.006)
    assert changes["whole less finetuned", "hypothesis"].n == 19
    assert changes["published less finetuned", "accuracy"].high < -0.9
    assert changes["whole less published", "accuracy"].low > 0
    assert -2.6 < changes["chance less finetuned", "both"].low < changes["chance less finetuned", "both"].high < 2.6
    assert all(some == [42, 43, 44, 45, 46] for some in facts("qqp_halves")["seeds"].values())
    assert all(last < first - 0.2 for first, last in facts("qqp_halves")["losses"].values())


def test_what_the_page_says_of_whole_pairs_is_what_the_record_holds():
    changes = changes_of("snli_validation")
    fair, sensitive = (changes["whole less finetuned", kind] for kind in ("both", "hypothesis"))
    assert fair.low < 0 < fair.difference < 1 < fair.high  # neither a drop nor equivalence within 1 point
    assert sensitive.low < -10 < sensitive.difference < 0 < sensitive.high  # non-inferiority is not shown
    for change, widest, detectable in ((fair, -1.09, 1.3), (sensitive, -14.54, 9)):
        assert t_interval(differences(change))[0] == pytest.approx(widest, abs=0.01)
        assert 2.8 * (change.high - change.low) / 3.92 == pytest.approx(detectable, abs=0.3)
    assert changes["whole less published", "hypothesis"].low > 50
    assert changes["published less finetuned", "half"].high < -10
    published = changes["published less finetuned", "hypothesis"]
    assert published.high < -50
    assert t_interval(differences(published)) == pytest.approx((-77.5, -56.9), abs=0.1)
    lower = changes["published less finetuned", "both"]
    assert lower.low < 0 < lower.high
    assert t_interval(differences(lower))[1] < 0  # significant over seeds alone
    assert max(differences(lower)) < 0
    assert changes["published less finetuned", "accuracy"].high < 0
    assert changes["whole less published", "accuracy"].low > 0.5
    assert changes["whole less chance", "both"].low < 0 < changes["whole less chance", "both"].high
    for kind, within in (("hypothesis", 1.7), ("accuracy", 0.4), ("both", 0.7)):
        chance = changes["chance less finetuned", kind]
        assert -within < chance.low < 0 < chance.high < within
    seeds = dict(facts("snli_validation")["seeds"])
    assert seeds.pop("finetuned_float32") == [42]
    assert set(seeds) == {"finetuned", "published", "whole", "chance"}
    assert all(some == [42, 43, 44, 45, 46] for some in seeds.values())
    for one in record().readings:
        if one.subset == "accuracy":
            assert (
                one.low > {"snli_validation": 2, "qqp_halves": 1.15}[one.benchmark] * facts(one.benchmark)["commonest"]
            )
    assert all(last < first - 0.4 for first, last in facts("snli_validation")["losses"].values())
