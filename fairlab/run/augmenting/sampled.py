"""Time and space that an augmentation needs for its whole input, measured on a random sample of its rows."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.checks.values import target_of
from fairlab.record import Record
from fairlab.run.augmenting.building import plan_of
from fairlab.run.augmenting.perturbing import Perturbing
from fairlab.run.augmenting.row_by_row import RowByRow
from fairlab.run.augmenting.running import reader_of
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.data.stream.formats import BadRow

KEPT = 4_000_000  # maximum number of characters in the sample, to bound memory for long texts
PART = 100_000  # minimum number of characters in a timed part
PARTS = 20  # maximum number of timed parts
SECONDS = 30.0  # processor seconds after which no part is begun


@dataclass(frozen=True)
class Sample:
    """Size of an input, and a random sample of its rows.

    Attributes:
        read: Number of rows that can be read.
        unreadable: Number of other rows.
        characters: Number of characters in all texts.
        rows: Sampled rows, in random order.
    """

    read: int
    unreadable: int
    characters: int
    rows: Sequence[Row]


@dataclass(frozen=True)
class Timed:
    """Measurement of one part of the sample.

    Attributes:
        characters: Number of characters in the part's texts.
        seconds: Processor seconds that the augmentation needed.
        rows: Number of rows.
        written: Number of rows that the augmentation wrote.
        bytes: Size of the rows written.
    """

    characters: int
    seconds: float
    rows: int
    written: int
    bytes: int


def sample_of(rows: Iterable[Row | BadRow], seed: int, kept: int = KEPT) -> Sample:
    """Read all rows, and keep a sample in which each row has the same probability.

    Whenever the sample exceeds ``kept`` characters, each of its rows is dropped with a probability of one half. A
    single longer row is kept.
    """
    generator = random.Random(seed)
    some, size, share, read, unreadable, characters = list[Row](), 0, 1.0, 0, 0, 0
    for row in rows:
        if not isinstance(row, Row):
            unreadable += 1
            continue
        read, characters = read + 1, characters + len(row.text)
        if generator.random() < share:
            some.append(row)
            size += len(row.text)
        while size > kept and len(some) > 1:
            some = [one for one in some if generator.random() < 0.5] or some[:1]
            size, share = sum(len(one.text) for one in some), share / 2
    generator.shuffle(some)
    return Sample(read, unreadable, characters, some)


def parts_of(rows: Sequence[Row], size: int = PART, number: int = PARTS) -> Iterator[list[Row]]:
    """Yield consecutive parts of at least ``size`` characters.

    The rows after the last full part are left out, unless there is no full part.
    """
    part, characters, yielded = list[Row](), 0, 0
    for row in rows:
        part.append(row)
        characters += len(row.text)
        if characters >= size:
            yield part
            part, characters, yielded = [], 0, yielded + 1
            if yielded == number:
                return
    if not yielded:
        yield part


def time_part(values: dict[str, Any], rows: Sequence[Row]) -> Timed:
    """Run the augmentation on rows as ``fairlab.augment`` does, in a temporary folder, and measure it."""
    from fairlab.data.stream.shards import make_shards

    values = values | {"num_proc": 1, "engine": "local"}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        plan = plan_of(values)(values, lambda: iter(rows), Record(Path(folder), values, command=""))
        prepared = plan.prepare()
        made = list(make_shards(*prepared, Path(folder), shard_rows=values["shard_rows"])) if prepared else []
        seconds = time.process_time() - begun
    files = [one["files"]["data"] for one in made if "data" in one["files"]]
    written, size = (sum(file[key] for file in files) for key in ("rows", "bytes"))
    return Timed(sum(len(row.text) for row in rows), seconds, len(rows), written, size)


def time_parts(values: dict[str, Any], rows: Sequence[Row]) -> list[Timed]:
    """Return the measurements of the parts of a sample, without the time that every run needs to start.

    That time is measured on the shortest row, after one run on it that loads everything.
    """
    shortest = [min(rows, key=lambda row: len(row.text))]
    time_part(values, shortest)
    start = time_part(values, shortest).seconds
    ends = time.process_time() + SECONDS
    found = list[Timed]()
    for part in parts_of(rows):
        one = time_part(values, part)
        found.append(replace(one, seconds=max(one.seconds - start, 1e-9)))
        if time.process_time() > ends:
            break
    return found


def estimate_text(values: Mapping[str, Any], sample: Sample, parts: Sequence[Timed]) -> str:
    """Return the estimate as text.

    The time of the input is its number of characters times the mean time of a character in the sample. The interval is
    the t-interval over parts.
    """
    from scipy.stats import ttest_1samp

    share = sample.characters / sum(one.characters for one in parts)
    mean = sum(one.seconds for one in parts) / sum(one.characters for one in parts)
    hours, between = mean * sample.characters / 3600, ""
    if len(parts) > 1:
        found = ttest_1samp([one.seconds / one.characters for one in parts], 0.0).confidence_interval()
        between = f" [{', '.join(_time(max(0.0, bound) * sample.characters / 3600) for bound in found)}]"
    processes = values["num_proc"]
    each = f"; {_time(hours / processes)} with num_proc={processes} on {processes} processors" if processes > 1 else ""
    rows = [
        ("input", f"{sample.read:,} rows with {sample.characters:,} characters; {sample.unreadable:,} unreadable"),
        ("sample", f"{sum(one.rows for one in parts):,} rows with {sum(one.characters for one in parts):,} characters"),
        ("speed", f"{1e-6 / mean:.3g} million characters per processor second"),
        ("time", f"{_time(hours)} of one processor{between}{each}"),
        (
            "output",
            f"about {share * sum(one.written for one in parts):,.0f} rows, "
            f"{share * sum(one.bytes for one in parts) / 1e9:.2g} GB",
        ),
    ]
    return "\n".join(
        [
            "Time and space, measured on a random sample",
            "-------------------------------------------",
            *(f"    {name:<14}  {value}" for name, value in rows),
            "",
            f"  The interval is the 95 % t-interval over {len(parts)} part{'s' * (len(parts) > 1)} of the sample. "
            "Starting takes a few seconds more.",
            "  Repeated texts take less time in the whole input than in the sample.",
        ]
    )


def _time(hours: float) -> str:
    """Format a number of hours in suitable units.

    Example:
        >>> _time(0.002), _time(0.5), _time(30.6)
        ('7.2 seconds', '30 minutes', '31 hours')
        >>> _time(99.4 / 3600), _time(99.6 / 3600), _time(99.4 / 60), _time(99.6 / 60), _time(99.4), _time(1234)
        ('99 seconds', '1.7 minutes', '99 minutes', '1.7 hours', '99 hours', '1,234 hours')
    """
    for unit, size in (("seconds", 1 / 3600), ("minutes", 1 / 60)):
        if hours / size < 99.5:  # two digits of more would be 1e+02
            return f"{hours / size:.2g} {unit}"
    return f"{hours:.2g} hours" if hours < 99.5 else f"{hours:,.0f} hours"


def estimate(values: dict[str, Any]) -> str:
    """Return what an augmentation without a language model needs for its whole input, as text.

    Raises:
        FairlabError: The input cannot be read, or the augmentation decides on all rows together.
    """
    plan: Any = plan_of(values)
    if not issubclass(plan, RowByRow | Perturbing):  # its time would not grow with the number of rows
        name = target_of(values["augmentation"]).name
        raise FairlabError(
            f"augmentation={name} decides on all rows together, so a sample says nothing about its time; "
            "leave out dry_run, and give an input with fewer rows to try it"
        )
    from fairlab.data.stream.rows import row_progress

    sample = sample_of(row_progress(reader_of(values)[0]()), values["seed"])
    return estimate_text(values, sample, time_parts(values, sample.rows))
