"""Backbones: pretrained models that are loaded by name and used as text encoders."""
