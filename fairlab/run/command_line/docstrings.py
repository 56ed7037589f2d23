"""Extraction of texts from source code without importing it."""

from __future__ import annotations

import ast
import re


def first_sentence(docstring: str | None) -> str:
    """Return the first sentence of a docstring, on one line, without its full stop."""
    text = " ".join((docstring or "").split("\n\n")[0].split())
    return re.split(r"(?<!al)\. ", text)[0].removesuffix(".")  # "Qian et al. 2022" is not the end of a sentence


def assigned(node: ast.Module | ast.ClassDef | ast.FunctionDef, name: str) -> ast.expr | None:
    """Return the expression that the body of a module or class assigns to a name, or None if there is none."""
    found = (one.value for one in node.body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == name)
    return next(found, None)
