"""The home of Hydra: composing, folders, checkpoints, loggers, sweeps and processes of a run."""
