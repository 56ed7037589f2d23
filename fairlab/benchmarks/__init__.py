"""Benchmarks: data, protocol and metric; a model goes in, readings come out."""
