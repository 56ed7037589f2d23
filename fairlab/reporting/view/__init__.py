"""The page of all runs."""
