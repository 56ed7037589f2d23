"""Words and their spans in text."""
