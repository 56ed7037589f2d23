"""Text processing: reading, cleaning, parsing, and search for words."""
