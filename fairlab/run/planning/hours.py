"""Conversion of FLOPs to hours, by a short calibration of this machine or the makers' peaks of known GPUs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fairlab.run.planning.sizes import KNOWN
from fairlab.types import FairlabError

SECONDS = 6.0  # duration of the calibration
UNSTEADY = 0.3
# Fractions of peak performance reached by training. On a CPU: perf/README.md measured 47 to 81 % of the matmul peak
# for groups of texts; texts of few tokens reach less. On a GPU: PaLM reached 46 % (Chowdhery et al. 2022, section 4.1);
# models of this size with batches of short texts reach less, and the lower bound is our estimate.
CPU_SHARE = (0.25, 0.8)
GPU_SHARE = (0.1, 0.46)


@dataclass(frozen=True)
class Device:
    """Device with its peak FLOP/s by number format and the range of the fraction that training reaches."""

    name: str
    float32: float
    bf16: float
    memory: float | None
    share: tuple[float, float]

    def hours(self, flops: float, *, mixed: bool) -> tuple[float, float]:
        """Return the minimum and maximum number of hours that the work takes on this device."""
        low, high = self.share
        peak = self.bf16 if mixed else self.float32
        return flops / (peak * high) / 3600, flops / (peak * low) / 3600


def gpus() -> list[Device]:
    """Return the GPUs with known peaks."""
    return [
        Device(name, values["float32"] * 1e12, values["bf16"] * 1e12, values["memory"] * 1e9, GPU_SHARE)
        for name, values in KNOWN["devices"].items()
    ]


def this_machine() -> Device:
    """Measure the speed of this machine's CPU by multiplying matrices for some seconds in two number formats.

    Raises:
        FairlabError: the two halves of the calibration differ by more than 30 %.
    """
    halves = [matmul_rate(SECONDS / 3), matmul_rate(SECONDS / 3)]
    refuse_unsteady(*halves)
    return Device("this machine", max(halves), matmul_rate(SECONDS / 3, "bfloat16"), None, CPU_SHARE)


def refuse_unsteady(first: float, second: float) -> None:
    """Raise if two halves of a calibration differ too much.

    Raises:
        FairlabError: the halves differ by more than 30 %.
    """
    if abs(first - second) > UNSTEADY * max(first, second):
        raise FairlabError(
            f"the machine is busy: two halves of the calibration gave {first / 1e9:.0f} and {second / 1e9:.0f} "
            "GFLOP/s; try again when it is quiet"
        )


def matmul_rate(seconds: float, dtype: str = "float32", side: int = 1024) -> float:
    """Return the FLOP/s of products of square matrices, with the same number of threads as a run.

    Args:
        seconds: Duration in seconds; at least one product is computed.
        dtype: Number format of the matrices, by its name in torch.
        side: Number of rows and columns of the matrices.
    """
    import torch

    # does not change the random state
    a, b = (torch.full((side, side), 0.5, dtype=getattr(torch, dtype)) for _ in range(2))
    a @ b
    done, passed, started = 0, 0.0, time.perf_counter()
    while passed < seconds or not done:
        a @ b
        done, passed = done + 1, time.perf_counter() - started
    return done * 2 * side**3 / passed


def slower_bfloat16() -> float:
    """Return how many times longer a product takes in bfloat16 than in float32 here, measured in a tenth of a second.

    Some processors have no instructions for bfloat16, or slower ones than for float32; ``trainer.precision=bf16-mixed``
    then costs time instead of saving it.
    """
    rates = [(matmul_rate(0.025), matmul_rate(0.025, "bfloat16")) for _ in range(2)]
    return max(one for one, _ in rates) / max(two for _, two in rates)
