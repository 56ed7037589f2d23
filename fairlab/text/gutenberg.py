"""Patterns of the lines between which the text of a Project Gutenberg book is enclosed."""

import re

START = re.compile(r"\*\*\* ?START OF")
END = re.compile(r"\*\*\* ?END OF|End of (?:the )?Project Gutenberg")
