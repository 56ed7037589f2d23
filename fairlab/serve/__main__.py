"""Runs ``python -m fairlab.serve``."""

from fairlab.serve import command

if __name__ == "__main__":
    command()
