"""Counterfactual logit pairing: its loss by hand, and what it does to a tiny classifier."""

import copy

import numpy as np
import pytest
import torch

from fairlab.backbones.classification import Classifier
from fairlab.data.own_texts import OwnTexts
from fairlab.methods.debiasing.logit_pairing import LogitPairing, logit_distance
from fairlab.types import FairlabError
from tests.conftest import WORDS, write_rows
from tests.methods.debiasing.test_training import trained

SETTINGS = {"validation": 0.2, "batch_size": 8, "limit": None, "epochs": 3, "seed": 0}


def own(tiny, folder, rows, **more):
    path = write_rows(folder / "rows.jsonl", rows)
    given = {"field": "text", "label": "label", "labels": None, **SETTINGS, **more}
    return OwnTexts(path=str(path), encoder=tiny, **given)


@pytest.fixture
def data(tiny, tmp_path):
    """Texts of which men and women have other labels, and some without people."""
    rows = [
        {"text": f"{('He', 'She', 'It')[k % 3]} saw the {WORDS[k % 7]} {k}.", "label": ("a", "b", "c")[k % 3]}
        for k in range(72)
    ]
    return own(tiny, tmp_path, rows)


def pairing(factor):
    return LogitPairing(factor=factor, axes=["gender"], mode="lexical")


@pytest.mark.parametrize(("first", "second"), [([[2.0, -1.0], [0.5, 3.5]], [[1.5, 1.0], [0.5, -0.5]]), ([2.0], [-1.0])])
def test_the_distance_is_the_mean_absolute_difference(first, second):
    flat = np.abs(np.array(first) - np.array(second)).ravel()
    assert logit_distance(torch.tensor(first), torch.tensor(second)).item() == pytest.approx(sum(flat) / len(flat))
    assert logit_distance(torch.tensor(second), torch.tensor(first)).item() == pytest.approx(flat.mean())


@pytest.mark.parametrize("factor", [0.3, 2.5])
def test_the_penalty_counts_texts_without_people_as_no_distance(tiny, data, factor):
    method = pairing(factor)
    method.prepare(data, tiny, 0)
    positions = [k for k, one in enumerate(data.examples["train"]) if one.first[0] == "I"][:2]
    positions += [k for k, one in enumerate(data.examples["train"]) if one.first[0] != "I"][:3]
    batch = data.collate("train", positions)
    outputs = torch.tensor([[1.0, 2.0, 3.0]] * 5)
    seen = []

    def forward(others):
        seen.append(others)
        return torch.tensor([[0.0, 2.0, 5.0]] * 3)

    found = method.penalty(outputs, batch, forward)
    assert found.item() == pytest.approx(factor * (1 + 0 + 2) / 3 * 3 / 5)
    (others,) = seen
    turned = tiny.tokenizer.batch_decode(others.input_ids, skip_special_tokens=True)
    plain = [data.examples["train"][k].first.casefold() for k in positions[2:]]
    assert all(
        a.split()[1:4] == b.split()[1:4] and a.split()[0] != b.split()[0] for a, b in zip(turned, plain, strict=True)
    )
    without = data.collate("train", positions[:2])
    assert method.penalty(outputs[:2], without, forward).item() == 0


def distance_of(tiny, data):
    texts = [one.first for one in data.examples["train"] if one.first.startswith("He ")]
    sides = [
        Classifier(tiny, data.task.labels).outputs([(text, None) for text in side])
        for side in (texts, [f"S{text[0].lower()}{text[1:]}" for text in texts])
    ]
    return np.abs(sides[0] - sides[1]).mean()


@pytest.mark.slow
def test_pairing_brings_logits_together_and_a_factor_of_zero_is_plain_training(tiny, data, tmp_path):
    plain, paired, zero = (copy.deepcopy(tiny) for _ in range(3))
    losses, _ = trained(plain, data, tmp_path, None)
    assert trained(zero, data, tmp_path, pairing(0.0))[0] == pytest.approx(losses)
    trained(paired, data, tmp_path, pairing(5.0))
    assert distance_of(paired, data) < 0.5 * distance_of(plain, data)


def test_scores_are_paired_too(tiny, tmp_path):
    rows = [{"text": f"{('He', 'She')[k % 2]} saw {WORDS[k % 7]} {k}.", "label": 10.5 * k} for k in range(40)]
    data = own(tiny, tmp_path, rows, labels=[])
    method = pairing(2.0)
    method.prepare(data, tiny, 0)
    batch = data.collate("train", [0, 1])
    outputs = torch.tensor([1.0, -1.0])
    assert method.loss(outputs, batch).item() == pytest.approx(((outputs - batch.labels) ** 2).mean().item())
    assert method.penalty(outputs, batch, lambda _: torch.tensor([0.0, 0.0])).item() == pytest.approx(2.0)


def test_texts_without_people_are_refused(tiny, tmp_path):
    data = own(tiny, tmp_path, [{"text": f"a {WORDS[k % 11]} {k}", "label": k % 2} for k in range(40)])
    with pytest.raises(FairlabError, match="no pair to train on"):
        pairing(1.0).prepare(data, tiny, 0)
