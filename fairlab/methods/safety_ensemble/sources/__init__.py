"""Source classifiers of the safety ensemble."""
