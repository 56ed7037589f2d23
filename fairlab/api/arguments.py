"""Type checks for the arguments of the public functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from fairlab.checks.escapes import printable
from fairlab.checks.values import faults, hints_of, takes_objects
from fairlab.files import NO_NAME
from fairlab.run.command_line import cli
from fairlab.types import FairlabError

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def checked(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Wrap a public function or method so that it raises an error for arguments whose type differs from the annotation.

    Parameters that accept objects must be checked by the function itself. NumPy numbers are converted to Python
    numbers. File-system errors that the user can fix are raised as :class:`FairlabError`, as on the command line.
    Control characters in error messages are escaped.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: Given.args, **settings: Given.kwargs) -> Returned:
        bound = signature.bind(*args, **settings)
        bound.arguments.update({name: _as_python(value) for name, value in bound.arguments.items()})
        try:
            _refuse_misfits(function, bound.arguments)
            return function(*bound.args, **bound.kwargs)
        except FairlabError as error:
            error.args = (printable(str(error)),)
            raise
        except (OSError, MemoryError) as error:
            sentence = cli.explain(error)
            if sentence is None:
                raise
            raise FairlabError(printable(sentence)) from error

    return call


def _as_python(value: Any) -> Any:
    if type(value) is dict:  # settings by name; subclasses such as DatasetDict are not converted
        return {name: _as_python(one) for name, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _refuse_misfits(function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Check arguments against the function's annotations, and names and paths for characters that are not allowed."""
    hints, _ = hints_of(function)
    for name, value in arguments.items():
        hint = hints.get(name, Any)
        if isinstance(hint, TypeVar):  # type variables annotate texts, not names
            continue
        if isinstance(value, str | Path) and NO_NAME.search(str(value)):
            raise FairlabError(
                f"{name} contains a NUL character or half a surrogate pair, which names must not contain; remove it"
            )
        for fault in () if takes_objects(hint) else faults(name, value, hint, nodes=False):
            raise FairlabError(fault)
