"""Available memory of this machine."""

from __future__ import annotations

from pathlib import Path

MEMINFO, CONTAINER_LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")


def memory_available() -> int | None:
    """Return the bytes of memory available to a new program on Linux, or None on other systems.

    The memory limit of a container is respected.
    """
    if not MEMINFO.is_file():
        return None
    (line,) = (line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
    available = 1024 * int(line.split()[1])
    bound = CONTAINER_LIMIT.read_text().strip() if CONTAINER_LIMIT.is_file() else "max"
    return available if bound == "max" else min(available, int(bound))
