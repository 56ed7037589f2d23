"""Methods that debias or train a model."""
