"""Rewriting of labelled texts without changing their labels."""
