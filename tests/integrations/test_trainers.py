"""Evaluator, loss and callbacks within the trainers of sentence-transformers, transformers and Lightning."""

import lightning
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments

import fairlab
from fairlab.integrations.callbacks import LightningFairness, TransformersFairness
from fairlab.integrations.measuring import undisturbed
from fairlab.integrations.sentence_transformers import CCDLoss, FairnessEvaluator
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows

KEY = "cced/groups/gap"


@pytest.fixture
def measured(tmp_path):
    """Arguments that measure CCED on twelve groups."""
    path = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(12)])
    return {"benchmarks": "cced", "settings": {"benchmark.cced.sets": [str(path)]}}


@pytest.fixture
def encoder(tiny_folders):
    transformer = Transformer(str(tiny_folders["bert"]))
    return SentenceTransformer(
        modules=[transformer, Pooling(transformer.get_embedding_dimension(), "mean")], device="cpu"
    )


def columns():
    groups = make_groups(8)
    names = ["neutral", *groups[0].attributes]
    return Dataset.from_dict({name: [group.versions[name] for group in groups] for name in names})


def test_an_evaluator_gives_readings_and_closeness(encoder, measured):
    evaluator = FairnessEvaluator(**measured)
    encoder.train()
    found = evaluator(encoder)
    expected = fairlab.evaluate(encoder, measured["benchmarks"], settings=measured["settings"])[KEY]
    assert found["fairlab_cced_groups_gap"] == pytest.approx(expected)
    assert found["fairlab_cced_groups_gap_distance"] == pytest.approx(expected)
    assert found[evaluator.primary_metric] == -1  # as far as at first
    assert encoder.training


@pytest.mark.slow
def test_sentence_transformers_train_with_loss_and_evaluator(encoder, measured, tmp_path):
    evaluator = FairnessEvaluator(**measured)
    before = evaluator(encoder)
    for part in encoder.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0  # whose noise hides the loss of eight groups
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path / "out"), num_train_epochs=6, per_device_train_batch_size=8, learning_rate=5e-3, use_cpu=True,
        eval_strategy="epoch", report_to=[], save_strategy="no", logging_steps=1, disable_tqdm=True,
    )  # fmt: skip
    loss = CCDLoss(encoder, beta=0.1)
    trainer = SentenceTransformerTrainer(encoder, arguments, columns(), loss=loss, evaluator=evaluator)
    trainer.train()
    logged = [one for one in trainer.state.log_history if "eval_fairlab_cced_groups_gap" in one]
    assert len(logged) == 6
    assert logged[-1]["eval_fairlab_cced_groups_gap"] < 0.7 * before["fairlab_cced_groups_gap"]
    assert logged[-1]["eval_fairlab_closeness"] > -0.7
    assert not any(parameter.requires_grad for parameter in loss._original[0].parameters())


def test_the_loss_is_equation_4_of_the_original_at_first(encoder):
    """Nothing has moved yet: the representation loss is 0, and beta changes nothing."""
    texts = columns()
    features = [encoder.preprocess(texts[name]) for name in texts.column_names]
    encoder.eval()
    first, second = (CCDLoss(encoder, beta=beta, rho=0.5)(features) for beta in (0.0, 9.0))
    neutral, *others = (torch.from_numpy(encoder.encode(texts[name])) for name in texts.column_names)
    near = [torch.exp(-((one - neutral) ** 2).sum(dim=1) / (2 * 0.5**2)) for one in others]
    assert first.item() == pytest.approx((2 * (near[0] - near[1]).abs()).mean().item(), abs=1e-5)
    assert second.item() == pytest.approx(first.item(), abs=1e-4)


def test_what_the_loss_cannot_take_is_one_sentence(encoder):
    with pytest.raises(FairlabError, match="beta must be at least 0, not -1"):
        CCDLoss(encoder, beta=-1)
    features = [encoder.preprocess(["a"]), encoder.preprocess(["b"])]
    with pytest.raises(FairlabError, match="at least 3, not 2"):
        CCDLoss(encoder)(features)


@pytest.mark.slow
def test_transformers_trainer_is_measured_and_trains_as_without(tiny_folders, measured, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_folders["bert_mlm"])

    def trained(callbacks):
        torch.manual_seed(0)
        model = AutoModelForMaskedLM.from_pretrained(tiny_folders["bert_mlm"])
        tokens = tokenizer([f"She is nurse {k}." for k in range(8)], padding=True)
        data = Dataset.from_dict({**tokens, "labels": tokens["input_ids"]})
        arguments = TrainingArguments(
            str(tmp_path / "out"), max_steps=5, per_device_train_batch_size=2, use_cpu=True, report_to=[],
            save_strategy="no", disable_tqdm=True, seed=1,
        )  # fmt: skip
        trainer = Trainer(model, arguments, train_dataset=data, processing_class=tokenizer, callbacks=callbacks)
        trainer.train()
        return trainer, torch.cat([weights.detach().flatten() for weights in model.parameters()])

    callback = TransformersFairness(**measured, every=2)
    trainer, weights = trained([callback])
    assert [one["step"] for one in callback.history] == [2, 4, 5]
    assert f"fairlab/{KEY}" in callback.history[0]
    assert sum(f"fairlab/{KEY}" in one for one in trainer.state.log_history) == 3
    assert torch.equal(weights, trained([])[1])


class Module(lightning.LightningModule):
    def __init__(self, encoder):
        super().__init__()
        self.model = encoder

    def training_step(self, batch, _):
        return self.model(self.model.preprocess(batch))["sentence_embedding"].square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def fit(encoder, callback):
    trainer = lightning.Trainer(
        max_steps=3, accelerator="cpu", logger=False, callbacks=[callback], enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Module(encoder), torch.utils.data.DataLoader(["She left.", "He left.", "They left."], batch_size=1))


def test_lightnings_trainer_is_measured(encoder, measured):
    callback = LightningFairness(**measured, every=2)
    fit(encoder, callback)
    assert [one["step"] for one in callback.history] == [2, 3]
    assert callback.history[0][f"fairlab/{KEY}"] != callback.history[1][f"fairlab/{KEY}"]


def test_wrong_settings_of_callbacks_are_one_sentence(encoder, measured):
    with pytest.raises(FairlabError, match="every must be a number of steps of at least 1, not 0"):
        TransformersFairness(**measured, every=0)
    with pytest.raises(FairlabError, match="Module has no 'encoder'; set model to the name of the attribute"):
        fit(encoder, LightningFairness(**measured, every=1, model="encoder"))


def test_measuring_disturbs_neither_modes_nor_draws():
    module = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout().eval())
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    with undisturbed(module):
        module.eval()
        torch.rand(5)
    assert [part.training for part in module] == [True, False]
    assert torch.equal(torch.rand(2), expected)
