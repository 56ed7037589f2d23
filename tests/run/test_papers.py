"""Tables and citations of runs: which runs they are of, and where they go."""

from types import SimpleNamespace

import pytest

from fairlab.run.papers import cite, table


@pytest.fixture
def runs(monkeypatch):
    """Records by folder, which no folder holds."""
    found = {}
    monkeypatch.setattr("fairlab.reporting.tables.grouping.records_below", lambda folder: found[str(folder)])
    monkeypatch.setattr("sys.argv", ["fairlab"])
    return found


def record(name, status="finished", readings=(1,), reasons=()):
    not_run = [SimpleNamespace(reason=reason) for reason in reasons]
    return SimpleNamespace(folder=name, status=status, state=status, readings=list(readings), not_run=not_run)


@pytest.fixture
def names(monkeypatch):
    for kind in ("bibtex", "methods_paragraph"):
        monkeypatch.setattr(
            f"fairlab.reporting.citing.{kind}",
            lambda records, kind=kind: f"{kind} of {', '.join(one.folder for one in records)}\n\n",
        )


@pytest.mark.usefixtures("names")
def test_runs_that_failed_are_cited_only_if_there_are_no_others(runs, capsys):
    runs |= {"a": [record("a1"), record("a2", "failed")], "b": [record("b", "running")], "c": [record("c", "failed")]}
    for arguments, said in (
        (["a", "b"], "bibtex of a1, b\n"),
        (["c"], "bibtex of c\n"),
        (["a", "--methods"], "methods_paragraph of a1\n"),
    ):
        cite(arguments)
        assert capsys.readouterr().out == said


@pytest.mark.usefixtures("names")
def test_a_citation_goes_into_a_new_file(runs, capsys, tmp_path):
    runs["a"] = [record("a")]
    output = tmp_path / "new" / "deep" / "a.bib"
    for name in ("a.bib", "b.bib"):  # the folder may be there
        cite(["a", "--output", str(output.with_name(name))])
    assert output.read_text() == "bibtex of a\n"
    assert capsys.readouterr().out == "".join(f"written: {output.with_name(name)}\n" for name in ("a.bib", "b.bib"))
    with pytest.raises(SystemExit):
        cite(["a", "--output", str(output)])
    assert f"{output} already exists; give another --output" in capsys.readouterr().err


def test_a_table_says_which_runs_it_leaves_out(runs, capsys, monkeypatch):
    asked = []

    def paper_table(records, keys, **settings):
        asked.append(([one.folder for one in records], keys, settings["baseline"], settings["decimals"]))
        return SimpleNamespace(to_latex=lambda caption: f"latex {caption}\n", to_markdown=lambda: "markdown\n")

    monkeypatch.setattr("fairlab.reporting.paper_table.paper_table", paper_table)
    runs["a"] = [record("a1", readings=(), reasons=["x", "y"]), record("a2", readings=()), record("a3", "failed", ())]
    runs["b"] = [record("b")]
    table(["a", "b", "--no-baseline", "--readings", "k", "--decimals", "3"])
    said = capsys.readouterr()
    assert said.out == "markdown\n"
    assert (
        said.err
        == "not in the table: a1 (x; y)\nnot in the table: a2 (it has no results)\nnot in the table: a3 (failed)\n"
    )
    table(["b", "--latex", "--caption", "Ours."])
    assert capsys.readouterr().out == "latex Ours.\n"
    assert asked == [(["a1", "a2", "a3", "b"], ["k"], False, 3), (["b"], None, True, None)]
