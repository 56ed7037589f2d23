"""Execution of jobs, sweeps and distributed processes."""
