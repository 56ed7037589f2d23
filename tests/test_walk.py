"""Every console command, walked over every file that it opens: links, paths that climb and values of other types.

``fairlab --help`` says which commands there are, and a command that is run says which files it opens; neither is listed
here. Of the ways to spoil a file, a few are drawn by its name; another slow test tries many more.
"""

from __future__ import annotations

import os
import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from fairlab.run.command_line.console import OWN, entry_points
from tests import walking
from tests.walking import COMMANDS, OUTSIDE, SECRET, VARIABLE, Openings, ending, harm, sandbox, ways

OPENINGS = Openings()
COMPILED = {
    ".safetensors",
    ".ckpt",
    ".arrow",
    ".parquet",
    ".tokens",
}  # files that compiled code opens, where Python hears nothing


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
    monkeypatch.setattr("fairlab.serve.moderation_server.Moderations.run", lambda _: None)


def replaced_by_link(path):
    """Put a link to something outside in the place of a file or a folder."""
    outside = "../" * (len(path.parts) - path.parts.index("here") - 1) + OUTSIDE
    if path.is_dir():
        shutil.rmtree(path)
        path.symlink_to(outside)
    else:
        path.unlink()
        path.symlink_to(f"{outside}/secret")


def spoilings(world, opened, command):
    """Every way to spoil each place that a command opens: (place, name of the way, what does it)."""
    tops = {path.parts[0] for path in opened}
    there = {path for top in tops for path in (world / top).rglob("*") if path.suffix in COMPILED}
    for path in sorted({world / place for place in opened} | there):
        place = path.relative_to(world)
        if str(place) not in command:  # what the command names is trusted
            yield place, "link", replaced_by_link
        for name, spoil in ways(path).items() if path.is_file() else ():
            yield place, name, spoil


def drawn(found, each, whole):
    """At most ``each`` ways of every place, and ``whole`` in all; links and other ways in turn."""
    by_place = {}
    for one in found:
        by_place.setdefault((one[0], one[1] == "link"), []).append(one)
    draw = random.Random(len(by_place))
    some = [draw.sample(ways, min(each, len(ways))) for ways in by_place.values()]
    draw.shuffle(some)
    links, others = ([one for ways in some for one in ways if (one[1] == "link") == link] for link in (True, False))
    return [*links[: whole // 2], *others[: whole // 2]]


def fault_of(code, said):
    """What is wrong with how a command ended over a link in the place of a file that it opens, or an empty text."""
    refused = "is a link out of the folder" in said or ": damaged" in said
    return "" if refused else f"the link was followed (exit {code}): {said[-200:]}"


def walk(world, place_of_work, command, printed, draw):
    """Run a command over what it opens, spoilt in drawn ways; return what it opens and what went wrong."""
    with sandbox(world, place_of_work, set(os.listdir(world))) as here, OPENINGS.below(here) as opened:
        code, said, fault = ending(command, printed)
    assert (code, fault) == (0, ""), f"{command}: {fault or said}"
    opened = {path for path in opened if (world / path).exists()}
    tops = {path.parts[0] for path in opened}
    files = {path for path in opened if (world / path).is_file() and path.parts[0] != "experiments"}  # one's own folder
    wrong = []
    for place, way, spoil in draw(spoilings(world, opened, command)):
        with sandbox(world, place_of_work, tops) as here:
            spoil(here / place)
            code, said, fault = ending(command, printed)
            fault = fault or harm(here, said)
            if way == "link" and place in files:
                fault = fault or fault_of(code, said)
        wrong += [f"{place} | {way} | {fault}"] if fault else []
    return opened, wrong


FEW = partial(drawn, each=1, whole=4)
MANY = partial(drawn, each=40, whole=10_000)
FIRST = {command.split()[0]: command for command in reversed(COMMANDS)}  # one of each name


def faults(walked, command):
    opened, wrong = walked
    assert opened or command in ("doctor", "version")
    return "\n".join(wrong)


@pytest.mark.parametrize("command", FIRST.values(), ids=FIRST)
@pytest.mark.slow
def test_no_file_that_a_command_opens_decides_more_than_numbers(world, tmp_path, capfd, command):
    assert not faults(walk(world, tmp_path / "walk", command, capfd.readouterr, FEW), command)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_no_value_in_any_file_that_a_command_opens_does(world, tmp_path, capfd, command):
    assert not faults(walk(world, tmp_path / "walk", command, capfd.readouterr, MANY), command)


def test_every_command_is_walked():
    assert {command.split()[0] for command in COMMANDS} == {*entry_points(), *OWN}
