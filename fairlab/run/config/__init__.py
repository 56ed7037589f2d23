"""Composition and validation of configurations, and construction of the objects that they describe."""
