"""What a measured number is called where people read it: plain words for the keys of ``metrics.json``."""

from __future__ import annotations

import textwrap

from fairlab.record import Comparison, Reading

Named = Reading | Comparison

# How the authors write the names of benchmarks and tasks.
BENCHMARKS = {
    "bias_ir": "Bias-IR",
    "cced": "CCED",
    "cola": "CoLA",
    "crows_pairs": "CrowS-Pairs",
    "db_index": "db-index",
    "fever_symmetric": "FEVER-Symmetric",
    "fever_symmetric_v01": "FEVER-Symmetric v0.1",
    "hans_mnli": "HANS",
    "holistic_bias": "HolisticBias",
    "likelihood_pairs": "Pairs",
    "mb_index": "mb-index",
    "mnli": "MNLI",
    "mrpc": "MRPC",
    "perplexity": "",
    "perturber": "Perturber",
    "polarity": "Polarity",
    "qnli": "QNLI",
    "qqp": "QQP",
    "race": "RACE",
    "rte": "RTE",
    "safety_bias_madlibs": "Bias Madlibs",
    "safety_hatecheck": "HateCheck",
    "safety": "Safety",
    "safety_validation": "Safety (validation folds)",
    "seat": "SEAT",
    "shortcuts": "Shortcuts",
    "snli": "SNLI",
    "sst2": "SST-2",
    "stereoset": "StereoSet",
    "stsb": "STS-B",
    "vitaminc": "VitaminC",
    "winobias": "WinoBias",
    "winogender": "Winogender",
    "wnli": "WNLI",
}
KINDS = ("fairscore", "probe")  # benchmarks that are named after their task: ``rte_fairscore``
SUBSETS = {
    ("bias_ir", "average"): "all categories",
    ("cced", "embedded"): "embedded sentences",
    ("cced", "winogender"): "Winogender sentences",
    ("db_index", "all"): "whole data set",
    ("db_index", "fixed"): "fixed number of clusters",
    ("holistic_bias", "average"): "all axes",
    ("seat", "average"): "all tests",
}
SPLITS = {"dev": "development set", "test": "test set", "train": "training set", "validation": "validation set"}
WHOLE = ("all", "text")  # subsets that need no word
# By benchmark (or kind) and quantity: its name, and what it means. Empty: whatever the benchmark. A ``*`` stands for
# what follows the first ``_``, such as the name of an attribute.
QUANTITIES = {
    ("", "accuracy"): ("accuracy", "examples given the right label (100 is best)"),
    ("", "f1"): ("F1", "F1 of the positive label (100 is best)"),
    ("", "macro_f1"): ("macro-F1", "mean of the labels' F1 (100 is best)"),
    ("", "majority"): ("accuracy of the commonest label", "what giving every example the commonest label reaches"),
    ("", "majority_f1"): ("F1 of the commonest label", "what giving every example the commonest label reaches"),
    ("", "majority_macro_f1"): (
        "macro-F1 of the commonest label",
        "what giving every example the commonest label reaches",
    ),
    ("", "matthews"): ("Matthews correlation", "correlation of predicted and true labels, times 100 (100 is best)"),
    ("", "pearson"): ("Pearson correlation", "correlation with human scores, times 100 (100 is best)"),
    ("", "perplexity"): ("perplexity", "how unlikely each token is to the model, given those before it (1 is best)"),
    ("", "pseudo_perplexity"): (
        "pseudo-perplexity",
        "how unlikely each token is to the model, given all others (1 is best)",
    ),
    ("", "spearman"): ("Spearman correlation", "rank correlation with human scores, times 100 (100 is best)"),
    ("bias_ir", "deviation"): (
        "distance from an even choice",
        "how far the share of queries nearer to the male document lies from one half (0 is fair)",
    ),
    ("bias_ir", "male_ratio"): ("male first", "share of queries nearer to the male document (0.5 is fair)"),
    ("bias_ir", "margin"): ("margin", "mean cosine to the male document less that to the female one (0 is fair)"),
    ("bias_ir", "neutral_first"): ("neutral first", "share of queries nearest to the neutral document (1/3 is fair)"),
    ("bias_ir", "reciprocal_rank"): ("reciprocal rank", "usefulness: how early the relevant document is found"),
    ("cced", "distance"): ("distance to neutral", "mean distance of the versions to the neutral one"),
    ("cced", "distance_*"): ("distance of '{}' to neutral", "mean distance of this version to the neutral one"),
    ("cced", "distance_kept"): ("distance kept", "share of the earlier distance to the neutral version"),
    ("cced", "gap"): ("gap", "difference of the distances of the versions to the neutral one (0 is fair)"),
    ("cced", "gap_all_pairs"): (
        "gap, all pairs",
        "difference of the distances of two versions to the neutral one, mean over all pairs of versions (0 is fair)",
    ),
    ("cced", "gap_all_pairs_kept"): ("gap kept, all pairs", "share of the earlier gap (0: none is left)"),
    ("cced", "gap_all_pairs_over_distance"): (
        "gap over distance, all pairs",
        "gap as a share of the mean distance (0 is fair)",
    ),
    ("cced", "gap_kept"): ("gap kept", "share of the earlier gap (0: none is left)"),
    ("cced", "gap_over_distance"): ("gap over distance", "gap as a share of the mean distance (0 is fair)"),
    ("cced", "direction_cosine"): ("direction kept", "cosine of the direction between attributes to the earlier one"),
    ("cced", "direction_length_kept"): ("length kept", "share of the earlier length of the direction"),
    ("cced", "neutral_cosine"): ("neutral texts kept", "cosine of neutral texts to their earlier embeddings (1: same)"),
    ("crows_pairs", "anti_stereotype_score"): (
        "score, anti-stereotypes",
        "pairs about anti-stereotypes whose more stereotyping sentence is likelier (50 is fair)",
    ),
    ("crows_pairs", "metric_score"): ("score", "pairs whose more stereotyping sentence is likelier (50 is fair)"),
    ("crows_pairs", "skipped"): ("skipped pairs", "pairs in which a sentence has no word of its own to score"),
    ("crows_pairs", "stereotype_score"): (
        "score, stereotypes",
        "pairs about stereotypes whose more stereotyping sentence is likelier (50 is fair)",
    ),
    ("crows_pairs", "ties"): ("ties", "pairs whose sentences are equally likely"),
    ("db_index", "expectation"): ("expectation", "mean cosine of the texts to abusive texts (0 is no similarity)"),
    ("db_index", "over_entries"): ("over entries", "mean cosine to abusive texts, every text counted once"),
    ("db_index", "random_entry"): ("by random entries", "mean cosine to a few abusive texts drawn at random"),
    ("db_index", "spread"): ("spread", "how much it varies with the abusive text compared with"),
    ("db_index", "without_outliers"): ("without outliers", "mean cosine to abusive texts, outliers left out"),
    ("fairscore", "both_correct"): ("right before and after", "changed examples labelled right in both versions"),
    ("fairscore", "fairscore"): ("fairscore", "changed examples whose label differs from the original's (0 is fair)"),
    ("fairscore", "neither_correct"): ("wrong before and after", "changed examples labelled wrong in both versions"),
    ("fairscore", "perturbed"): ("changed examples", "examples in which a person could be changed, of all"),
    ("holistic_bias", "significant_pairs"): (
        "descriptors that differ",
        "pairs of descriptors whose sentences differ in likelihood (0 is fair)",
    ),
    ("likelihood_pairs", "distance_from_even"): (
        "distance from an even choice",
        "how far the share of groups whose first version is likelier lies from 50 (0 is fair)",
    ),
    ("likelihood_pairs", "distance_from_even_all_pairs"): (
        "distance from an even choice, all pairs",
        "how far the shares of groups whose first version is likelier lie from 50, mean over all pairs (0 is fair)",
    ),
    ("likelihood_pairs", "likelier_*"): (
        "likelier: {}",
        "groups in which the version named first is likelier than the other (50 is fair)",
    ),
    ("likelihood_pairs", "ties_*"): ("ties: {}", "groups whose two versions are equally likely"),
    ("mb_index", "mb_index"): ("", "perplexity times stereotype score, per entry tuned on (0 is best)"),
    ("mb_index", "nonsensical"): ("nonsense", "continuations nearest to the unrelated candidate"),
    ("mb_index", "ss"): ("stereotype score by likelihood", "contexts whose stereotype is likelier (50 is fair)"),
    ("mb_index", "stereotype_score"): (
        "stereotype score",
        "stereotypes among the continuations that make sense (the authors' ideal is 0)",
    ),
    ("perturbation", "perturbed"): ("changed rows", "rows in which a person was changed, of all"),
    ("perturber", "bleu"): ("BLEU", "agreement of the rewriting with its reference (100 is best)"),
    ("perturber", "bleu_to_original"): ("BLEU to the original", "agreement of the rewriting with the original text"),
    ("perturber", "exact"): ("exact", "rewritings that equal their reference (100 is best)"),
    ("perturber", "levenshtein"): (
        "edit distance",
        "words in which a rewriting and its reference differ (0 is best)",
    ),
    ("perturber", "perplexity"): ("perplexity", "how unlikely the references are to the model (1 is best)"),
    ("perturber", "perplexity_changed"): (
        "perplexity of changed words",
        "how unlikely those words of the references are to the model that the original has not (1 is best)",
    ),
    ("perturber", "rouge_2"): ("ROUGE-2", "word pairs shared with the reference (100 is best)"),
    ("polarity", "accuracy_*"): ("accuracy, '{}'", "versions whose words show their own attribute (100 is best)"),
    ("polarity", "union_accuracy"): ("union accuracy", "groups all of whose versions show their own attribute"),
    ("probe", "accuracy"): ("accuracy of a linear probe", "examples that a linear classifier on embeddings gets right"),
    ("razor", "association"): ("association with the label", "Cramer's V of negations and labels (0: none)"),
    ("razor", "share"): ("texts with a negation", "share of all texts"),
    ("safety", "acv"): ("counterfactual variance", "variance of a text's score over its versions (0 is fair)"),
    ("safety", "acv_uncalibrated"): (
        "counterfactual variance before calibration",
        "variance of a text's score over its versions (0 is fair)",
    ),
    ("safety", "acv_uncalibrated_change"): (
        "change of counterfactual variance before calibration",
        "per cent of the baseline's (negative is fairer)",
    ),
    ("safety", "acv_change"): ("change of counterfactual variance", "per cent of the baseline's (negative is fairer)"),
    ("safety", "acv_safe"): ("counterfactual variance of safe texts", "variance of a score over versions (0 is fair)"),
    ("safety", "acv_unsafe"): (
        "counterfactual variance of unsafe texts",
        "variance of a score over versions (0 is fair)",
    ),
    ("safety", "acv_safe_change"): (
        "change of counterfactual variance, safe texts",
        "per cent of the baseline's (negative is fairer)",
    ),
    ("safety", "acv_unsafe_change"): (
        "change of counterfactual variance, unsafe texts",
        "per cent of the baseline's (negative is fairer)",
    ),
    ("safety", "average_precision"): ("average precision", "how well scores find unsafe texts (1 is best)"),
    ("safety", "average_precision_change"): ("change of average precision", "per cent of the baseline's"),
    ("safety", "average_precision_counterfactual_change"): (
        "change of average precision with versions",
        "per cent of the baseline's",
    ),
    ("safety", "average_precision_counterfactual"): (
        "average precision with versions",
        "how well scores find unsafe texts, versions among them (1 is best)",
    ),
    ("safety", "equalised_odds_gap"): ("equalised-odds gap", "difference of subgroups in errors (0 is fair)"),
    ("safety", "flip_rate"): ("flip rate", "sets whose versions are judged both safe and unsafe (0 is fair)"),
    ("safety", "largest_gap_safe"): ("largest gap, safe texts", "between the mean scores of two subgroups (0 is fair)"),
    ("safety", "largest_gap_unsafe"): (
        "largest gap, unsafe texts",
        "between the mean scores of two subgroups (0 is fair)",
    ),
    ("safety", "sliced_average_safe"): ("mean score of safe texts", "of one subgroup, beside those of the others"),
    ("safety", "sliced_average_unsafe"): ("mean score of unsafe texts", "of one subgroup, beside those of the others"),
    ("safety", "gain_over_best_source"): ("gain over the best source", "average precision above the best source's"),
    ("seat", "absolute_effect_size"): ("mean absolute effect size", "strength of the associations tested (0 is fair)"),
    ("seat", "effect_size"): ("effect size", "association of the targets with the attributes (0 is fair)"),
    ("seat", "share_significant"): ("share of significant tests", "tests with p below 0.01 (0 is fair)"),
    ("seat", "significant_tests"): ("significant tests", "tests with p below 0.01 (0 is fair)"),
    ("shortcuts", "accuracy"): ("accuracy", "labels that the words of the last field alone give away"),
    ("shortcuts", "association"): ("association with the label", "Cramer's V of negations and labels (0: none)"),
    ("shortcuts", "gain"): ("gain", "accuracy by the words alone, above the commonest label's share (0: no shortcut)"),
    ("shortcuts", "mean"): ("mean shortcut score", "1 less the mean cosine to documents of other labels (0: none)"),
    ("stereoset", "icat"): ("ICAT score", "language modelling and fairness in one (100 is ideal, 50 is guessing)"),
    ("stereoset", "lms"): ("language-modelling score", "meaningful candidates preferred to unrelated (100 is best)"),
    ("stereoset", "ss"): ("stereotype score", "stereotypes preferred to anti-stereotypes (50 is fair)"),
    ("winobias", "margin"): ("margin", "log-likelihood of the stereotypical version less the other's (0 is fair)"),
    ("winobias", "pro_preferred"): (
        "stereotype preferred",
        "pairs whose stereotypical version is likelier (50 is fair)",
    ),
    ("winogender", "male_ratio"): ("male first", "sentences in which 'he' is likelier than 'she' (0.5 is fair)"),
    ("winogender", "margin"): ("margin", "log-likelihood of 'he' less that of 'she' (0 is fair)"),
    ("winogender", "neutral_first"): ("neutral first", "sentences in which 'they' is likeliest"),
    ("winogender", "women_correlation"): (
        "correlation with employment",
        "how closely pronouns follow the share of women in an occupation (0 is fair)",
    ),
}


def title(named: Named) -> str:
    """A short name in words.

    Example:
        >>> title(Reading("cced", "embedded", "gap", 0.1, "", 0.0, 9, 0.0, 0.2))
        'CCED gap, embedded sentences'
        >>> title(Reading("crows_pairs@meade", "race_color", "ties", 0.1, "", None, 9, 0.0, 0.2))
        'CrowS-Pairs (meade) ties, race color'
    """
    benchmark, task, variant = _parts(named.benchmark)
    name = BENCHMARKS.get(task, task.replace("_", " "))
    what = _words(benchmark, named.quantity)[0]
    said = f"{name} ({variant.replace('_', ' ')})" if variant else name
    return ", ".join(filter(None, (f"{said} {what}".strip(), _subset(benchmark, named.subset))))


def meaning(named: Named) -> str:
    """What the number says, and which value is fair or best; empty where nothing more is known than the title."""
    benchmark, _, _ = _parts(named.benchmark)
    return _words(benchmark, named.quantity)[1]


def key(named: Named) -> str:
    """Benchmark, subset and quantity, as in ``metrics.json`` but for the phase."""
    return f"{named.benchmark}/{named.subset}/{named.quantity}"


def titled(column: str) -> str:
    """What the key of a reading is called, without its phase; what is no such key stays as it is.

    Example:
        >>> titled("seat/6b/effect_size")
        'SEAT effect size, test 6b'
    """
    found = bare(column)
    return column if found is None else title(found)


def bare(column: str) -> Reading | None:
    """A reading that has nothing but its key, to be named; None where the key is none."""
    parts = column.split("/")
    return Reading(parts[0], parts[1], parts[2], 0.0, "", None, 0, 0.0, 0.0) if len(parts) == 3 else None


def wrapped(text: str, width: int = 26) -> str:
    """A title in short lines, for a figure."""
    return "<br>".join(textwrap.wrap(text, width))


def _parts(benchmark: str) -> tuple[str, str, str]:
    """The benchmark that phrases are found by, the name to print, and a protocol that is not the default."""
    name, _, variant = benchmark.partition("@")
    for kind in KINDS:
        if name.endswith(f"_{kind}"):
            return kind, name.removesuffix(f"_{kind}"), variant
    return "safety" if name.startswith("safety_") else name, name, variant


def _words(benchmark: str, quantity: str) -> tuple[str, str]:
    stem, _, rest = quantity.partition("_")
    for found in ((benchmark, quantity), ("", quantity)):
        if found in QUANTITIES:
            return QUANTITIES[found]
    if rest and (benchmark, f"{stem}_*") in QUANTITIES:
        name, said = QUANTITIES[benchmark, f"{stem}_*"]
        return name.format(rest), said
    return quantity.replace("_", " "), ""


def _subset(benchmark: str, subset: str) -> str:
    if (benchmark, subset) in SUBSETS:
        return SUBSETS[benchmark, subset]
    if subset in WHOLE:
        return ""
    if benchmark == "seat":
        return f"test {subset}"
    split, _, part = subset.partition("_")
    if split in SPLITS:
        return ", ".join(filter(None, (SPLITS[split], part.replace("_", " "))))
    return subset.replace("_", " ")
