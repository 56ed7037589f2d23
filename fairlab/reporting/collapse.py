"""Detection of CCED gaps that decreased only because all distances between the versions of a text collapsed."""

from __future__ import annotations

import math

from fairlab.record import Record
from fairlab.reporting.headlines import title


def collapse_verdicts(record: Record) -> list[str]:
    """Return one sentence per CCED set on the remaining distances and on whether the gap fell only through collapse."""
    return [said for said, _ in _collapse_by_gap(record).values()]


def collapsed_readings(record: Record) -> frozenset[str]:
    """Return the keys of gaps that are smaller than in the earlier model only because of collapse."""
    return frozenset(key for key, (_, collapsed) in _collapse_by_gap(record).items() if collapsed)


def _collapse_by_gap(record: Record) -> dict[str, tuple[str, bool]]:
    """Return, by key of the gap, one sentence per CCED set and whether the gap fell only through collapse.

    A gap fell only through collapse if no distance is left. It also fell only through collapse if the ratio of the gap
    to the mean distance fell by less than a tenth, while distances fell by at least half as much as the gap. The
    earlier model is the model before training or, if a record has several models, the first one.
    """
    readings = {reading.key: reading.value for reading in record.readings}
    found = {}
    for reading in record.readings:
        if reading.quantity != "distance_kept":
            continue
        later, place = reading.phase, f"{reading.benchmark}/{reading.subset}"
        trained = later == "after"
        earlier = "before" if trained else record.phases[0]
        gap = "gap_all_pairs" if f"{later}/{place}/gap_all_pairs" in readings else "gap"
        ratio = f"{place}/{gap}_over_distance"
        before, after = (readings.get(f"{phase}/{ratio}", math.nan) for phase in (earlier, later))
        change = after / before - 1 if before else math.nan
        what = "the model keeps" if trained else f"{later} has"
        whose = "the distance" if trained else f"{earlier}'s distance"
        said = f"{title(reading)}: {what} {reading.value:.0%} of {whose} to the neutral version; "
        said += f"gap over distance {change:+.0%}"
        gap_kept = readings.get(f"{later}/{place}/{gap}_kept", math.nan)
        with_distances = not change <= -0.1 and 1 - reading.value >= (1 - gap_kept) / 2
        collapsed = gap_kept < 1 and (with_distances or reading.value <= 0.01)
        verdict = f": the gap {'fell' if trained else 'is smaller'} by collapse alone"
        found[f"{later}/{place}/{gap}"] = said + verdict * collapsed, collapsed
    return found
