"""Checks of configuration values against the annotations of the classes and functions that receive them.

The signature of a class is the only definition of its arguments. A value that does not fit is reported in one sentence
before any object is built.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from fairlab.types import Bounds, FairlabError

TARGET = "_target_"
PARTIAL = "_partial_"  # true if a node is called later with further arguments
WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a text", "texts"),
    bool: ("true or false", "true or false"),
    NoneType: ("null", "null"),
}
SHOWN = 80  # maximum number of characters shown of a value
Text = str | Literal[""]  # a text that may be empty
PRESENCE = (Required, NotRequired)  # say of a key only whether it must be present


class Node:
    """Annotation for an object that a configuration specifies by ``_target_``."""


class Unread:
    """Placeholder for an annotation that uses names imported only for type checkers. Any value fits it."""


def target_of(node: Mapping[str, Any], key: str = "") -> Any:
    """Import the class or function that a configuration node specifies.

    Raises:
        FairlabError: The target cannot be imported, or is not callable.
    """
    name, place = node[TARGET], f"{key}.{TARGET}" if key else TARGET
    try:
        target = resolve_name(name)
    except Exception as error:  # importing a foreign module can raise anything
        reason = " ".join(str(error).split())[:200]
        raise FairlabError(f"{place}={shown(name)} cannot be imported ({type(error).__name__}: {reason})") from error
    if not callable(target):
        raise FairlabError(f"{place}={name} is not a class or function; give the name of one")
    return target


def node_faults(key: str, node: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence for each value of a configuration node that does not fit the signature of the node's target.

    Args:
        key: Dotted key of the node; empty if it has no key.
        node: Node as plain containers.

    Raises:
        FairlabError: The target does not exist.
    """
    target = target_of(node, key)
    hints, takes_any = hints_of(target)
    for name, value in node.items():
        if name in (TARGET, PARTIAL) or (takes_any and name not in hints):
            continue
        if name not in hints:
            there = ", ".join(one for one, hint in hints.items() if not _is_object(hint))
            near = nearest_known(name, hints)
            yield f"there is no setting '{name}' for {target.__name__}{near}; there are: {there or 'none'}"
        else:
            yield from faults(f"{key}.{name}" if key else f"{name} of {target.__name__}", value, hints[name])


@cache
def hints_of(target: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """Return the annotations of a callable's parameters, and whether it accepts other keyword arguments.

    An annotation that uses names imported only for type checkers is replaced by :class:`Unread`.
    """
    written_in: Any = target
    function = inspect.unwrap(written_in.__init__ if inspect.isclass(target) else target)
    hints: dict[str, Any] = {}
    takes_any = False
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # functions not written in Python can lack a signature
        return {}, True
    for parameter in parameters:
        takes_any |= parameter.kind is parameter.VAR_KEYWORD
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        written = Any if parameter.annotation is parameter.empty else parameter.annotation
        place: Any = SimpleNamespace(__annotations__={"it": written})
        try:
            hints[parameter.name] = get_type_hints(place, getattr(function, "__globals__", {}), include_extras=True)[
                "it"
            ]
        except NameError:
            hints[parameter.name] = Unread
    return hints, takes_any


def faults(key: str, value: Any, hint: Any, nodes: bool = True) -> Iterator[str]:
    """Yield one sentence, which names the key, for each reason why a value does not fit an annotation.

    Args:
        key: Dotted key of the value.
        value: Value as plain containers.
        hint: Annotation that the value must fit.
        nodes: Whether the target of a mapping with ``_target_`` is imported. Must be false for the content of files,
            which must not import code.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if nodes and isinstance(value, Mapping) and TARGET in value and origin not in PRESENCE and takes_objects(hint):
        yield from node_faults(key, value)
    elif origin in PRESENCE:
        yield from faults(key, value, arguments[0], nodes)
    elif origin is Annotated:
        inside = list(faults(key, value, arguments[0], nodes))
        if inside and isinstance(value, list) and _is_list(arguments[0]):
            yield from inside
        elif inside or not _in_bounds(value, hint):
            yield _sentence(key, value, hint)
    elif origin in (Union, UnionType):
        yield from _faults_of_union(key, value, hint, nodes)
    elif is_typeddict(hint) and isinstance(value, Mapping):
        yield from _faults_of_keys(key, value, hint, nodes)
    elif _is_mapping(hint) and isinstance(value, Mapping):
        for name, one in value.items():
            if not nodes and arguments and arguments[0] is str and not isinstance(name, str):
                yield f"{_nested_key(key, name)} must be a text; put quotes around {shown(name)}"
            yield from faults(_nested_key(key, name), one, (arguments or (Any, Any))[1], nodes)
    elif _is_list(hint) and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        kinds = list(arguments or [Any])
        if origin is tuple and kinds[-1] is not Ellipsis and len(kinds) != len(value):
            yield _sentence(key, value, hint)
            return
        kinds = kinds if origin is tuple and kinds[-1] is not Ellipsis else kinds[:1] * len(value)
        for number, (one, kind) in enumerate(zip(value, kinds, strict=True)):
            yield from faults(f"{key}[{number}]", one, kind, nodes)
    elif hint in (Any, object, Unread):
        yield from _faults_inside(key, value) if nodes else ()
    elif not _has_plain_type(value, hint):
        yield _sentence(key, value, hint)


def _faults_of_union(key: str, value: Any, hint: Any, nodes: bool) -> Iterator[str]:
    """Yield the faults for a union type.

    If exactly one alternative has the same form as the value (list or mapping), its faults are yielded. Otherwise, one
    sentence lists all alternatives.
    """
    tried = [(one, list(faults(key, value, one, nodes))) for one in get_args(hint)]
    if any(not found for _, found in tried):
        return
    inside = [found for one, found in tried if isinstance(value, Mapping | list) and _same_form(value, one)]
    yield from inside[0] if len(inside) == 1 else [_sentence(key, value, hint)]


def _same_form(value: Any, hint: Any) -> bool:
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return (_is_mapping(hint) or is_typeddict(hint)) if isinstance(value, Mapping) else _is_list(hint)


def _faults_of_keys(key: str, value: Mapping[str, Any], hint: Any, nodes: bool) -> Iterator[str]:
    hints = get_type_hints(hint, include_extras=True)
    for name in sorted(_required_keys(hint, hints) - set(value)):
        yield f"{_nested_key(key, name)} has no value; give {described(hints[name])}"
    for name, one in value.items():
        if name in hints:
            yield from faults(_nested_key(key, name), one, hints[name], nodes)
        else:
            within = f" in {key}" if key else ""
            near = nearest_known(name, hints)
            yield f"there is no key '{shown(name)}'{within}{near}; there are: {', '.join(hints)}"


def _required_keys(hint: Any, hints: Mapping[str, Any]) -> set[str]:
    """Return the required keys of a ``TypedDict``.

    Its own ``__required_keys__`` ignores ``Required`` and ``NotRequired`` if its module postpones annotations.
    """
    others = {name for name, one in hints.items() if get_origin(one) is NotRequired}
    return ({*hint.__required_keys__} | {name for name, one in hints.items() if get_origin(one) is Required}) - others


def _faults_inside(key: str, value: Any) -> Iterator[str]:
    """Yield the faults of the nodes inside a value of any type."""
    parts: Any = ()
    if isinstance(value, Mapping):
        parts = ((_nested_key(key, name), one) for name, one in value.items())
    elif isinstance(value, list):
        parts = ((f"{key}[{number}]", one) for number, one in enumerate(value))
    for place, one in parts:
        yield from faults(place, one, Any)


def _has_plain_type(value: Any, hint: Any) -> bool:
    """Return whether a value has a plain type. Numbers must also be finite."""
    if get_origin(hint) is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(hint))
    if isinstance(value, int) and abs(value) > sys.maxsize:  # needs more than 64 bits, which arrays cannot store
        return False
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is None:
        return value is None
    if hint in (str, Path):
        return isinstance(value, str | hint) and bool(str(value))
    return hint in WORDS and isinstance(value, hint)


def _in_bounds(value: Any, hint: Any) -> bool:
    bounds = [one for one in get_args(hint)[1:] if isinstance(one, Bounds)]
    number = len(value) if isinstance(value, list) else value
    if not isinstance(number, int | float) or isinstance(number, bool):
        return True
    return all(one.low <= number <= one.high and one.above < number < one.below for one in bounds)


def described(hint: Any) -> str:
    """Describe in words which values fit an annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in PRESENCE:
        return described(arguments[0])
    if origin is Annotated:
        ranges = [_range(one) for one in arguments[1:] if isinstance(one, Bounds)]
        if _is_list(arguments[0]):
            ranges = [_length(one) for one in arguments[1:] if isinstance(one, Bounds)]
        return " ".join([described(arguments[0]), *ranges])
    if origin is Literal:
        return _join_with_or([shown(one) for one in arguments])
    if origin in (Union, UnionType):
        return _join_with_or([described(one) for one in arguments if one is not Any])
    if _is_list(hint):
        item = arguments[0] if arguments else None
        kind: Any = get_args(item)[0] if get_origin(item) is Annotated else item
        plural = WORDS.get(kind, ("", ""))[1]
        return f"a list of {plural}" if plural else "a list"
    if _is_mapping(hint) or is_typeddict(hint):
        return "values by name, {NAME: VALUE}"
    word = WORDS[hint][0] if hint in WORDS else ""
    return word or "a choice of a group, or an object with a _target_"


def _range(bounds: Bounds) -> str:
    below = f" and below {bounds.below:g}" if math.isfinite(bounds.below) else ""
    if math.isfinite(bounds.above):
        return f"above {bounds.above:g}{below}"
    if math.isinf(bounds.high):
        return f"of at least {bounds.low:g}{below}"
    return f"from {bounds.low:g} to {bounds.high:.10g}"


def _length(bounds: Bounds) -> str:
    if bounds.low == bounds.high:
        return f"that holds {bounds.low:g}"
    return "that is not empty" if math.isinf(bounds.high) else f"that holds {bounds.low:g} to {bounds.high:,.0f}"


def _join_with_or(words: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(words))
    return " or ".join(filter(None, [", ".join(distinct[:-1]), distinct[-1]]))


def has_items(value: Any) -> bool:
    """Return whether a value can be iterated.

    An array without dimensions cannot be iterated, although it has ``__iter__``.
    """
    try:
        iter(value)
    except TypeError:
        return False
    return True


def nearest_known(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that is most similar to a wrong name, or return an empty string if no name is similar.

    Example:
        >>> nearest_known("bata", ["rho", "beta"]), nearest_known("gamma", ["rho"])
        ('; the nearest is beta', '')
    """
    found = get_close_matches(name, list(known), n=1)
    return f"; the nearest is {found[0]}" if found else ""


def shown(value: Any) -> str:
    """Format a value as on the command line, on one line, truncated to :data:`SHOWN` characters."""
    words = {None: "null", True: "true", False: "false"}
    text = words[value] if value is None or isinstance(value, bool) else " ".join(str(value).split()) or "an empty text"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _sentence(key: str, value: Any, hint: Any) -> str:
    return f"{key or 'the content'} must be {described(hint)}, not {shown(value)}"


def _nested_key(key: str, name: Any) -> str:
    return f"{key}.{name}" if key else str(name)


def _is_list(hint: Any) -> bool:
    kind = get_origin(hint) or hint
    return inspect.isclass(kind) and issubclass(kind, list | tuple | Sequence) and kind is not str


def _is_mapping(hint: Any) -> bool:
    kind = get_origin(hint) or hint
    return inspect.isclass(kind) and not is_typeddict(kind) and issubclass(kind, Mapping)


def takes_objects(hint: Any) -> bool:
    """Return whether an annotation accepts values that are not plain."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(takes_objects(one) for one in arguments)
    if origin in (Annotated, Literal) or _is_list(hint):
        return False
    return hint not in WORDS and hint is not Path


def _is_object(hint: Any) -> bool:
    """Return whether an annotation accepts only objects, which are passed by code, or None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return all(one is NoneType or _is_object(one) for one in arguments)
    return takes_objects(hint) and not (_is_mapping(hint) or is_typeddict(hint) or hint is Any)
