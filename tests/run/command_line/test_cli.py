"""Arguments of commands that no record could hold."""

import pytest

from fairlab.run.command_line import console


@pytest.mark.parametrize("command", ["score", "view", "compare", "drift"])
@pytest.mark.parametrize("argument", ["model=\udcff", "a\0b"])
def test_an_argument_that_is_no_text_is_one_sentence(monkeypatch, capsys, command, argument):
    monkeypatch.setattr("sys.argv", ["fairlab", command, argument])
    with pytest.raises(SystemExit) as stop:
        console.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 1
    assert line == f"fairlab: {argument!a} is not UTF-8 text; write the argument, or name the file, in UTF-8"


def test_scripts_of_an_earlier_installation_find_the_console():
    from fairlab.run import console as former

    assert former.main is console.main
