"""Results of the second study on the benchmarks, from the items in ``records/second``.

    FAIRLAB_DATA=... python -m experiments.ccd.second_results

writes the tables of the page to ``records/second/tables.json``, which takes two minutes, most of them for STS-B.

Seeds and items are resampled together (``experiments/shared/nested_draws.py``), with the same items for all seeds. The
goals are those of the plan in ``second_study.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from experiments.ccd.second import ASSOCIATION_KEPT, ENCODERS, EVEN, GAP_KEPT, LEAKAGE, STS, title
from experiments.ccd.second_measure import GAP_STEPS, ITEMS, STEPS, TESTS, Items, read_items
from experiments.rendering import markdown
from experiments.shared.nested_draws import nested_draws
from fairlab.benchmarks.stsb import spearman_points
from fairlab.data.published.download import locate
from fairlab.data.published.stsb import read_sts
from fairlab.metrics.bootstrap import RESAMPLES, percentile_interval, two_sided_p
from fairlab.metrics.significance import ALPHA, holm

Array = NDArray[np.float64]
PUBLISHED = "ccd_published"
PROBES = ("linear", "kernel", "neural")
VERSIONS = ("man", "woman")
ONE_SIDED = (5, 95)  # bounds, in per cent, of the tests of equivalence and non-inferiority
MEASURES = ("CCED gap", "SEAT", "Bias-IR deviation", "leakage")


@cache
def human_scores() -> Array:
    """Return the similarity that people gave each pair of STS-B's development set."""
    return np.array([pair.score for pair in read_sts(locate("glue/STS-B/dev.tsv"))])


@dataclass(frozen=True)
class Result:
    """Items of one combination of methods on one encoder; the first axis of each array is the seed.

    Attributes:
        encoder: Name of the encoder.
        name: Name of the method or of both methods of a sequence.
        items: Items by key, with the seeds stacked.
        before: Result of the encoder itself; None if it is this one.
    """

    encoder: str
    name: str
    items: Items
    before: Result | None = None

    def values(self, key: str) -> Array:
        """Return items that are kept in a smaller form: gaps (S, G), queries (S, Q) or hits (S, G, A, P)."""
        kept, (kind, _, part) = self.items[key], key.partition("_")
        if kind == "hits":
            groups = self.items[f"gap_{part}"].shape[1]
            versions = len(VERSIONS)
            bits = np.unpackbits(kept, axis=1, count=groups * versions * len(PROBES))
            return np.float64(bits.reshape(-1, groups, versions, len(PROBES)))
        return kept / {"gap": GAP_STEPS, "first": 2}[kind]

    @property
    def original(self) -> Result:
        """Result of the encoder before any method."""
        return self.before or self

    def gap_change(self, part: str = "winogender") -> tuple[float, tuple[float, float]]:
        """Return the relative change of the mean CCED gap, and its 95 % interval."""
        now, then = (one.values(f"gap_{part}") for one in (self, self.original))
        return now.mean() / then.mean() - 1, percentile_interval(nested_draws(now) / nested_draws(then) - 1)

    @property
    def seat(self) -> float:
        """Mean absolute effect size of SEAT's tests, averaged over seeds."""
        return float(np.abs(np.float64(self.items["effects"])).mean())

    @property
    def astray(self) -> list[str]:
        """Names of SEAT's tests whose mean effect grew, or turned over and is significant with some seed.

        P-values are adjusted by Holm's method over the six tests of a seed.
        """
        now, then = (np.float64(one.items["effects"]).mean(axis=0) for one in (self, self.original))
        significant = np.stack([holm(p) < ALPHA for p in np.float64(self.items["effects_p"])])
        reversed_now = np.sign(self.items["effects"]) == -np.sign(then)
        turned = (now * then < 0) & (significant & reversed_now).any(axis=0)
        grown = (now * then > 0) & (np.abs(now) > np.abs(then))
        return [test for test, one in zip(TESTS, grown | turned, strict=True) if one]

    @cached_property
    def men_first(self) -> tuple[float, tuple[float, float]]:
        """Share of queries with the man's document first, and its 90 % interval."""
        first = self.values("first")
        low, high = np.percentile(nested_draws(first), ONE_SIDED)
        return float(first.mean()), (float(low), float(high))

    def leakage(self, part: str = "embedded") -> dict[str, tuple[float, tuple[float, float]]]:
        """Return each probe's accuracy and its 95 % interval."""
        hits = self.values(f"hits_{part}").mean(axis=2)  # (S, G, P)
        of_probe = zip(PROBES, np.moveaxis(hits, 2, 0), strict=True)
        return {name: (float(one.mean()), percentile_interval(nested_draws(one))) for name, one in of_probe}

    @cached_property
    def sts_draws(self) -> Array:
        """Bootstrap draws (2,000,) of STS-B's correlation times 100, over seeds and pairs."""
        return spearman_draws(self.items["pairs"])

    @cached_property
    def sts(self) -> float:
        """STS-B's correlation times 100, averaged over seeds."""
        return float(np.mean([spearman_points(one / STEPS, human_scores()) for one in self.items["pairs"]]))

    @cached_property
    def sts_change(self) -> tuple[float, tuple[float, float]]:
        """Change of STS-B's correlation times 100, and its 90 % interval."""
        low, high = np.percentile(self.sts_draws - self.original.sts_draws, ONE_SIDED)
        return self.sts - self.original.sts, (float(low), float(high))

    @cached_property
    def goals(self) -> list[str]:
        """Names of the goals that are reached, in the order of the plan."""
        low, high = self.men_first[1]
        reached = {
            "gap": self.gap_change()[0] <= GAP_KEPT - 1,
            "associations": self.seat <= ASSOCIATION_KEPT * self.original.seat and not self.astray,
            "order": max(abs(low - 0.5), abs(high - 0.5)) < EVEN,
            "leakage": self.leakage()["linear"][0] <= LEAKAGE,
            "STS-B": self.sts_change[1][0] > -STS,
        }
        return [name for name, holds in reached.items() if holds]

    @property
    def losses(self) -> tuple[float, float, float, float]:
        """Leakage, SEAT, distance from an even order, and loss on STS-B: for the frontier, less is better."""
        return self.leakage()["linear"][0], self.seat, abs(self.men_first[0] - 0.5), -self.sts_change[0]

    @property
    def measures(self) -> tuple[float, float, float, float]:
        """Values of :data:`MEASURES`."""
        gap, leaked = self.values("gap_winogender").mean(), self.values("hits_embedded")[..., 0].mean()
        return float(gap), self.seat, self.deviation, float(leaked)

    @property
    def deviation(self) -> float:
        """Distance from one half of the share of men's documents, averaged over Bias-IR's categories and seeds."""
        category, first = self.items["categories"][0], self.values("first")
        of_category = [[one[category == k].mean() for k in np.unique(category)] for one in first]
        return float(np.abs(np.array(of_category) - 0.5).mean())


def spearman_draws(pairs: NDArray[np.int16], seed: int = 0) -> Array:
    """Return bootstrap draws (2,000,) of the mean correlation over seeds and pairs, times 100.

    Args:
        pairs: Cosines of each pair for each seed, (S, N), in steps.
        seed: Seed of the resampling, which is the same for all encoders.
    """
    rng, scores = np.random.default_rng(seed), human_scores()
    runs, number = pairs.shape
    different = len(np.unique(pairs, axis=0)) > 1
    draws = np.empty(RESAMPLES)
    for k in range(RESAMPLES):
        of_runs, of_pairs = rng.integers(runs, size=runs), rng.integers(number, size=number)
        rows = np.unique(of_runs, return_counts=True) if different else (np.array([0]), np.array([runs]))
        values = [spearman_points(pairs[row, of_pairs], scores[of_pairs]) for row in rows[0]]
        draws[k] = np.average(values, weights=rows[1])
    return draws


@cache
def results() -> list[Result]:
    """Return all results, by encoder, in the order of their measurement."""
    found = []
    for encoder in ENCODERS:
        every = read_items(encoder)
        names = {key.split("/")[0] for key in every}
        if not names:
            continue
        of_name = {name: stacked(every, name) for name in sorted(names, key=order)}
        original = Result(encoder, "none", of_name.pop("none"))
        found += [original, *(Result(encoder, name, items, original) for name, items in of_name.items())]
    return found


def order(name: str) -> tuple[int, str]:
    """Return the place of a combination on the page: the encoder, single methods, then sequences."""
    return (name != "none") + ("+" in name), name


def stacked(every: Mapping[str, NDArray], name: str) -> Items:
    """Return the items of a combination with the seeds stacked."""
    seeds, keys = (sorted({key.split("/")[k] for key in every if key.split("/")[0] == name}) for k in (1, 2))
    return {key: np.stack([every[f"{name}/{seed}/{key}"] for seed in seeds]) for key in keys}


def words(name: str) -> str:
    """Return the name of a combination on the page."""
    return {"none": "none", PUBLISHED: "CCD as published"}.get(name) or title(name)


def signed(value: float, bounds: tuple[float, float], form: str) -> str:
    """Return a change with its interval."""
    return f"{value:{form}} [{bounds[0]:{form}}, {bounds[1]:{form}}]"


def goals_table() -> str:
    """Return what the benchmarks read of each combination, and the goals that it reaches."""
    header = [
        "encoder",
        "method",
        "seeds",
        "goals",
        "change in the gap",
        "SEAT",
        "SEAT's tests with a larger or reversed effect",
        "man's document first",
        "linear, kernel and neural probe",
        "the same on Winogender",
        "change on STS-B",
        "goals reached",
    ]
    return markdown(header, [cells(one) for one in results()])


def cells(one: Result) -> list[str]:
    """Return the row of a combination."""
    share, (low, high) = one.men_first
    probes = [one.leakage(part) for part in ("embedded", "winogender")]
    return [
        one.encoder,
        words(one.name),
        str(len(one.items["effects"])),
        str(len(one.goals)),
        signed(*one.gap_change(), "+.0%"),
        f"{one.original.seat:.2f} to {one.seat:.2f}",
        ", ".join(one.astray) or "none",
        f"{share:.2f} [{low:.2f}, {high:.2f}]",
        *(", ".join(f"{found[name][0]:.2f}" for name in PROBES) for found in probes),
        signed(*one.sts_change, "+.2f"),
        ", ".join(one.goals) or "none",
    ]


def frontier() -> str:
    """Return the combinations of each encoder that no other equals or beats on all four losses and beats on one."""
    rows = []
    for encoder in ENCODERS:
        some = [one for one in results() if one.encoder == encoder]
        losses = [one.losses for one in some]
        for one, mine in zip(some, losses, strict=True):
            if not any(dominates(other, mine) for other in losses):
                leak, seat, uneven, lost = mine
                rows.append([encoder, words(one.name), f"{leak:.2f}", f"{seat:.2f}", f"{uneven:.2f}", f"{-lost:+.2f}"])
    return markdown(["encoder", "method", "leakage", "SEAT", "distance from an even order", "change on STS-B"], rows)


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether losses are nowhere larger than others and smaller at least once."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def agreement() -> str:
    """Return Spearman's correlation of each two measures over all combinations of both encoders, with intervals."""
    values = np.array([one.measures for one in results()])
    rng = np.random.default_rng(0)
    places = rng.integers(len(values), size=(RESAMPLES, len(values)))
    rows = []
    for a, b in combinations(range(len(MEASURES)), 2):
        draws = [spearmanr(values[some, a], values[some, b]).statistic for some in places]
        low, high = percentile_interval(draws)
        value = spearmanr(values[:, a], values[:, b]).statistic
        rows.append([MEASURES[a], MEASURES[b], f"{value:.2f} [{low:.2f}, {high:.2f}]", str(len(values))])
    return markdown(["measure", "measure", "correlation of ranks", "encoders"], rows)


def paired(one: Result, other: Result) -> dict[str, tuple[float, tuple[float, float], float]]:
    """Return six differences between two results on the same items, with 95 % intervals and p-values."""

    def of_items(key: str) -> tuple[float, tuple[float, float], float]:
        now, then = (values_of(result, key) for result in (one, other))
        draws = nested_draws(now - then)
        return float((now - then).mean()), percentile_interval(draws), two_sided_p(draws)

    draws = one.sts_draws - other.sts_draws
    found = {name: of_items(key) for name, key in PAIRED.items()}
    return found | {"STS-B": (one.sts - other.sts, percentile_interval(draws), two_sided_p(draws))}


PAIRED = {
    "gap, Winogender": "gap_winogender",
    "gap, embedded groups": "gap_embedded",
    "man's document first": "first",
    "linear probe, embedded groups": "hits_embedded",
    "linear probe, Winogender": "hits_winogender",
}


def values_of(result: Result, key: str) -> Array:
    """Return the value (S, N) of each item that the comparison with CCD is made on."""
    values = result.values(key)
    return values[..., 0].mean(axis=2) if key.startswith("hits") else values


def leading_result() -> str:
    """Return the name of the combination with the most goals on both encoders; among equals, with the lower SEAT."""
    of_name: dict[str, list[Result]] = {}
    for one in results():
        of_name.setdefault(one.name, []).append(one)
    return min(of_name, key=lambda name: order_of_goals(of_name[name]))


def order_of_goals(some: Sequence[Result]) -> tuple[int, float]:
    """Return minus the number of goals over encoders, and the mean of SEAT."""
    return -sum(len(one.goals) for one in some), float(np.mean([one.seat for one in some]))


def against_published() -> str:
    """Return the leading combination minus CCD as published, with Holm's method over all comparisons."""
    found = []
    for encoder in ENCODERS:
        of_name = {one.name: one for one in results() if one.encoder == encoder}
        if of_name:
            differences = paired(of_name[leading_result()], of_name[PUBLISHED])
            found += [(encoder, name, *values) for name, values in differences.items()]
    adjusted = holm([one[-1] for one in found])
    rows = [
        [encoder, name, signed(value, bounds, "+.3f"), f"{p:.3f}"]
        for (encoder, name, value, bounds, _), p in zip(found, adjusted, strict=True)
    ]
    return markdown(["encoder", "reading", "difference", "p, adjusted by Holm"], rows)


TABLES = {
    "goals": goals_table,
    "frontier": frontier,
    "agreement": agreement,
    "against_published": against_published,
}


@cache
def kept() -> dict[str, str]:
    """Return the tables of the record by name, and the ``leading`` combination."""
    return dict(json.loads((ITEMS / "tables.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    found = {name: table() for name, table in TABLES.items()} | {"leading": leading_result()}
    (ITEMS / "tables.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
