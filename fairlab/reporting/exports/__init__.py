"""Export of results in the formats of other tools, one module per format."""
