"""Runs ``python -m fairlab.audit``."""

from fairlab.audit import command

if __name__ == "__main__":
    command()
