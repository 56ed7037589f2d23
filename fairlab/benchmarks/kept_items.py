"""Per-item values and texts of benchmarks in a run folder: paths and integrity checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlab.benchmarks.finding import is_own
from fairlab.checks.foreign import read_json, read_tensors
from fairlab.distributed import rank
from fairlab.files import inside, write_whole
from fairlab.protocols import Benchmark, DataBenchmark, Measurement
from fairlab.types import FairlabError, ItemTexts, values_of

MOST_TEXTS = 1 << 30  # maximum number of bytes of one benchmark's texts
# Errors caused by arrays of another shape, or by settings of another type.
UNFIT = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)


@contextmanager
def kept_arrays(folder: Path) -> Iterator[None]:
    """Convert errors inside the context to FairlabError if they occur because saved arrays do not fit the record."""
    try:
        yield
    except UNFIT as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise FairlabError(
            f"the arrays in {folder / 'items'} do not fit the record ({reason}); put a complete copy there, or remove "
            "that folder"
        ) from error


def items_are_intact(file: Path) -> bool:
    """Return whether a file of per-item values can be read completely."""
    try:
        read_tensors(file)
    except FairlabError:
        return False
    return True


def items_file(folder: Path, phase: str, benchmark: str) -> Path:
    """Return the path of a benchmark's per-item values in a run folder."""
    return inside(folder, f"items/{phase}/{benchmark}.safetensors", f"the record in {folder}")


def draws_file(folder: Path, phase: str, benchmark: str) -> Path:
    """Return the path of the bootstrap draws of a benchmark's readings in a run folder."""
    return inside(folder, f"items/{phase}/{benchmark}.draws.safetensors", f"the record in {folder}")


def keep_texts(benchmark: Benchmark | DataBenchmark, folder: Path) -> None:
    """Write the texts of an external benchmark next to its items, so that they can be shown without its code."""
    if rank() or is_own(benchmark) or not isinstance(benchmark, Measurement):
        return
    if parts := benchmark.texts():
        write_whole(_texts_file(folder, benchmark.name), json.dumps([vars(part) for part in parts], ensure_ascii=False))


def kept_texts(folder: Path, benchmark: str) -> list[ItemTexts]:
    """Read the texts of an external benchmark, by part. The list is empty if the run folder contains no texts.

    Raises:
        FairlabError: The file is damaged.
    """
    file = _texts_file(folder, benchmark)
    if not file.is_file():
        return []
    try:
        parts = [ItemTexts(**values_of(ItemTexts, one, "a part")) for one in read_json(file, MOST_TEXTS)]
        for part in parts:
            texts = [text for several in part.texts for text in several]
            if len(part.texts) != len(part.ids) or not all(isinstance(one, str) for one in (*part.ids, *texts)):
                raise ValueError("its items are no names with texts")
    except (ValueError, TypeError, RecursionError) as error:
        raise FairlabError(f"{file} is damaged ({error}); put a copy back, or measure again") from error
    return parts


def _texts_file(folder: Path, benchmark: str) -> Path:
    return inside(folder, f"items/{benchmark}.texts.json", f"the record in {folder}")
