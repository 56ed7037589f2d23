"""``python -m fairlab NAME ...``: the console script, for use when it is not on the path."""

from fairlab.run.command_line.console import main

if __name__ == "__main__":
    main()
