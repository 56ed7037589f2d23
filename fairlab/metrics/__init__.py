"""Metrics: pure functions, and a torchmetrics class for the validation of a training."""
