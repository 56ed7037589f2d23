"""Validation of external input, and protection of output, before other code uses it."""
