"""Report pages about many runs."""
