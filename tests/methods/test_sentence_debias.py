import pytest
import torch

from fairlab.data.counterfactual import CounterfactualData
from fairlab.methods.sentence_debias import SentenceDebias, bias_subspace
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows


def make_data(encoder, folder, count=12):
    path = write_rows(folder / "groups.jsonl", [row(group) for group in make_groups(count)])
    settings = {"validation": 2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    return CounterfactualData(path=path, encoder=encoder, **settings)


def test_in_the_plane_by_hand():
    # Unit vectors (3, 4) / 5 and (-3, 4) / 5, and a stretched pair: their difference lies along the first axis.
    versions = torch.tensor([[[3.0, 4.0], [-3.0, 4.0]], [[-2.0, 14.0], [2.0, 14.0]]])
    directions, explained = bias_subspace(versions, 1)
    torch.testing.assert_close(directions.abs(), torch.tensor([[1.0, 0.0]]))
    assert explained == pytest.approx(1.0)


def test_it_is_the_principal_component_of_centred_pairs():
    from sklearn.decomposition import PCA

    versions = torch.randn(40, 2, 6, generator=torch.Generator().manual_seed(0))
    unit = versions / versions.norm(dim=-1, keepdim=True)
    pca = PCA(n_components=2).fit((unit - unit.mean(dim=1, keepdim=True)).reshape(-1, 6).numpy())
    directions, explained = bias_subspace(versions, 2)
    assert (directions.numpy() * pca.components_).sum(axis=1) == pytest.approx([1, 1], abs=1e-4) or (
        abs((directions.numpy() * pca.components_).sum(axis=1)) == pytest.approx([1, 1], abs=1e-4)
    )
    assert explained == pytest.approx(pca.explained_variance_ratio_.sum(), rel=1e-4)


def test_the_direction_between_versions_is_gone_from_the_embeddings(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    texts = [[group.versions["man"], group.versions["woman"]] for group in data.groups["train"]]
    men, women = (tiny.embed([pair[k] for pair in texts]) for k in (0, 1))
    method = SentenceDebias(tiny, components=1, seed=0)
    method.fit(data)
    assert 0 < method.facts()["explained_variance"] <= 1
    after = [tiny.embed([pair[k] for pair in texts]) for k in (0, 1)]
    assert (after[0] - after[1]).norm() < 0.9 * (men - women).norm()
    assert torch.linalg.matrix_rank(tiny.projection, atol=1e-3) == 31


def test_bad_input(tiny):
    with pytest.raises(FairlabError, match="this method needs counterfactual groups"):
        SentenceDebias(tiny, components=1, seed=0).fit(object())
    with pytest.raises(FairlabError, match="no bias direction to find"):
        bias_subspace(torch.ones(3, 2, 4), 1)
