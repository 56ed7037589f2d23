"""Comparison of the likelihoods of counterfactual versions, or of user-defined sentence pairs.

Sentences are scored as in CrowS-Pairs; see :class:`fairlab.benchmarks.crows_pairs.CrowSPairs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.benchmarks.crows_pairs import (
    CITATION,
    NANGIA,
    crows_pairs_quantities,
    hit_rate,
    ratio_percent,
    scores,
    texts_to_score,
)
from fairlab.benchmarks.crows_pairs import QUANTITIES as CROWS_PAIRS
from fairlab.benchmarks.group_sets import held_out_groups, refuse_same_names, set_name
from fairlab.benchmarks.readings import Items, Quantity, cut_notes, evenly, outcome, quantity, variant
from fairlab.benchmarks.scales import even_percent, even_points, percent
from fairlab.data.published.crows_pairs import CrowsPair, read_crows_pairs
from fairlab.metrics.crows_pairs import is_scored, more_likely
from fairlab.metrics.significance import holm, sign_test_p
from fairlab.protocols import Benchmark
from fairlab.record import Note, Outcome
from fairlab.types import PERSIST, DataUnavailable, Description, Group

PAIRS = ".csv"
Scores = Mapping[str, NDArray[np.floating]]  # scores (N, 2) by name of the pair of attributes


class LikelihoodPairs(Benchmark):
    """Preference of a masked or causal LM for one of two versions of a text, which differ in their attribute.

    In a set of groups, every pair of attributes is compared. Quantities of each set:

    - ``likelier_A_than_B``: Percentage of groups in which the version of A scores higher than that of B; ties count as
      not higher. Ideal: 50. The p-value of the sign test is adjusted for all pairs of the set.
    - ``ties_A_and_B``: Percentage of groups in which both versions score the same.
    - ``distance_from_even``: Distance of the percentage from 50. Ideal: 0. With three or more attributes, it is called
      ``distance_from_even_all_pairs`` and is the mean over all pairs. Chance alone makes it larger than 0; the interval
      does not correct for this.

    For a file of pairs, the quantities are the same as in CrowS-Pairs, per bias type, with the subset ``FILE_TYPE``.

    Items (N, 2): scores of each pair of attributes or of each bias type, by set.

    Args:
        sets: Files of counterfactual groups, from which the split ``test`` is used, or all groups if there are no
            splits; or ``.csv`` files with the columns of CrowS-Pairs (``sent_more``, ``sent_less``,
            ``stereo_antistereo``, ``bias_type``). A training run adds the groups that it holds out.
        protocol: Scoring rule of a sentence: ``nangia`` scores the tokens that both versions share, ``meade`` the
            tokens that differ.
        limit: Maximum number of groups per set, or of pairs per bias type; None for all.

    Attributes:
        own: Groups of additional sets, by the name of the set.

    Raises:
        FairlabError: The protocol is unknown, or two sets have the same name.
    """

    version: ClassVar[int] = 1
    description = Description(
        "likelihood_pairs",
        "Pairs",
        "Does a language model find the version with one attribute likelier than the version with another?",
        {
            "distance_from_even": even_points(
                "distance from an even choice",
                "distance from 50 of the share of groups whose first version is likelier (0 is fair)",
                folded=True,
            ),
            "distance_from_even_all_pairs": even_points(
                "distance from an even choice, all pairs",
                "distance from 50 of the share of groups whose first version is likelier, mean over all pairs "
                "(0 is fair)",
                folded=True,
            ),
            "likelier_*": even_percent(
                "likelier: {}", "groups in which the version named first is likelier than the other (50 is fair)"
            ),
            "ties_*": percent("ties: {}", "groups whose two versions are equally likely"),
            **CROWS_PAIRS,
        },
        topic=PERSIST,
        citation=CITATION,
        needs=("token_log_probabilities",),
    )

    def __init__(
        self, sets: Sequence[str] = (), protocol: Literal["nangia", "meade"] = "nangia", limit: int | None = None
    ) -> None:
        self.sets = list(sets)
        self.protocol = protocol
        self.limit = limit
        self.own: dict[str, list[Group]] = {}
        self.description = variant(self.description, protocol, default=(NANGIA,))
        refuse_same_names(self.sets)

    @property
    def measured_axes(self) -> dict[str, frozenset[str]]:
        """Return the axes of every available set, by its name in results. The axes of pairs are their bias types."""
        found: dict[str, frozenset[str]] = {}
        for name in [*self.sets, *self.own]:
            with suppress(DataUnavailable):
                if name.endswith(PAIRS):
                    found |= {f"{set_name(name)}_{kind}": frozenset({kind}) for kind in self._pairs(name)}
                else:
                    found[set_name(name)] = frozenset(group.axis for group in self._groups(name))
        return found

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure every set. ``before`` holds the ``items`` of an earlier measurement."""
        if not (self.sets or self.own):
            raise DataUnavailable(
                "there are no pairs to measure; give benchmark.likelihood_pairs.sets=[FILE], or train on groups"
            )
        scorer = likelihood(backbone)
        found: list[Quantity] = []
        earlier: list[Quantity] = []
        items: dict[str, NDArray[np.floating]] = {}
        notes: list[Note] = []
        for name in [*self.sets, *self.own]:
            subset, of_pairs = set_name(name), name.endswith(PAIRS)
            pairs = self._pairs(name) if of_pairs else self._versions(name)
            scored: dict[str, NDArray[np.floating]] = {}
            for kind, rows in pairs.items():
                texts, said = texts_to_score(self.name, self.protocol, rows, backbone)
                scored[kind] = scores(scorer, self.protocol, rows, texts, progress=f"{self.name} {subset}")
                notes += [note for note in said if note not in notes]
            items |= {f"{subset}/{kind}": values for kind, values in scored.items()}
            then = {kind: before[f"{subset}/{kind}"] for kind in pairs if before and f"{subset}/{kind}" in before}
            if of_pairs:
                found += self._quantities_of_types(subset, pairs, scored)
                earlier += self._quantities_of_types(subset, pairs, then)
            else:
                found += quantities_of_attributes(subset, scored)
                earlier += quantities_of_attributes(subset, then) if len(then) == len(pairs) else []
        notes += cut_notes(self.name, scorer.cut, scorer.max_length)
        return outcome(self.description, found, earlier, items=items, notes=notes)

    def _groups(self, name: str) -> list[Group]:
        return evenly(self.own[name] if name in self.own else held_out_groups(name), self.limit)

    def _versions(self, name: str) -> dict[str, list[CrowsPair]]:
        """Return both versions of every group, by pair of attributes."""
        groups = self._groups(name)
        return {
            f"{one}_than_{other}": [
                CrowsPair(group.id, group.versions[one], group.versions[other], True, group.axis) for group in groups
            ]
            for one, other in combinations(groups[0].attributes, 2)
        }

    def _pairs(self, name: str) -> dict[str, list[CrowsPair]]:
        """Return the pairs of a file, by bias type."""
        if not Path(name).is_file():
            raise DataUnavailable(f"{name} is not a file; give pairs in the columns of CrowS-Pairs")
        found: dict[str, list[CrowsPair]] = {}
        for pair in read_crows_pairs(Path(name), types=None):
            found.setdefault(pair.bias_type, []).append(pair)
        return {kind: evenly(pairs, self.limit) for kind, pairs in found.items()}

    def _quantities_of_types(
        self, subset: str, pairs: Mapping[str, Sequence[CrowsPair]], scored: Scores
    ) -> list[Quantity]:
        return [
            replace(one, subset=f"{subset}_{kind}")
            for kind, values in scored.items()
            for one in crows_pairs_quantities(self.protocol, [kind], pairs[kind], values)
        ]


def quantities_of_attributes(subset: str, scored: Scores) -> list[Quantity]:
    """Return the quantities of a set of groups from the scores (N, 2) of each pair of attributes."""
    p_values = [sign_test_p(int((a > b).sum()), int((a < b).sum())) for a, b in (one.T for one in scored.values())]
    found: list[Quantity] = []
    shares: list[NDArray[np.bool_]] = []
    for (kind, values), p, p_holm in zip(scored.items(), p_values, holm(p_values), strict=True):
        first, second = values.T
        counted, hit = is_scored(values), more_likely(values)
        shares += [hit, counted]
        of = partial(hit_rate, among=counted, items=counted, subset=subset)
        found.append(of(hit, name=f"likelier_{kind}", p=p, p_holm=float(p_holm)))
        found.append(of(counted & (first == second), name=f"ties_{kind.replace('_than_', '_and_')}"))
    name = "distance_from_even" if len(scored) == 1 else "distance_from_even_all_pairs"
    one_test = (
        p_values[0] if len(scored) == 1 else None
    )  # pairs of more than two attributes share texts, so they are tested separately
    return [quantity(_from_even, *shares, subset=subset, name=name, p=one_test), *found]


def _from_even(*shares: NDArray[np.floating], axis: int) -> NDArray[np.floating]:
    """Return the mean distance of percentages from 50, from arguments that alternate between hits and totals."""
    distances = [
        np.abs(ratio_percent(hits, among, axis) - 50) for hits, among in zip(shares[::2], shares[1::2], strict=True)
    ]
    return np.asarray(np.mean(distances, axis=0))
