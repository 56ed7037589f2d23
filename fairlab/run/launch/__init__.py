"""Jobs, sweeps and processes."""
