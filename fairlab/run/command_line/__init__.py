"""Run the command line."""
