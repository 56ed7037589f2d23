"""Checks of input from outside, and protection of output, before any other code relies on it."""
