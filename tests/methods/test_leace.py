import copy

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from fairlab.methods.leace import LEACE, eraser
from fairlab.types import FairlabError
from tests.methods.test_sentence_debias import make_data

SETTINGS = {"covariance": "within", "neutral": False, "ridge": 0.0, "seed": 0}


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_in_the_plane_by_hand(ridge):
    # Means differ along d = (1, 0): the matrix that erases d and is least under the covariance S is I - d d^T S^-1 / c,
    # where c = d^T S^-1 d. The ridge is added to S, in units of its mean eigenvalue.
    deviations = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [0.0, 2.0], [0.0, -2.0]])
    versions = torch.stack([deviations + torch.tensor([1.0, 0.0]), deviations - torch.tensor([1.0, 0.0])], dim=1) / 10
    matrix, erased = eraser(versions, within=False, ridge=ridge)
    flat = versions.flatten(0, 1).double()
    covariance = flat.T @ flat / len(flat)
    covariance += ridge * covariance.trace() / 2 * torch.eye(2)
    direction = torch.linalg.solve(covariance, torch.tensor([1.0, 0.0], dtype=torch.float64))
    expected = (
        torch.eye(2, dtype=torch.float64) - torch.outer(torch.tensor([1.0, 0.0]).double(), direction) / direction[0]
    )
    torch.testing.assert_close(matrix, expected.float())
    assert erased == 1
    # Within groups, the versions differ along d alone.
    within, _ = eraser(versions, within=True, ridge=0.0)
    torch.testing.assert_close(within, torch.tensor([[0.0, 0.0], [0.0, 1.0]]))


def correlated(groups, attributes, seed, width=8):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(width, width))
    content = rng.normal(size=(groups, 1, width)) @ mixing
    noise = 0.3 * rng.normal(size=(groups, attributes, width)) @ mixing
    return content + noise + 0.5 * np.random.default_rng(9).normal(size=(attributes, width))


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize(("attributes", "ridge"), [(2, 0.0), (3, 0.1)])
def test_no_linear_classifier_beats_a_constant_on_the_groups(within, attributes, ridge):
    versions = correlated(300, attributes, 0)
    matrix, erased = eraser(torch.from_numpy(versions), within=within, ridge=ridge)
    after = versions @ matrix.double().numpy().T
    assert erased == attributes - 1
    assert after.mean(axis=0) == pytest.approx(np.tile(after.mean(axis=(0, 1)), (attributes, 1)), abs=1e-5)
    labels = np.tile(np.arange(attributes), 300)
    probe = LogisticRegression(C=1e6, max_iter=2000).fit(after.reshape(900 if attributes == 3 else 600, -1), labels)
    assert np.abs(probe.coef_).max() < 1e-2
    assert (
        LogisticRegression(max_iter=2000)
        .fit(versions.reshape(len(labels), -1), labels)
        .score(versions.reshape(len(labels), -1), labels)
        > 1 / attributes + 0.2
    )


def test_of_all_linear_changes_it_is_the_smallest_in_its_own_metric():
    versions = torch.from_numpy(correlated(300, 2, 1))
    matrix, _ = eraser(versions, within=False, ridge=0.0)
    flat = versions.flatten(0, 1)
    centred = flat - flat.mean(dim=0)

    def change(one):
        return ((centred @ (one - torch.eye(8, dtype=torch.float64)).T) ** 2).sum()

    difference = (versions[:, 0] - versions[:, 1]).mean(dim=0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        along = torch.randn(8, generator=generator, dtype=torch.float64)
        rival = torch.eye(8, dtype=torch.float64) - torch.outer(difference, along) / (along @ difference)
        assert (rival @ difference).norm() < 1e-8
        assert change(matrix.double()) < change(rival)


def test_the_encoder_gets_the_matrix_and_keeps_it_in_its_export(tiny, tmp_path):
    from fairlab.backbones.loading import load_backbone

    data = make_data(tiny, tmp_path, count=30)
    texts = [text for group in data.groups["train"] for text in group.texts]
    versions = tiny.embed(texts).unflatten(0, (-1, 3))
    other = LEACE(copy.deepcopy(tiny), **SETTINGS | {"ridge": 0.01})
    other.fit(data)
    assert other.facts()["dimensions_erased"] == 1  # without the neutral version
    torch.testing.assert_close(other.encoder.projection, eraser(versions[:, 1:], within=True, ridge=0.01)[0])
    method = LEACE(tiny, **SETTINGS | {"covariance": "classes", "neutral": True, "ridge": 0.01})
    method.fit(data)
    assert method.facts()["dimensions_erased"] == 2
    torch.testing.assert_close(tiny.projection, eraser(versions, within=False, ridge=0.01)[0])
    assert torch.linalg.matrix_rank(tiny.projection, atol=1e-4) == 30
    method.export(tmp_path / "model", "card")
    again = load_backbone(str(tmp_path / "model"), pooling="mean", normalize=False, max_length=32)
    torch.testing.assert_close(again.embed(texts), tiny.embed(texts), atol=1e-5, rtol=0)


@pytest.mark.parametrize(("variance", "erased"), [(1.5e-8, True), (0.5e-8, False)])
def test_a_direction_with_almost_no_variance_is_left_alone(variance, erased):
    """Versions differ along the second axis by one standard deviation, which is a share of the first one's."""
    deviations = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    shift = torch.tensor([0.0, variance**0.5], dtype=torch.float64)
    versions = torch.stack([deviations + shift, deviations - shift], dim=1)
    if erased:
        torch.testing.assert_close(eraser(versions, within=False, ridge=0.0)[0], torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    else:
        with pytest.raises(FairlabError, match="no direction can be erased"):
            eraser(versions, within=False, ridge=0.0)


def test_bad_input(tiny):
    with pytest.raises(FairlabError, match="this method needs counterfactual groups"):
        LEACE(tiny, **SETTINGS).fit(object())
    with pytest.raises(FairlabError, match="no direction can be erased"):
        eraser(torch.ones(3, 2, 4), within=False, ridge=0.0)
