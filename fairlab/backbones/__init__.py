"""Backbones: pretrained models by name, used as text encoders."""
