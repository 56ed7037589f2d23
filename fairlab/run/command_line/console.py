"""Console script: ``fairlab NAME ...`` runs ``python -m fairlab.NAME ...`` or one of the script's own commands."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

from fairlab import __version__
from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line.docstrings import assigned, first_sentence
from fairlab.run.command_line.pipes import quiet_when_unread

PACKAGE = Path(__file__).parents[2]
HERE, CLAIM = "What is here?", "Does a claim hold?"
OWN = {  # commands without a module of the same name: question, summary and function
    "cite": (CLAIM, "citations of runs as BibTeX, and a description of their methods", "fairlab.run.papers.cite"),
    "doctor": (HERE, "installed and missing packages, data and models", "fairlab.run.doctor.command"),
    "drift": ("How do I use a debiased model?", "changes between two files of scores", "fairlab.run.drifting.command"),
    "ls": (HERE, "available choices and existing runs", "fairlab.run.command_line.listing.command"),
    "table": (CLAIM, "a table of runs for a paper, in LaTeX or Markdown", "fairlab.run.papers.table"),
    "version": (HERE, "the version of fairlab", "fairlab.run.command_line.console.print_version"),
}


@quiet_when_unread()
def main() -> None:
    """Run the command named by the first word of the command line."""
    given = sys.argv[1:]
    name = given[0] if given else "--help"
    if name in ("-h", "--help"):
        print_escaped(usage())
    elif name == "--version":
        print_version()
    elif name in OWN:
        module, _, function = OWN[name][2].rpartition(".")
        getattr(import_module(module), function)(given[1:])
    elif name == "complete":  # for the shell, see fairlab/run/completion.py
        import_module("fairlab.run.completion").command([*entry_points(), *OWN])
    elif name in entry_points():
        sys.argv = [f"fairlab.{name}", *given[1:]]
        import_module(f"fairlab.{name}").command()
    else:
        there = ", ".join([*entry_points(), *OWN])
        print_escaped(f"fairlab: there is no command '{name}'; there are: {there}", error=True)
        sys.exit(1)


def print_version(_: object = None) -> None:
    """Print the version of fairlab."""
    print_escaped(__version__)


def entry_points() -> dict[str, tuple[str, str]]:
    """Return the question and the summary of each module that defines ``command``, by module name.

    The question is the module's ``QUESTION``, and the summary comes from its docstring. No module is imported.
    """
    found = {}
    for path in sorted([*PACKAGE.glob("*.py"), *PACKAGE.glob("*/__init__.py")]):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "command" for node in tree.body):
            summary = first_sentence(ast.get_docstring(tree)).partition(": ")[2]
            question = assigned(tree, "QUESTION")
            assert question is not None
            found[path.parent.name if path.stem == "__init__" else path.stem] = ast.literal_eval(question), summary
    return found


def usage() -> str:
    """Return all commands with one-line summaries, grouped by the question that they answer."""
    rows = entry_points() | {name: own[:2] for name, own in OWN.items()}
    lines = []
    for question in dict.fromkeys(sorted((asked for asked, _ in rows.values()), key=lambda asked: asked == HERE)):
        lines += [question, *(f"  {name:<10} {what}" for name, (asked, what) in rows.items() if asked == question), ""]
    examples = [
        "  fairlab evaluate model=minilm benchmark=[seat,stsb]",
        "  fairlab train +experiment=ccd_bert",
        "  fairlab ls benchmarks",
    ]
    return "\n".join(
        ["fairlab COMMAND ...", "", *lines, "Examples", *examples, "", "fairlab COMMAND --help says more."]
    )
