"""Pages about many runs."""
