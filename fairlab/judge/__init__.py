"""Item-by-item comparison of results from any evaluation tool."""
