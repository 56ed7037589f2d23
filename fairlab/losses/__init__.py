"""Losses: pure functions of tensors, one file a concept."""
