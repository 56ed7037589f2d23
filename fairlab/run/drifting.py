"""``fairlab drift EARLIER LATER``: compare two files of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlab.checks.escapes import print_escaped
from fairlab.files import write_whole
from fairlab.run.command_line import cli
from fairlab.types import FairlabError


def command(arguments: Sequence[str]) -> None:
    """Print the table of changes, or exit with one sentence on bad input."""
    from fairlab.reporting.score_drift import drift_json, drift_table, drifts, read_scores

    parser = cli.Arguments(
        prog="fairlab drift", description=__doc__, epilog="Example: fairlab drift monday.jsonl friday.jsonl"
    )
    parser.add_argument("earlier", metavar="EARLIER", type=Path, help="scores that fairlab score wrote")
    parser.add_argument("later", metavar="LATER", type=Path, help="scores of later texts by the same ensemble")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the numbers as JSON")
    with cli.one_sentence_without_hydra():
        given = parser.parse_args(arguments)
        if given.output and given.output.exists():
            raise FairlabError(f"{given.output} already exists; give another output")
        files = read_scores(given.earlier), read_scores(given.later)
        found = drifts(*files)
        if given.output:
            write_whole(given.output, drift_json(*files, found))
        print_escaped(drift_table(*files, found))
