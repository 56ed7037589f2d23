"""Files that sources need, stored with an exported ensemble so that its folder can be moved to another machine.

``sources.yaml`` refers to these files as ``sources/NAME``, relative to the folder. Word lists are copied to the folder.
For a user-defined source, the hash of its code is stored. Large files, and files with texts that must not be
redistributed (scores made elsewhere, weights of classifiers), are not copied. After moving the folder, users must copy
these files or give their locations.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fairlab.files import write_whole
from fairlab.methods.safety_ensemble.exported.trust import BESIDE, CODE, SOURCES, TARGET, code_sha256
from fairlab.methods.safety_ensemble.sources.registry import source_class

Nodes = Mapping[str, Mapping[str, Any]]


def write_sources(nodes: Nodes, folder: Path) -> None:
    """Write the settings of sources to an ensemble's folder, with paths relative to the folder."""
    moved = {name: _move_paths(name, node, folder) for name, node in nodes.items()}
    write_whole(folder / SOURCES, yaml.safe_dump(moved, sort_keys=False))


def _move_paths(name: str, node: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the settings of a source with its paths replaced."""
    source, found = source_class(str(node[TARGET])), dict(node)
    if code := code_sha256(source):
        found[CODE] = code
    for key in source.paths:
        path = Path(str(node.get(key)))
        if node.get(key) is None or str(path) in source.built_in or not path.exists():  # includes names on the hub
            continue
        place = Path(BESIDE) / name / path.resolve().name
        found[key] = place.as_posix()
        if key in source.copied:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / place)
    return found
