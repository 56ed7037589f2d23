"""The console script: one word a command, and what there is to choose from."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fairlab
from fairlab.record import Record
from fairlab.run.command_line import console
from fairlab.run.command_line.cli import choices
from fairlab.run.command_line.console import entry_points
from fairlab.run.command_line.listing import lines_of, listed, plural, sentence_of
from fairlab.run.completion import offered
from fairlab.types import FairlabError

ROOT = Path(__file__).parents[3]
COMMANDS = [*entry_points(), "fetch", "ls", "version"]


@pytest.fixture
def said(monkeypatch, capsys):
    """What ``fairlab ...`` prints, and its exit code."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["fairlab", *arguments])
        try:
            console.main()
        except SystemExit as stop:
            return capsys.readouterr(), stop.code
        return capsys.readouterr(), 0

    return run


def test_the_script_is_the_console():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"fairlab": "fairlab.run.command_line.console:main"}


def test_the_package_itself_is_the_console():
    asked = [sys.executable, "-m", "fairlab", "version"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == fairlab.__version__


def test_every_entry_point_is_a_command_with_a_line_of_its_own(said):
    printed, code = said()
    assert code == 0
    assert {"train", "evaluate", "augment", "score", "reproduce", "report"} <= set(entry_points())
    for name, (question, what, *_) in (entry_points() | console.OWN).items():
        assert what, name
        under = printed.out.partition(f"{question}\n")[2].partition("\n\n")[0]
        assert f"  {name:<10} {what}" in under.split("\n")
    assert said("version")[0].out.strip() == fairlab.__version__
    assert said("--help")[0].out == said()[0].out


@pytest.mark.parametrize("name", sorted({*entry_points(), *console.OWN} - {"version"}))
@pytest.mark.slow
def test_every_command_explains_itself_with_an_example(name, said):
    if name in ("train", "evaluate", "augment"):
        pytest.skip("their help is tested where they run")
    printed, code = said(name, "--help")
    assert code in (0, None)
    assert "xample" in printed.out
    assert f"fairlab {name}" in printed.out or f"fairlab.{name}" in printed.out


def test_completion_without_a_line_lists_the_commands(said, monkeypatch):
    monkeypatch.delenv("COMP_LINE", raising=False)
    monkeypatch.delenv("COMP_POINT", raising=False)
    printed, code = said("complete")
    assert code == 0
    assert printed.out.split() == [*entry_points(), *console.OWN]


def test_a_command_is_the_module_of_its_name(said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed, code = said("score", "model=nowhere", "output=scores.jsonl")
    assert (code, printed.err) == (1, "fairlab: input has no value; give one, for example input=...\n")
    printed, code = said("trian", "+experiment=ccd_bert")
    assert code == 1
    assert printed.err.startswith("fairlab: there is no command 'trian'; there are: audit, augment, compare")


@pytest.mark.parametrize("kind", ["benchmark", "method", "backbone", "augmentation", "experiment"])
def test_every_choice_has_its_line(kind):
    lines = listed([f"{kind}s"])
    assert [line.split()[0] for line in lines] == choices(kind)
    assert not [line for line in lines if len(line.split()) < 3]


def test_lines_are_those_of_the_files():
    lines = dict(line.split(maxsplit=1) for line in listed(["backbones"]))
    assert lines["minilm"] == "The bundled encoder: its weights are an ordinary Python package"
    assert lines["quickstart/bert"] == lines["minilm_mlm"]
    methods = dict(line.split(maxsplit=1) for line in listed(["methods"]))
    assert methods["inlp"] == "INLP (Ravfogel et al. 2020) as in bias-bench (Meade et al. 2022)"
    benchmarks = dict(line.split(maxsplit=1) for line in listed(["benchmarks"]))
    assert benchmarks["seat"].startswith("SEAT (needs embeddings): Are sentences about two groups associated with")
    assert "gender" in [line.split()[0] for line in listed(["axes"])]


def test_a_class_is_named_by_its_title_and_anything_else_by_its_first_sentence():
    assert sentence_of("fairlab.methods.inlp.INLP") == "iterative nullspace projection (INLP)"
    assert sentence_of("fairlab.methods.inlp.less_components").startswith("Return vectors (N, D) without their")
    assert sentence_of("fairlab.methods.inlp.Nothing") == sentence_of("fairlab.methods.nothing.INLP") == ""


def test_quantities_are_listed_with_label_meaning_unit_and_ideal():
    lines = dict(line.split(": ", 1) for line in listed(["quantities", "crows_pairs"]))
    assert lines["metric_score"].endswith("; unit: %; ideal: 50")
    with pytest.raises(FairlabError, match="there is no benchmark 'crows'; fairlab ls benchmarks lists their names"):
        listed(["quantities", "crows"])


def test_summaries_are_cut_at_a_word_beyond_140_characters():
    text = "word " * 28
    found = lines_of({"a": text[:140], "name": f"{text}x", "b": "", "c": "x" * 140})
    assert found == [f"a     {text}".rstrip(), f"name  {text.strip()} ...", "b", f"c     {'x' * 140}"]
    assert [plural(one) for one in ("benchmark", "data", "debug", "search")] == [
        "benchmarks",
        "data",
        "debug",
        "searches",
    ]


def test_runs_are_listed_with_how_they_ended(tmp_path):
    for name, status in (("a", "finished"), ("b", "failed")):
        (tmp_path / name).mkdir()
        Record(tmp_path / name, {}, "python -m fairlab.train", status=status).save()
    assert listed(["runs", str(tmp_path)]) == [f"{tmp_path}/a  finished", f"{tmp_path}/b  failed"]


def test_what_cannot_be_listed(said, tmp_path):
    with pytest.raises(FairlabError, match="there is no list named 'seats'; there are: augmentations, axes, backbones"):
        listed(["seats"])
    printed, code = said("ls", "runs", str(tmp_path))
    assert code == 1
    assert "holds no run" in printed.err
    assert "benchmarks" in said("ls")[0].out.splitlines()


def test_the_shell_is_offered_what_may_follow(said, monkeypatch):
    assert offered("fairlab ", COMMANDS) == [f"{name} " for name in COMMANDS]
    assert offered("fairlab ls bench", COMMANDS) == ["benchmarks "]
    assert offered("fairlab train +exp", COMMANDS) == ["+experiment="]
    assert offered("fairlab train +experiment=ccd", COMMANDS) == ["ccd_aligned_bert ", "ccd_bert "]
    assert offered("fairlab evaluate benchmark=[sea", COMMANDS) == ["[seat"]
    assert offered("fairlab evaluate benchmark=[seat,sts", COMMANDS) == ["[seat,stsb"]
    assert offered("fairlab evaluate model=mini", COMMANDS) == []
    monkeypatch.setenv("COMP_LINE", "fairlab ev")
    assert said("complete")[0].out == "evaluate \n"


def test_help_takes_no_library():
    code = (
        "import sys; sys.argv = ['fairlab']; from fairlab.run.command_line.console import main; "
        "main(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"hydra", "torch", "numpy", "omegaconf"} & set(done.stdout.split())
