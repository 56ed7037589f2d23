"""Rewriters: text changes on request."""
