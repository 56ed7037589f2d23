"""Arguments of Lightning's trainer: those that a run's settings determine, and those that a command may add."""

from __future__ import annotations

import inspect
from typing import Any

from omegaconf import OmegaConf

# For each argument that is not accepted: the settings that decide it.
DECIDED = {
    "accumulate_grad_batches": ("data.batch_size", "trainer.device_batch_size"),
    "barebones": ("trainer.max_steps",),
    "check_val_every_n_epoch": ("method.validate_every",),
    "default_root_dir": ("hydra.run.dir",),
    "enable_checkpointing": ("trainer.checkpoint_every",),
    "fast_dev_run": ("trainer.max_steps",),
    "limit_train_batches": ("trainer.max_steps", "data.limit"),
    "limit_val_batches": ("data.validation",),
    "logger": ("logger=NAME",),
    "max_epochs": ("method.epochs",),
    "min_epochs": ("method.epochs",),
    "overfit_batches": ("data.limit", "data.limit_characters"),
    "use_distributed_sampler": ("trainer.devices",),
    "val_check_interval": ("method.validate_every",),
}
ALWAYS = ("hydra.run.dir", "logger=NAME", "trainer.max_steps")  # available in every run


def lightning_hint(key: str, config: Any) -> str | None:
    """Return a sentence about an argument of Lightning's trainer, or None if no other setting determines it.

    The sentence names only settings that the configuration has.
    """
    if key not in DECIDED:
        return None
    config = OmegaConf.create(dict(config)) if isinstance(config, dict) else config
    there = [one for one in DECIDED[key] if one in ALWAYS or _has(config, one)]
    if not there:
        method = str(OmegaConf.select(config, "method._target_")).rpartition(".")[2]
        return f"trainer.{key} has no effect for {method} on this data; leave it out"
    plus = "+" if there[0] == "trainer.max_steps" and not _has(config, there[0]) else ""
    return f"trainer.{key} follows from other settings; give {plus}{' or '.join(there)}"


def _has(config: Any, key: str) -> bool:
    parent, _, last = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    return node is not None and last in node


def is_lightning_key(key: str) -> bool:
    """Return whether Lightning's trainer has an argument with the given name."""
    import lightning

    return key in inspect.signature(lightning.Trainer).parameters
