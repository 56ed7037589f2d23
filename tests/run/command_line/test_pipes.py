"""What a command prints into a pipe whose reader has gone."""

import ast
import os
import subprocess
import sys

import pytest

from fairlab.record import Record
from fairlab.run.command_line import console, pipes
from fairlab.run.command_line.pipes import UNREAD
from fairlab.run.job import accounted


def unread(code):
    """The exit code and what is said of Python code whose standard output nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize("lines", [1, 100_000], ids=["kept back", "written at once"])
def test_a_command_ends_quietly_once_nobody_reads(lines):
    code = f"""
from fairlab.run.command_line.pipes import quiet_when_unread
with quiet_when_unread():
    for number in range({lines}):
        print(number)
"""
    assert unread(code) == (UNREAD, "")


def test_log_lines_that_nobody_reads_are_dropped():
    code = """
import logging, sys
from fairlab.run.command_line.pipes import quiet_when_unread
logging.basicConfig(stream=sys.stdout, level="INFO")
with quiet_when_unread():
    logging.info("busy")
    print("read")
"""
    assert unread(code) == (UNREAD, "")


def test_so_does_the_console():
    code = "import sys; sys.argv = ['fairlab', 'version']; from fairlab.run.command_line.console import main; main()"
    assert unread(code) == (UNREAD, "")


def test_another_pipe_that_breaks_is_an_error():
    with pytest.raises(BrokenPipeError), pipes.quiet_when_unread():
        raise BrokenPipeError


def test_every_entry_point_ends_so():
    for name in console.entry_points():
        file = console.PACKAGE / f"{name}.py"
        tree = ast.parse((file if file.is_file() else console.PACKAGE / name / "__init__.py").read_text())
        (command,) = (one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "command")
        assert [ast.unparse(one) for one in command.decorator_list] == ["quiet_when_unread()"], name


@pytest.mark.parametrize(("gone", "status"), [(True, "interrupted"), (False, "failed")])
def test_a_run_whose_reader_left_was_interrupted(tmp_path, monkeypatch, gone, status):
    monkeypatch.setattr("fairlab.run.job.nobody_reads", lambda: gone)
    record = Record(tmp_path, {}, "")
    with pytest.raises(BrokenPipeError), accounted(record):
        raise BrokenPipeError
    assert Record.load(tmp_path).status == status
