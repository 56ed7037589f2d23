"""Storage of generated texts by model and benchmark, for resuming runs and recomputing scores."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairlab.backbones.writers import FAILED, Sampling, TextPrompt, Writer, Written
from fairlab.checks.json_text import from_json
from fairlab.record import Note
from fairlab.text.reading import bounded_lines
from fairlab.types import CannotScore

log = logging.getLogger(__name__)
FOLDER = "generations"
FEWEST_WORDS = 8  # minimum number of different words of a text for judging its language
WORD = re.compile(r"[^\W\d_]+")
COMMON = frozenset(
    "the a an of to and in is it that for on with as was by this are be at from or i you he she they we not".split()
)
_place: ContextVar[Path | None] = ContextVar("place", default=None)


@contextmanager
def keeping_generations(folder: Path, phase: str) -> Iterator[None]:
    """Store the texts that are generated inside the context in ``FOLDER/generations/PHASE/BENCHMARK.jsonl``."""
    token = _place.set(folder / FOLDER / phase)
    try:
        yield
    finally:
        _place.reset(token)


def writer_of(model: Any) -> Writer:
    """Return the object that generates texts for a causal backbone or a model object.

    Raises:
        CannotScore: The model cannot generate texts.
    """
    from fairlab.backbones.backbone import Backbone  # imports torch, which would slow down --help
    from fairlab.backbones.causal_writer import CausalWriter

    if isinstance(model, Backbone):
        return CausalWriter(model)
    if (writer := getattr(model, "writer", None)) is None:
        raise CannotScore(f"{getattr(model, 'name', type(model).__name__)} writes no texts; give a causal LM")
    return writer  # type: ignore[no-any-return]


def write_texts(name: str, model: Any, prompts: Sequence[TextPrompt], sampling: Sampling) -> list[Written]:
    """Return a generated text for each prompt, reusing texts that the run already has.

    Args:
        name: Name of the benchmark, and of the file.
        model: Model that generates texts.
        prompts: Any number of prompts; equal prompts are answered once.
        sampling: Sampling parameters; texts that were sampled with other parameters are generated again.

    Raises:
        CannotScore: The model cannot generate texts.
    """
    folder = _place.get()
    file = None if folder is None else folder / f"{name}.jsonl"
    kept = {} if file is None else _read(file)
    keys = [_key(one, sampling) for one in prompts]
    missing = {key: one for key, one in zip(keys, prompts, strict=True) if key not in kept}
    if missing:
        started = time.perf_counter()
        asked = list(missing)
        with nullcontext() if file is None else _appending(file) as out:

            def done(place: int, text: Written) -> None:
                if out is not None:
                    one = missing[asked[place]]
                    row = {"key": asked[place], "prompt": one.text, "sample": one.sample, **asdict(text)}
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
                    out.flush()

            found = writer_of(model).write(list(missing.values()), sampling, done=done, progress=name)
        kept |= dict(zip(asked, found, strict=True))
        tokens, seconds = sum(one.tokens for one in found), time.perf_counter() - started
        log.info("%s: %d texts, %d tokens in %.1f seconds", name, len(found), tokens, seconds)
    return [kept[key] for key in keys]


def notes_on(name: str, written: Sequence[Written]) -> list[Note]:
    """Return notes on texts that failed, and on texts in a language that the scorers do not read.

    A text of at least eight words counts as not English if it contains none of the most common English words.
    """
    failed = sum(one.ended == FAILED for one in written)
    words = [set(WORD.findall(one.text.casefold())) for one in written]
    foreign = sum(len(some) >= FEWEST_WORDS and not some & COMMON for some in words)
    found = [f"{failed} of {len(written)} texts failed and count as empty"] if failed else []
    if foreign:
        found.append(
            f"{foreign} of {len(written)} texts contain no common English word, but scorers and lists read only "
            "English; prompt in English, or ignore the numbers"
        )
    return [Note(name, text) for text in found]


@contextmanager
def _appending(file: Path) -> Iterator[Any]:
    """Open a file of texts for appending, and end its last line if a killed run left it unfinished."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = not file.exists() or not file.stat().st_size or _last_byte(file) == b"\n"
    with file.open("a", encoding="utf-8") as out:
        if not whole:
            out.write("\n")
        yield out


def _last_byte(file: Path) -> bytes:
    with file.open("rb") as opened:
        opened.seek(-1, os.SEEK_END)
        return opened.read(1)


def _key(prompt: TextPrompt, sampling: Sampling) -> str:
    parts = {name: value for name, value in asdict(prompt).items() if name != "system" or value}
    content = json.dumps([parts, asdict(sampling)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def _read(file: Path) -> dict[str, Written]:
    """Return the stored texts by key, except unfinished lines of a killed run."""
    found: dict[str, Written] = {}
    if not file.is_file():
        return found
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in bounded_lines(lines):
            try:
                row = from_json(line)
                found[str(row["key"])] = Written(str(row["text"]), str(row["ended"]), int(row["tokens"]))
            except (ValueError, KeyError, TypeError, OverflowError):
                continue
    return found
