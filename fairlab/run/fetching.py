"""``fairlab fetch NAME``: models into the user's cache."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.fetching.fetch import fetch
from fairlab.fetching.parts import megabytes
from fairlab.fetching.table import fetchable, fetchables
from fairlab.run.command_line import cli
from fairlab.types import FairlabError


def command(arguments: Sequence[str]) -> None:
    """Fetch every model named, or list what there is; bad input ends in one sentence."""
    names = list(dict.fromkeys(arguments))
    try:
        for name in names:
            fetchable(name)
        for name in names:
            fetch(name, lambda line: print(line, flush=True))
        if not names:
            print("\n".join(fetchable_lines()))
    except FairlabError as error:
        cli.stop(str(error))
    except KeyboardInterrupt:
        cli.stop("interrupted; the same command goes on", code=130)


def fetchable_lines() -> list[str]:
    """A line for each model that can be fetched."""
    return [
        f"{name:<8} {model.what}; {megabytes(model.joined.bytes)}, {model.licence}; "
        f"{f'is in {model.folder}' if model.is_there else f'fairlab fetch {name}'}"
        for name, model in fetchables().items()
    ]
