"""Sentence encoder association test (SEAT): are two sets of sentences associated with different attributes?

Source: May et al. 2019, "On Measuring Social Biases in Sentence Encoders"; WEAT: Caliskan et al. 2017. The average of
absolute effect sizes over the tests of a kind of bias: Meade et al. 2022, "An Empirical Survey of the Effectiveness of
Debiasing Techniques for Pre-trained Language Models" (bias-bench).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.readings import Items, Quantity, evenly, outcome
from fairlab.benchmarks.scales import percent, ratio
from fairlab.data.association_tests import is_file_of_tests, read_own_tests
from fairlab.data.published.download import FILES, locate
from fairlab.data.published.seat import AssociationTest, read_association_test, word_within
from fairlab.metrics.bootstrap import RESAMPLES
from fairlab.metrics.permutation_test import exceeding_p, shuffled_effect_sizes, weat_p_value
from fairlab.metrics.significance import holm, wilson_interval
from fairlab.metrics.weat import associations, resampled_effect_sizes, weat_effect_size
from fairlab.protocols import Benchmark
from fairlab.record import NotRun, Outcome
from fairlab.types import PERSIST, DataUnavailable, Description, FairlabError, QuantityInfo

ALPHA = 0.01  # May et al. 2019
NUMBER = re.compile(r"(?:weat)?(\d+)b?$")  # 6, 6b, weat6b
AXES = {3: "race", 4: "race", 5: "race", 6: "gender", 7: "gender", 8: "gender", 9: "disability", 10: "age"}
Array = NDArray[np.float64]
_effect = partial(QuantityInfo, unit="effect size", ideal=0.0, high=2.0, margin=0.2)
CITATION = """\
@inproceedings{may2019measuring,
  title = {On Measuring Social Biases in Sentence Encoders},
  author = {May, Chandler and Wang, Alex and Bordia, Shikha and Bowman, Samuel R. and Rudinger, Rachel},
  booktitle = {Proceedings of the 2019 Conference of the North American Chapter of the Association for Computational
    Linguistics},
  year = {2019}
}
"""


@dataclass(frozen=True)
class Result:
    """Result of one test: number of targets, effect size with bootstrap draws, p-value, and null distribution."""

    n: int
    effect_size: float
    draws: Array
    p_value: float
    null: Array


class SEAT(Benchmark):
    """Effect sizes and one-sided p-values of association tests.

    Quantity of each test:

    - ``effect_size``: Positive if the first targets are associated with the first attributes, which is the stereotype
      in the gender tests. It has the p-value of the permutation test, and that p-value adjusted for all requested
      tests.

    Quantities of the subset ``average``, over all tests:

    - ``absolute_effect_size``: Mean of the absolute effect sizes.
    - ``significant_tests``: Percentage of tests with p < 0.01, not adjusted. Its interval treats the tests as
      independent.

    If a test cannot be run, ``average`` and adjusted p-values are left out, because they cover all requested tests.

    Intervals resample the targets' names and terms, each with all its sentences, if these words are known. They are
    known for user-defined tests, and for numbered tests from the word test of the same name. Otherwise, sentences are
    resampled. The attributes are not resampled. P-values permute sentences, as in sent-bias. Sentences with the same
    name are not independent, so p-values are smaller than for independent sentences. The interval of
    ``absolute_effect_size`` stays above 0 even if every effect size is 0; its p-value comes from assigning names and
    terms to the targets of all tests at random.

    Items: associations of each test's targets, first for set X, then for set Y.

    Args:
        tests: Names of the tests. ``6b`` is the sentence test ``sent-weat6b``, and ``weat6b`` is the word test. Any
            other name, such as ``religion1`` or ``angry_black_woman_stereotype``, is the sentence test, with or without
            ``sent-`` before it, or the file with exactly that name if there is no such sentence test. A path that ends
            in ``.yaml``, ``.json`` or ``.jsonl`` is a user-defined file, see
            :func:`fairlab.data.association_tests.read_own_tests`. If it has three or more sets of targets, each pair of
            them is a test, ``FILE_TEST_FIRST_vs_SECOND``, and ``average`` is over all pairs.
        seed: Seed for permutations and bootstrap. A test's numbers do not depend on the other tests.
        limit: Maximum number of targets in each of a test's two sets, spread evenly over it; None for all.

    Raises:
        FairlabError: A test does not exist, no test is given, or a user-defined file is invalid.
    """

    version: ClassVar[int] = 2  # 2: intervals resample the targets' words, not their sentences
    description = Description(
        "seat",
        "SEAT",
        "Are sentences about two groups associated with different attributes?",
        {
            "effect_size": _effect(
                "effect size", "association of the targets with the attributes (0 is fair)", low=-2.0
            ),
            "absolute_effect_size": _effect(
                "mean absolute effect size",
                "strength of the associations tested (0 is fair)",
                low=0.0,
                headline=True,
                folded=True,
            ),
            "significant_tests": percent(
                "significant tests", "tests with p below 0.01 (0 is fair)", unit="% of tests", ideal=0.0
            ),
            "share_significant": ratio(  # in records from before the switch to per cent
                "share of significant tests",
                "share of tests with p below 0.01 (0 is fair)",
                unit="share of tests",
                ideal=0.0,
            ),
        },
        topic=PERSIST,
        subsets={"average": "all tests", "*": "test {}"},
        citation=CITATION,
        needs=("embeddings",),
        sources=("seat",),
    )

    @property
    def measured_axes(self) -> dict[str, frozenset[str]]:
        """Return the axes of numbered and user-defined tests. The axes of other tests are unknown.

        Without user-defined tests, the mapping is empty if the axis of any test is unknown.
        """
        numbers = {test: NUMBER.match(test) for test in self.files}
        axes = {test: AXES.get(int(number[1]), "") if number else "" for test, number in numbers.items()} | self.axes
        if not self.own:
            return {"": frozenset(axes.values())} if all(axes.values()) else {}
        return {test: frozenset({axis}) for test, axis in axes.items() if axis}

    def __init__(self, tests: Sequence[str | int], seed: int = 0, limit: int | None = None) -> None:
        if not tests:
            raise FairlabError('seat needs at least one test, such as "6"')
        names = [str(test).lower() for test in tests]  # on a command line, 6 is parsed as a number
        self.files = {name: file_of_test(name) for name in names if not is_file_of_tests(name)}
        self.own: dict[str, AssociationTest] = {}
        self.axes: dict[str, str] = {}
        for file in (str(test) for test in tests if is_file_of_tests(str(test).lower())):
            found = read_own_tests(Path(file))
            if twice := set(found.tests) & {*self.own, *self.files}:
                raise FairlabError(f"two tests of seat have the name '{min(twice)}' in results; rename the file {file}")
            self.own |= found.tests
            self.axes |= dict.fromkeys(found.tests, found.axis)
        self.seed = seed
        self.limit = limit

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure every test. ``before`` holds the ``items`` of an earlier measurement."""
        not_run: list[NotRun] = []
        tests = {subset: self._limited(test) for subset, test in self.own.items()}
        for subset, file in self.files.items():
            try:
                tests[subset] = self._limited(with_words(read_association_test(locate(file)), file))
            except DataUnavailable as error:
                not_run.append(NotRun(self.name, subset, str(error)))
        texts = list(dict.fromkeys(text for test in tests.values() for part in test.sets for text in part))
        embeddings = dict(zip(texts, backbone.embed(texts, progress=self.name).double().numpy(), strict=True))
        items = {subset: associations_of_test(test, embeddings) for subset, test in tests.items()}
        results = {}
        for subset, test in tests.items():
            try:
                results[subset] = result_of_test(test, items[subset], self.seed)
            except FairlabError as error:
                not_run.append(NotRun(self.name, subset, str(error)))
        if not_run:
            missing = ", ".join(entry.subset for entry in not_run)
            reason = f"not every test was run ({missing}), so there is no average and no adjusted p-value"
            not_run.append(NotRun(self.name, "average", reason))
        complete = not not_run
        then = before or {}
        earlier = {name: result_of_test(tests[name], then[name], self.seed) for name in results if name in then}
        found, found_before = seat_quantities(results, complete), seat_quantities(earlier, complete)
        return outcome(self.description, found, found_before, items=items, not_run=not_run)

    def _limited(self, test: AssociationTest) -> AssociationTest:
        targets = [tuple(evenly(part, self.limit)) for part in (test.targ1, test.targ2)]
        word = dict(zip(test.targ1 + test.targ2, test.words, strict=False))
        words = tuple(word[text] for part in targets for text in part) if test.words else ()
        return replace(test, targ1=targets[0], targ2=targets[1], words=words)


def file_of_test(test: str) -> str:
    """Return the path of a test's file, relative to ``FAIRLAB_DATA``.

    Raises:
        FairlabError: The test does not exist.
    """
    stems = [test] if test.startswith("weat") else [f"sent-weat{test}", f"sent-{test}", test]
    for file in (f"seat/{stem}.jsonl" for stem in stems):
        if file in FILES:
            return file
    known = ", ".join(file[len("seat/") : -len(".jsonl")] for file in FILES if file.startswith("seat/"))
    raise FairlabError(f"seat has no test '{test}'; there are numbers, such as 6 for sent-weat6, and names: {known}")


def with_words(test: AssociationTest, file: str) -> AssociationTest:
    """Return a sentence test with its targets' words, if the word test of the same name is available."""
    beside = file.replace("sent-weat", "weat")
    if beside == file or beside not in FILES:
        return test
    try:
        words = read_association_test(locate(beside))
    except DataUnavailable:
        return test
    found = [
        *(word_within(text, words.targ1) for text in test.targ1),
        *(word_within(text, words.targ2) for text in test.targ2),
    ]
    return replace(test, words=tuple(found))


def associations_of_test(test: AssociationTest, embeddings: Mapping[str, Array]) -> Array:
    """Return the associations (|X| + |Y|,) of a test's targets, first for set X, then for set Y."""
    X, Y, A, B = (np.stack([embeddings[text] for text in part]) for part in test.sets)
    return associations(np.concatenate([X, Y]), A, B)


def result_of_test(test: AssociationTest, values: NDArray[np.floating], seed: int) -> Result:
    """Return the result of a test from the associations of its targets, first for set X, then for set Y.

    Raises:
        FairlabError: The effect size is undefined.
    """
    x, y = np.split(values, [len(test.targ1)])
    # Tests with the same targets resample them identically, so that the average's interval reflects their dependence.
    draws_seed = [seed, zlib.crc32("\n".join([*test.targ1, "", *test.targ2]).encode())]
    words = (test.words[: len(x)], test.words[len(x) :]) if test.words else None
    return Result(
        n=len(values),
        effect_size=weat_effect_size(x, y),
        draws=resampled_effect_sizes(x, y, RESAMPLES, np.random.default_rng(draws_seed), words),
        p_value=weat_p_value(x, y, np.random.default_rng(seed)),
        null=np.abs(shuffled_effect_sizes(x, y, np.random.default_rng(draws_seed), words)),
    )


def seat_quantities(results: Mapping[str, Result], complete: bool) -> list[Quantity]:
    """Return the quantities of every test and, if the results are ``complete``, the quantities over all tests."""
    if not results:
        return []
    p_values = np.array([result.p_value for result in results.values()])
    adjusted = holm(p_values) if complete else [None] * len(results)
    of_tests = [
        Quantity(
            subset,
            "effect_size",
            result.effect_size,
            result.draws,
            result.n,
            p=result.p_value,
            p_holm=None if p_holm is None else float(p_holm),
        )
        for (subset, result), p_holm in zip(results.items(), adjusted, strict=True)
    ]
    if not complete:
        return of_tests
    n = len(results)
    significant = p_values < ALPHA
    size = float(np.mean([abs(result.effect_size) for result in results.values()]))
    draws = np.abs([result.draws for result in results.values()]).mean(axis=0)
    null = np.mean([result.null for result in results.values()], axis=0)
    low, high = wilson_interval(significant.sum(), n)
    return [
        *of_tests,
        Quantity("average", "absolute_effect_size", size, draws, n, p=exceeding_p(size, null)),
        Quantity(
            "average",
            "significant_tests",
            100.0 * float(significant.mean()),
            np.full(RESAMPLES, np.nan),
            n,
            interval=(100.0 * low, 100.0 * high),
        ),
    ]
