"""Metrics: pure functions, and torchmetrics classes where a training loop needs them."""
