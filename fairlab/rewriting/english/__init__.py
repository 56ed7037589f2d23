"""Rules of English rewriting."""
