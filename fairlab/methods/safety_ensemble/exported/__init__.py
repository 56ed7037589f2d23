"""Exported ensembles: writing, reading and scoring."""
