"""Trust checks for exported ensembles: checks of a folder's description and of the sources it names.

A folder may name only built-in sources of fairlab, which declare their own settings. Custom sources, server addresses,
names of environment variables that hold keys, and model names on the Hub are accepted only from the command line.
Otherwise, a folder could run code or send a key to its author.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from fairlab.checks.foreign import read_object, read_yaml
from fairlab.checks.values import faults
from fairlab.files import check_folder, inside, sha256
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.registry import built_in_source, source_class
from fairlab.types import FairlabError, Share

DESCRIPTION, SOURCES = "ensemble.json", "sources.yaml"
TARGET = "_target_"
ARRAYS, FORMER = ".safetensors", ".skops"  # file extensions of fitted models, in current and in older exports
CODE = "_sha256_"  # key of the hash of a user-defined source's code
IDENTITIES = "identities"  # key of the lexicons in the description, and folder of user-defined lexicons
BUILT_IN = re.compile("[a-z_]+")  # name of a lexicon that comes with fairlab
BESIDE = "sources"  # folder for the sources' files in an exported ensemble


def read_description(folder: Path) -> dict[str, Any]:
    """Read and check the description of an ensemble.

    The description contains the features, the versions of the sources and, for each harm, the model's file and
    calibration line.

    Raises:
        FairlabError: The description is missing, or one of its values has the wrong type.
    """
    file = folder / DESCRIPTION
    if not file.is_file():
        raise FairlabError(f"{folder} holds no ensemble; give the folder 'model' of a safety_ensemble run")
    check_folder(folder)
    content = read_object(file)
    features, sources, harms = (content.get(key) for key in ("features", "sources", "harms"))
    lists = isinstance(features, list) and all(isinstance(name, str) for name in features)
    if not lists or not isinstance(sources, dict) or not isinstance(harms, dict) or not harms:
        raise FairlabError(f"{file} does not describe features, sources and harms; export the ensemble again")
    _check_identities(folder, content)
    for harm, entry in harms.items():
        numbers = [entry.get(key) for key in ("slope", "intercept")] if isinstance(entry, dict) else [None]
        if any(fault for number in numbers for fault in faults("", number, float, nodes=False)):
            raise FairlabError(f"{file} has no numeric slope and intercept for {harm}; export the ensemble again")
        cut = entry.get("threshold", 0.5)
        if any(faults("", cut, Share, nodes=False)):
            raise FairlabError(f"{file} has a threshold outside 0..1 for {harm}; export the ensemble again")
        name = entry.get("file")
        if isinstance(name, str) and name.endswith(FORMER):
            raise FairlabError(
                f"{folder} was exported by an older fairlab; train it again, python -m fairlab.train "
                "+experiment=safety_ensemble, with the settings that the run's record.json lists"
            )
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(ARRAYS):
            raise FairlabError(f"{file} names {name!r} for {harm}, not a {ARRAYS} file next to it; do not use it")
    return content


def is_file_of_words(name: str) -> bool:
    """Return whether the name of a lexicon is a file name."""
    return name.endswith((".yaml", ".yml"))


def _check_identities(folder: Path, content: dict[str, Any]) -> None:
    """Check the lexicons that a description names, and resolve the paths of lexicon files in its folder.

    Raises:
        FairlabError: A name has the wrong form, or a file is missing or outside of the folder.
    """
    file, names = folder / DESCRIPTION, content.get(IDENTITIES)
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FairlabError(f"{file} has no list of lexicons as {IDENTITIES}; export the ensemble again")
    found = []
    for name in names:
        own = PurePosixPath(name)
        if is_file_of_words(name) and own.parts == (IDENTITIES, own.name) and (folder / own).is_file():
            found.append(str(inside(folder, name, str(folder))))
        elif BUILT_IN.fullmatch(name):
            found.append(name)
        else:
            raise FairlabError(f"{file} names the lexicon {name!r}, which is not next to it; do not use it")
    content[IDENTITIES] = found


def read_sources(folder: Path, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the settings of an ensemble's sources, including ``_target_``, by the sources' names.

    The settings ``given`` on the command line take precedence over the folder's.

    Raises:
        FairlabError: A source is not part of fairlab and the command does not name its class; a setting does not exist;
            or the folder sets a value that only the command may set.
    """
    file = inside(folder, SOURCES, str(folder))
    named = read_yaml(file)
    if not isinstance(named, dict) or not named:
        raise FairlabError(f"{file} lists no sources; export the ensemble again")
    if strange := sorted(set(given) - set(named)):
        raise FairlabError(f"sources.{strange[0]} is not a source of {folder}; there are: {', '.join(map(str, named))}")
    return {str(name): _source(file, str(name), node, given.get(name, {})) for name, node in named.items()}


def _source(file: Path, name: str, node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check one source's settings, and return them."""
    source = _class(file, name, node, given)
    if node.get(CODE) is not None and code_sha256(source) != node[CODE]:
        raise FairlabError(
            f"{file}: the code of {name}, {inspect.getfile(source)}, is not the code that the ensemble was exported "
            f"with (SHA-256 {node[CODE]}); bring that file back, or train the ensemble again"
        )
    settings = {key: value for key, value in node.items() if key not in (TARGET, CODE)}
    given = {key: value for key, value in given.items() if key != TARGET}
    if strange := sorted(map(str, (set(settings) | set(given)) - source.settings())):
        raise FairlabError(f"{file}: there is no setting {strange[0]} of {name}; do not use this ensemble")
    for key, value in settings.items():
        parts = value if isinstance(value, list) else [value]
        if not all(part is None or (isinstance(part, str) and "${" not in part) for part in parts):
            raise FairlabError(f"{file}: {key} of {name} must be a plain text; do not use this ensemble")
    if any(key not in given for key in source.secret):
        both = " ".join(f"+sources.{name}.{key}=VALUE" for key in source.secret)
        raise FairlabError(
            f"{file}: {name} contacts a server, whose address and key a folder cannot set; give both: {both} (or "
            "null for none)"
        )
    settings |= _locate(file, name, source, {key: value for key, value in settings.items() if key not in given})
    hub, found = source.hub, settings.get(source.hub or "")
    if hub and hub not in given and not (found in source.built_in or Path(str(found)).is_dir()):
        raise FairlabError(
            f"{file}: {hub} of {name} is not a folder here ({found}), and a folder cannot "
            f"choose a model on the hub; give it: +sources.{name}.{hub}=NAME"
        )
    return {TARGET: f"{source.__module__}.{source.__qualname__}", **settings, **given}


def _class(file: Path, name: str, node: Any, given: Mapping[str, Any]) -> type[Source]:
    """Return a source's class, named by the command or, by default, a built-in class named by the folder."""
    if TARGET in given:
        if not isinstance(node, dict):
            raise FairlabError(f"{file}: {name} lists no settings; export the ensemble again")
        return source_class(str(given[TARGET]))
    target = node.get(TARGET) if isinstance(node, dict) else None
    found = built_in_source(target) if isinstance(target, str) else None
    if found is None:
        raise FairlabError(
            f"{file}: {name} is not a source of fairlab ({target}); "
            f"do not use this ensemble, or name your own class for it: +sources.{name}.{TARGET}=MODULE.CLASS"
        )
    return found


def code_sha256(source: type[Source]) -> str | None:
    """Return the SHA-256 of the code file of a user-defined source, or None for a built-in source."""
    if built_in_source(f"{source.__module__}.{source.__qualname__}"):
        return None
    return sha256(Path(inspect.getfile(source)))


def _locate(file: Path, name: str, source: type[Source], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the paths in a source's settings, resolved relative to the ensemble's folder.

    Raises:
        FairlabError: A file does not exist, or a path leads out of the folder.
    """
    found = {}
    for key in source.paths:
        path = PurePosixPath(str(settings.get(key) or ""))
        beside = path.parts[:1] == (BESIDE,)
        if not path.parts or not (beside or path.is_absolute()):  # empty, a built-in list, or a name of the hub
            continue
        place = file.parent / path
        if ".." in path.parts or (beside and not place.resolve().is_relative_to(file.parent.resolve())):
            raise FairlabError(f"{file}: {key} of {name} leads out of the folder ({path}); do not use this ensemble")
        if not place.exists():
            raise FairlabError(
                f"{place}, which the source {name} needs, does not exist; copy it there, or give its path: "
                f"+sources.{name}.{key}=PATH"
            )
        found[key] = str(place)
    return found
