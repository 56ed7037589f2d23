"""Draw small mutations of fairlab's code, run the tests of the mutated module on each, and list the survivors.

A mutant is one changed operator, comparison, condition or number. It is killed if a test of its module fails, or if the
tests do not end in time. The tests of a module are its own examples, the file of its name and the files that import it,
directly or through other modules, the nearest first. A mutant without any test survives.

A run imports the libraries once and forks for each mutant, so that a mutant takes seconds. In the end, the tests that
killed mutants run on the unchanged code. Those that fail there do not count, and their mutants run again without them.
Finished mutants are kept in the output file, from which the same command resumes.

    python tests/mutants.py --seed 0 --count 300 --output mutants.jsonl
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("losses", "metrics", "methods", "benchmarks", "rewriting", "data", "augmentation", "run", "judge")
FILES = 5  # largest number of test files for a module, its own first
LONGEST = 240  # seconds that the tests of a mutant may take
MOMENTS = count(1_000_000_000)  # a time of change for each mutant, lest Python take what it compiled of another
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
def imports(path: Path) -> frozenset[str]:
    """Return the names of fairlab's modules that a file imports or mentions, such as ``fairlab.losses.ccd``."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r"\bfairlab(?:\.\w+)+", text))
    found |= set(re.findall(r"\b(fairlab(?:\.[a-z_]\w*)+)\.[A-Z]", text))  # of the name of a class
    for module, names in re.findall(r"from (fairlab[\w.]*) import (\([^)]*\)|[^\n]*)", text):
        found |= {f"{module}.{name}" for name in re.findall(r"\w+", names)}
    return frozenset(found)


@cache
def files(folder: str, pattern: str) -> list[Path]:
    """Return the Python files below a folder of the repository, in order."""
    return sorted((ROOT / folder).rglob(pattern))


@cache
def tests_of(file: str) -> list[str]:
    """Return the test files of a module: the one of its name, then those that import it, the nearest first.

    Of the files that import it, directly or through other modules, the ``FILES`` nearest count, and all in the folder
    of its tests.
    """
    path = Path(file).with_suffix("")
    folder = ROOT / "tests" / path.parent.relative_to("fairlab")
    tests = [one for one in files("tests", "test_*.py") if "end_to_end" not in one.parts]  # whole runs take long
    found = [one for one in tests if (one.stem, one.parent.name) == (f"test_{path.name}", path.parent.name)]
    level, seen = {module_name(ROOT / file)}, {module_name(ROOT / file)}
    while level:
        near = [one for one in tests if imports(one) & level]
        found = list(dict.fromkeys([*found, *sorted(near, key=lambda one: (one.parent != folder, len(imports(one))))]))
        level = {module_name(one) for one in files("fairlab", "*.py") if imports(one) & level} - seen
        seen |= level
    if not found and path.name != "__init__":  # a module that its package finds by name
        return tests_of(str(path.parent / "__init__.py"))
    own = [file] if ">>>" in (ROOT / file).read_text(encoding="utf-8") else []
    chosen = [one for k, one in enumerate(found) if k < FILES or one.parent == folder]
    return [*own, *(str(one.relative_to(ROOT)) for one in chosen)]


def module_name(path: Path) -> str:
    """Return the dotted name of a file of fairlab."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


class Outcome:
    """Tests that failed in a run, collected as a plugin of pytest."""

    def __init__(self, failed: list[str]) -> None:
        self.failed = failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def run_tests(copy: Path, tests: list[str], limit: float, options: list[str]) -> tuple[bool, Outcome | None]:
    """Run tests in a fork of this process, in a copy of the repository.

    Returns:
        Whether all tests passed in time, and their outcome; None if they did not finish.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "outcome.json"
        child = os.fork()
        if not child:
            code = 1
            try:
                os.setsid()
                code = run_here(copy, [*options, f"--basetemp={folder}/tests", *tests], result)
            finally:
                os._exit(code)
        code = wait_for(child, limit)
        outcome = Outcome(json.loads(result.read_text())) if result.exists() else None
    return code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), outcome


def run_here(copy: Path, arguments: list[str], result: Path) -> int:
    """Run pytest in this process, without output, and write the outcome to a file."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = sys.path[0] = str(copy)
    outcome = Outcome([])
    code = pytest.main(["-n", "0", "-q", "-p", "no:cacheprovider", *arguments], [outcome])
    result.write_text(json.dumps(outcome.failed))
    return int(code)


def wait_for(child: int, limit: float) -> int:
    """Return the exit code of a forked process; end it and its own children after a number of seconds."""
    end = time.monotonic() + limit
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended or time.monotonic() > end:
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(status)


def import_libraries() -> None:
    """Import what fairlab's modules import, without importing fairlab."""
    walk = (
        "import fairlab, importlib, pkgutil, sys\n"
        "for one in pkgutil.walk_packages(fairlab.__path__, 'fairlab.'):\n"
        "    one.name.endswith('__main__') or importlib.import_module(one.name)\n"
        "print(*sys.modules, sep='\\n')"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    names = subprocess.check_output([sys.executable, "-c", walk], env=environment, text=True).splitlines()
    for name in names:
        if name.partition(".")[0] not in ("fairlab", "tests", "__main__", "__mp_main__"):
            with contextlib.suppress(Exception):  # a name that only another module's import can make
                importlib.import_module(name)


def run(drawn: list[Mutant], done: dict[str, dict[str, Any]], output: Path, seconds: float) -> None:
    """Run the mutants that are not done, for a number of seconds, and append each result to a file."""
    started = time.monotonic()
    import_libraries()
    broken: set[str] = set()
    with tempfile.TemporaryDirectory() as folder, output.open("a") as file:
        copy = Path(folder)
        for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        while todo := [one for one in drawn if str(one) not in done]:
            for mutant in todo:
                if time.monotonic() - started > seconds:
                    break
                row = done[str(mutant)] = asdict(mutant) | try_mutant(mutant, copy, broken)
                file.write(json.dumps(row) + "\n")
                file.flush()
            broken |= broken_tests(copy, {row["by"] for row in done.values()} - {None})
            for name in [name for name, row in done.items() if row["by"] in broken]:
                del done[name]
            if time.monotonic() - started > seconds:
                return


def broken_tests(copy: Path, tests: set[Any]) -> set[str]:
    """Return the tests that fail on the unchanged code too, so that they kill no mutant."""
    passed, outcome = run_tests(copy, sorted(tests), 3_600, [])
    if not passed and not (outcome and outcome.failed):
        sys.exit("the tests that killed mutants did not finish on the unchanged code")
    return set(outcome.failed if outcome else [])


def try_mutant(mutant: Mutant, copy: Path, broken: set[str]) -> dict[str, Any]:
    """Run the tests of a mutant, and return whether it was killed, and by which test; by none if it took too long."""
    tests = tests_of(mutant.file)
    if not tests:
        return {"killed": False, "by": None, "tests": tests}
    options = ["-x", *(f"--deselect={name}" for name in broken)]
    path, source = copy / mutant.file, (ROOT / mutant.file).read_bytes()
    path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    os.utime(path, times=(moment := next(MOMENTS), moment))
    passed, outcome = run_tests(copy, tests, LONGEST, options)
    path.write_bytes(source)
    os.utime(path, times=(moment := next(MOMENTS), moment))
    if passed:
        return {"killed": False, "by": None, "tests": tests}
    if outcome is None:  # if the unchanged code takes as long, that says nothing
        _, usual = run_tests(copy, tests, LONGEST, options)
        return {"killed": usual is not None, "by": None, "tests": tests}
    return {"killed": True, "by": (outcome.failed or tests)[0], "tests": tests}


def main() -> None:
    """Draw, run and list; stop after ``--seconds``, and resume from ``--output``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=10_800)
    parser.add_argument("--output", type=Path, default=Path("outputs/mutants.jsonl"))
    given = parser.parse_args()
    modules = [path for room in ROOMS for path in sorted((ROOT / "fairlab" / room).rglob("*.py"))]
    every = [mutant for path in modules for mutant in mutants_of(path)]
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
