"""Backbones: pretrained models by name, as encoders of text."""
