"""Conversion of FLOPs to GPU hours, based on the manufacturers' peak performance."""

from __future__ import annotations

from dataclasses import dataclass

from fairlab.run.planning.sizes import KNOWN

# Fractions of peak performance reached by training: PaLM reached 46 % (Chowdhery et al. 2022, section 4.1). Models of
# this size with batches of short texts reach less, and the lower bound is our estimate.
SHARE = (0.1, 0.46)


@dataclass(frozen=True)
class Device:
    """GPU with its peak FLOP/s per number format and its memory in bytes."""

    name: str
    float32: float
    bf16: float
    memory: float

    def hours(self, flops: float, *, mixed: bool) -> tuple[float, float]:
        """Return the minimum and maximum number of hours that the given training FLOPs take on this GPU."""
        low, high = SHARE
        peak = self.bf16 if mixed else self.float32
        return flops / (peak * high) / 3600, flops / (peak * low) / 3600


def gpus() -> list[Device]:
    """Return the GPUs whose peak performance is known."""
    return [
        Device(name, values["float32"] * 1e12, values["bf16"] * 1e12, values["memory"] * 1e9)
        for name, values in KNOWN["devices"].items()
    ]
