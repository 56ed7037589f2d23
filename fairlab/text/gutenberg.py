"""Patterns of the lines that enclose the text of a Project Gutenberg book."""

import re

START = re.compile(r"\*\*\* ?START OF")
END = re.compile(r"\*\*\* ?END OF|End of (?:the )?Project Gutenberg")
