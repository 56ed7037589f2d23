"""Formatting of small tables in Markdown and LaTeX."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from fairlab.types import FairlabError

ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "²": r"$^2$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "–": "--",
    "|": r"\textbar{}",
    **{sign: f"${told}$" for sign, told in {"−": "-", "×": r"\times", "→": r"\to", "≤": r"\le", "≥": r"\ge"}.items()},
    **{
        letter: rf"$\{name}$"
        for letter, name in zip(
            "αβγδεκλμπρστχωΔ",
            "alpha beta gamma delta epsilon kappa lambda mu pi rho sigma tau chi omega Delta".split(),
            strict=True,
        )
    },
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
}


@dataclass(frozen=True)
class Printed:
    """Text of a table cell, and whether to print it in bold."""

    text: str
    bold: bool = False


SET = re.compile(r"[\x00-\u017f\u2013-\u2026€]")  # characters that pdflatex can print without additional packages
LONGEST_WORD = 14  # maximum number of characters in a row name without a possible line break
LONGEST_NAME, NARROW = 30, r"p{0.3\linewidth}"  # maximum length of unwrapped row names; column type for longer ones


def markdown(header: Sequence[str], rows: Sequence[Sequence[Printed]]) -> str:
    r"""Format a table in GitHub Markdown.

    Example:
        >>> print(markdown(["method", "gap"], [[Printed("a|b"), Printed("0.1", bold=True)]]))
        | method | gap |
        | --- | --- |
        | a\|b | **0.1** |
    """
    lines = [[_marked(Printed(name)) for name in header], ["---"] * len(header)]
    lines += [[_marked(entry) for entry in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _marked(entry: Printed) -> str:
    text = " ".join(entry.text.split()).replace("|", r"\|")
    return f"**{text}**" if entry.bold and text else text


def latex(
    header: Sequence[str], rows: Sequence[Sequence[Printed]], *, caption: str = "", note: str = "", width: int = 0
) -> str:
    """Format a table in LaTeX for the booktabs package.

    The first column is left-aligned and the others are right-aligned. An empty caption or note, which is set in small
    type below the table, is left out. Column names and long row names are wrapped after ``width`` characters; 0
    disables this.

    Raises:
        FairlabError: The caption is not a text.
    """
    if not isinstance(caption, str):
        raise FairlabError(f"caption must be a text, not a {type(caption).__name__}")
    long = width and max((len(row[0].text) for row in rows), default=0) > LONGEST_NAME
    lines = [" & ".join(_wrap_column_name(name, width) for name in header)]
    lines += [" & ".join([_row_name(row[0], bool(long)), *map(_cell, row[1:])]) for row in rows]
    written = "".join([caption, note, *header, *(entry.text for row in rows for entry in row)])
    unset = "".join(dict.fromkeys(sign for sign in written if sign not in ESCAPED and not SET.match(sign)))
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            *([f"% pdflatex cannot set {unset}; use lualatex or xelatex with a font that has them"] if unset else []),
            r"\begin{table}",
            r"\centering",
            *([r"\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\belowcaptionskip}{6pt}"] if width else []),
            *([rf"\caption{{{escaped(caption)}}}"] if caption else []),
            rf"\begin{{tabular}}{{{NARROW if long else 'l'}{'r' * (len(header) - 1)}}}",
            r"\toprule",
            rf"{lines[0]} \\",
            r"\midrule",
            *(rf"{line} \\" for line in lines[1:]),
            r"\bottomrule",
            r"\end{tabular}",
            *([r"\par\smallskip", rf"{{\footnotesize {escaped(note)}}}"] if note else []),
            r"\end{table}",
        ]
    )


def _wrap_column_name(name: str, width: int) -> str:
    """Format a column name in LaTeX, wrapped onto several lines."""
    parts = textwrap.wrap(name.replace("_", "_ "), width) if width else [name]  # a line may end in an underscore
    lines = [_guard_line_start(escaped(part.replace("_ ", "_"))) for part in parts]
    if len(lines) < 2:
        return escaped(name)
    return r"\shortstack[r]{" + r" \\ ".join(lines) + "}"


def _guard_line_start(start: str) -> str:
    """Protect the start of a line that LaTeX could read as an argument of the preceding line break."""
    return "{}" + start if start.startswith(("[", "*")) else start


def _row_name(entry: Printed, breakable: bool) -> str:
    """Format a row name in LaTeX, with allowed line breaks in long words if ``breakable`` is true."""
    words = [
        r"\allowbreak{}".join(escaped(part) for part in textwrap.wrap(word, LONGEST_WORD) or [word])
        if breakable and len(word) > LONGEST_WORD
        else escaped(word)
        for word in entry.text.split()
    ]
    name = " ".join(words)
    return _guard_line_start(rf"\textbf{{{name}}}" if entry.bold and name else name)


def escaped(text: str) -> str:
    r"""Escape text for LaTeX.

    Example:
        >>> print(escaped("50 % of a_b ± 2"))
        50 \% of a\_b $\pm$ 2
    """
    text = re.sub(r"\s*[\x00-\x1f\x7f\u2028\u2029]\s*", " ", text)
    return re.sub("|".join(map(re.escape, ESCAPED)), lambda found: ESCAPED[found[0]], text)


def _cell(entry: Printed) -> str:
    """Format a cell in LaTeX, with minus signs instead of hyphens before numbers."""
    text = re.sub(r"(?<![\w.-])-(?=\d)", "$-$", escaped(entry.text))
    return rf"\textbf{{{text}}}" if entry.bold and text else text
