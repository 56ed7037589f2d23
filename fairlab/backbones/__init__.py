"""Backbones: pretrained models, which are loaded by name and used as text encoders."""
