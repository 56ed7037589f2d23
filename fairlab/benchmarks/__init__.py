"""Benchmarks: each combines data, a protocol and metrics, and turns a model into readings."""
