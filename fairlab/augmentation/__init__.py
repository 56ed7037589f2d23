"""Augmentations: what to ask of which rewriter, one strategy a file."""
