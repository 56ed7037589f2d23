"""Hydra's side of fairlab's launchers: each job of a sweep is its own process; see :mod:`fairlab.run.launch.jobs`.

Hydra takes launchers from the package ``hydra_plugins`` alone, and imports what lies there at every start, so this
module imports the rest of fairlab only when a sweep begins.
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

# Of the command of a sweep, what the command of one run does not repeat.
OF_SWEEP = re.compile(r"\+?(launcher\b|output=)|hydra[./](mode|launcher|sweep|sweeper|run)\b")

ConfigStore.instance().store(
    group="hydra/launcher",
    name="fairlab",
    node={"_target_": "hydra_plugins.fairlab_launcher.FairlabLauncher", "objective": None},
    provider="fairlab",
)


class FairlabLauncher(Launcher):
    """Runs the jobs of a sweep that have no finished record yet, then writes the sweep's report.

    What runs them is chosen by ``launcher=``; see conf/launcher.

    Args:
        objective: key in ``metrics.json`` that a sweeper such as Optuna minimises or maximises.
    """

    def __init__(self, objective: str | None = None) -> None:
        self.objective = objective

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what is needed to compose the jobs."""
        self.loader = hydra_context.config_loader
        self.config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; one that fails is returned as such and stops no other."""
        from fairlab.run.launch.sweeps import launch

        sweep = Path(self.config.hydra.sweep.dir)
        runs, returns = [], []
        for number, overrides in enumerate(job_overrides, start=initial_job_idx):
            config = self.loader.load_sweep_config(self.config, list(overrides))
            OmegaConf.update(config, "hydra.job.num", number, force_add=True)
            OmegaConf.update(config, "hydra.job.id", str(number), force_add=True)
            HydraConfig.instance().set_config(config)  # which the job's number in its folder's name is read from
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
    """Return a run of a sweep from its composed configuration and its overrides."""
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
    """Return what a job gives to the sweeper: its objective, None, or the error that says which jobs failed."""
    from fairlab.record import Record
    from fairlab.types import FairlabError

    if job.folder in failed:
        sentences = "; ".join(f"{folder.name}: {sentence}" for folder, sentence in failed.items())
        return FairlabError(
            f"{len(failed)} of {total} runs failed ({sentences}); give the same command again to do only these"
        )
    if objective is None:
        return None
    metrics = Record.load(job.place).metrics()
    if objective not in metrics:
        return FairlabError(f"{job.folder} has no {objective}; hydra.launcher.objective takes one of {sorted(metrics)}")
    return metrics[objective]
