"""Augmentations: rewriting strategies that choose a rewriter and its requests, one per file."""
