"""One reading over several seeds."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.record import Reading
from fairlab.types import FairlabError


def median_run(readings: Sequence[Reading]) -> Reading:
    """Return the reading of the run with the median value (of an even number, the lower middle one).

    Its interval is over items alone; how far seeds lie apart is another thing, and to be shown beside it.

    Args:
        readings: readings of one quantity, one for each seed.

    Raises:
        FairlabError: there is none, they are of several quantities, or two have the same seed.
    """
    if not readings:
        raise FairlabError("there is no reading to take the median of; run the experiment first")
    keys = sorted({reading.key for reading in readings})
    if len(keys) > 1:
        raise FairlabError(f"the median is over seeds of one quantity, not over {', '.join(keys)}")
    seeds = [reading.seed for reading in readings]
    if len(set(seeds)) < len(seeds):
        raise FairlabError(
            f"two readings of {keys[0]} have the same seed ({', '.join(map(str, seeds))}); give one each"
        )
    return sorted(readings, key=lambda reading: reading.value)[(len(readings) - 1) // 2]
