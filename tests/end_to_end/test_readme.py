"""Every command in the README runs, at a reduced size."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from fairlab.record import Record
from tests.conftest import make_groups, row, write_rows

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL))
COMMANDS = [line.split(" #")[0].strip() for line in BLOCKS.splitlines() if line.strip()]
TRAIN = [command for command in COMMANDS if command.startswith("python -m fairlab.train")]
# A dozen groups, the smallest measure, and one embedded sentence set; nothing of what a command shows is changed.
EVALUATE = [command for command in COMMANDS if command.startswith("python -m fairlab.evaluate")]
REPRODUCE = [command for command in COMMANDS if command.startswith("python -m fairlab.reproduce")]
AUGMENT = [command for command in COMMANDS if command.startswith("python -m fairlab.augment")]
REDUCED = ["benchmark=[cced]", "benchmark.cced.sets=[small.jsonl]", "data.limit=4", "data.validation=2"]


def tiny(folder, *extra):
    """Overrides that put a tiny random model in place of MiniLM, whatever else a command says of its backbone."""
    return [f"backbone.name={folder}", "backbone.package=null", "backbone.weights_sha256=null", *extra]


def at_first(command):
    """Whether a command is one that everybody gives first, or takes no time; the others are slow."""
    return command.endswith(("+experiment=ccd_bert", "--help", "--cfg job"))


@pytest.mark.parametrize(
    ("command", "weights"),
    [
        *(pytest.param(one, "tiny", marks=[] if at_first(one) else pytest.mark.slow) for one in TRAIN),
        *(pytest.param(one, "MiniLM", marks=[pytest.mark.slow, pytest.mark.long]) for one in TRAIN),
    ],
)
def test_a_training_command_of_the_readme(command, weights, run, tiny_folders, tmp_path):
    for name in ("my.jsonl", "groups.jsonl", "small.jsonl", "my_groups"):
        write_rows(tmp_path / name, [row(group) for group in make_groups(12)])
    arguments = shlex.split(command)[3:]
    shown = bool({"--help", "--cfg"} & set(arguments))  # composed or explained, not run
    if weights == "MiniLM" and shown:
        pytest.skip("needs no weights")
    adapters = [] if {"backbone=minilm", "+experiment=glue"} & set(arguments) else ["adapters", "adapters_sha256"]
    none = [f"backbone.{name}=null" for name in adapters]
    model = tiny(tiny_folders["bert_mlm"], *none, "backbone.max_length=64") if weights == "tiny" and not shown else []
    if "ckpt=last" in arguments:  # leave an unfinished run to continue: one that lost its last part
        assert run("+experiment=ccd_bert", *model, *REDUCED).returncode == 0
        (folder,) = (tmp_path / "outputs" / "ccd_bert").iterdir()
        shutil.rmtree(folder / "model")
        record = Record.load(folder)
        record.status = "running"
        record.save()
    reduced = [] if shown else REDUCED
    if "+experiment=glue" in arguments:
        (tmp_path / "task").mkdir()
        for split in ("train", "dev"):
            (tmp_path / "task" / f"{split}.tsv").write_text("".join(f"text {k}\t{k % 2}\n" for k in range(40)))
        reduced = ["data.path=task", "method.epochs=1"]
    done = run(*arguments, *model, *reduced)
    assert done.returncode == 0, done.stderr
    if "ckpt=last" in arguments:
        assert len(list((tmp_path / "outputs" / "ccd_bert").iterdir())) == 1
        assert (folder / "model" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=pytest.mark.slow if "full" in one else []) for one in EVALUATE]
)
def test_an_evaluating_command_of_the_readme(command, run, tmp_path):
    write_rows(tmp_path / "small.jsonl", [row(group) for group in make_groups(12)])
    arguments, reduced = shlex.split(command)[3:], REDUCED[:2]
    if "benchmark.crows_pairs.protocol=meade" in arguments:  # a benchmark's own setting: composed, not run
        assert "protocol: meade" in run(*arguments, "--cfg", "job", entry="evaluate").stdout
        return
    if "ckpt=last" in arguments:  # leave an unfinished evaluation to continue
        assert run(*arguments[:-1], *reduced, entry="evaluate").returncode == 0
        (folder,) = (tmp_path / "outputs" / "evaluate").iterdir()
        record = Record.load(folder)
        record.status = "running"
        record.save()
    done = run(*arguments, *reduced, entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "outputs" / "evaluate").iterdir())) == 1


@pytest.mark.parametrize("command", AUGMENT)
def test_an_augmenting_command_of_the_readme(command, run, tmp_path):
    (tmp_path / "texts.txt").write_text("She saw the river.\nHis aunt left.\nIt rained.\n")
    done = run(*shlex.split(command)[3:], entry="augment")
    assert done.returncode == 0, done.stderr
    assert "2 rows written of 3 read" in done.stdout


@pytest.mark.parametrize("command", REPRODUCE)
def test_a_reproducing_command_of_the_readme_lists_its_runs(command, warm_python):
    given = dict.fromkeys([*shlex.split(command)[3:], "dry_run=true"])
    arguments = [*given, "table=2", "calibrate=false", "output=outputs/nowhere"]  # of all tables it takes ten seconds
    listed = [warm_python, "-m", "fairlab.reproduce", *arguments]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ccd seed 42: missing" in done.stdout


def test_the_other_commands_of_the_readme_exist():
    others = [command for command in COMMANDS if command not in TRAIN + EVALUATE + AUGMENT + REPRODUCE]
    assert others
    for command in others:
        if command.startswith("python -m fairlab.view"):
            assert (ROOT / "fairlab" / "view.py").is_file()  # run by tests/reporting/view/test_browsing.py
        elif command.startswith("python -m fairlab.compare"):
            assert (ROOT / "fairlab" / "compare.py").is_file()  # run by tests/end_to_end/test_compare.py
        elif command.startswith("make "):
            subprocess.run(["make", "--dry-run", command.split()[1]], cwd=ROOT, check=True, capture_output=True)
        else:
            assert command == "python3 -m venv .venv && .venv/bin/python -m pip install '.[offline]'"
            assert shutil.which("python3")


def test_every_file_the_readme_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_the_python_of_the_readme_prints_what_it_shows(warm_python, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    done = subprocess.run([warm_python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    def parts(text):
        """Split lines into their words, with # for a number, and their numbers."""
        number = re.compile(r"-?\d+\.\d+")
        return number.sub("#", text), [float(found) for found in number.findall(text)]

    words, numbers = parts(done.stdout)
    assert words == parts(shown)[0]
    assert numbers == pytest.approx(parts(shown)[1], rel=0.02, abs=0.002)  # processors differ in the last digits
