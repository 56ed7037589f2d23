"""Exported ensembles: writing, reading and scoring with them."""
