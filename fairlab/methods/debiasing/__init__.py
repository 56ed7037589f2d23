"""Debiasing of classifiers that learn shortcuts, by weights of training examples or by auxiliary models."""
