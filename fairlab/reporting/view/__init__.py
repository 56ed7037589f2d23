"""Page that shows all runs in given folders."""
