"""The torchmetrics classes against the functions they stand on, over batches and over processes."""

import json
import math

import numpy as np
import pytest
import torch

from fairlab.benchmarks.crows_pairs import NANGIA, crows_pairs_quantities
from fairlab.data.published.crows_pairs import CrowsPair
from fairlab.metrics.crows_pairs import CrowsPairsScore
from fairlab.metrics.fairscore import FairscoreMetric, fairscore
from fairlab.metrics.stereoset import ICAT, icat, related, stereotyped
from fairlab.metrics.weat import EffectSize, associations, weat_effect_size
from tests.metrics.two_processes import batches, one_of_two, values


def whole(name):
    """All batches of a metric as one."""
    return [torch.cat(part) for part in zip(*batches()[name][1], strict=True)]


def test_effect_size_is_the_functions():
    embeddings, sets = whole("effect size")
    X, Y, A, B = (embeddings[sets == number].numpy() for number in range(4))
    assert values()["effect size"] == pytest.approx(weat_effect_size(associations(X, A, B), associations(Y, A, B)))


def test_icat_is_the_functions_over_unweighted_terms():
    scores, terms = whole("icat")
    shares = [[of(scores[terms == term].numpy()).mean() for term in range(3)] for of in (related, stereotyped)]
    assert values()["icat"] == pytest.approx(float(icat(*map(np.array, shares))))


def test_score_of_crows_pairs_is_the_benchmarks():
    scores = np.array([[-1.0, -2.0], [-3.0, -3.0], [-2.0, -1.0], [-5.0, -6.0], [-1.0, -4.0]])
    pairs = [CrowsPair(str(k), "", "", True, "gender") for k in range(len(scores))]
    metric = CrowsPairsScore()
    metric.update(torch.from_numpy(scores))
    (expected,) = (
        one.value for one in crows_pairs_quantities(NANGIA, ["gender"], pairs, scores) if one.name == "metric_score"
    )
    assert metric.compute().item() == expected == 60


def test_fairscore_is_the_functions():
    original, perturbed = (part.numpy() for part in whole("fairscore"))
    assert values()["fairscore"] == pytest.approx(float(fairscore(original, perturbed, original)))


@pytest.mark.parametrize(
    "metric", [EffectSize(), ICAT(2), CrowsPairsScore(), FairscoreMetric()], ids=lambda one: type(one).__name__
)
def test_nothing_seen_is_nan(metric):
    assert math.isnan(metric.compute().item())


def test_an_effect_size_needs_every_set_and_a_spread():
    metric = EffectSize()
    metric.update(torch.tensor([[1.0, 0], [0, 1], [1, 0]]), torch.tensor([0, 1, 2]))
    assert math.isnan(metric.compute().item())
    metric = EffectSize()
    metric.update(torch.tensor([[1.0, 0], [2, 0], [1, 0], [0, 1]]), torch.tensor([0, 1, 2, 3]))
    assert math.isnan(metric.compute().item())  # both targets are as near


def test_terms_that_were_not_seen_do_not_count():
    metric = ICAT(5)
    metric.update(torch.tensor([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1]]), torch.tensor([3, 3]))
    assert metric.compute().item() == 100


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_see_the_value_of_all_batches(tmp_path):
    torch.multiprocessing.spawn(one_of_two, args=(str(tmp_path),), nprocs=2)
    for rank in range(2):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == pytest.approx(values(), abs=1e-12)
    assert values(0, 2) != pytest.approx(values(), abs=1e-3)  # the halves differ, so it is not one of them
