"""Former place of the console script, from which scripts of an earlier installation import it."""

from fairlab.run.command_line.console import main as main
