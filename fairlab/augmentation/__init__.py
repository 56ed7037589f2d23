"""Augmentations: methods that make or select training data, one per file."""
