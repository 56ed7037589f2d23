"""``fairlab table RUNS...`` and ``fairlab cite RUN...``: tables, citations and methods paragraphs for a paper."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fairlab.checks.escapes import print_escaped
from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.run.command_line import cli
from fairlab.types import FairlabError

TABLE = (
    "Make a table for a paper from runs of fairlab or results of lm-evaluation-harness, inspect, HELM, MTEB or Every "
    "Eval Ever. Runs that differ only in their seed share one row, below the model they started from."
)
TABLE_EXAMPLES = """examples:
  fairlab table multirun/ccd --latex
  fairlab table outputs/evaluate/DATE outputs/evaluate/OTHER_DATE --readings seat/average/absolute_effect_size
  fairlab table results/model_a results/model_b --latex --output table.tex
"""
CITE = "Print citations of runs (methods, benchmarks, data, models and fairlab) as BibTeX, or how the runs were made."


def table(arguments: Sequence[str]) -> None:
    """Print a table of all runs in the given folders, or write it to a file."""
    parser = cli.Arguments(
        prog="fairlab table",
        description=TABLE,
        epilog=TABLE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", metavar="RUNS", nargs="+", type=Path, help="folder with runs or results at any depth")
    parser.add_argument("--latex", action="store_true", help="write LaTeX for the package booktabs instead of Markdown")
    parser.add_argument("--readings", nargs="+", metavar="KEY", help="keys as in metrics.json, without the phase")
    parser.add_argument("--spread", default="interval", metavar="WHAT", help="interval (default), deviation or none")
    parser.add_argument("--decimals", type=int, metavar="N", help="number of decimals of all values; 2 or 3 by default")
    parser.add_argument("--no-baseline", action="store_true", help="leave out the model that training started from")
    parser.add_argument("--caption", default="", help="caption that replaces the default one with n, seeds and tests")
    parser.add_argument("--output", type=Path, metavar="FILE", help="new file for the table")
    with cli.one_sentence_without_hydra():
        chosen = parser.parse_args(arguments)
        from fairlab.judge.reading import left_out_of_tables, shortened
        from fairlab.reporting.paper_table import paper_table

        records = _records(chosen.runs, chosen.output)
        for record in records:
            reason = "; ".join(one.reason for one in record.not_run) or "it has no results"
            reason = reason if record.status == "finished" else record.state
            if record.status != "finished" or not record.readings:
                print_escaped(f"not in the table: {record.folder} ({reason})", error=True)
        for folder in chosen.runs:
            with suppress(FairlabError):  # too many files to look through
                if unread := left_out_of_tables(folder):
                    print_escaped(f"not in the table: {shortened(unread)}", error=True)
        more = {"baseline": not chosen.no_baseline, "spread": chosen.spread, "decimals": chosen.decimals}
        found = paper_table(records, chosen.readings, **more, progress="comparing the runs")
        _print_or_write(found.to_latex(chosen.caption) if chosen.latex else found.to_markdown(), chosen.output)


def cite(arguments: Sequence[str]) -> None:
    """Print the BibTeX entries of runs or a paragraph on their methods, or write them to a file."""
    parser = cli.Arguments(prog="fairlab cite", description=CITE, epilog="Example: fairlab cite outputs/ccd_bert/NAME")
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="folder of a run, or of several runs")
    parser.add_argument("--methods", action="store_true", help="LaTeX on how the runs were made, with command lines")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file")
    with cli.one_sentence_without_hydra():
        chosen = parser.parse_args(arguments)
        from fairlab.reporting.citing import bibtex, methods_paragraph

        every = _records(chosen.runs, chosen.output)
        records = [record for record in every if record.status != "failed"] or every
        _print_or_write(methods_paragraph(records) if chosen.methods else bibtex(records), chosen.output)


def _records(folders: Sequence[Path], output: Path | None) -> list[Record]:
    from fairlab.reporting.tables.grouping import records_below

    if output and output.exists():
        raise FairlabError(f"{output} already exists; give another --output")
    return [record for folder in folders for record in records_below(folder)]


def _print_or_write(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file and print its path."""
    if output is None:
        print_escaped(text.rstrip("\n"))
        return
    write_whole(output, text.rstrip("\n") + "\n")
    print_escaped(f"written: {output}")
