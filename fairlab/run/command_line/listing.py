"""``fairlab ls``: available choices with a one-line summary each, and the runs in a folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairlab.checks.escapes import print_escaped
from fairlab.lexicons import FOLDER, lexicon_axes
from fairlab.run.command_line import cli
from fairlab.run.command_line.docstrings import assigned, first_sentence
from fairlab.run.config.registered import EMPTY, entry_choices
from fairlab.types import FairlabError

PACKAGE = Path(__file__).parents[2]
LONGEST = 140  # maximum number of characters of a summary
HELP = """fairlab ls [KIND] [NAME]

Lists the choices of a kind with a one-line summary each. Without KIND, it lists the kinds.

Examples
  fairlab ls benchmarks
  fairlab ls quantities seat
  fairlab ls runs outputs"""
OTHERS = ("axes", "quantities", "runs")  # kinds that are not groups of choices


def command(arguments: Sequence[str]) -> None:
    """Print the requested list, or exit with one sentence on bad input."""
    if any(one in ("-h", "--help") for one in arguments):
        print_escaped(HELP)
        return
    try:
        print_escaped(*listed(arguments))
    except FairlabError as error:
        cli.stop(str(error))


def listed(arguments: Sequence[str]) -> list[str]:
    """Return the lines printed by ``fairlab ls KIND``, or the available kinds if no kind is given.

    A folder may follow ``runs``, and the name of a benchmark follows ``quantities``.

    Raises:
        FairlabError: There is no such kind or benchmark, or no run in the folder.
    """
    kind, *rest = arguments or [""]
    if kind == "quantities":
        return quantities_of(rest[0] if rest else "")
    if kind == "runs":
        return runs_below(Path(rest[0] if rest else "outputs"))
    if kind == "axes":
        return lines_of({axis: comment(FOLDER / f"{axis}.yaml") for axis in lexicon_axes()})
    kinds = {plural(group): group for group in cli.groups()}
    if not kind:
        return [*sorted([*kinds, *OTHERS])]
    group = kinds.get(kind, kind)
    if group not in kinds.values():
        raise FairlabError(f"there is no list named '{kind}'; there are: {', '.join(sorted([*kinds, *OTHERS]))}")
    folder = Path(cli.conf_dir()) / group
    empty = dict([EMPTY[group]]) if group in EMPTY else {}
    others = {name: f"{target}, of an installed package" for name, target in entry_choices(group).items()}
    files = {name: folder / f"{name}.yaml" for name in cli.choices(group)}
    return lines_of(
        {
            name: empty.get(name) or (summary_of(file) if file.is_file() else others[name])
            for name, file in files.items()
        }
    )


def plural(group: str) -> str:
    """Return the plural of a group's name, such as ``benchmarks``, or the name itself if it has no plural."""
    return group if group in ("data", "debiasing", "training", "debug") else f"{group}s".replace("chs", "ches")


def lines_of(found: Mapping[str, str]) -> list[str]:
    """Format names and their summaries in two columns."""
    width = max(map(len, found))
    return [
        f"{name:<{width}}  {what if len(what) <= LONGEST else what[:LONGEST].rsplit(' ', 1)[0] + ' ...'}".rstrip()
        for name, what in found.items()
    ]


def quantities_of(benchmark: str) -> list[str]:
    """Return one line per quantity of a benchmark, with its label, meaning, unit and ideal value.

    Raises:
        FairlabError: There is no such benchmark.
    """
    from fairlab.benchmarks.finding import find_description

    if (found := find_description(benchmark)) is None:
        raise FairlabError(f"there is no benchmark '{benchmark}'; fairlab ls benchmarks lists their names")
    return [
        f"{name}: {info.label or found.title}; {info.meaning}; unit: {info.unit or 'none'}; ideal: "
        + ("none" if info.ideal is None else f"{info.ideal:g}")
        for name, info in found.quantities.items()
    ]


def summary_of(file: Path) -> str:
    """Return the summary of the choice defined in a file.

    The summary is the description of a benchmark. Without a description, it is the first comment of the file or,
    without a comment, the summary of the class or choice that the file refers to.
    """
    text = file.read_text(encoding="utf-8")
    targets = re.findall(r"_target_: ([\w.]+)", text)
    if len(targets) == 1 and (node := node_of(targets[0])) and (found := described_in(node)):
        return found
    if (named := re.search(r"_target_: ([\w.]+)", text)) and not comment(file):
        return sentence_of(named[1])
    if (same := re.search(r"^  - /([\w/]+)@_here_", text, re.MULTILINE)) and not comment(file):
        return summary_of(Path(cli.conf_dir()) / f"{same[1]}.yaml")
    return comment(file)


def comment(file: Path) -> str:
    """Return the first sentence of the comment at the beginning of a file."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return first_sentence(" ".join(line for line in lines if not line.startswith("@package")))


def sentence_of(name: str) -> str:
    """Return the title of a fairlab class, or the first sentence of its docstring, without importing its module."""
    if (node := node_of(name)) is None:
        return ""
    title = assigned(node, "title")
    return str(title.value) if isinstance(title, ast.Constant) else first_sentence(ast.get_docstring(node))


def node_of(name: str) -> ast.ClassDef | ast.FunctionDef | None:
    """Return the syntax tree of a fairlab class or function given by its dotted name, or None if there is none."""
    module, _, target = name.rpartition(".")
    file = PACKAGE.parent / Path(*module.split(".")).with_suffix(".py")
    parsed = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    found = (node for node in parsed if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == target)
    return next(found, None)


def described_in(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Return the title, needs and question in the ``description`` of a benchmark's class, or an empty string."""
    call = assigned(node, "description")
    if not isinstance(call, ast.Call):
        return ""
    title, question = (ast.literal_eval(argument) for argument in call.args[1:3])
    needs = next((ast.literal_eval(word.value) for word in call.keywords if word.arg == "needs"), ())
    return f"{title} (needs {', '.join(needs)}): {question}"


def runs_below(folder: Path) -> list[str]:
    """Return one line per run in a folder, with the run's path, status and last headline reading."""
    from fairlab.reporting.tables.grouping import records_below
    from fairlab.reporting.verdicts import interval_text

    found = {}
    for record in records_below(folder):
        reading = next((one for one in reversed(record.readings) if one.headline), None)
        shown = f"  {reading.key} {reading.value:.4g} ({interval_text(record, reading)})" if reading else ""
        found[f"{record.folder} ({record.name})" if record.name else str(record.folder)] = f"{record.status}{shown}"
    return lines_of(found)
