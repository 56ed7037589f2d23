"""Item-by-item comparison of the results of any evaluation tool."""
