"""Hydra plugin for fairlab's launchers, which run each job of a sweep in its own process.

Hydra finds launchers only in the package ``hydra_plugins`` and imports all of its modules at every start, so this
module imports the rest of fairlab only when a sweep begins. See :mod:`fairlab.run.launch.jobs`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

if TYPE_CHECKING:
    from fairlab.run.launch.jobs import Job
    from fairlab.run.launch.sweeps import SweepRun

# Arguments of a sweep's command that the commands of its runs do not repeat.
OF_SWEEP = re.compile(r"\+?(launcher\b|output=)|hydra[./](mode|launcher|sweep|sweeper|run)\b")

ConfigStore.instance().store(
    group="hydra/launcher",
    name="fairlab",
    node={"_target_": "hydra_plugins.fairlab_launcher.FairlabLauncher", "objective": None},
    provider="fairlab",
)


class FairlabLauncher(Launcher):
    """Launcher that runs the jobs of a sweep without a finished record, then writes the sweep's report.

    The setting ``launcher=`` selects the runner of the jobs; see conf/launcher.

    Args:
        objective: Key in ``metrics.json`` that a sweeper such as Optuna minimises or maximises.
    """

    def __init__(self, objective: str | None = None) -> None:
        self.objective = objective

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store the objects that are needed to compose the configurations of the jobs."""
        self.loader = hydra_context.config_loader
        self.config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs.

        A failed job is returned as failed and does not stop the others.
        """
        from fairlab.run.launch.sweeps import launch

        sweep = Path(self.config.hydra.sweep.dir)
        runs, returns = [], []
        for number, overrides in enumerate(job_overrides, start=initial_job_idx):
            config = self.loader.load_sweep_config(self.config, list(overrides))
            OmegaConf.update(config, "hydra.job.num", number, force_add=True)
            OmegaConf.update(config, "hydra.job.id", str(number), force_add=True)
            HydraConfig.instance().set_config(config)  # the folder's name contains the job's number
            runs.append(sweep_run(config, overrides, sweep))
            returns.append(JobReturn(overrides=overrides, cfg=config))
        given = [*self.config.hydra.overrides.task, *self.config.hydra.overrides.hydra]
        settings: Any = OmegaConf.to_object(self.config.launcher)
        failed = launch(runs, sweep, given, **settings)
        for run, done in zip(runs, returns, strict=True):
            value = outcome(run.job, failed, self.objective, len(runs))
            done.status = JobStatus.FAILED if isinstance(value, Exception) else JobStatus.COMPLETED
            done.return_value = value
        return returns


def sweep_run(config: DictConfig, overrides: Sequence[str], sweep: Path) -> SweepRun:
    """Return a run of a sweep for its composed configuration and its overrides."""
    from fairlab.run.folders import plain_config
    from fairlab.run.launch.jobs import Job
    from fairlab.run.launch.sweeps import SweepRun

    folder = sweep / str(config.hydra.sweep.subdir)
    given = [one for one in (*overrides, *config.hydra.overrides.hydra) if not OF_SWEEP.match(one)]
    place = "output" if "output" in config else "hydra.run.dir"
    own = [str(source.path) for source in config.hydra.runtime.config_sources if source.provider == "command-line"]
    command = [sys.executable, "-m", f"fairlab.{config.hydra.job.name}"]
    command += [f"--config-dir={path}" for path in own] + [*given, "hydra.mode=RUN", f"{place}={folder}"]
    if "output" in config:
        config.output = str(folder)
    job = Job(folder, command, "ckpt" in config, Path.cwd())
    return SweepRun(tuple(overrides), plain_config(config), job)


def outcome(job: Job, failed: dict[Path, str], objective: str | None, total: int) -> Any:
    """Return the result of a job for the sweeper.

    Returns:
        Value of the objective, None without an objective, or an error that lists the failed jobs.
    """
    from fairlab.record import Record
    from fairlab.types import FairlabError

    if job.folder in failed:
        sentences = "; ".join(f"{folder.name}: {sentence}" for folder, sentence in failed.items())
        return FairlabError(
            f"{len(failed)} of {total} runs failed ({sentences}); give the same command again to do only these, "
            "or, if a setting is wrong, correct it and choose another hydra.sweep.dir"
        )
    if objective is None:
        return None
    metrics = Record.load(job.place).metrics()
    if objective not in metrics:
        return FairlabError(f"{job.folder} has no {objective}; hydra.launcher.objective takes one of {sorted(metrics)}")
    return metrics[objective]
