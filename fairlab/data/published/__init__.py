"""Readers of published data sets, one file a data set."""
