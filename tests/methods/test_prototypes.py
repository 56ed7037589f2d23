"""What DPCE and ADEPT-F share, on tiny random encoders; the methods' whole losses against plain implementations."""

import copy
import math

import lightning
import pytest
import torch

from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import load_backbone
from fairlab.data.attribute_sentences import AttributeSentences, SentenceBatch
from fairlab.data.counterfactual import CounterfactualData
from fairlab.methods.adept import ADEPT
from fairlab.methods.dpce import DPCE
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows
from tests.methods.training import clipped_norm, fit

VALUES = {"alpha": 0.2, "beta": 0.8, "lr": 5e-5, "dropout": False, "epochs": 1, "validate_every": 2, "seed": 0}
COMPAT = ["paper", "official", "fixed"]


def dpce(encoder, compat="official", **changes):
    return DPCE(encoder, compat=compat, **VALUES | changes)


def adept(encoder, compat="official", rho=None, **changes):
    return ADEPT(encoder, compat=compat, rho=rho, **VALUES | changes)


METHODS = [dpce, adept]


def make_group_data(encoder, folder, count=12, **changes):
    path = write_rows(folder / "groups.jsonl", [row(group) for group in make_groups(count)])
    settings = {"validation": 2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    return CounterfactualData(path=path, encoder=encoder, **settings | changes)


def make_sentence_data(encoder, folder, **changes):
    lines = [f"He and the stepbrother crossed river {k}." for k in range(9)]
    lines += [f"His garden had {k} clocks." for k in range(9)]
    lines += [f"Her stepsister saw boat {k} from the long bridge." for k in range(9)]
    lines += [f"She had {k} boats." for k in range(9)]
    lines += [f"One bricklayer and a nurse left by bridge {k}." for k in range(9)]
    (folder / "corpus.txt").write_text("\n\n".join(lines), encoding="utf-8")
    settings = {
        "axis": "gender",
        "lists": None,
        "mixed": "keep",
        "at_least": None,
        "validation": 0.2,
        "batch_size": 4,
        "limit": None,
        "epochs": 1,
        "seed": 0,
    }
    return AttributeSentences(paths=[str(folder / "corpus.txt")], encoder=encoder, **settings | changes)


DATA = [make_group_data, make_sentence_data]


def plain_vectors(model, rows, batch_rows_padded, targets, compat, masked):
    """Target vectors of one padded batch, position by position."""
    mask = torch.tensor([[1] * len(r) + [0] * (batch_rows_padded.shape[1] - len(r)) for r in rows])
    given = {"attention_mask": mask} if masked else {"attention_mask": torch.ones_like(mask)}
    states = model(input_ids=batch_rows_padded, output_hidden_states=True, **given).hidden_states
    longest = max(map(len, targets))
    vectors = []
    for number, places in enumerate(targets):
        layers = []
        for state in states:
            if compat == "official" and longest > 1:
                read = [state[number, place - 1] for place in places]
                layers.append(sum(read) / longest)
            else:
                layers.append(sum(state[number, place] for place in places) / len(places))
        vectors.append(torch.stack(layers))
    return torch.stack(vectors), states


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([r + [0] * (longest - len(r)) for r in rows])


def plain_losses(kind, compat, model, original, prototypes, neutral, attributes):
    """Bias and representation loss of (token ids, targets) pairs, as papers and official code have them."""
    masked = compat != "official" or kind == "adept"
    rows, targets = zip(*neutral, strict=True)
    vectors, _ = plain_vectors(model, rows, padded(rows), targets, compat, masked)
    if kind == "dpce":
        bias = 0.0
        for prototype in prototypes:
            products = [[(prototype[layer] @ v[layer]).item() for layer in range(len(v))] for v in vectors]
            flat = [product for word in products for product in word]
            if compat == "paper":
                bias += sum(product**2 for product in flat) / len(products)
            elif compat == "official":
                bias += (sum(flat) / len(flat)) ** 2
            else:
                bias += sum(product**2 for product in flat) / len(flat)
    else:
        rho = {"paper": 15, "official": 10, "fixed": 15}[compat]
        weights = [
            [math.exp(-((prototype - v) ** 2).sum().item() / (2 * rho**2)) for v in vectors] for prototype in prototypes
        ]
        p, q = ([weight / sum(row) for weight in row] for row in weights)
        m = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
        bias = sum(x * math.log2(x / z) + y * math.log2(y / z) for x, y, z in zip(p, q, m, strict=True)) / 2

    rows = [ids for ids, _ in attributes]
    places = [[1]] * len(rows)
    _, new = plain_vectors(model, rows, padded(rows), places, compat, masked)
    _, old = plain_vectors(original, rows, padded(rows), places, compat, masked)
    width, layers = new[0].shape[-1], len(new)
    if compat == "official":
        size = padded(rows).numel() * layers * width
        return bias, sum(((x - y) ** 2).sum().item() for x, y in zip(new, old, strict=True)) / size
    drift = 0.0
    for number, ids in enumerate(rows):
        total = 0.0
        for x, y in zip(new, old, strict=True):
            x, y = x[number, : len(ids)], y[number, : len(ids)]
            if kind == "adept" and compat == "paper":
                for sign in (1, -1):
                    p, q = (sign * y).softmax(dim=-1), (sign * x).softmax(dim=-1)
                    total += (p * (p / q).log2()).sum().item()
            else:
                total += ((x - y) ** 2).sum().item()
        divisor = 1 if kind == "dpce" and compat == "paper" else len(ids) * layers
        divisor *= width if compat == "fixed" else 1
        drift += total / divisor / len(rows)
    return bias, drift


@pytest.mark.parametrize("compat", COMPAT)
@pytest.mark.parametrize("make", METHODS)
def test_a_batch_costs_what_a_plain_implementation_says(tiny, tmp_path, make, compat):
    data = make_sentence_data(tiny, tmp_path)
    original = copy.deepcopy(tiny.model)
    method = make(tiny, compat)
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    with torch.no_grad():
        for parameter in tiny.model.parameters():  # as if trained for long
            parameter += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    method.prototypes.copy_(torch.randn(2, 3, 32, generator=torch.Generator().manual_seed(2)))
    tiny.eval()
    neutral = [s for s in data.sentences["train"] if s.kind == 0][:6]
    attributes = [s for s in data.sentences["train"] if s.kind != 0][::4]
    assert len({len(sentence.targets) for sentence in neutral}) > 1
    assert len({len(sentence.token_ids) for sentence in attributes}) > 1
    with torch.no_grad():
        bias = method.losses(SentenceBatch.of(neutral, 0))["bias_loss"].item()
        drift = method.losses(SentenceBatch.of(attributes, 0))["representation_loss"].item()
        expected = plain_losses(
            make.__name__,
            compat,
            tiny.model,
            original,
            method.prototypes,
            [(s.token_ids, s.targets) for s in neutral],
            [(s.token_ids, s.targets) for s in attributes],
        )
    assert (bias, drift) == (pytest.approx(expected[0], rel=1e-3), pytest.approx(expected[1], rel=1e-4))
    assert bias > 0
    assert drift > 0


@pytest.mark.parametrize("make", METHODS)
def test_prototypes_are_mean_vectors_of_all_training_words(tiny, tmp_path, make):
    data = make_sentence_data(tiny, tmp_path)
    method = make(tiny, "fixed")
    method.on_train_batch_end = lambda *_: None
    original = copy.deepcopy(tiny.model)
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    for kind in (1, 2):
        vectors = [
            plain_vectors(original, [s.token_ids], padded([s.token_ids]), [s.targets], "fixed", masked=True)[0][0]
            for s in data.sentences["train"]
            if s.kind == kind
        ]
        torch.testing.assert_close(method.prototypes[kind - 1], sum(vectors) / len(vectors), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("make", METHODS)
def test_prototypes_are_made_anew_every_epoch(tiny, tmp_path, make):
    data = make_sentence_data(tiny, tmp_path, epochs=2)
    method, seen = make(tiny, lr=1e-3, epochs=2), []
    method.on_train_batch_end = lambda *_: seen.append(method.prototypes.clone())
    fit(method, data, tmp_path, limit_val_batches=0)
    each = data.total_batches // 2
    changed = [k for k in range(1, len(seen)) if not torch.equal(seen[k], seen[k - 1])]
    assert changed == [each]


@pytest.mark.parametrize("make_data", DATA)
@pytest.mark.parametrize("make", METHODS)
def test_frozen_parts_get_no_gradient(tiny_folders, tmp_path, make, make_data):
    encoder = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)
    before = copy.deepcopy(encoder.model.state_dict())
    method = make(encoder, lr=1e-3)
    fit(method, make_data(encoder, tmp_path), tmp_path, limit_val_batches=0)
    (original,) = method.original
    for name, parameter in original.named_parameters():
        assert parameter.grad is None
        assert not parameter.requires_grad
        assert torch.equal(parameter, before[f"bert.{name}"])
    tied = encoder.model.get_output_embeddings().weight
    for name, value in encoder.model.state_dict().items():
        moved = not torch.equal(value, before[name])
        belongs = name.startswith("bert.") or value.data_ptr() == tied.data_ptr()
        assert belongs or not moved, f"{name} moved"
    name = "bert.encoder.layer.0.output.dense.weight"
    assert not torch.equal(encoder.model.state_dict()[name], before[name])
    assert not [name for name in method.state_dict() if "original" in name]


@pytest.mark.parametrize(
    "compat", [pytest.param(one, marks=[] if one == "official" else pytest.mark.slow) for one in COMPAT]
)
@pytest.mark.parametrize("make", METHODS)
@pytest.mark.slow
def test_it_overfits_eight_groups(tiny, tmp_path, make, compat):
    data = make_group_data(tiny, tmp_path, count=10, epochs=25, batch_size=8)
    rho = {"rho": 3.0} if make is adept else {}
    method, losses = make(tiny, compat, alpha=1.0, beta=0.1, lr=3e-3, epochs=25, **rho), []
    method.on_train_batch_end = lambda *_: losses.append(method.trainer.callback_metrics["train/bias_loss"].item())
    fit(method, data, tmp_path, limit_val_batches=0)
    assert sum(losses[-3:]) < 0.5 * sum(losses[:3])


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize("name", ["bert_mlm", "roberta_mlm", "distilbert_mlm"])
def test_it_runs_on_tiny_models_and_an_export_embeds_alike(tiny_folders, tmp_path, make, name):
    encoder = load_backbone(str(tiny_folders[name]), pooling="mean", max_length=32, normalize=False)
    fit(make(encoder, lr=1e-3, dropout=True), make_group_data(encoder, tmp_path), tmp_path)
    export_backbone(encoder, tmp_path / "model", card="")
    again = load_backbone(str(tmp_path / "model"), pooling="mean", max_length=32, normalize=False)
    texts = ["they saw the river", "he saw a clock"]
    torch.testing.assert_close(again.embed(texts), encoder.embed(texts), atol=1e-6, rtol=0)


@pytest.mark.parametrize("make", METHODS)
def test_a_checkpoint_restores_weights_and_prototypes(tiny, tmp_path, make):
    data = make_group_data(tiny, tmp_path)
    fresh = copy.deepcopy(tiny)
    method = make(tiny, lr=1e-3)
    trainer = fit(method, data, tmp_path, limit_val_batches=0)
    trainer.save_checkpoint(tmp_path / "end.ckpt")
    restored = make(fresh)
    fit(restored, make_group_data(fresh, tmp_path), tmp_path, max_steps=1, limit_val_batches=0)
    restored.load_state_dict(torch.load(tmp_path / "end.ckpt", weights_only=True)["state_dict"])
    torch.testing.assert_close(fresh.embed(["he saw a clock"]), tiny.embed(["he saw a clock"]))
    assert torch.equal(restored.prototypes, method.prototypes)


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.slow
def test_a_run_continued_within_an_epoch_ends_as_one_that_never_stopped(tiny, tmp_path, make):
    def run(*, stop=-1, start=None):
        encoder = copy.deepcopy(tiny)
        data = make_sentence_data(encoder, tmp_path, epochs=2)
        method = make(encoder, lr=1e-3, dropout=True, epochs=2)
        lightning.seed_everything(len(start or ""), verbose=False)  # whatever ran before plays no part
        quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
        trainer = lightning.Trainer(max_epochs=1, limit_val_batches=0, accelerator="cpu", **quiet)
        if stop > 0:
            method.on_train_batch_end = lambda *_: (
                trainer.save_checkpoint(tmp_path / "stop.ckpt") if trainer.global_step == stop else None
            )
        trainer.fit(method, data, ckpt_path=start, weights_only=True)
        return encoder, method, data

    encoder, method, data = run(stop=2)
    assert data.total_batches // 2 > 2
    resumed, other, _ = run(start=str(tmp_path / "stop.ckpt"))
    torch.testing.assert_close(resumed.embed(["he saw a clock"]), encoder.embed(["he saw a clock"]))
    torch.testing.assert_close(other.prototypes, method.prototypes)


# The official losses are no means over sentences (padding, the square of a mean), and ADEPT's bias loss is normalised
# over a batch: there, small batches are another objective, as they are in the authors' code.
@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (dpce, {"compat": "paper"}),
        (dpce, {"compat": "fixed"}),
        (adept, {"compat": "paper", "alpha": 0.0}),
        (adept, {"compat": "fixed", "alpha": 0.0}),
    ],
)
def test_accumulating_small_batches_equals_a_large_one(tiny, tmp_path, make, settings):
    results = []
    for batch_size, accumulate in ((8, 1), (2, 4)):
        encoder = copy.deepcopy(tiny)
        data = make_group_data(encoder, tmp_path, count=10, batch_size=batch_size)
        method, gradients = make(encoder, **settings), []
        with torch.no_grad():  # where nothing has moved there is no gradient
            for parameter in encoder.model.parameters():
                parameter *= 1.05
        method.on_before_optimizer_step = lambda _, m=method, g=gradients: g.append(
            torch.cat([p.grad.flatten() for p in m.parameters() if p.grad is not None]).clone()
        )
        fit(method, data, tmp_path, accumulate_grad_batches=accumulate, limit_val_batches=0)
        assert len(gradients) == 1
        results.append(gradients[0])
    assert results[0].abs().max() > 1e-4
    torch.testing.assert_close(results[1], results[0], atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("make_data", DATA)
@pytest.mark.parametrize("make", METHODS)
def test_validation_reports_both_parts_and_their_sum(tiny, tmp_path, make, make_data):
    method = make(tiny, lr=1e-3)
    metrics = fit(method, make_data(tiny, tmp_path), tmp_path).callback_metrics
    expected = 0.2 * metrics["validation/bias_loss"] + 0.8 * metrics["validation/representation_loss"]
    assert metrics["validation/loss"].item() == pytest.approx(expected.item())
    assert metrics["validation/representation_loss"] > 0


@pytest.mark.parametrize("make_data", DATA)
def test_validation_is_over_sentences_and_not_over_batches(tiny, tmp_path, make_data):
    data = make_data(tiny, tmp_path)
    method = dpce(tiny, "paper", lr=1e-3)  # whose losses are means over sentences
    metrics = fit(method, data, tmp_path).callback_metrics
    sentences = method.sentences["validation"]
    with torch.no_grad():
        whole = method.losses(SentenceBatch.of(sentences, tiny.padding_id))
    assert len(sentences) % 4
    for name, value in whole.items():
        assert metrics[f"validation/{name}"].item() == pytest.approx(value.item(), rel=1e-4)


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.slow
def test_the_randomness_of_a_step_depends_on_seed_and_step_alone(tiny, tmp_path, make):
    def losses(seed, noise):
        encoder = copy.deepcopy(tiny)
        method, seen = make(encoder, dropout=True, seed=seed), []
        method.on_train_batch_end = lambda outputs, *_: seen.append(outputs["loss"].item())
        torch.manual_seed(noise)
        fit(method, make_group_data(encoder, tmp_path), tmp_path, limit_val_batches=0)
        return seen

    assert losses(0, noise=1) == losses(0, noise=2)
    assert losses(0, noise=1) != losses(1, noise=1)


@pytest.mark.parametrize("make", METHODS)
def test_a_loss_that_is_not_finite_stops(tiny, tmp_path, make):
    method = make(tiny)
    method.mean_target_vectors = lambda: torch.full_like(method.prototypes, float("nan"))
    with pytest.raises(FairlabError, match=r"the loss became nan at step 1; lower method\.lr"):
        fit(method, make_group_data(tiny, tmp_path), tmp_path)


@pytest.mark.parametrize("make", METHODS)
def test_groups_whose_versions_do_not_differ_are_refused(tiny, tmp_path, make):
    rows = [
        {"id": k, "axis": "gender", "versions": dict.fromkeys(("neutral", "man", "woman"), "a clock")} for k in range(6)
    ]
    settings = {"validation": 2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    data = CounterfactualData(path=write_rows(tmp_path / "g.jsonl", rows), encoder=tiny, **settings)
    with pytest.raises(FairlabError, match="no train sentence of kind 0"):
        fit(make(tiny), data, tmp_path)


@pytest.mark.parametrize("make", METHODS)
def test_an_unknown_mode(tiny, make):
    with pytest.raises(FairlabError, match=r"method\.compat must be paper, official, fixed, not mine"):
        make(tiny, compat="mine")


@pytest.mark.parametrize(("make", "padded_losses"), [(dpce, True), (adept, False)])
def test_the_official_code_shifts_and_attends_to_padding(tiny, make, padded_losses):
    names = ("shifted", "pads_in_prototypes", "pads_in_losses")
    found = {compat: tuple(make(tiny, compat).facts()[name] for name in names) for compat in COMPAT}
    nothing = (False, False, False)
    assert found == {"paper": nothing, "official": (True, True, padded_losses), "fixed": nothing}
    assert clipped_norm(make(tiny)) == pytest.approx(1, rel=1e-2)
