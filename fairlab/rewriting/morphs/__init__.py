"""Longer and shorter versions of texts."""
