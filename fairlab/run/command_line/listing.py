"""``fairlab ls``: available choices with a one-line summary each, and the runs below a folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairlab.checks.escapes import printable
from fairlab.lexicons import FOLDER, lexicon_axes
from fairlab.run.command_line import cli
from fairlab.run.command_line.docstrings import first_sentence
from fairlab.run.config.registered import EMPTY
from fairlab.types import FairlabError

PACKAGE = Path(__file__).parents[2]
LONGEST = 110  # characters of a summary


def command(arguments: Sequence[str]) -> None:
    """Print the requested list; bad input ends in one sentence."""
    try:
        print("\n".join(map(printable, listed(arguments))))
    except FairlabError as error:
        cli.stop(str(error))


def listed(arguments: Sequence[str]) -> list[str]:
    """Return the lines of ``fairlab ls KIND``, or the available kinds.

    Args:
        arguments: Kind, such as ``benchmarks``; for ``runs`` optionally a folder.

    Raises:
        FairlabError: the kind does not exist, or the folder contains no run.
    """
    kind, *rest = arguments or [""]
    if kind == "runs":
        return runs_below(Path(rest[0] if rest else "outputs"))
    if kind == "axes":
        return lines_of({axis: comment(FOLDER / f"{axis}.yaml") for axis in lexicon_axes()})
    kinds = {plural(group): group for group in cli.groups()}
    if not kind:
        return [*sorted([*kinds, "axes", "runs"])]
    group = kinds.get(kind, kind)
    if group not in kinds.values():
        raise FairlabError(
            f"there is nothing to list as '{kind}'; there are: {', '.join(sorted([*kinds, 'axes', 'runs']))}"
        )
    folder = Path(cli.conf_dir()) / group
    empty = dict([EMPTY[group]]) if group in EMPTY else {}
    return lines_of({name: empty.get(name) or told(folder / f"{name}.yaml") for name in cli.choices(group)})


def plural(group: str) -> str:
    """Return the plural of a group's name, such as ``benchmarks``; some names have no plural."""
    return group if group in ("data", "debiasing", "training", "debug") else f"{group}s".replace("chs", "ches")


def lines_of(found: Mapping[str, str]) -> list[str]:
    """Return names with their summaries in two columns."""
    width = max(map(len, found))
    return [
        f"{name:<{width}}  {what if len(what) <= LONGEST else what[:LONGEST].rsplit(' ', 1)[0] + ' ...'}".rstrip()
        for name, what in found.items()
    ]


def told(file: Path) -> str:
    """Return the summary of a choice: its file's leading comment, else from its class or the choice it refers to."""
    text = file.read_text(encoding="utf-8")
    if (named := re.search(r"_target_: ([\w.]+)", text)) and not comment(file):
        return sentence_of(named[1])
    if (same := re.search(r"^  - /([\w/]+)@_here_", text, re.MULTILINE)) and not comment(file):
        return told(Path(cli.conf_dir()) / f"{same[1]}.yaml")
    return comment(file)


def comment(file: Path) -> str:
    """Return the first sentence of the comment at the start of a file."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return first_sentence(" ".join(line for line in lines if not line.startswith("@package")))


def sentence_of(name: str) -> str:
    """Return the title of a class of fairlab, or the first sentence of its docstring, without importing the module."""
    module, _, target = name.rpartition(".")
    file = PACKAGE.parent / Path(*module.split(".")).with_suffix(".py")
    if not file.is_file():
        return ""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == target:
            return title_in(node) or first_sentence(ast.get_docstring(node))
    return ""


def title_in(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Return the text that the body of a class assigns to ``title``, or an empty string."""
    for one in node.body:
        if (
            isinstance(one, ast.Assign)
            and ast.unparse(one.targets[0]) == "title"
            and isinstance(one.value, ast.Constant)
        ):
            return str(one.value.value)
    return ""


def runs_below(folder: Path) -> list[str]:
    """Return a line per run: its folder, its status and its first headline reading."""
    from fairlab.reporting.tables.grouping import records_below

    found = {}
    for record in records_below(folder):
        reading = next((one for one in reversed(record.readings) if one.headline), None)
        shown = f"  {reading.key} {reading.value:.4g} [{reading.low:.4g}, {reading.high:.4g}]" if reading else ""
        found[str(record.folder)] = f"{record.status}{shown}"
    return lines_of(found)
