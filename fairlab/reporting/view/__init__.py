"""Page that shows all runs."""
