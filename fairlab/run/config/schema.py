"""What the entry points' configurations hold at the top, and the check of a whole configuration, once it is composed.

What a class takes is said by its signature alone; here stand the keys that are of no class.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from fairlab.checks.values import TARGET, Node, faults
from fairlab.run.command_line import cli
from fairlab.run.folders import plain_config
from fairlab.types import Count, FairlabError, Seed, Texts


class Nothing(TypedDict):
    """What ``GROUP=none`` stands for."""


Choice = Node | Nothing
Name = str | int  # a command gives what is all digits as a number
Names = Name | Sequence[Name] | Mapping[str, Name]


class Scale(TypedDict):
    """Of ``scale=``."""

    name: str


class Steps(TypedDict):
    """Keys of ``trainer`` that are fairlab's own, or bounded by it; all others are arguments of Lightning's trainer."""

    checkpoint_every: Count
    compile: bool
    device_batch_size: Count | None
    num_nodes: NotRequired[Count]
    max_steps: NotRequired[Count | None]


class Train(TypedDict):
    """Of ``fairlab.train``."""

    scale: Scale
    backbone: NotRequired[Node]
    data: Node
    source: NotRequired[Mapping[str, Node]]
    rewriter: Choice
    llm: Choice
    augmentation: Choice
    method: Node
    debiasing: Choice
    benchmark: Mapping[str, Node]
    trainer: Mapping[str, Any]
    logger: Mapping[str, Node]
    seed: Seed
    task: str
    axis: str
    attributes: Sequence[str] | None
    measure_before: bool
    ckpt: Name | None
    before: Name | None
    then: NotRequired[Sequence[str | Mapping[str, Mapping[str, Any]]]]
    search: NotRequired[Node]
    biaser_set: NotRequired[Node]
    limit: Count | None
    push: str | None
    dry_run: NotRequired[bool]
    calibrate: NotRequired[bool]
    debug: NotRequired[Mapping[str, Any]]


class Evaluate(TypedDict):
    """Of ``fairlab.evaluate``."""

    benchmark: Mapping[str, Node]
    logger: NotRequired[Mapping[str, Node]]
    model: Names | None
    dataset: Names | None
    field: str | Texts
    pooling: Literal["mean", "cls", "published"] | None
    normalize: bool | None
    max_length: int | None
    dtype: str | None
    seed: Seed
    processes: Count
    ckpt: Name | None
    limit: Count | None
    push: str | None
    dry_run: NotRequired[bool]
    calibrate: NotRequired[bool]
    debug: NotRequired[Mapping[str, Any]]


class Augment(TypedDict):
    """Of ``fairlab.augment``."""

    augmentation: Choice | None
    rewriter: Choice
    llm: Choice
    input: str
    output: Name
    axis: str
    attributes: Sequence[str] | None
    limit: Count | None
    field: str | Texts
    license: str | None
    push: str | None
    seed: Seed
    shard_rows: Count
    num_proc: Count
    engine: Literal["local", "ray"]
    search: NotRequired[Node]
    biaser_set: NotRequired[Node]


class Score(TypedDict):
    """Of ``fairlab.score``."""

    model: str
    input: str
    output: str
    field: str | Texts
    keep: Sequence[str]
    part_rows: Count
    source_scores: bool
    versions: bool
    num_proc: Count
    sources: Mapping[str, Mapping[str, Any]]
    cache: str | None


class Serve(TypedDict):
    """Of ``fairlab.serve``."""

    model: str
    port: int
    body: Count
    waiting: Count
    connections: Count
    seconds: Count
    sources: Mapping[str, Mapping[str, Any]]


class Reproduce(TypedDict):
    """Of ``fairlab.reproduce``."""

    scale: Scale
    paper: str
    table: Name | None
    seeds: Count | None
    dry_run: bool
    calibrate: bool
    overrides: Sequence[str]
    output: str


class Report(TypedDict):
    """Of ``fairlab.report``."""

    runs: str
    readings: Texts | None


# Lightning's arguments that are not taken, as they follow from settings of a run; and from which.
FOLLOWS = {
    "accumulate_grad_batches": "data.batch_size, the items of a step, and trainer.device_batch_size",
    "barebones": "trainer.max_steps, for a short run",
    "check_val_every_n_epoch": "method.validate_every",
    "default_root_dir": "hydra.run.dir",
    "enable_checkpointing": "trainer.checkpoint_every",
    "fast_dev_run": "trainer.max_steps, for a short run",
    "gradient_clip_algorithm": "method.clip",
    "gradient_clip_val": "method.clip",
    "limit_train_batches": "trainer.max_steps, or data.limit",
    "limit_val_batches": "data.validation",
    "logger": "logger=NAME",
    "max_epochs": "method.epochs",
    "min_epochs": "method.epochs",
    "overfit_batches": "data.limit",
    "use_distributed_sampler": "trainer.devices",
    "val_check_interval": "method.validate_every",
}

KEYS: dict[str, Any] = {
    "train": Train,
    "evaluate": Evaluate,
    "augment": Augment,
    "score": Score,
    "serve": Serve,
    "reproduce": Reproduce,
    "report": Report,
}


def refuse_misfits(entry: str, config: DictConfig) -> None:
    """Check a composed configuration whole: its keys, and the values of everything that it names.

    Raises:
        FairlabError: a value is missing or does not fit; the sentence names its key and what would fit.
    """
    known = KEYS[entry].__annotations__
    refuse_missing(config)
    values = plain_config(config)
    for key in KEYS[entry].__required_keys__ - set(values):
        raise FairlabError(f"nothing is chosen for {key}; give {key}=NAME with: {', '.join(cli.choices(key))}")
    for key in values.keys() - known.keys():
        _refuse_unread(key, sorted(known))
    found = faults("", {key: value for key, value in values.items() if key in known}, KEYS[entry])
    for sentence in found:
        raise FairlabError(sentence)
    if "trainer" in values:
        _refuse_misfits_of_trainer(values["trainer"])


def refuse_missing(config: DictConfig) -> None:
    """Raise where a value that a run needs was not given.

    Raises:
        FairlabError: a value is missing; the sentence names its key.
    """
    if missing := sorted(_missing(config)):
        raise FairlabError(f"{missing[0]} has no value; give one, for example {missing[0]}=...")


def _missing(config: DictConfig) -> set[str]:
    if unset := {str(key) for key in config if OmegaConf.is_missing(config, str(key))}:
        return unset  # first, as other values may be made of these
    made = {"data.path"} if OmegaConf.select(config, "data.input") else set()  # of data.input
    return OmegaConf.missing_keys(config) - made


def _refuse_unread(key: str, known: Sequence[str]) -> None:
    """Raise where a command adds a key that nothing reads; a file may hold values for others to take over."""
    given = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    added = any(re.match(rf"\+{{1,2}}{re.escape(key)}[.=]", one) for one in given)
    if added and not any("${" + key in one for one in given):
        raise FairlabError(f"there is no key '{key}' at the top level; there are: {', '.join(known)}")


def _refuse_misfits_of_trainer(trainer: Mapping[str, Any]) -> None:
    for name in trainer.keys() & FOLLOWS.keys():
        raise FairlabError(f"trainer.{name} follows from other settings; give {FOLLOWS[name]}")
    own = Steps.__annotations__
    theirs = {key: value for key, value in trainer.items() if key not in own}
    for sentence in faults("trainer", {key: value for key, value in trainer.items() if key in own}, Steps):
        raise FairlabError(sentence)
    for sentence in faults("trainer", {TARGET: "lightning.Trainer", **theirs}, Node):
        raise FairlabError(sentence)
