"""Safety ensemble: source classifiers, and small models that combine their scores."""
