"""Lines of progress of a command whose output is no terminal."""

from fairlab.checks.progress import steps, telling_steps, time_left


def test_a_command_tells_each_step_with_the_time_left(capsys):
    assert list(steps(["seat", "stsb"], "bert")) == ["seat", "stsb"]
    assert capsys.readouterr().err == ""  # a library says nothing
    with telling_steps():
        assert list(steps(["seat", "stsb"], "bert")) == ["seat", "stsb"]
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == ["bert: seat done (1 of 2), about 1 s left", "bert: stsb done (2 of 2)"]


def test_a_step_that_fails_is_not_told(capsys):
    with telling_steps():
        next(steps(["seat"]))
    assert capsys.readouterr().err == ""


def test_the_time_left_is_that_of_the_steps_done():
    assert time_left(90.0, 1, 3) == ", about 3 min left"
    assert time_left(30.0, 3, 4) == ", about 10 s left"
    assert (time_left(0.0, 0, 4), time_left(9.0, 4, 4)) == ("", "")
