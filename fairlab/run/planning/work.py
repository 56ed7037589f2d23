"""Amount of work of a run: items, steps, tokens and FLOPs."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fairlab.data.groups import read_groups
from fairlab.data.published.tasks import find_task
from fairlab.data.text import text_files
from fairlab.run.planning.sizes import KNOWN
from fairlab.types import DataUnavailable

VERSIONS = 3  # texts in a counterfactual group: neutral and two attributes
ENTRY = 25.0  # tokens per sentence of State of the Union addresses, from experiments/biasers/records
TOKENS = 30.0  # tokens per sentence if no better value is known: our estimate
CHARACTERS = 4.4  # characters per token of running text, from the novels in experiments/perturbation/records


@dataclass(frozen=True)
class Work:
    """Amount of work of a training run.

    Attributes:
        items: Training items per epoch; None if the data is not available and its size is not published.
        batch: Items per step.
        texts: Texts per item.
        steps: Total number of training steps; None if the number of items is unknown.
        tokens: Average number of tokens per item.
        source: Source of the numbers of items and tokens.
    """

    items: int | None
    batch: int
    texts: int
    steps: int | None
    tokens: float
    source: str

    @property
    def read(self) -> float | None:
        """Return the total number of tokens read in all epochs of training, or None if it is unknown."""
        return None if self.steps is None else self.steps * self.batch * self.tokens


def training_work(config: Mapping[str, Any]) -> Work:
    """Estimate the work of a training run from its data files, or from published sizes."""
    data, method = config["data"], config["method"]
    if data.get("input"):
        data = {**data, **source_of(str(data["input"]))}
    kind, batch = data["_target_"].rpartition(".")[2], int(data.get("batch_size") or 1)
    texts = VERSIONS if kind == "CounterfactualData" else 1
    limit = int(data["limit"]) if data.get("limit") else None  # applied to the remaining rows if some were held out
    items, tokens, source = _items(data, kind, texts)
    # Whether the data has separate rows for validation.
    apart = kind == "Entries" or str(data.get("path") or "").startswith("embedded/")
    test = data.get("test") or (data.get("input") and data.get("validation"))
    if items is None and limit is not None:
        items, source, apart, test = limit, "data.limit", True, None
    if kind == "PackedText":
        tokens = float(data.get("block") or config["backbone"]["max_length"])
        if characters := _characters(data):
            items = math.ceil(characters / CHARACTERS / tokens)
            source = f"blocks of {tokens:.0f} tokens, of {characters:,} characters of text"
    if kind == "Entries":
        tokens = float(data["block"])
        if data.get("tokens"):
            items, source = math.ceil(int(data["tokens"]) / tokens), f"blocks of {data['block']} tokens, by data.tokens"
        elif limit is not None:
            items = math.ceil(limit * ENTRY / tokens)
            source = f"blocks of {data['block']} tokens, of at most {limit} entries of about {ENTRY:.0f} tokens"
        else:
            items, source = None, "the number of entries is known only after they are made"
    augmentation = (config.get("augmentation") or {}).get("_target_", "")
    if augmentation:
        source += f"; items added by {augmentation.rpartition('.')[2]} are not counted"
    if kind == "Corpus":
        tokens = float(max([*data["windows"], TOKENS]))
    epochs = int(method.get("epochs") or 1)
    steps = None
    if items is not None:
        shares = [None if apart else data.get("validation"), test]
        trained = min(items - sum(_held_out(items, share) for share in shares), limit or items)
        items, steps = min(items, limit or items), epochs * math.ceil(trained / batch)
    bounds = [bound for bound in (method.get("steps"), config["trainer"].get("max_steps")) if bound]
    steps = min([*([steps] if steps is not None else []), *bounds], default=None)
    return Work(items, batch, texts, steps, tokens, source)


def _items(data: Mapping[str, Any], kind: str, texts: int) -> tuple[int | None, float, str]:
    """Return the number of items, the tokens per item and the source.

    Local data takes precedence.
    """
    known = _known(data)
    tokens = float(known.get("tokens", TOKENS * texts)) if known else TOKENS * texts
    named = str(data.get("path") or "")
    if named.startswith("embedded/") and kind == "CounterfactualData":
        places = [named, *(place for place in data.get("more") or [] if str(place).startswith("embedded/"))]
        return sum(map(_embedded_groups, map(str, places))), tokens, f"groups of {', '.join(places)}"
    paths = [found for name in named_files(data) if (found := at_hand(name)) is not None]
    if len(paths) == 1 and paths[0].is_file() and paths[0].suffix in (".jsonl", ".tsv", ".txt"):
        if kind == "AttributeSentences":
            return None, tokens, f"the sentences of {paths[0]} with a listed word, which the run searches for"
        with paths[0].open(encoding="utf-8", errors="replace") as lines:
            return sum(1 for _ in lines), tokens, f"lines of {paths[0]}"
    if known:
        return int(known["examples"]), tokens, str(known["source"])
    return None, tokens, "the data is not available, and its size is not listed"


@cache
def _embedded_groups(place: str) -> int:
    """Return the number of training groups in a bundled dataset."""
    return sum(group.extra.get("split", "train") == "train" for group in read_groups(place))


def _characters(data: Mapping[str, Any]) -> int:
    """Return the number of characters that training will read, at most ``limit_characters``.

    The number is 0 if any file is missing or is not a ``.txt`` file.
    """
    try:
        files = [file for path in data["paths"] for file in text_files(str(path))]
    except DataUnavailable:
        return 0
    if any(file.suffix != ".txt" for file in files):
        return 0
    size = sum(file.stat().st_size for file in files)
    return min(size, int(data.get("limit_characters") or size))


def _known(data: Mapping[str, Any]) -> Mapping[str, Any]:
    named = str(data.get("path") or "")
    for name, entry in KNOWN["files"].items():
        if re.search(rf"(^|/){re.escape(name)}(:|$)", named):
            return entry
    if named in ("", "hub") or _is_made(named):
        return KNOWN["tasks"].get(str(data.get("task", "")), {})
    return {}


def _is_made(named: str) -> bool:
    """Return whether a path refers to data that an experiment matrix must make first."""
    return "/made/" in named or named.startswith("made/")


def source_of(named: str) -> dict[str, str | None]:
    """Return a data source, a file or ``task:NAME:SPLIT``, as the keys ``path`` and ``task`` of a configuration."""
    return {"task": named.split(":")[1], "path": None} if named.startswith("task:") else {"path": named}


def named_files(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files named in a data configuration, without resolving their paths."""
    if data.get("input"):
        yield from named_files(source_of(str(data["input"])))
        return
    if data.get("path") not in (None, "hub", "???"):
        yield str(data["path"])
    elif "held_out" in data and data.get("name"):
        yield from map(str, (data["name"], *data["held_out"]))
    elif "task" in data and data.get("path") is None:
        for part in find_task(str(data["task"])).parts or (find_task(str(data["task"])),):
            files = part.files.get("train", ())
            yield from (files,) if isinstance(files, str) else files
    paths, lists = data.get("paths"), data.get("lists")
    yield from map(str, paths if isinstance(paths, list) else [])
    yield from map(str, lists.values() if isinstance(lists, Mapping) else [])


def at_hand(name: str) -> Path | None:
    """Return the path of a file or folder, also in ``FAIRLAB_DATA``, or None if it does not exist."""
    folder = os.environ.get("FAIRLAB_DATA")
    places = [Path(name), *([Path(folder) / name] if folder else [])]
    return next((place for place in places if place.exists()), None)


def _held_out(items: int, validation: float | None) -> int:
    if not validation:
        return 0
    return round(items * validation) if validation < 1 else min(round(validation), items)


def training_flops(multiplied: int, tokens: float, *, adapters: bool) -> float:
    """Return the FLOPs of training: 6 N per token, 2 N forward and 4 N backward.

    With adapters, the gradients of the frozen weights are not computed, which gives 4 N: 2 N forward, and 2 N for the
    gradients of the inputs. Source: Kaplan et al. 2020, "Scaling Laws for Neural Language Models", table 1 and section
    2.1.
    """
    return (4.0 if adapters else 6.0) * multiplied * tokens
