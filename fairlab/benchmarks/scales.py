"""Scales that several benchmarks share: unit and bounds, and for a choice that should be even also ideal and margin."""

from __future__ import annotations

from functools import partial

from fairlab.types import QuantityInfo

percent = partial(QuantityInfo, unit="%", low=0.0, high=100.0)
points = partial(QuantityInfo, unit="points", low=-100.0, high=100.0)
ratio = partial(QuantityInfo, unit="ratio", low=0.0, high=1.0)
even_percent = partial(percent, ideal=50.0, margin=5.0)
even_points = partial(QuantityInfo, unit="points", ideal=0.0, low=0.0, high=50.0, headline=True, margin=5.0)
detectable_points = partial(QuantityInfo, unit="points", low=0.0)
