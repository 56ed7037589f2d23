"""Rewriters, which change people or other content in texts on request."""
