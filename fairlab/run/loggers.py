"""Loggers in addition to ``record.json``, which remains the authoritative record.

An error in a logger neither stops a run nor affects its record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from fairlab.checks.escapes import print_escaped
from fairlab.checks.redaction import redacted, without_secrets
from fairlab.record import Comparison, Reading, Record
from fairlab.run.config.build import build_with_some
from fairlab.types import FairlabError, missing_extra

WORDS = ("what was measured", "what it means")
COLUMNS = ("phase", "benchmark", "subset", "quantity", "value", "low", "high", "unit", "ideal", "n", "p")
SAID = 200  # maximum number of characters shown of a logger's error
DIFFERENCES = ("phase", "benchmark", "subset", "quantity", "difference", "low", "high", "unit", "p", "p_holm", "n")


def build_loggers(nodes: Mapping[str, DictConfig], record: Record, sweep: str | None) -> list[Any]:
    """Build the loggers of a run.

    They write to its folder and receive its configuration without secrets. The record stores the run's Weights & Biases
    id, so that the run can be resumed. ``sweep`` is the name of the sweep, or None.

    Raises:
        FairlabError: A logger's package is not installed, Weights & Biases has no API key, or a logger cannot start.
    """
    loggers = []
    objects = {"save_dir": str(record.folder), "sweep": sweep}
    if "wandb" in nodes:
        objects["run_id"] = record.provenance.setdefault("wandb_id", os.urandom(4).hex())
    for name, node in nodes.items():
        try:
            loggers.append(build_with_some(node, objects))
        except ModuleNotFoundError as error:
            raise missing_extra(name, f"logger={name}") from error
    for name, logger in zip(nodes, loggers, strict=True):
        try:
            logger.log_hyperparams(redacted(record.config))
        except Exception as error:  # some loggers start only now, and can raise any type of error
            said = without_secrets(" ".join(str(error).split()))[:SAID]
            raise FairlabError(
                f"logger={name} cannot start ({type(error).__name__}: {said}); pip install 'fairlab[{name}]' installs "
                "its packages, or leave it out"
            ) from error
        logger.log_metrics = _without_errors(logger)
    return loggers


def _without_errors(logger: Any) -> Callable[..., None]:
    """Wrap a logger's ``log_metrics`` so that errors do not stop training.

    Only the first error is reported.
    """
    log_metrics = logger.log_metrics
    failed: list[Exception] = []

    def log(*arguments: Any, **values: Any) -> None:
        try:
            log_metrics(*arguments, **values)
        except Exception as error:  # a server's errors cannot be foreseen
            if not failed:
                _say(logger, error)
            failed.append(error)

    return log


def _say(logger: Any, error: Exception) -> None:
    text = without_secrets(" ".join(str(error).split()))
    print_escaped(
        f"fairlab: {type(logger).__name__} fails ({text}); the run continues, and record.json has all values",
        error=True,
    )


def wandb_logger(
    *,
    project: str,
    entity: str | None,
    offline: bool,
    group: str | None,
    tags: Sequence[str],
    model: bool,
    init_timeout: float,
    finish_timeout: float,
    save_dir: str,
    run_id: str,
    sweep: str | None,
) -> Any:
    """Create a Weights & Biases logger.

    If the server cannot be reached, the run is stored in its folder to sync later. A resumed run keeps its id.

    Args:
        project: Name of the project on the server.
        entity: User or team; None uses the owner of the key.
        offline: Whether to write only to the run folder and never contact the server.
        group: Name of the group under which runs are shown; None uses the sweep.
        tags: Tags of the run.
        model: Whether the trained model is stored as an artifact, see :func:`finish_loggers`.
        init_timeout: Number of seconds to wait for the server at the start.
        finish_timeout: Number of seconds to wait at the end for unsent data, which remains in the run folder.
        save_dir: Folder of the run.
        run_id: Id of the run in Weights & Biases.
        sweep: Name of the sweep that the run belongs to, or None.

    Raises:
        FairlabError: There is no API key.
    """
    import wandb
    from lightning.pytorch.loggers import WandbLogger

    if wandb.run is not None:  # left open by an earlier failed job of a sweep
        wandb.finish(exit_code=1)
    settings = wandb.Settings(init_timeout=init_timeout, finish_timeout=finish_timeout, finish_timeout_raises=False)
    common: dict[str, Any] = {
        "project": project,
        "entity": entity,
        "group": group or sweep,
        "tags": list(tags),
        "name": "/".join(Path(save_dir).parts[-2:]),
        "dir": save_dir,
        "id": run_id,
        "resume": "allow",
        "settings": settings,
    }
    run = _wandb_run(common, offline)
    for link in Path(save_dir, "wandb").glob("*/logs/debug-core.log"):
        link.unlink()  # leads to a cache of the user, but a run's folder must contain all of its own files
    run.define_metric("trainer/global_step")
    run.define_metric("*", step_metric="trainer/global_step", step_sync=True)
    return WandbLogger(experiment=run, save_dir=save_dir)


def _wandb_run(settings: dict[str, Any], offline: bool) -> Any:
    """Start a Weights & Biases run, offline if the server cannot be reached."""
    import wandb

    try:
        return wandb.init(mode="offline" if offline else None, **settings)
    except wandb.errors.UsageError as error:
        raise FairlabError(
            "logger=wandb has no API key; run 'wandb login', set WANDB_API_KEY, or give logger.wandb.offline=true"
        ) from error
    except wandb.errors.Error as error:
        print_escaped(
            f"fairlab: wandb's server cannot be reached ({type(error).__name__}); the run is stored in "
            f"{settings['dir']}/wandb: "
            "send it with 'wandb sync' later",
            error=True,
        )
        wandb.teardown()  # its other process still holds the id
        return wandb.init(mode="offline", **settings)


def finish_loggers(loggers: Sequence[Any], record: Record, step: int) -> None:
    """Send the final readings to the loggers and close them.

    Weights & Biases also receives tables and the model. Errors are printed and otherwise ignored, because the run is
    already finished.
    """
    for logger in loggers:
        try:
            logger.log_metrics(record.metrics(), step=step)
            if type(logger).__name__ == "WandbLogger":
                _finish_wandb(logger.experiment, record)
            logger.finalize("success")
        except Exception as error:
            _say(logger, error)


def _finish_wandb(run: Any, record: Record) -> None:
    import wandb

    readings = [_described_row(entry, COLUMNS) for entry in record.readings]
    differences = [_described_row(entry, DIFFERENCES) for entry in record.comparisons]
    run.log(
        {
            "tables/readings": wandb.Table(columns=[*WORDS, *COLUMNS], data=readings),
            "tables/differences": wandb.Table(columns=[*WORDS, *DIFFERENCES], data=differences),
        }
    )
    if record.config["logger"]["wandb"]["model"] and (record.folder / "model").is_dir():  # absent in evaluation
        artifact = wandb.Artifact(f"model-{run.id}", type="model")
        artifact.add_dir(str(record.folder / "model"))
        run.log_artifact(artifact)
    run.finish()


def _described_row(entry: Reading | Comparison, columns: Sequence[str]) -> list[Any]:
    """Return a table row with the title and meaning of a reading or comparison, followed by the given fields."""
    from fairlab.reporting.headlines import meaning, title

    return [title(entry), meaning(entry), *(getattr(entry, column) for column in columns)]
