"""Every command in the README runs, at a reduced size."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import fairlab
from fairlab.mend import settings_in
from fairlab.mend.running import KEYS
from fairlab.run import papers
from tests.conftest import make_groups, row, write_rows
from tests.end_to_end.conftest import tiny_backbone

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL))
COMMANDS = [re.split(r"\s+#", line)[0].strip() for line in BLOCKS.splitlines() if line.strip()]
TRAIN = [command for command in COMMANDS if command.startswith("fairlab train")]
# A dozen groups, the smallest measure, and one embedded sentence set; nothing of what a command shows is changed.
REDUCED = ["benchmark=[cced]", "benchmark.cced.sets=[small.jsonl]", "data.limit=4", "data.validation=2"]


def of_kind(name):
    """Return the arguments of the README's one command of a kind."""
    (command,) = (one for one in COMMANDS if one.startswith(f"fairlab {name} "))
    return shlex.split(command)[2:]


@pytest.mark.parametrize("weights", ["tiny", pytest.param("MiniLM", marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.parametrize("command", TRAIN)
def test_a_training_command_of_the_readme(command, weights, run, tiny_folders, tmp_path):
    for name in ("small.jsonl", "my_groups"):
        write_rows(tmp_path / name, [row(group) for group in make_groups(12)])
    model = tiny_backbone(tiny_folders["bert_mlm"]) if weights == "tiny" else []
    done = run(*shlex.split(command)[2:], *model, *REDUCED)
    assert done.returncode == 0, done.stderr


def test_the_evaluating_command_of_the_readme(run, tmp_path):
    write_rows(tmp_path / "small.jsonl", [row(group) for group in make_groups(12)])
    done = run(*of_kind("evaluate"), *REDUCED[:2], entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "outputs" / "evaluate").iterdir())) == 1
    table(tmp_path, of_kind("table"))


def table(folder, arguments):
    """Run the command that makes a table of the runs in a folder."""
    written = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(written):
        papers.table(arguments)
    assert "\\begin{tabular}" in written.getvalue()


def test_the_augmenting_command_of_the_readme(run, tmp_path):
    (tmp_path / "texts.txt").write_text("She saw the river.\nHis aunt left.\nIt rained.\n")
    done = run(*of_kind("augment"), entry="augment")
    assert done.returncode == 0, done.stderr
    assert "2 rows written of 3 read" in done.stdout


@pytest.mark.slow
def test_the_auditing_command_of_the_readme(run, tiny_folders, tmp_path):
    folder = tmp_path / "my_classifier"
    names = {"id2label": {0: "negative", 1: "positive"}, "label2id": {"negative": 0, "positive": 1}}
    for part in (
        AutoModelForSequenceClassification.from_pretrained(tiny_folders["bert"], **names),
        AutoTokenizer.from_pretrained(tiny_folders["bert"]),
    ):
        part.save_pretrained(folder)
    rows = [f"{who} saw number {k}.,{('negative', 'positive')[k % 2]}" for k in range(30) for who in ("He", "She")]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    done = run(*of_kind("audit"), entry="audit")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "outputs" / "audit").rglob("report.html"))


def test_the_comparing_command_of_the_readme(run, tmp_path):
    fixture = ROOT / "tests" / "judge" / "fixtures" / "lm_eval"
    arguments = of_kind("compare")
    for place, model in zip(arguments, ("tiny_a", "tiny_b"), strict=True):
        shutil.copytree(fixture / model, tmp_path / place)
    done = run(*arguments, entry="compare")
    assert done.returncode == 0, done.stderr
    assert "B minus A" in done.stdout


def test_the_mending_command_of_the_readme_has_known_settings():
    given = settings_in(of_kind("mend"))
    assert given.pop("model") == "my_encoder"
    assert set(given) <= set(KEYS)


def test_the_other_commands_of_the_readme_exist():
    kinds = ("audit", "evaluate", "augment", "train", "compare", "table", "mend")
    others = [command for command in COMMANDS if not command.startswith(tuple(f"fairlab {kind} " for kind in kinds))]
    assert others == ['pip install "fairlab[offline] @ git+URL"', "fairlab doctor"]  # tests/run/test_doctor.py runs it
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "fairlab"
    assert "offline" in project["optional-dependencies"]
    for target in re.findall(r"`make ([\w-]+)`", README):
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_the_readme_is_short():
    assert len(README.split()) <= 900
    prose = re.sub(r"```.*?```|^\|.*$", "", README, flags=re.DOTALL | re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n|\n- ", prose)
    assert [one for one in paragraphs if len(one.split()) > 60] == []
    cells = [cell for line in README.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert max(len(cell.split()) for cell in cells) <= 30


def test_the_citation_of_the_readme_names_the_version():
    assert f"version = {{{fairlab.__version__}}}" in README


def test_every_file_the_readme_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)[)#]", README):
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
