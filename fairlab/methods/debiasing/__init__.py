"""Debiasing strategies for classifiers that learn shortcuts: example weights and auxiliary models."""
