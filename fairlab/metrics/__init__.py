"""Metrics as pure functions, and a torchmetrics class for validation during training."""
