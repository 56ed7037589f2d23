"""Losses: pure functions of tensors, one concept per file."""
