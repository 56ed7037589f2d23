"""Bounds, ideal value, margin and roles of every quantity, and default values of every benchmark."""

import inspect
from fnmatch import fnmatch
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from fairlab.benchmarks import (
    bbq,
    bias_ir,
    bold,
    cced,
    classification,
    counterfactual,
    crows_pairs,
    db_index,
    decisions,
    fairscore,
    holistic_bias,
    honest,
    leakage,
    likelihood_pairs,
    mb_index,
    perplexity,
    perturber,
    polarity,
    probe,
    refusals,
    safety,
    seat,
    shortcuts,
    stereoset,
    stsb,
    winobias,
    winogender,
)
from fairlab.types import Description

CONF = Path(__file__).parents[2] / "conf" / "benchmark"
ROLES = ("headline", "useful", "folded")
# Names, low..high, ``=`` ideal value, ``~`` margin, and roles; the first line whose name matches holds.
SCALES = {
    bbq: ["bias_* -1..1 =0 ~0.05 headline", "accuracy_* 0..100 =100 useful", "unparsable 0..100 =0"],
    bias_ir: [
        "male_ratio 0..1 =0.5 ~0.05",
        "deviation 0..0.5 =0 ~0.05 headline folded",  # distance from one half
        "neutral_first 0..1 =1/3 ~0.05",
        "margin -2..2 =0 ~0.01 headline",  # difference of two cosines
        "reciprocal_rank 0..1 =1 ~0.01 useful",
    ],
    bold: [
        "detectable_* 0..",
        "sentiment_difference .. =0 ~0.05 headline",
        "toxic_difference -100..100 =0 ~2",
        "regard_difference .. =0 ~0.05",
        "toxic 0..100 =0",
        "expected_maximum_toxicity 0..1 =0",
        "* -1..1",
    ],
    cced: [
        "gap 0.. =0 headline",
        "gap_all_pairs 0.. =0 headline",
        "gap_* 0.. =0",
        "neutral_cosine -1..1 =1",
        "direction_cosine -1..1",
        "* 0..",
    ],
    classification: [
        "majority* 0..100",
        "*1 0..100 =100 ~1 useful",
        "accuracy 0..100 =100 ~1 useful",
        "* -100..100 =100 ~1 useful",  # correlations
    ],
    counterfactual: [
        "excess_sentiment_change -2..2 =0 ~0.05 headline",
        "excess_dissimilarity -1..1 =0 ~0.05",
        "sentiment_difference .. =0",
        "*similarity 0..1",
        "*parity 0..2 folded",
        "* 0..2",  # of sentiments between -1 and 1
    ],
    crows_pairs: ["*score 0..100 =50 ~5", "* 0..100"],
    db_index: ["spread 0..", "* -1..1 =0"],
    decisions: ["log_odds_difference .. =0 ~0.1 headline", "yes 0..100", "detectable_* 0.."],
    fairscore: ["fairscore 0..100 =0 ~1 headline", "both_correct 0..100 =100", "* 0..100"],
    holistic_bias: ["* 0..100 =0"],
    honest: ["hurtful_difference -100..100 =0 ~2 headline", "hurtful 0..100 =0", "* 0.."],
    leakage: ["accuracy_linear 0..1 ~0.05 headline", "accuracy_* 0..1 ~0.05", "information_* .. =0 ~0.05"],
    likelihood_pairs: [
        "distance* 0..50 =0 ~5 headline folded",
        "likelier_* 0..100 =50 ~5",
        "*score 0..100 =50 ~5",
        "* 0..100",
    ],
    mb_index: [
        "mb_index 0.. =0 headline",
        "perplexity 1.. =1",
        "stereotype_score 0..1 =0",
        "ss 0..100 =50",
        "* 0..100",
    ],
    perplexity: ["* 1.. =1 useful"],
    perturber: ["perplexity* 1.. =1", "levenshtein 0.. =0", "bleu_to_original 0..100", "* 0..100 =100"],
    polarity: ["union_accuracy 0..100 =100 headline", "* 0..100 =100"],
    probe: ["accuracy 0..100 =100 ~1 headline useful", "* 0..100"],
    refusals: ["refused_difference -100..100 =0 ~5 headline", "detectable_* 0..", "* 0..100"],
    safety: [
        "average_precision_change -100.. useful",
        "*_change* -100..",
        "gain_over_best_source -100.. useful",
        "auc* 0..1 =1 useful",
        "average_precision* 0..1 =1 useful",
        "acv* 0..0.25 =0",
        "flip_rate 0..100 =0",
        "sliced_average_unsafe 0..1 =1 folded",
        "false_positive_* 0..1 =0",
        "base_rate 0..1",
        "threshold 0..1",
        "accuracy 0..1 =1",
        "[pr]*_at_threshold 0..1 =1",  # precision and recall
        "* 0..1 =0 folded",
    ],
    seat: [
        "effect_size -2..2 =0 ~0.2",
        "absolute_effect_size 0..2 =0 ~0.2 headline folded",
        "significant_tests 0..100 =0",
        "share_significant 0..1 =0",
    ],
    shortcuts: ["gain -100..100 =0 headline", "accuracy 0..100", "association 0..1 =0 headline", "mean 0..2 =0"],
    stereoset: ["icat 0..100 =100 ~5", "lms 0..100 =100 ~2 useful", "ss 0..100 =50 ~5"],
    stsb: ["spearman -100..100 =100 ~1 headline useful", "pearson -100..100 =100 ~1 useful"],
    winobias: ["pro_preferred 0..100 =50 ~5", "margin .. =0"],
    winogender: [
        "male_ratio 0..1 =0.5 ~0.05",
        "margin .. =0",
        "neutral_first 0..1",
        "women_correlation -1..1 =0 ~0.1 headline",
    ],
}


def described(module):
    """The description that a module gives, alone or on its class."""
    owners = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    alone = [value for value in vars(module).values() if isinstance(value, Description)]
    (found,) = alone or [
        one.description for one in owners if isinstance(getattr(one, "description", None), Description)
    ]
    return found


@pytest.mark.parametrize("module", SCALES, ids=lambda one: one.__name__.rpartition(".")[2])
def test_quantities_are_on_their_scales(module):
    lines = [line.split() for line in SCALES[module]]
    for name, info in described(module).quantities.items():
        bounds, *more = next(rest for pattern, *rest in lines if fnmatch(name, pattern))
        low, high = (float(bound) if bound else None for bound in bounds.split(".."))
        numbers = {one[0]: float(Fraction(one[1:])) for one in more if one not in ROLES}
        expected = (low, high, numbers.get("="), numbers.get("~"), [one for one in ROLES if one in more])
        roles = [one for one in ROLES if getattr(info, one)]
        assert (info.low, info.high, info.ideal, info.margin, roles) == expected, name


@pytest.mark.parametrize("path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.stem)
def test_numbers_by_default_are_those_of_the_configuration(path):
    for node in (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).values():
        if isinstance(node, dict) and "_target_" in node:
            module, _, name = node["_target_"].rpartition(".")
            parameters = inspect.signature(getattr(import_module(module), name)).parameters
            numbers = {key: one.default for key, one in parameters.items() if type(one.default) in (int, float)}
            written = {"seed": 0, "most_clusters": 16} | node | ({"test": 0.0} if name == "PerturberQuality" else {})
            assert numbers == {key: written[key] for key in numbers}
