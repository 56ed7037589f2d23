"""Reports made from records: pages, tables, plots and cards."""
