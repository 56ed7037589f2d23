"""Running entry points inside the test's process, and a stub that rewrites as a language model should."""

from __future__ import annotations

import json
import os
import sys

import pytest
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from fairlab.augment import command
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.run.command_line import cli
from tests.llm.stub import said

TEXTS = [
    "She saw her cat on the wall.",
    "The rain fell all day.",
    "His father slept in the boat.",
    "The queen left early.",
    "A policeman asked for bread.",
    "My aunt mends clocks.",
    "Nothing happened here.",
    "He paid the waitress.",
]
SWAP = WordSwap(load_lexicon("gender"))


def augment_here(*arguments):
    """The exit code of ``python -m fairlab.augment``, without starting Python anew."""
    return run_here(command, "fairlab.augment", *arguments)


def run_here(command, *arguments):
    """The exit code of an entry point's command, for the name of its module and its arguments."""
    before, full_error = sys.argv, os.environ.get(cli.FULL_ERROR)
    sys.argv = list(arguments)
    GlobalHydra.instance().clear()
    try:
        with pytest.MonkeyPatch.context() as patch:
            # Otherwise Hydra composes all once more, to learn that this is no sweep.
            patch.setattr(Hydra, "get_mode", lambda *_, **__: RunMode.RUN)
            command()
    except SystemExit as stop:
        return stop.code or 0
    finally:
        sys.argv = before
        GlobalHydra.instance().clear()
        if full_error is None:
            os.environ.pop(cli.FULL_ERROR, None)
    return 0


def rewritten(text, confidence=0.9):
    """What a good model answers."""
    versions = {name: SWAP(text, name) for name in ("neutral", "man", "woman")}
    return said(json.dumps(versions | {"confidence": confidence}))


def by_model(payload, nth):
    """An act of the stub: the last message rewritten."""
    return rewritten(payload["messages"][-1]["content"])


def write_texts(path, texts=TEXTS):
    """Rows of texts as JSON lines."""
    path.write_text("".join(json.dumps({"id": f"r{k}", "text": text}) + "\n" for k, text in enumerate(texts)))
    return path


def rows(folder, kind="data"):
    """All rows of a kind in an output."""
    return [
        json.loads(line)
        for file in sorted(folder.glob(f"{kind}*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def content(folder):
    """Every file of an output by name, but for those that hold times or the command."""
    apart = {"record.json", "report.html", ".lock"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in apart
    }


def of_stub(stub, folder):
    """Arguments that make a stub the language model."""
    return [
        "rewriter=llm",
        "llm=local",
        "llm.model=m",
        f"llm.base_url={stub.url}",
        f"llm.ledger={folder}/ledger.sqlite",
    ]
