"""Optimizers, schedules, callbacks and loaders as a configuration chooses them, right and wrong."""

import lightning
import pytest
from lightning.pytorch.callbacks import LearningRateMonitor, Timer
from lightning.pytorch.loggers import CSVLogger

from fairlab.run.config.composing import composed, from_model
from fairlab.run.config.gone import GONE
from fairlab.run.config.lightning_keys import DECIDED, lightning_hint
from fairlab.run.config.optimizing import build_callbacks
from fairlab.run.config.schema import refuse_misfits
from fairlab.types import FairlabError

CCD = ["+experiment=ccd_bert", "benchmark=[cced]"]
PLATEAU = "schedule._target_=torch.optim.lr_scheduler.ReduceLROnPlateau"
WRONG = {
    "an unknown schedule": (["schedule=cosin"], "schedule=cosin: no such choice; the nearest is cosine"),
    "a floor above the peak": (
        ["schedule=linear_warmup", "schedule.floor=2"],
        "schedule.floor must be a number from 0 to 1",
    ),
    "a method without steps": (
        ["method=inlp", "optimizer=sgd"],
        "optimizer= works only with methods that train in steps, unlike INLP",
    ),
    "a rate below 0": (["optimizer=sgd", "optimizer.lr=-1"], "torch.optim.SGD cannot be made (Invalid learning rate"),
    "what is no optimizer": (["optimizer=sgd", "optimizer._target_=builtins.dict"], "optimizer"),
    "a schedule by validations": (
        ["schedule=cosine", "~schedule.warmup", "~schedule.floor", "~schedule.from_zero", PLATEAU],
        "ReduceLROnPlateau",
    ),
    "a debiasing of another method": (["debiasing=poe"], "debiasing= works only with classifiers"),
    "Lightning's key of a method without steps": (
        ["method=inlp", "+trainer.val_check_interval=3"],
        "trainer.val_check_interval has no effect for INLP",
    ),
}


@pytest.mark.parametrize(("overrides", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_choice_is_one_sentence(overrides, words):
    with pytest.raises(FairlabError) as error:
        refuse_misfits("train", composed("train", [*CCD, *overrides], {}))
    assert words in str(error.value)


@pytest.mark.parametrize(
    "overrides",
    [
        ["optimizer=adamw", "optimizer.weight_decay=0.1", "optimizer.decayed=matrices", "schedule=cosine"],
        ["optimizer=sgd", "schedule=linear_warmup", "schedule.warmup=0.1", "data.num_workers=2"],
        ["optimizer._target_=torch.optim.NAdam", "schedule=constant", "+trainer.gradient_clip_val=1.0"],
        ["+callbacks.timer._target_=lightning.pytorch.callbacks.Timer", "logger=csv"],
    ],
)
def test_right_choices_are_taken(overrides):
    refuse_misfits("train", composed("train", [*CCD, *overrides], {}))


def test_callbacks_are_built_by_their_names():
    timer = {"_target_": "lightning.pytorch.callbacks.Timer"}
    rate = {"_target_": "lightning.pytorch.callbacks.LearningRateMonitor"}
    found = build_callbacks({"timer": timer, "rate": rate}, [CSVLogger(".")])
    assert [type(one) for one in found] == [Timer, LearningRateMonitor]
    with pytest.raises(FairlabError, match=r"LearningRateMonitor .callbacks.rate. writes to a logger; give one"):
        build_callbacks({"rate": rate}, [])
    with pytest.raises(FairlabError, match=r"callbacks.no is a Identity, not a callback"):
        build_callbacks({"no": {"_target_": "torch.nn.Identity"}}, [])


@pytest.mark.slow
def test_hints_name_settings_that_are_there():
    config = composed("train", CCD, {})
    for key in DECIDED:
        hint = lightning_hint(key, config)
        named = hint.partition("; give ")[2].split(" or ")
        assert named != [""]
        for one in named:
            if one not in ("hydra.run.dir", "logger=NAME"):
                composed("train", CCD, {one.removeprefix("+"): 1})
    assert lightning_hint("max_time", config) is None


@pytest.mark.parametrize("name", GONE)
def test_a_choice_that_is_gone_names_a_command_that_composes(name):
    group, _, choice = name.partition("/")
    with pytest.raises(FairlabError) as error:
        composed("train", [f"{'+' * (group == 'experiment')}{group}={choice}"], {})
    instead = GONE[name].partition(",")[0].replace("SCALE", "quickstart").split()
    assert f"was removed; give {GONE[name]}" in str(error.value)
    assert composed("train", instead, {})


def test_a_model_to_start_from_is_what_evaluate_takes():
    overrides = [*CCD, "model=mpnet", "backbone.max_length=64"]
    backbone = from_model(composed("train", overrides, {}), overrides).backbone
    named = composed("train", [*CCD, "backbone=mpnet"], {}).backbone
    assert {**backbone} == {**named, "max_length": 64}
    with pytest.raises(FairlabError, match=r"model=mpnet and backbone=minilm both choose the model"):
        from_model(composed("train", [*CCD, "model=mpnet"], {}), ["model=mpnet", "backbone=minilm"])
    ensemble = ["+experiment=safety_ensemble", "model=mpnet"]
    with pytest.raises(FairlabError, match=r"starts from the classifiers of source="):
        from_model(composed("train", ensemble, {}), ensemble)


class Plain(lightning.LightningDataModule):
    """Data as Lightning alone has it."""


def test_a_plain_data_module_is_told_what_it_lacks():
    config = composed("train", [*CCD, f"data._target_={__name__}.Plain"], {})
    with pytest.raises(FairlabError, match=r"data=Plain lacks members that training data must have: .*total_batches"):
        refuse_misfits("train", config)
