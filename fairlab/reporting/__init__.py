"""Reports: tables, plots and cards, made from records only."""
