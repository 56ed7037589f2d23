"""Tables of the results of any runs: one in long form, and tables of methods with significance tests."""
