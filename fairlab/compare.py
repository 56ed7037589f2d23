"""``fairlab compare RESULTS...``: compare results of any evaluation tool item by item.

RESULTS are files or folders of lm-evaluation-harness (with --log_samples), inspect, HELM, MTEB or Every Eval Ever,
tables with the columns id and score, or run folders of fairlab.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fairlab.checks.escapes import csv_cell, print_escaped
from fairlab.files import write_whole
from fairlab.run.command_line.cli import Arguments, one_sentence_without_hydra
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.types import FairlabError

QUESTION = "Does a claim hold?"

EXAMPLES = """examples:
  fairlab compare results/model_a results/model_b
  fairlab compare a.eval b.eval c.eval --adjust bh
  fairlab compare a.csv b.csv --margin 0.02 --output verdicts.csv
  fairlab table results/model_a results/model_b --latex    the same results as a table for a paper
"""


def main(arguments: Sequence[str]) -> None:
    """Compare results, print the verdicts, and write them to a file if one is given."""
    parser = Arguments(
        prog="fairlab compare",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", metavar="RESULTS", nargs="+", type=Path, help="a file or folder of results")
    parser.add_argument("--adjust", default="holm", metavar="HOW", help="holm (default) or bh, Benjamini-Hochberg")
    parser.add_argument("--margin", type=float, metavar="X", help="largest difference that counts as equal")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a .csv file for one row per verdict")
    chosen = parser.parse_args(arguments)
    if chosen.output and chosen.output.exists():
        raise FairlabError(f"{chosen.output} already exists; give another --output")

    from fairlab.api.evaluating import compare

    found = compare(*chosen.results, adjust=chosen.adjust, margin=chosen.margin)
    if chosen.output:
        write_whole(chosen.output, found.to_pandas().map(csv_cell).to_csv(index=False))
    print_escaped(str(found))


@quiet_when_unread()
def command() -> None:
    """Run the command as the console script does."""
    with one_sentence_without_hydra():
        main(sys.argv[1:])


if __name__ == "__main__":
    command()
