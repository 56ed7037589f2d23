"""The examples of the public functions run, also those that are too slow for a doctest of the fast suite."""

import doctest

import pytest

import fairlab


class PrintsProgress(doctest.OutputChecker):
    """Checker that compares values only where an example gives them: commands print their progress."""

    def check_output(self, want, got, optionflags):
        """Return whether the output has the expected value, if there is one."""
        return not want or super().check_output(want, got, optionflags)


def examples(name):
    """Return the examples of a function, with none skipped."""
    found = doctest.DocTestParser().get_doctest(getattr(fairlab, name).__doc__, {"fairlab": fairlab}, name, None, 0)
    for example in found.examples:
        example.options.pop(doctest.SKIP, None)
    return found


@pytest.mark.parametrize("name", fairlab.__all__)
def test_every_public_function_has_an_example(name):
    assert any(f"fairlab.{name}(" in example.source for example in examples(name).examples)


@pytest.mark.slow
@pytest.mark.parametrize("name", fairlab.__all__)
def test_the_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.DocTestRunner(PrintsProgress(), optionflags=doctest.ELLIPSIS).run(examples(name))
    assert result.attempted > 0
    assert result.failed == 0
