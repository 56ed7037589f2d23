"""Number of CPU cores that are available to this process."""

import os


def cores() -> int:
    """Return the number of CPU cores available to this process, respecting the limits of schedulers such as Slurm."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
