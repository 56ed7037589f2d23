"""Rules for rewriting English."""
