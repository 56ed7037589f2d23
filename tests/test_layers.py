"""Imports point down: a lower layer never imports a higher one, siblings never each other, only entry points Hydra."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "fairlab"
# Lowest first; modules of one layer may use one another only where they are the same package.
LAYERS = [
    {"types"},
    {"files", "ranks"},
    {"record"},
    {"text", "lexicons"},
    {"losses", "metrics"},
    {"backbones"},
    {"llm"},
    {"rewriting"},
    {"augmentation"},
    {"data"},
    {"debiasing"},
    {"optimization"},
    {"prototypes"},
    {"methods", "ensemble", "benchmarks", "callbacks"},
    {"reporting"},
    {"runs", "build", "measuring"},
    {"loggers"},
    {"cli"},
    {"job", "models"},
    {"plans"},
    {"train", "evaluate", "augment", "report", "reproduce", "score", "sweep", "dashboard"},
    {"launching"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ENTRY = {"cli", "job", "plans", "runs", "build", "train", "evaluate", "augment", "report", "reproduce"}
ENTRY |= {"models", "score", "sweep", "loggers", "launching"}
NO_SIBLINGS = {"methods", "augmentation", "losses"}


def part(path: Path) -> str:
    """The layer's name of a module: its package, or its own name at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Dotted names a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.name != "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    own = part(path)
    for name in imports(path):
        pieces = name.split(".")
        if pieces[0] != "fairlab" or len(pieces) < 2 or pieces[1] not in LEVEL:
            continue
        if pieces[1] != own:
            assert LEVEL[pieces[1]] < LEVEL[own], f"{own} imports {name}"
        elif own in NO_SIBLINGS and len(pieces) > 2:
            assert pieces[2] == path.stem, f"{path.stem} imports its sibling {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_entry_points_import_hydra(path):
    hydra = {name for name in imports(path) if name.split(".")[0] in ("hydra", "omegaconf")}
    assert not hydra or part(path) in ENTRY


def test_every_module_has_a_layer():
    assert {part(path) for path in MODULES} <= set(LEVEL)
