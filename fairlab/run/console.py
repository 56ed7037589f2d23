"""Former location of the console script, kept for scripts of earlier installations that import it from here."""

from fairlab.run.command_line.console import main as main
