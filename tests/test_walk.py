"""Every console command, walked over every file that it opens: links, paths that climb and other types in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import walking
from tests.walking import SECRET, VARIABLE, Openings, ending, harm, sandbox

OPENINGS = Openings()
FEW = 8  # ways to spoil a file that are drawn where not all are tried


@pytest.fixture(scope="module")
def world(tmp_path_factory, tiny_folders):
    """The folder of everything that commands open."""
    folder = tmp_path_factory.mktemp("world")
    before = Path.cwd()
    os.chdir(folder)
    try:
        walking.write_world(folder, tiny_folders)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def _as_a_user(monkeypatch):
    monkeypatch.setenv(VARIABLE, SECRET)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    monkeypatch.setattr("socketserver.BaseServer.serve_forever", lambda *_, **__: None)


@pytest.fixture
def walk(world, tmp_path, capfd):
    """Run a command in a fresh copy of what it opens, with a place of it spoilt; returns what it said and its fault."""

    def walked(command, opened, place=None, spoil=None):
        with sandbox(world, tmp_path / "walk", {path.parts[0] for path in opened}) as here:
            if spoil:
                spoil(here / place)
            code, said, fault = ending(command, capfd.readouterr)
            return code, said, fault or harm(here, said)

    return walked
