"""The rules of the house: where modules may look, and how large they may grow."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "fairlab"
# Lowest first; modules of one layer may use one another only where they are of the same room.
LAYERS = [
    {"types"},
    {"files", "distributed"},
    {"checks"},
    {"record"},
    {"text"},
    {"lexicons"},
    {"protocols"},
    {"losses", "metrics"},
    {"backbones"},
    {"llm"},
    {"rewriting"},
    {"augmentation"},
    {"data"},
    {"methods", "benchmarks", "judge"},
    {"reporting"},
    {"run", "ensemble"},  # the latter is a former place of methods, and only imports them
    {"train", "evaluate", "augment", "audit", "report", "reproduce", "score", "serve", "view"},
    {"mend"},
    {"api"},
    {"integrations"},
    {"compare"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ENTRY_POINTS = LAYERS[-5] | LAYERS[-4] | LAYERS[-1]
# Rooms whose modules stand side by side, but for those that all of them share.
SIDE_BY_SIDE = {
    "methods": {"base", "optimizing", "prototypes", "debiasing", "safety_ensemble"},
    "augmentation": {"filtering", "rounds"},
    "losses": set(),
}
CONVENTIONAL = {"main", "command", "work", "recognises", "read"}  # of entry points and of readers of results
OF_THE_PACKAGE = [PACKAGE / "__init__.py", PACKAGE / "__main__.py"]  # the package itself, to Python and to python -m
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path not in OF_THE_PACKAGE)


def name_of(path: Path) -> str:
    """``fairlab.data.text`` for its file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def room(name: str) -> str:
    """The room of a module: its package, or its own name at the top."""
    return name.split(".")[1]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[str]:
    """Dotted names that a module imports, anywhere in it."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path: Path) -> set[str]:
    """Modules of fairlab that a module imports."""
    return {name for name in imports(path) if name in NAMES and name != name_of(path)}


def test_every_module_has_a_layer():
    assert {room(name) for name in NAMES} == set(LEVEL)


def test_imports_point_down():
    for path in MODULES:
        own = room(name_of(path))
        for name in own_imports(path):
            assert room(name) == own or LEVEL[room(name)] < LEVEL[own], f"{name_of(path)} imports {name}"


def test_siblings_do_not_import_one_another():
    for path in MODULES:
        name = name_of(path)
        if room(name) not in SIDE_BY_SIDE:
            continue
        shared = SIDE_BY_SIDE[room(name)]
        for other in own_imports(path):
            if room(other) == room(name) and name.split(".")[2] not in shared:
                assert other.split(".")[2] in shared, f"{name} imports its sibling {other}"


def test_hydra_is_imported_by_entry_points_and_run_alone():
    for path in MODULES:
        if room(name_of(path)) not in ENTRY_POINTS | {"run"}:
            assert not {name.split(".")[0] for name in imports(path)} & {"hydra", "omegaconf"}, name_of(path)


def test_there_is_no_import_circle():
    arrows = {name_of(path): own_imports(path) for path in MODULES}
    done: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " > ".join([*above[above.index(name) :], name])
        if name not in done:
            for other in arrows[name]:
                walk(other, (*above, name))
            done.add(name)

    for name in arrows:
        walk(name, ())


def definitions(path: Path) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """Public classes and functions at the top of a module."""
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def test_a_public_name_has_one_definition():
    where = defaultdict(list)
    for path in MODULES:
        for node in definitions(path):
            where[node.name].append(name_of(path))
    twice = {name: places for name, places in where.items() if len(places) > 1 and name not in CONVENTIONAL}
    assert not twice


def test_the_root_holds_at_most_13_modules():
    assert len([path for path in PACKAGE.glob("*.py") if path not in OF_THE_PACKAGE]) <= 13


def lines_of_code(function: ast.FunctionDef) -> int:
    """Lines of a function from its name on, its docstring left out."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    return function.end_lineno - function.lineno + 1 - (docstring.end_lineno - docstring.lineno + 1 if docstring else 0)


def test_no_file_is_over_400_lines_and_no_function_over_60():
    for path in MODULES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, name_of(path)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                assert lines_of_code(node) <= 60, f"{name_of(path)}.{node.name}"


def test_tests_stand_where_the_modules_stand():
    """A test file named after a module lies where the module lies."""
    tests = Path(__file__).parent
    leaves = defaultdict(set)
    for name in NAMES:
        *folder, leaf = name.split(".")[1:]
        leaves[leaf] |= {str(folder), str([*folder, leaf])}  # a package is tested within its own folder
    for path in tests.rglob("test_*.py"):
        leaf, folder = path.stem.removeprefix("test_"), str(list(path.relative_to(tests).parts[:-1]))
        if leaf in leaves and "end_to_end" not in folder:
            assert folder in leaves[leaf], f"{path.relative_to(tests)} stands apart from its module"
