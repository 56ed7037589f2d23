"""Results of any evaluation tool, compared item by item."""
