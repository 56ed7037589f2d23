"""Estimates of a run's requirements before it starts: downloads, memory, FLOPs, hours and LLM calls."""
