"""Prompts as versioned files: a task and examples of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fairlab.checks.foreign import require_form
from fairlab.files import sha256
from fairlab.text.reading import read_yaml_text
from fairlab.types import FairlabError

FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Prompt:
    """A prompt file as read.

    Attributes:
        name: name of the file, or its path where it is the user's own.
        version: number that is raised whenever the file changes.
        sha256: hash of the file, for the record.
        task: what the model is told before anything else; ``$words`` are filled in.
        examples: examples that are shown as earlier turns of the chat.
        extra: every other key of the file.
    """

    name: str
    version: int
    sha256: str
    task: str
    examples: tuple[dict[str, str], ...]
    extra: dict[str, Any]

    def file_with(self, examples: Sequence[dict[str, str]]) -> str:
        """Content of a prompt file with the same words and other examples."""
        content = {"version": self.version, **self.extra, "task": self.task, "examples": list(examples)}
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)


def load_prompt(name: str) -> Prompt:
    """A prompt by the name of a file of fairlab's or by the path of one's own.

    Raises:
        FairlabError: there is no such file, or it lacks a key.
    """
    own = Path(name)
    path = own if own.suffix == ".yaml" else FOLDER / f"{name}.yaml"
    if not path.is_file():
        ours = ", ".join(sorted(found.stem for found in FOLDER.glob("*.yaml")))
        raise FairlabError(f"there is no prompt {name}; give the path of a yaml file or one of: {ours}")
    content = read_yaml_text(path, "is no yaml file")
    if not isinstance(content, dict) or (missing := [key for key in ("version", "task") if key not in content]):
        what = missing[0] if isinstance(content, dict) else "version"
        raise FairlabError(f"the prompt {path} has no key '{what}'; see {FOLDER.name}/counterfactual_group.yaml")
    for key, form in {"version": int, "task": str, "examples": list[dict[str, Any]] | None}.items():
        require_form(path, content.get(key), form, key)
    version, task, examples = content.pop("version"), content.pop("task"), content.pop("examples", None) or []
    return Prompt(name, version, sha256(path), task, tuple(examples), content)
