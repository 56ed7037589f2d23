"""Selection of one reading from several seeds."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.record import Reading
from fairlab.types import FairlabError


def median_run(readings: Sequence[Reading]) -> Reading:
    """Return the reading with the median value over seeds, or with the lower middle value for an even number of seeds.

    The interval of the reading is over items only; the variation between seeds must be shown separately.

    Args:
        readings: Readings of one quantity, one per seed.

    Raises:
        FairlabError: there is no reading, readings are of several quantities, or two have the same seed.
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
