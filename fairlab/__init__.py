"""fairlab: a research framework for fairness in natural language processing, on Hydra and Lightning."""

__version__ = "0.1.0"
