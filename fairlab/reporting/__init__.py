"""Reports: tables, plots and cards, which are made only from records."""
