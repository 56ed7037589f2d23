"""What goes wrong in one of several processes; a module of its own, as every process imports it."""

import os
import signal

from fairlab.distributed import gather_over_ranks, rank


def fail(number, error):
    """One process raises; the others wait for it."""
    if rank() == number:
        raise error
    gather_over_ranks(None)


def be_killed(number):
    if rank() == number:
        os.kill(os.getpid(), signal.SIGKILL)
    gather_over_ranks(None)
