"""Rewriting that keeps labels."""
