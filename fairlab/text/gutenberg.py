"""Lines that enclose a book of Project Gutenberg; text before and after them does not belong to the book."""

import re

START = re.compile(r"\*\*\* ?START OF")
END = re.compile(r"\*\*\* ?END OF|End of (?:the )?Project Gutenberg")
