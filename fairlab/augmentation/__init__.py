"""Augmentations: choices of which rewriter to use and how, one strategy per file."""
