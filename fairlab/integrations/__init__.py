"""Integrations with the trainers of sentence-transformers, transformers and Lightning, and with tasks of lm-eval."""
