"""From FLOPs to hours: on this machine by a short calibration, on named GPUs by their makers' peaks."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fairlab.run.planning.sizes import KNOWN
from fairlab.types import FairlabError

SECONDS = 6.0  # of the calibration
UNSTEADY = 0.3
# Shares of a peak that training reaches. On a CPU: perf/README.md measured 47 to 81 % of the matmul peak for groups of
# texts, and texts of few tokens reach less. On a GPU: 46 % is what PaLM reached (Chowdhery et al. 2022, section 4.1);
# models of this size in batches of short texts reach less, of which the lower bound is ours.
CPU_SHARE = (0.25, 0.8)
GPU_SHARE = (0.1, 0.46)


@dataclass(frozen=True)
class Device:
    """A device that work can be done on: FLOP/s at its peak by number format, and the share that is reached."""

    name: str
    float32: float
    bf16: float
    memory: float | None
    share: tuple[float, float]

    def hours(self, flops: float, *, mixed: bool) -> tuple[float, float]:
        """The fewest and the most hours that work takes on it."""
        low, high = self.share
        peak = self.bf16 if mixed else self.float32
        return flops / (peak * high) / 3600, flops / (peak * low) / 3600


def gpus() -> list[Device]:
    """GPUs whose peaks are known."""
    return [
        Device(name, values["float32"] * 1e12, values["bf16"] * 1e12, values["memory"] * 1e9, GPU_SHARE)
        for name, values in KNOWN["devices"].items()
    ]


def this_machine() -> Device:
    """This machine's CPU, by the product of two matrices over and over for some seconds, in two formats.

    Raises:
        FairlabError: the two halves of the calibration differ by more than 30 %.
    """
    halves = [matmul_rate(SECONDS / 3), matmul_rate(SECONDS / 3)]
    refuse_unsteady(*halves)
    return Device("this machine", max(halves), matmul_rate(SECONDS / 3, "bfloat16"), None, CPU_SHARE)


def refuse_unsteady(first: float, second: float) -> None:
    """Raise where two halves of a calibration differ too much.

    Raises:
        FairlabError: they do.
    """
    if abs(first - second) > UNSTEADY * max(first, second):
        raise FairlabError(
            f"the machine is busy: two halves of the calibration gave {first / 1e9:.0f} and {second / 1e9:.0f} "
            "GFLOP/s; try again when it is quiet"
        )


def matmul_rate(seconds: float, dtype: str = "float32", side: int = 1024) -> float:
    """FLOP/s of products of square matrices, with as many threads as a run would have.

    Args:
        seconds: for how long; at least one product is made.
        dtype: number format of the matrices, by its name in torch.
        side: rows and columns of the matrices.
    """
    import torch

    a, b = (torch.full((side, side), 0.5, dtype=getattr(torch, dtype)) for _ in range(2))  # draws no random numbers
    a @ b
    done, passed, started = 0, 0.0, time.perf_counter()
    while passed < seconds or not done:
        a @ b
        done, passed = done + 1, time.perf_counter() - started
    return done * 2 * side**3 / passed


def slower_bfloat16() -> float:
    """How many times as long a product takes in bfloat16 as in float32 on this processor, from a tenth of a second.

    Some processors have no instructions for bfloat16, others slower ones than for float32, so that
    ``trainer.precision=bf16-mixed`` costs time there in the place of saving it.
    """
    rates = [(matmul_rate(0.025), matmul_rate(0.025, "bfloat16")) for _ in range(2)]
    return max(one for one, _ in rates) / max(two for _, two in rates)
