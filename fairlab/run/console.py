"""Alias of the console script, kept for earlier installations, whose scripts import it from this module."""

from fairlab.run.command_line.console import main as main
