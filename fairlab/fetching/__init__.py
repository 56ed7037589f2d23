"""Models in the user's cache: what can be had, where it lies, and bringing it there."""
