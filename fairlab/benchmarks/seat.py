"""Sentence encoder association test (SEAT): do sentences of two groups lean to one of two poles?

Source: May et al. 2019, "On Measuring Social Biases in Sentence Encoders"; WEAT: Caliskan et al. 2017. The average of
absolute effect sizes over the tests of a kind of bias: Meade et al. 2022, "An Empirical Survey of the Effectiveness of
Debiasing Techniques for Pre-trained Language Models" (bias-bench).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.data.association import AssociationTest, read_association_test
from fairlab.data.sources import FILES, locate
from fairlab.metrics.association import associations, holm, resampled_effect_sizes, weat_effect_size, weat_p_value
from fairlab.metrics.bootstrap import RESAMPLES, percentile_interval
from fairlab.record import NotRun, Outcome, Reading
from fairlab.types import DataUnavailable, FairlabError

ALPHA = 0.01  # May et al. 2019


@dataclass(frozen=True)
class Result:
    """What one test gives: the associations of X, then Y; effect size with bootstrap draws; p-value."""

    associations: NDArray[np.float64]
    effect_size: float
    draws: NDArray[np.float64]
    p_value: float


class SEAT:
    """Effect sizes and one-sided p-values of association tests.

    Quantities per test: ``effect_size`` (positive: the first targets lean to the first attributes, for the gender
    tests the stereotype), ``p_value`` and ``p_value_holm`` (adjusted for all tests asked). Over all tests, subset
    ``average``: ``absolute_effect_size`` and ``share_significant`` (p < 0.01, not adjusted). A test that cannot be run
    takes ``average`` and ``p_value_holm`` with it: they are over the tests asked or not at all.

    Intervals resample targets; sentences made from one name by several templates are not independent, so intervals
    and p-values are smaller than for as many unrelated sentences. That of ``absolute_effect_size`` stays above 0 even
    where every effect size is 0. The items are each test's associations, X then Y.

    Args:
        tests: ``6b`` is the sentence test ``sent-weat6b``, ``weat6b`` the word test of that name; any other name, such
            as ``religion1`` or ``angry_black_woman_stereotype``, is the sentence test, ``sent-`` before it or not,
            or the file of that very name where there is no such sentence test.
        seed: of permutations and bootstrap; a test's numbers do not depend on the tests beside it.

    Raises:
        FairlabError: there is no such test, or none is given.
    """

    name = "seat"

    def __init__(self, tests: Sequence[str], seed: int = 0) -> None:
        if not tests:
            raise FairlabError('seat needs at least one test, such as "6"')
        names = [str(test).lower() for test in tests]  # a command line gives 6 as a number
        self.files = {name: file_of_test(name) for name in names}
        self.seed = seed

    def measure(self, backbone: Backbone, before: Mapping[str, NDArray[np.float32]] | None = None) -> Outcome:
        """Measure every test; ``before`` is not used, as an effect size has no paired reading."""
        outcome = Outcome()
        tests: dict[str, AssociationTest] = {}
        for subset, file in self.files.items():
            try:
                tests[subset] = read_association_test(locate(file))
            except DataUnavailable as error:
                outcome.not_run.append(NotRun(self.name, subset, str(error)))
        texts = list(dict.fromkeys(text for test in tests.values() for part in test.sets for text in part))
        embeddings = dict(zip(texts, backbone.embed(texts, progress=self.name).double().numpy(), strict=True))
        results: dict[str, Result] = {}
        for subset, test in tests.items():
            try:
                results[subset] = result_of_test(test, embeddings, self.seed)
            except FairlabError as error:
                outcome.not_run.append(NotRun(self.name, subset, str(error)))
        outcome.items = {subset: result.associations.astype(np.float32) for subset, result in results.items()}
        for subset, result in results.items():
            outcome.readings += readings_of_test(subset, result)
        if outcome.not_run:
            missing = ", ".join(entry.subset for entry in outcome.not_run)
            reason = f"not every test was run ({missing}), so there is no average and no p_value_holm"
            outcome.not_run.append(NotRun(self.name, "average", reason))
        else:
            outcome.readings += readings_over_tests(results)
        return outcome


def file_of_test(test: str) -> str:
    """The file of a test, as a name below ``FAIRLAB_DATA``.

    Raises:
        FairlabError: there is no such test.
    """
    stems = [test] if test.startswith("weat") else [f"sent-weat{test}", f"sent-{test}", test]
    for file in (f"seat/{stem}.jsonl" for stem in stems):
        if file in FILES:
            return file
    known = ", ".join(file[len("seat/") : -len(".jsonl")] for file in FILES if file.startswith("seat/"))
    raise FairlabError(f"seat has no test '{test}'; there are 6 for sent-weat6, and by name: {known}")


def result_of_test(test: AssociationTest, embeddings: Mapping[str, NDArray[np.float64]], seed: int) -> Result:
    """Result of a test from the embedding of each of its texts.

    Raises:
        FairlabError: the effect size is undefined.
    """
    X, Y, A, B = (np.stack([embeddings[text] for text in part]) for part in test.sets)
    x, y = associations(X, A, B), associations(Y, A, B)
    # Tests that share their targets resample them alike, so that the interval of the average sees what they share.
    draws_seed = [seed, zlib.crc32("\n".join([*test.targ1, "", *test.targ2]).encode())]
    return Result(
        associations=np.concatenate([x, y]),
        effect_size=weat_effect_size(x, y),
        draws=resampled_effect_sizes(x, y, RESAMPLES, np.random.default_rng(draws_seed)),
        p_value=weat_p_value(x, y, np.random.default_rng(seed)),
    )


def readings_of_test(subset: str, result: Result) -> list[Reading]:
    """Readings of one test by itself."""
    n = len(result.associations)
    size, p = result.effect_size, result.p_value
    return [
        Reading(SEAT.name, subset, "effect_size", size, "effect size", 0.0, n, *percentile_interval(result.draws)),
        Reading(SEAT.name, subset, "p_value", p, "p-value", None, n, math.nan, math.nan),
    ]


def readings_over_tests(results: Mapping[str, Result]) -> list[Reading]:
    """Readings that need every test: adjusted p-values and averages."""
    p_values = np.array([result.p_value for result in results.values()])
    sizes = np.array([result.effect_size for result in results.values()])
    bounds = percentile_interval(np.abs([result.draws for result in results.values()]).mean(axis=0))
    n, unit, no_bounds = len(results), "effect size", (math.nan, math.nan)
    size, share = float(np.abs(sizes).mean()), float((p_values < ALPHA).mean())
    return [
        *(
            Reading(SEAT.name, subset, "p_value_holm", float(p), "p-value", None, len(result.associations), *no_bounds)
            for (subset, result), p in zip(results.items(), holm(p_values), strict=True)
        ),
        Reading(SEAT.name, "average", "absolute_effect_size", size, unit, 0.0, n, *bounds, headline=True),
        Reading(SEAT.name, "average", "share_significant", share, "share of tests", 0.0, n, *no_bounds),
    ]
