"""Rewriting by language models."""
