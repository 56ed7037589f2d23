"""Execution of runs with Hydra: configuration, folders, checkpoints, loggers, sweeps and processes."""
