"""What ``fairlab.augment`` does with its rows: one by one, after words were chosen, or after RAZOR's rounds.

A plan is made of the configuration as plain containers, a function that reads the input's rows anew, and the run's
record. It is asked, in this order, for

- ``made_by()``: what makes the output beside the texts and the seed, for its manifest. Raises where a setting does not
  suit the augmentation.
- ``prepare()``: all work that comes before rows are written. Gives the rows to write and what a worker builds to write
  them; or None, where the work before is all that was asked for.
- ``provenance()``: of the rewriter that was used.
- ``report(manifest, made)``: readings and notes for the record; ``made`` rows were there before ``limit``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.types import FairlabError


def refuse_axis(values: Mapping[str, Any], why: str) -> None:
    """Raise where an axis or attributes were given to an augmentation that takes none.

    Raises:
        FairlabError: they were; the message begins with ``why``.
    """
    if values["axis"] != "gender" or values["attributes"] is not None:
        raise FairlabError(f"{why}; leave out axis and attributes")
