"""Runs ``python -m fairlab.mend``."""

from fairlab.mend import command

if __name__ == "__main__":
    command()
