"""Hydra's part of fairlab: composing, folders, checkpoints, loggers, sweeps and processes of a run."""
