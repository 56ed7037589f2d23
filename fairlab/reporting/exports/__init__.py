"""Results written in the formats of other tools; each module is one format."""
