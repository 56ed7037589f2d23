"""CCD as one linear map: the lean it starts without, its loss, its export."""

import copy
import json

import pytest
import torch

from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.projection import project
from fairlab.data.groups import read_groups
from fairlab.losses.ccd import bandwidth, bias_loss, distances_to_neutral
from fairlab.methods.ccd_linear import CCDLinear, MapSettings, anchor_texts, lean_removed, mapping, trained_map
from fairlab.types import FairlabError
from tests.methods.test_ccd import make_data

SETTINGS = MapSettings(drift=4.0, rho="rms", lr=1e-2, epochs=20, batch_size=8, seed=0)
VALUES = {"lean": 0.8, "drift": 4.0, "rho": "rms", "lr": 1e-3, "epochs": 2, "batch_size": 4, "seed": 0}
ALONE = {"short": None, "directions": [], "anchors": None}


def leaning_groups():
    """Attributes at plus and minus 1 on the first axis; the neutral text leans by a half of what its content says.

    Both attributes differ from the neutral text along the last axis.
    """
    content = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    lean = 0.5 * content[:, :1]
    neutral = torch.cat([lean, content], dim=1)
    shift, both = torch.tensor([1.0, 0, 0, 0]), torch.tensor([0, 0, 0, 0.5])
    return torch.stack([neutral, neutral + shift + both, neutral - shift + both], dim=1)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_lean_that_content_predicts_is_removed_and_the_difference_kept(share):
    groups = leaning_groups()
    matrix = lean_removed([groups], groups[:, 0], share)
    by_hand = torch.eye(4)
    by_hand[0, 1] = -0.5 * share
    torch.testing.assert_close(matrix, by_hand, atol=1e-3, rtol=0)
    mapped = groups @ matrix.T
    torch.testing.assert_close(mapped[:, 0, 0], (1 - share) * groups[:, 0, 0], atol=0.01, rtol=0)
    torch.testing.assert_close(mapped[:, 1, 0] - mapped[:, 2, 0], torch.full((200,), 2.0), atol=1e-3, rtol=0)


def test_each_kind_of_groups_says_a_direction_to_take_lean_away_from():
    content = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    neutral = torch.cat([0.5 * content[:, :1], -0.25 * content[:, 1:], content], dim=1)
    first, second = (torch.stack([neutral, neutral + shift, neutral - shift], dim=1) for shift in torch.eye(4)[:2])
    one, both = (lean_removed(kinds, neutral[:0], 1.0) for kinds in ([first], [first, second]))
    assert (neutral @ both.T)[:, :2].abs().max() < 0.01
    left = neutral @ one.T
    assert left[:, 0].abs().max() < 0.01
    torch.testing.assert_close(left[:, 1], neutral[:, 1], atol=1e-4, rtol=0)


def test_midpoints_between_attributes_and_anchors_count_as_neutral_texts():
    """Neutral texts lean by nothing, midpoints and anchors by all of their content: on average by two thirds."""
    content = torch.randn(50, 1, generator=torch.Generator().manual_seed(0))
    leaning, shift = torch.cat([content, content], dim=1), torch.tensor([1.0, 0.0])
    groups = torch.stack([leaning * torch.tensor([0.0, 1.0]), leaning + shift, leaning - shift], dim=1)
    matrix = lean_removed([groups], leaning, 0.6)
    torch.testing.assert_close(matrix, torch.tensor([[1.0, -0.6 * 2 / 3], [0.0, 1.0]]), atol=1e-3, rtol=0)


def test_the_ridge_holds_back_what_few_texts_say():
    """Texts lean by 0.05 with a content of 0.1. Of n texts, the slope is n * 0.005 / (n * 0.01 + 0.03)."""
    neutral, shift = torch.tensor([[0.05, 0.1]]), torch.tensor([1e-4, 0.0])
    groups = torch.stack([neutral, neutral + shift, neutral - shift], dim=1)
    for kinds, slope in (([groups], 0.2), ([groups, groups], 2 / 7)):  # a neutral text and a midpoint each
        by_hand = torch.tensor([[1.0, -slope], [0.0, 1.0]])
        torch.testing.assert_close(lean_removed(kinds, neutral[:0], 1.0), by_hand, atol=1e-3, rtol=0)


@pytest.mark.parametrize(("least", "kept"), [(1.5e-3, True), (5e-4, False)])
def test_a_direction_of_less_than_a_millionth_of_the_strongest_is_none(least, kept):
    """Texts lean by a half of their content along the first two axes."""
    content = torch.randn(50, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    neutral = torch.cat([0.5 * content, 0.5 * content, content], dim=1)
    shifts = (torch.tensor([1e3, 0, 0], dtype=torch.float64), torch.tensor([0, least, 0], dtype=torch.float64))
    kinds = [torch.stack([neutral, neutral + shift / 2, neutral - shift / 2], dim=1) for shift in shifts]
    assert (lean_removed(kinds, neutral[:0], 1.0)[1, 2].item() < -0.4) == kept


@pytest.mark.parametrize("content", ["", '{"txt": "a"}\n', '{"text": 1}\n', "[1]\n"])
def test_anchors_need_a_text(tmp_path, content):
    (tmp_path / "anchors.jsonl").write_text(content)
    with pytest.raises(FairlabError, match=r"anchors\.jsonl must hold lines such as"):
        anchor_texts(str(tmp_path / "anchors.jsonl"))


@pytest.mark.parametrize(("epochs", "batch_size"), [(2, 8), (1, 4), (1, 3)])
def test_two_steps_by_hand_with_a_drift_and_a_falling_rate(epochs, batch_size):
    """Two epochs of a step, or an epoch of two; the groups are equal, so that their order has no effect."""
    groups = torch.randn(1, 3, 6, generator=torch.Generator().manual_seed(1)).repeat(8, 1, 1)
    start = torch.eye(6) + 0.1
    settings = MapSettings(drift=4.0, rho="rms", lr=0.1, epochs=epochs, batch_size=batch_size, seed=0)
    rho = bandwidth(distances_to_neutral(groups[:, 1:], groups[:, 0]), "rms")
    matrix = torch.nn.Parameter(start.clone())
    adam, losses = torch.optim.Adam([matrix]), []
    for adam.param_groups[0]["lr"] in (0.1, 0.05):
        versions = groups @ matrix.T
        loss = bias_loss(versions[:, 1:], versions[:, 0], rho).mean() + 4 * ((matrix - start) ** 2).sum() / 6
        losses.append(loss.item())
        adam.zero_grad()
        loss.backward()
        adam.step()
    found, of_epochs = trained_map(groups, start, settings)
    assert of_epochs == pytest.approx(losses if epochs == 2 else [sum(losses) / 2])
    torch.testing.assert_close(found, matrix.detach())


def test_training_lowers_the_loss_and_repeats_itself():
    groups = torch.randn(24, 3, 6, generator=torch.Generator().manual_seed(1))
    free = MapSettings(**vars(SETTINGS) | {"drift": 0.0, "epochs": 100})
    first, losses = trained_map(groups, torch.eye(6), free)
    again, _ = trained_map(groups, torch.eye(6), free)
    assert torch.equal(first, again)
    assert losses[-1] < 0.9 * losses[0]


def test_a_heavy_drift_keeps_the_matrix_where_it_started():
    groups = torch.randn(24, 3, 6, generator=torch.Generator().manual_seed(1))
    start = torch.eye(6) + 0.1
    heavy = MapSettings(**vars(SETTINGS) | {"drift": 1e6, "lr": 1e-6})
    torch.testing.assert_close(trained_map(groups, start, heavy)[0], start, atol=1e-3, rtol=0)


def test_it_changes_embeddings_and_no_weight(tiny, tmp_path):
    before = copy.deepcopy(tiny)
    method = CCDLinear(tiny, **VALUES, **ALONE)
    method.fit(make_data(tiny, tmp_path))
    expected = before.embed(["a clock"]) @ tiny.projection.T
    torch.testing.assert_close(tiny.embed(["a clock"]), expected, atol=1e-4, rtol=1e-3)
    weights = zip(tiny.model.parameters(), before.model.parameters(), strict=True)
    assert all(torch.equal(now, then) for now, then in weights)
    method.losses = [3.0, 2.0, 1.0]
    assert method.facts().items() >= {"first_epoch_loss": 3.0, "last_epoch_loss": 1.0}.items()


@pytest.mark.parametrize("pooling", ["mean", "published"])
def test_an_export_loads_here_and_in_sentence_transformers(tiny, tmp_path, pooling):
    from sentence_transformers import SentenceTransformer

    project(tiny, torch.eye(tiny.width) + 0.1 * torch.randn(tiny.width, tiny.width), general=True)
    export_backbone(tiny, tmp_path / "model", "card")
    loaded = load_backbone(str(tmp_path / "model"), pooling=pooling, max_length=32, normalize=False)
    expected = tiny.embed(["a clock"])
    torch.testing.assert_close(loaded.embed(["a clock"]), expected, atol=1e-5, rtol=1e-4)
    assert loaded.projection is not None
    other = SentenceTransformer(str(tmp_path / "model"), device="cpu", local_files_only=True)
    torch.testing.assert_close(other.encode(["a clock"], convert_to_tensor=True), expected, atol=1e-5, rtol=1e-4)


def test_short_sentences_are_trained_on_and_directions_and_anchors_take_lean_away(tiny, tmp_path):
    before = copy.deepcopy(tiny)
    data = make_data(tiny, tmp_path)
    train = list(data.groups["train"])
    short, named = (
        [
            {
                "id": str(k),
                "axis": "gender",
                "versions": {name: f"{word} {text}" for name, text in group.versions.items()},
            }
            for k, group in enumerate(train)
        ]
        for word in ("so", "clock")
    )
    files = [tmp_path / name for name in ("short.jsonl", "named.jsonl", "anchors.jsonl")]
    for file, rows in zip(files, (short, named, [{"text": "a clock"}, {"text": "the sea"}]), strict=True):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"short": str(files[0]), "directions": [str(files[1])], "anchors": str(files[2])}
    CCDLinear(tiny, **VALUES, **settings).fit(data)

    def embedded(groups):
        return before.embed([text for group in groups for text in group.texts]).unflatten(0, (len(groups), -1))

    kinds = [embedded(train), *(embedded(read_groups(str(file))) for file in files[:2])]
    start = lean_removed(kinds, before.embed(["a clock", "the sea"]), VALUES["lean"])
    steps = MapSettings(**{name: VALUES[name] for name in ("drift", "rho", "lr", "epochs", "batch_size", "seed")})
    by_hand = trained_map(torch.cat(kinds[:2]), start, steps)[0]
    torch.testing.assert_close(tiny.projection, by_hand, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("setting", ["short", "directions"])
def test_groups_of_other_attributes_are_refused(tiny, tmp_path, setting):
    file = tmp_path / "other.jsonl"
    row = {"id": "1", "axis": "age", "versions": {"neutral": "a person", "old": "an elder", "young": "a child"}}
    file.write_text(json.dumps(row) + "\n")
    value = str(file) if setting == "short" else [str(file)]
    method = CCDLinear(tiny, **VALUES, **ALONE | {setting: value})
    with pytest.raises(FairlabError, match=f"has the attributes old, young.*give method.{setting} groups with these"):
        method.fit(make_data(tiny, tmp_path))


def test_a_map_keeps_the_length_of_unit_vectors_alone():
    unit = torch.tensor([[0.6, 0.8], [1.0, 0.0], [0.0, 1.0]])
    matrix = torch.diag(torch.tensor([2.0, 1.0]))
    mapped = torch.tensor([[1.2, 0.8]])
    for embeddings in (unit, unit[None]):  # texts, and groups of versions
        first, expected = embeddings[..., :1, :], mapped.reshape(embeddings[..., :1, :].shape)
        torch.testing.assert_close(mapping(embeddings)(first, matrix), expected / (1.2**2 + 0.8**2) ** 0.5)
        torch.testing.assert_close(mapping(2 * embeddings)(first, matrix), expected)
        assert mapping(1.002 * embeddings)(first, matrix).norm().item() == pytest.approx(expected.norm().item())
