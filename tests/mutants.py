"""Draw small mutations of fairlab's code, run the tests of the mutated module on each, and list the survivors.

A mutant is one changed operator, comparison, condition or number. It is killed if a test of its module fails, or takes
longer than ten times as long as usual. The tests of a module are the file of its name and the files that import it.
Finished mutants are kept in the output file, from which the same command resumes.

    python tests/mutants.py --seed 0 --count 300 --output mutants.jsonl
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("losses", "metrics", "methods", "benchmarks", "rewriting", "data", "augmentation", "run", "judge")
FILES = 4  # largest number of test files for a module, its own first
LONGEST = 300  # seconds for the tests of a module without a mutation
OTHER = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr},
    **{ast.BitOr: ast.BitAnd, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.And: ast.Or, ast.Or: ast.And},
}


@dataclass(frozen=True)
class Mutant:
    """One replacement of a stretch of a module's bytes."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str


def changed(node: ast.expr) -> ast.expr | None:
    """Return the mutated expression, or None if it has no mutation."""
    match node:
        case ast.BinOp(_, ast.Div(), right) if isinstance(right, ast.JoinedStr) or (
            isinstance(right, ast.Constant) and isinstance(right.value, str)
        ):
            return None  # a path
        case ast.BinOp(left, operator, right) if type(operator) in OTHER:
            return ast.BinOp(left, OTHER[type(operator)](), right)
        case ast.BoolOp(operator, values):
            return ast.BoolOp(OTHER[type(operator)](), values)
        case ast.Compare(left, [operator, *others], values) if type(operator) in OTHER:
            return ast.Compare(left, [OTHER[type(operator)](), *others], values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return operand
        case ast.Constant(value) if isinstance(value, bool):
            return ast.Constant(not value)
        case ast.Constant(value) if isinstance(value, int | float):
            return ast.Constant(value * 2 if value not in (0, 1) else 1 - value)
    return None


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield expressions that decide something: no annotations, messages of errors, or code for type checkers."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            types = name in ("annotation", "returns") or isinstance(child, ast.Raise | ast.JoinedStr)
            if not isinstance(child, ast.AST) or types:
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from expressions(child)


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in expressions(ast.parse(source)):
        new = changed(node)
        if new is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            old, new_text = source[start:end].decode(), f"({ast.unparse(ast.fix_missing_locations(new))})"
            found.append(Mutant(str(path.relative_to(ROOT)), node.lineno, start, end, old, new_text))
    return found


@cache
def test_texts() -> dict[Path, str]:
    """Return the text of every test file."""
    return {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}


@cache
def tests_of(file: str) -> list[str]:
    """Return the test files of a module: the one of its name, then those that import it."""
    path = Path(file).with_suffix("")
    named = [one for one in test_texts() if (one.stem, one.parent.name) == (f"test_{path.name}", path.parent.name)]
    module = ".".join(path.parts).removesuffix(".__init__")
    imports = re.compile(rf"^(from {module} import|import {module}\b)", re.MULTILINE)
    others = [one for one, text in test_texts().items() if imports.search(text)]
    return [str(one.relative_to(ROOT)) for one in dict.fromkeys([*named, *others])][:FILES]


def passes(copy: Path, tests: list[str], seconds: float) -> bool:
    """Return whether tests pass in a copy of the repository, in time."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def run(drawn: list[Mutant], done: dict[str, dict[str, object]], output: Path, seconds: float) -> None:
    """Run the mutants that are not done, for a number of seconds, and append each result to a file."""
    usual: dict[str, float | None] = {}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, output.open("a") as file:
        copy = Path(folder)
        for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        for mutant in drawn:
            if str(mutant) in done or time.monotonic() - started > seconds:
                continue
            source, tests = (ROOT / mutant.file).read_bytes(), tests_of(mutant.file)
            if mutant.file not in usual:
                before = time.monotonic()
                passed = passes(copy, tests, LONGEST)
                usual[mutant.file] = (time.monotonic() - before) if passed else None
            if (taken := usual[mutant.file]) is None:
                continue  # its tests fail without any mutation, so that they say nothing
            mutated = source[: mutant.start] + mutant.new.encode() + source[mutant.end :]
            (copy / mutant.file).write_bytes(mutated)
            row = asdict(mutant) | {"killed": not passes(copy, tests, 10 * taken), "tests": tests}
            (copy / mutant.file).write_bytes(source)
            done[str(mutant)] = row
            file.write(json.dumps(row) + "\n")
            file.flush()


def main() -> None:
    """Draw, run and list; stop after ``--seconds``, and resume from ``--output``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=10_800)
    parser.add_argument("--output", type=Path, default=Path("outputs/mutants.jsonl"))
    given = parser.parse_args()
    modules = [path for room in ROOMS for path in sorted((ROOT / "fairlab" / room).rglob("*.py"))]
    every = [mutant for path in modules if tests_of(str(path.relative_to(ROOT))) for mutant in mutants_of(path)]
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    print(f"seed {given.seed}: {len(drawn)} of {len(every)} mutants of {len(modules)} modules")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    rows = map(json.loads, given.output.read_text().splitlines() if given.output.exists() else [])
    done = {str(Mutant(**{name: row[name] for name in Mutant.__match_args__})): row for row in rows}
    run(drawn, done, given.output, given.seconds)
    found = [done[str(one)] for one in drawn if str(one) in done]
    for row in found:
        if not row["killed"]:
            print(f"survived: {row['file']}:{row['line']}: {row['old']} became {row['new']}")
    killed = sum(bool(row["killed"]) for row in found)
    print(f"{killed} of {len(found)} killed" + (f", {killed / len(found):.1%}" if found else ""))


if __name__ == "__main__":
    main()
