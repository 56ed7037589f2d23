"""Debiasing of classifiers that learn shortcuts: how training examples are weighted, or what is learned beside them."""
