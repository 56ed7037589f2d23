"""Lookup of fairlab's benchmarks by the names of their readings, and checks of external benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from fairlab import augmentation, benchmarks
from fairlab.benchmarks.needs import LACKING
from fairlab.checks.completeness import HOW
from fairlab.protocols import Measurement
from fairlab.types import Description, FairlabError

PLACES = (benchmarks, augmentation)  # packages whose modules describe readings
NAME = re.compile(r"[a-z0-9_]+(@[\w.-]+)*")  # name of a benchmark, with its protocol


@cache
def find_description(benchmark: str) -> Description | None:
    """Return the description of the readings of one of fairlab's own benchmarks.

    Returns:
        Description given by the class or module with that name; None for a benchmark from outside the package.
    """
    name = benchmark.partition("@")[0]
    return next((found for holder in own_parts(name) if (found := _describe(holder, name)) is not None), None)


@cache
def find_class(benchmark: str) -> type[Any] | None:
    """Return fairlab's own class that measures a benchmark, or None if there is no such class."""
    name = benchmark.partition("@")[0]
    return next((one for one in own_parts(name) if isinstance(one, type) and _describe(one, name) is not None), None)


def is_own(benchmark: Any) -> bool:
    """Return whether a benchmark is fairlab's own, and not from outside the package."""
    return type(benchmark).__module__.startswith(f"{benchmarks.__name__}.")


def refuse_undescribed(benchmark: Any) -> None:
    """Check that a benchmark from outside the package describes itself and has a unique name and title.

    Raises:
        FairlabError: The benchmark lacks a description, a version or a way to measure, or has the name or the title of
            one of fairlab's own benchmarks.
    """
    if is_own(benchmark):
        return
    kind = type(benchmark)
    what = f"{kind.__module__}.{kind.__qualname__}"
    found = getattr(benchmark, "description", None)
    if not hasattr(benchmark, "measure") and not hasattr(benchmark, "measure_data"):
        if isinstance(found, Description):
            raise FairlabError(f"benchmark {what} has no method measure; add it, {HOW}")
        raise FairlabError(f"a {kind.__name__} is not a benchmark; give a name, such as 'seat'")
    if not isinstance(found, Description):
        raise FairlabError(f"benchmark {what} has no description; give its class one, {HOW}")
    for part in ("name", "title", "question", "quantities"):
        if not getattr(found, part) or not str(getattr(found, part)).strip():
            raise FairlabError(f"the description of benchmark {what} has no {part}; add it, {HOW}")
    if unknown := sorted(set(found.needs) - set(LACKING)):
        raise FairlabError(f"benchmark {what} needs '{unknown[0]}'; the possible needs are: {', '.join(LACKING)}")
    if not NAME.fullmatch(found.name):
        raise FairlabError(
            f"benchmark {what} cannot have the name '{found.name}'; use lower-case letters, digits and underscores"
        )
    for name, info in found.quantities.items():
        if not info.label.strip() or not info.meaning.strip():
            raise FairlabError(f"benchmark {what} does not describe '{name}'; add its label and meaning, {HOW}")
    if not isinstance(version := getattr(benchmark, "version", None), int) or version < 1:
        raise FairlabError(
            f"benchmark {what} has no version; give its class version = 1, and increase it when its values change"
        )
    if not isinstance(benchmark, Measurement):
        raise FairlabError(
            f"benchmark {what} lacks a member of fairlab.protocols.Benchmark; derive its class from that"
        )
    if (own := find_class(found.name)) is not None:
        raise FairlabError(
            f"benchmark {what} has the same name, '{found.name}', as fairlab's own {own.__name__}; give its "
            "description another name"
        )
    own_descriptions = (part if isinstance(part, Description) else part.description for part in own_parts())
    if found.title.casefold() in {description.title.casefold() for description in own_descriptions}:
        raise FairlabError(
            f"benchmark {what} has the title of one of fairlab's own, '{found.title}'; give its description another"
        )


def _describe(holder: type[Any] | Description, name: str) -> Description | None:
    if isinstance(holder, Description):
        return holder if holder.name == name else None
    found: Description | None = holder.describe(name)
    return found


def own_parts(first: str = "") -> Iterator[type[Any] | Description]:
    """Yield fairlab's benchmark classes, and the descriptions of readings without a class.

    The module named ``first`` is searched first.
    """
    for module in _modules(first):
        for value in vars(module).values():
            described = isinstance(vars(value).get("description"), Description) if isinstance(value, type) else False
            if (described and value.__module__ == module.__name__) or isinstance(value, Description):
                yield value


def _modules(first: str) -> Iterator[ModuleType]:
    """Import the modules one by one, because a benchmark is usually found in the module with its name."""
    names = [f"{place.__name__}.{one.name}" for place in PLACES for one in iter_modules(place.__path__)]
    for name in sorted(names, key=lambda one: one.rpartition(".")[2] != first):
        yield import_module(name)
