"""Export of results to the formats of other tools, one module per format."""
