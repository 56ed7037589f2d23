"""The safety ensemble: source classifiers, and small models on top of their scores."""
