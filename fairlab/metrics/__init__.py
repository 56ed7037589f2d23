"""Metrics: pure functions, and torchmetrics classes for training loops."""
