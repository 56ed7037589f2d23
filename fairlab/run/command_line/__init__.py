"""Command line: the console script, entry points and ``fairlab ls``."""
