"""Debiasing in training, with a tiny random model on claims whose words give the label away."""

import copy

import numpy as np
import pytest
import torch

from fairlab.backbones.classification import Classifier
from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.data.labelled_tasks import LabelledTexts
from fairlab.methods.debiasing import bias_model
from fairlab.methods.debiasing.bias_model import Tuning, fine_tuned, in_first_half, log_probabilities, out_of_sample
from fairlab.methods.debiasing.clever import Clever
from fairlab.methods.debiasing.confidence import ConfidenceRegularisation
from fairlab.methods.debiasing.poe import ProductOfExperts
from fairlab.methods.debiasing.rew import ReW
from fairlab.methods.debiasing.reweighting import ExampleReweighting
from fairlab.methods.sequence_classifier import SequenceClassifier
from fairlab.types import FairlabError
from tests.conftest import WORDS, write_rows
from tests.methods.training import losses_of, make_trainer

TUNING = {"epochs": 2, "lr": 5e-3, "batch_size": 8}
ALL = {
    "poe": lambda: ProductOfExperts(**TUNING),
    "reweighting": lambda: ExampleReweighting(**TUNING),
    "confidence": lambda: ConfidenceRegularisation(**TUNING),
    "clever": lambda: Clever(**TUNING, scale=0.5, space="logits"),
    "rew": lambda: ReW(weights="learned", at_least=2, steps=20),
    "rew by lmi": lambda: ReW(weights="lmi", at_least=2, steps=1),
}


HALVES = {"claim 454": False, "claim 8": True, "claim 5": True, "claim 9": False}
PLAIN = []  # losses of plain training, which are the same for every debiasing


@pytest.fixture
def data(tiny, tmp_path):
    """Claims of which two thirds hold a word that gives the label away."""
    rows = [
        {
            "evidence": f"the {WORDS[k % 11]} of number {k}",
            "claim": f"it is {('not ' if k % 2 else 'so ') if k % 3 else ''}a {WORDS[k % 7]} {k}",
            "label": ("SUPPORTS", "REFUTES")[k % 2],
        }
        for k in range(60)
    ]
    write_rows(tmp_path / "train.jsonl", rows)
    settings = {"validation": 0.2, "batch_size": 8, "limit": None, "epochs": 1, "seed": 0}
    return LabelledTexts(task="fever_two_way", path=str(tmp_path), encoder=tiny, **settings)


def trained(tiny, data, folder, debiasing):
    method = SequenceClassifier(
        tiny,
        rank=None,
        lr=1e-3,
        warmup=0.0,
        weight_decay=0.0,
        dropout=False,
        epochs=1,
        patience=None,
        validate_every=100,
        seed=0,
        debiasing=debiasing,
    )
    losses = losses_of(method)
    make_trainer(folder, limit_val_batches=0).fit(method, data)
    method.finish(folder)
    return losses, method


@pytest.mark.parametrize("name", ALL)
@pytest.mark.slow
def test_every_debiasing_trains_alike_twice_and_unlike_plain_training(tiny, data, tmp_path, name):
    plain = PLAIN or trained(copy.deepcopy(tiny), data, tmp_path, None)[0]
    PLAIN[:] = plain
    once, method = trained(copy.deepcopy(tiny), data, tmp_path, ALL[name]())
    torch.manual_seed(7)
    again, _ = trained(copy.deepcopy(tiny), data, tmp_path, ALL[name]())
    assert once == again
    assert np.isfinite(once).all()
    assert (once == plain) == (name == "clever")  # which changes nothing in training
    assert method.facts()["debiasing"] == name.split()[0]
    assert once[0] == pytest.approx(plain[0]) or name != "clever"


@pytest.mark.parametrize("place", [0, 1])
def test_beliefs_are_of_the_model_of_the_other_half(tiny, monkeypatch, place):
    """Claims alone, or claims after evidence that several of them share."""
    seen = {}

    def remember(backbone, pairs, labels, names, tuning, seed):
        first = in_first_half(pairs[0][place])
        seen[first] = [pair[place] for pair in pairs]
        return ("first" if first else "second", names)

    def beliefs(model, names, pairs):
        assert not set(seen[model[0] == "first"]) & {pair[place] for pair in pairs}
        return np.full((len(pairs), 2), 1.0 if model[0] == "first" else 2.0)

    monkeypatch.setattr("fairlab.methods.debiasing.bias_model.fine_tuned", remember)
    monkeypatch.setattr("fairlab.methods.debiasing.bias_model.log_probabilities", beliefs)
    claims = [(f"claim {k}", None) if place == 0 else (f"evidence {k % 3}", f"claim {k}") for k in range(30)]
    found = out_of_sample(tiny, claims, [0] * 30, ("a", "b"), Tuning(1, 1e-3, 8), 0)
    assert found[:, 0].tolist() == [2.0 if in_first_half(pair[place]) else 1.0 for pair in claims]
    alone = out_of_sample(tiny, claims[:1], [0], ("a", "b", "c", "d"), Tuning(1, 1e-3, 8), 0)
    assert alone == pytest.approx(np.full((1, 4), -np.log(4)))  # nothing is known of the other half


def test_the_halves_are_fixed():
    """By the first byte of ``printf 'bias TEXT' | sha256sum``, which is below 80 in the first half."""
    assert {text: in_first_half(text) for text in HALVES} == HALVES


def test_an_auxiliary_classifier_learns_from_pairs_with_a_short_warm_up(tiny, monkeypatch):
    steps, read, run = [], [], bias_model.outputs
    schedule = bias_model.get_linear_schedule_with_warmup
    monkeypatch.setattr(
        bias_model, "get_linear_schedule_with_warmup", lambda *given: steps.append(given[1:]) or schedule(*given)
    )
    monkeypatch.setattr(bias_model, "outputs", lambda model, *given: read.append(given) or run(model, *given))
    pairs = [(f"the {WORDS[k % 5]}", f"it is {'not ' * (k % 2)}a {WORDS[k % 7]}") for k in range(40)]
    labels, before = [k % 2 for k in range(40)], copy.deepcopy(tiny.model.state_dict())
    model = fine_tuned(tiny, pairs, labels, ("a", "b"), Tuning(10, 1e-2, 10), 0)
    assert steps == [(2, 40)]  # a twentieth of the steps
    for ids, mask, segments in read:
        second = (ids == tiny.tokenizer.sep_token_id).cumsum(dim=1) - (ids == tiny.tokenizer.sep_token_id).long()
        assert torch.equal(segments, (second == 1).long() * mask)
    found = log_probabilities(model, ("a", "b"), pairs)
    assert np.exp(found).sum(axis=1) == pytest.approx(np.ones(40))
    assert (found.argmax(axis=1) == labels).mean() > 0.9
    assert not any(weight.requires_grad for weight in model.model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in tiny.model.state_dict().items())


@pytest.mark.parametrize("space", ["logits", "probabilities"])
@pytest.mark.slow
def test_clever_subtracts_and_an_export_keeps_it(tiny, data, tmp_path, space):
    plain = copy.deepcopy(tiny)
    trained(plain, data, tmp_path, None)
    debiasing = Clever(**TUNING, scale=0.5, space=space)
    trained(tiny, data, tmp_path, debiasing)
    pairs = [pair for example in data.examples["validation"] for pair in example.pairs]
    fused = torch.tensor(Classifier(plain, data.task.labels).outputs(pairs))
    alone = torch.tensor(
        Classifier(debiasing.claim_only, data.task.labels).outputs([(second, None) for _, second in pairs])
    )
    if space == "probabilities":
        fused, alone = fused.softmax(dim=1), alone.softmax(dim=1)
    found = Classifier(tiny, data.task.labels).outputs(pairs)
    np.testing.assert_allclose(found, fused - 0.5 * alone, atol=1e-5)
    export_backbone(tiny, tmp_path / "model", "card")
    loaded = load_backbone(str(tmp_path / "model"), pooling="mean", max_length=32, normalize=False)
    np.testing.assert_allclose(Classifier(loaded, data.task.labels).outputs(pairs), found, atol=1e-5)


def test_single_texts_have_no_claim(tiny, tmp_path):
    write_rows(tmp_path / "train.jsonl", [{"sentence": f"a {WORDS[k % 11]} {k}", "label": k % 2} for k in range(40)])
    settings = {"validation": 0.2, "batch_size": 8, "limit": None, "epochs": 1, "seed": 0}
    data = LabelledTexts(task="sst2", path=str(tmp_path), encoder=tiny, **settings)
    with pytest.raises(FairlabError, match="debiasing=poe works on labelled pairs of texts, which sst2 does not have"):
        trained(tiny, data, tmp_path, ProductOfExperts(**TUNING))
