"""Alias of the console script for earlier installations, which import the script from this module."""

from fairlab.run.command_line.console import main as main
