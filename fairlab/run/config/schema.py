"""Validation of composed configurations.

The settings of a class are defined only by its signature. The keys of an entry point are the keys of its file in
``conf``. The type of a key is the type of its default value. This module adds the constraints that a default value
cannot express.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from hydra.core.hydra_config import HydraConfig
from omegaconf import MISSING, DictConfig, ListConfig, OmegaConf

from fairlab.checks.values import TARGET, Node, faults, nearest_known, target_of
from fairlab.protocols import TrainingData
from fairlab.run.command_line import cli
from fairlab.run.config.lightning_keys import lightning_hint
from fairlab.run.config.optimizing import DECAYED, refuse_wrong_optimizer
from fairlab.run.config.served_nodes import names_server
from fairlab.run.folders import plain_config
from fairlab.text.pipeline import refuse_unknown_pipeline
from fairlab.types import Count, FairlabError, Fraction, Natural, NotNegative, Positive, Seed, Texts


class Nothing(TypedDict):
    """Keys of ``GROUP=none``, which has no settings."""


Choice = Node | Nothing
Name = str | int  # a name of digits alone is parsed as a number
Names = Name | Sequence[Name] | Mapping[str, Name]


class Scale(TypedDict):
    """Keys of the setting ``scale``."""

    name: str


class Steps(TypedDict):
    """Keys of ``trainer`` that fairlab defines or restricts.

    All other keys are arguments of Lightning's trainer.
    """

    checkpoint_every: Count
    matmul_precision: Literal["highest", "high", "medium"]
    attention: str | None
    compile: bool
    recompute: Literal["none", "full", "selective"]
    device_batch_size: Count | None
    num_nodes: NotRequired[Count]
    max_steps: NotRequired[Count | None]


TYPES: dict[str, Any] = {
    "seed": Seed,
    "name": Name | None,
    "port": Natural,
    "attributes": Sequence[str] | None,
    "limit": Count | None,
    "system": str | None,
    "push": str | None,
    "ckpt": Name | None,
    "before": Name | None,
    "then": Sequence[str | Mapping[str, Mapping[str, Any]]],
    "model": Name | None,
    "field": str | Texts,
    "pooling": Literal["mean", "cls", "published"] | None,
    "normalize": bool | None,
    "base": Name | None,
    "max_length": int | None,
    "dtype": Literal["float32", "bfloat16", "float16"] | None,
    "attention": str | None,
    "device": str | None,
    "output": Name,
    "license": str | None,
    "engine": Literal["local", "ray"],
    "augmentation": Choice | None,
    "sources": Mapping[str, Mapping[str, Any]],
    "cache": str | None,
    "spacy": str | None,
    "table": Name | None,
    "seeds": Count | None,
    "readings": Texts | None,
    # Groups that allow several choices, or that hold no class.
    "benchmark": Mapping[str, Node],
    "source": Mapping[str, Node],
    "logger": Mapping[str, Node],
    "callbacks": Mapping[str, Node],
    "trainer": Mapping[str, Any],
    "scale": Scale,
    # Keys that choices add at the top level.
    "search": Node,
    "biaser_set": Node,
    "debug": Mapping[str, Any],
}
OWN = {  # keys with a different meaning in one entry point
    "evaluate": {"model": Names | None, "dataset": Names | None},  # side by side
    "score": {"model": Name},
    "serve": {"model": Name},
    "audit": {
        "model": Names,
        "dataset": str | None,
        "prompts": str | None,
        "temperature": NotNegative,
        "max_tokens": Count,
        "question": str | Mapping[str, str] | None,
        "answers": Sequence[Name] | None,
        "api_key_env": str | None,
        "scorer": Node,
        "output": str | None,
        "label": str | Texts,
        "group": str | Texts | None,
        "axis": Texts,
        "labels": Sequence[Name] | None,
        "threshold": Fraction,
        "margin": Positive | None,
        "sheet": Count | str | None,
        "mode": Literal["syntax", "lexical"],
        "mend": Literal["threshold", "odds"] | None,
        "fit": str | None,
        "keep": NotNegative,
    },
}
NOT_KEYS = ("defaults", "hydra", "data")  # settings that a root file adds to a group
ADDED = ("search", "biaser_set", "debug")
# checked after the method, so that a message names the key that the user gave
READ_FROM_METHOD = ("optimizer", "schedule")
MAY_BE_MISSING = ("training", "backbone", "optimizer", "schedule", "callbacks", "source", "logger", "augmentation")


@cache
def keys_of(entry: str) -> dict[str, Any]:
    """Return the top-level keys of the configuration of an entry point such as ``train``, with their types."""
    root: Any = OmegaConf.load(Path(cli.conf_dir()) / f"{entry}.yaml")
    types = TYPES | OWN.get(entry, {})
    keys = {str(key): types.get(str(key)) or _type_of(root._get_node(key)) for key in root if key not in NOT_KEYS}
    chosen = [str(next(iter(one))) for one in root.defaults if isinstance(one, DictConfig)]
    groups = [one for one in chosen if " " not in one and "@" not in one and one != "launcher"]
    return {**{name: types.get(name, Choice) for name in (*groups, *ADDED)}, **keys}


def _type_of(node: Any) -> Any:
    """Return the type that values replacing a default must have."""
    value = node._value()  # a text if it is missing or refers to another value
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return Count
    return Sequence[str] if isinstance(node, ListConfig) else str


def refuse_misfits(entry: str, config: DictConfig, given: Sequence[str] | None = None) -> None:
    """Check the keys of a composed configuration, and the values of every object that it describes.

    ``given`` are the overrides of the command, or None for the overrides of the running Hydra job.

    Raises:
        FairlabError: A value is missing or does not fit. The message names its key and a fitting value.
    """
    known = keys_of(entry)
    refuse_missing(config)
    values = plain_config(config)
    for key in known.keys() - values.keys() - {*ADDED, *MAY_BE_MISSING}:
        raise FairlabError(f"no choice is given for {key}; give {key}=NAME with: {', '.join(cli.choices(key))}")
    if given is None:
        given = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    for key in values.keys() - known.keys():
        _refuse_unread(key, sorted(known), given)
    _refuse_other_package(config, given)
    if entry == "train":
        _refuse_misfits_of_training(values)
    hints = {key: hint for key, hint in known.items() if key in values}
    for key, hint in sorted(hints.items(), key=lambda one: one[0] in READ_FROM_METHOD):
        for sentence in faults(key, values[key], hint):
            raise FairlabError(sentence)
    if entry == "train":
        refuse_wrong_optimizer(values)
    if values.get("spacy"):
        refuse_unknown_pipeline(values["spacy"])


def _refuse_other_package(config: DictConfig, given: Sequence[str]) -> None:
    """Raise an error if a command names another model, but the weights still come from the package of the choice."""
    chosen = {one.lstrip("+").partition("=")[0]: one.partition("=")[2] for one in given if "=" in one}
    for key, name in chosen.items():
        node, _, last = key.rpartition(".")
        loads = str(OmegaConf.select(config, f"{node}.{TARGET}") if node else "").rpartition(".")[2].startswith("load_")
        if last != "name" or not loads or f"{node}.package" in chosen:  # new models take only the vocabulary from it
            continue
        if package := OmegaConf.select(config, f"{node}.package"):
            rest = ("package", "gguf", "weights_sha256")
            needed = " ".join(f"{node}.{one}=null" for one in rest if OmegaConf.select(config, f"{node}.{one}"))
            instead = f"give model={name}, or add" if node == "backbone" else "add"
            raise FairlabError(
                f"{key}={name} would still load the weights of the package {package}; {instead} {needed}"
            )


def refuse_missing(config: DictConfig) -> None:
    """Raise an error that names the key if a required value is not set."""
    if missing := sorted(_missing(config)):
        raise FairlabError(f"{missing[0]} has no value; give one, for example {missing[0]}=...")


def _missing(config: DictConfig) -> set[str]:
    if unset := {str(key) for key in config if OmegaConf.is_missing(config, str(key))}:
        return unset  # first, because other values may be derived from these
    made = {"data.path"} if OmegaConf.select(config, "data.input") else set()  # derived from data.input
    if names_server(config.get("model")):
        made.add("llm.model")  # given by the address or CHOICE/NAME
    return set(_unset("", plain_config(config))) - made


def _unset(key: str, value: Any) -> Iterator[str]:
    """Yield the dotted keys of missing values, including values that are missing at only one scale."""
    if value == MISSING:
        yield key
    elif isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in parts:
            yield from _unset(f"{key}.{name}" if key else str(name), one)


def _refuse_unread(key: str, known: Sequence[str], given: Sequence[str]) -> None:
    """Raise an error if the command adds a key that no code reads.

    Configuration files may have unread keys, because other values refer to them.
    """
    added = any(re.match(rf"\+{{1,2}}{re.escape(key)}[.=]", one) for one in given)
    if added and not any("${" + key in one for one in given):
        raise FairlabError(
            f"there is no key '{key}' at the top level{nearest_known(key, known)}; there are: {', '.join(known)}"
        )


def _refuse_misfits_of_training(values: dict[str, Any]) -> None:
    """Check the keys of a training run that only fairlab reads, and remove them from nodes of classes outside fairlab.

    Data that is not training data is refused, too.
    """
    trainer = values["trainer"]
    for fault in faults("trainer", trainer, Mapping[str, Any]):
        raise FairlabError(fault)
    for name in trainer:
        if hint := lightning_hint(name, values):
            raise FairlabError(hint)
    own = Steps.__annotations__
    theirs = {key: value for key, value in trainer.items() if key not in own}
    found = [faults("trainer", {key: value for key, value in trainer.items() if key in own}, Steps)]
    found += [faults("trainer", {TARGET: "lightning.Trainer", **theirs}, Node)]
    if isinstance(values["data"], dict) and TARGET in values["data"]:
        target = target_of(values["data"], "data")
        refuse_other_data(target)
        if "num_workers" not in inspect.signature(target).parameters:
            found += [faults("data.num_workers", values["data"].pop("num_workers", 0), Natural)]
    if isinstance(optimizer := values.get("optimizer"), dict) and DECAYED in optimizer:
        found += [faults(f"optimizer.{DECAYED}", optimizer.pop(DECAYED), Literal["all", "matrices"])]
    for sentence in chain(*found):
        raise FairlabError(sentence)
    if (
        values.get("debiasing")
        and "debiasing" not in inspect.signature(target_of(values["method"], "method")).parameters
    ):
        raise FairlabError(
            "debiasing= works only with classifiers; "
            "choose it with +experiment=fairtune, glue, razor_fever or razor_nli"
        )


def refuse_other_data(target: Any) -> None:
    """Raise an error if a class lacks members that training data must have, as a plain LightningDataModule does."""
    asked = [name for name in vars(TrainingData) if not name.startswith("_")]
    if missing := [name for name in asked if not hasattr(target, name)]:
        raise FairlabError(
            f"data={target.__name__} lacks members that training data must have: {', '.join(missing)}; derive it from "
            "fairlab.data.batch_stream.Streamed, or from fairlab.protocols.TrainingData and LightningDataModule"
        )
