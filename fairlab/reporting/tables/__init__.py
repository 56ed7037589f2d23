"""Results of any runs as tables: one long-form table, and tables by method with significance tests."""
