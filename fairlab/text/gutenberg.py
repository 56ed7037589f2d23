"""The lines between which a book of Project Gutenberg stands; what is before and after them is not the book's."""

import re

START = re.compile(r"\*\*\* ?START OF")
END = re.compile(r"\*\*\* ?END OF|End of (?:the )?Project Gutenberg")
