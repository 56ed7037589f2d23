"""Benchmarks, which combine data, a protocol and metrics to measure a model."""
