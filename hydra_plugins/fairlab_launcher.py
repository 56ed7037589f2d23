"""Hydra's side of fairlab's launchers: every job of a sweep is a process of its own; see :mod:`fairlab.run.sweeps`.

Hydra takes launchers from the package ``hydra_plugins`` alone, and imports what lies there at every start, so this
module imports the rest of fairlab only when a sweep begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

ConfigStore.instance().store(
    group="hydra/launcher",
    name="fairlab",
    node={"_target_": "hydra_plugins.fairlab_launcher.FairlabLauncher", "objective": None},
    provider="fairlab",
)


class FairlabLauncher(Launcher):
    """Runs the jobs of a sweep that have no finished record yet, then writes the sweep's report.

    Args:
        over: what runs them: ``basic``, ``joblib``, ``submitit`` or ``ray``.
        objective: key in ``metrics.json`` that a sweeper such as Optuna minimises or maximises.
        settings: of ``over``; see conf/launcher.
    """

    def __init__(self, over: str, objective: str | None = None, **settings: Any) -> None:
        self.over = over
        self.objective = objective
        self.settings = {key: OmegaConf.to_object(v) if OmegaConf.is_config(v) else v for key, v in settings.items()}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what is needed to compose the jobs."""
        self.loader = hydra_context.config_loader
        self.config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; one that fails is returned as such and stops no other."""
        from fairlab.run.sweeps import launch, make_job

        folder = Path(self.config.hydra.sweep.dir)
        jobs, returns = [], []
        for number, overrides in enumerate(job_overrides, start=initial_job_idx):
            config = self.loader.load_sweep_config(self.config, list(overrides))
            OmegaConf.update(config, "hydra.job.num", number, force_add=True)
            OmegaConf.update(config, "hydra.job.id", str(number), force_add=True)
            HydraConfig.instance().set_config(config)  # which the job's number in its folder's name is read from
            jobs.append(make_job(config, overrides, folder))
            returns.append(JobReturn(overrides=overrides, cfg=config))
        given = [*self.config.hydra.overrides.task, *self.config.hydra.overrides.hydra]
        results = launch(jobs, folder, given, self.over, self.settings, self.objective)
        for done, result in zip(returns, results, strict=True):
            failed = isinstance(result, Exception)
            done.status = JobStatus.FAILED if failed else JobStatus.COMPLETED
            done.return_value = result
        return returns
