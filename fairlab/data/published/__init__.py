"""Readers of published datasets, one file per dataset."""
