"""Results of any runs as tables: in one long form, and by method with tests between them."""
