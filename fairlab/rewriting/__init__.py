"""Rewriters: change a text on request."""
