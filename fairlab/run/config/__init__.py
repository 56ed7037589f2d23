"""Configuration: composing, checking and building."""
