"""The documentation: its site builds, its commands compose, its classes run, its links lead somewhere."""

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from fairlab.data.counterfactual import CounterfactualData
from fairlab.run import dashboard
from fairlab.run.command_line.cli import choices, conf_dir
from fairlab.run.config.schema import refuse_misfits
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
ENTRIES = ("train", "evaluate", "augment", "audit", "score", "reproduce")
PLACEHOLDERS = {
    "model=http://127.0.0.1:8000/v1#NAME": "model=NAME",
    "+augmentation=NAME": "+augmentation=rules",
}  # what a page leaves to the reader

# Commands that are composed alone, and why; tests/end_to_end/test_docs_commands.py runs the others at a tiny size.
NOT_RUN = {
    r"trainer=(gpu|ddp|fsdp)\b|launcher\.gpus=|\[PARTS/": "needs GPUs, or what they made",
    r"llm=(local|qwen|replay|vllm)|model=http": "asks a language model",
    r"sheet=\S*\.csv": "needs a sheet that a person filled in; tests/audit reads one",
    r"scale=paper": "trains the paper's model",
    r"model=\S*qwen": "reads a model of 1.5 billion parameters",
    r"\+sweep=optuna|hydra/launcher=|engine=ray": "needs another package",
    r"=made/balanced_claims|pairs/original": "needs claims by people; the toy ones tell every label",
    r"push=": "needs a token; pushing is tested against a stub",
    r"=NAME|processes=2|fairlab\.reproduce|ckpt=last|benchmark=full|--help|--cfg": "is shown by another test",
}


def runs_at_a_tiny_size(entry, arguments):
    return not any(re.search(pattern, f"fairlab.{entry} {arguments}") for pattern in NOT_RUN)


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```(?:{language})\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands():
    """Entry point and overrides of every command of the pages, without comments and what may be left out."""
    for page in PAGES[:-1]:  # those of the README run in tests/end_to_end/test_readme.py
        for block in blocks(page, "bash|sh|"):
            for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
                found = re.search(r"-m fairlab\.(\w+) (.*)", re.sub(r"\s#.*|\s{2,}.*|\[\w+=\w+\]", "", line + " "))
                if found and found[1] in ENTRIES:
                    yield page.name, found[1], found[2].strip()


def first_of_a_sweep(override):
    """``key=1,2`` as ``key=1``."""
    key, _, value = override.partition("=")
    return override if set(value) & set("[{'") else f"{key}={value.split(',')[0]}"


COMMANDS = list(commands())


def test_commands_were_found():
    assert len(COMMANDS) > 40
    assert {entry for _, entry, _ in COMMANDS} >= {"train", "evaluate", "augment", "reproduce"}


COMPOSED = [command for command in COMMANDS if not runs_at_a_tiny_size(*command[1:])]


@pytest.mark.parametrize("page", sorted({page for page, _, _ in COMPOSED}))
def test_a_command_that_no_test_runs_composes(page):
    with initialize_config_dir(conf_dir(), version_base="1.3"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, entry, arguments in (command for command in COMPOSED if command[0] == page):
            overrides = [PLACEHOLDERS.get(one, one) for one in shlex.split(arguments) if "=" in one]
            overrides = [first_of_a_sweep(one.replace("...", "FILE")) for one in overrides]
            if any(one.startswith(("+sweep=optuna", "hydra/launcher=")) for one in overrides):
                continue  # a package that may not be installed
            config = compose(entry, overrides=overrides)
            for key in OmegaConf.missing_keys(config):  # which the page leaves to the reader
                OmegaConf.update(config, key, ["FILE"] if key.endswith("paths") else "FILE")
            refuse_misfits(entry, config)


@pytest.fixture
def classes(monkeypatch):
    """The classes of the page on extending fairlab."""
    found = {}
    for block in blocks(ROOT / "docs" / "extending.md", "python"):
        exec(compile(block, "extending.md", "exec"), found)
    return found


def test_the_classes_of_the_page_on_extending_run(classes, tiny, tmp_path):
    (benchmark,) = (yaml.safe_load(block) for block in blocks(ROOT / "docs" / "extending.md", "yaml")[:1])
    settings = {key: value for key, value in benchmark["lengths"].items() if key != "_target_"}
    measured = classes["Lengths"](**settings)
    before = measured.measure(tiny)
    expected = tiny.embed(settings["sentences"]).norm(dim=1).mean().item()
    assert before.readings[0].value == pytest.approx(expected)
    path = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(12)])
    values = {"validation": 2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    data = CounterfactualData(path=path, encoder=tiny, augmentation=classes["LowerCase"](), **values)
    texts = [text for group in data.groups["train"] for text in group.texts]
    mean = tiny.embed(texts).mean(dim=0)
    method = classes["WithoutMean"](tiny, seed=0)
    method.fit(data)
    assert method.facts()["title"]
    assert (tiny.embed(texts) @ (mean / mean.norm())).abs().max() < 1e-5
    after = measured.measure(tiny, before.items)
    assert after.comparisons[0].difference == pytest.approx(after.readings[0].value - before.readings[0].value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_pages_for_every_trainer_and_logger():
    pages = {"trainer": "multi_gpu", "logger": "loggers"}
    for group, page in pages.items():
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for name in choices(group):
            assert f"`{name}`" in text or "/" in name, (group, name)


def test_the_page_on_where_things_are_names_what_is_there():
    text = (ROOT / "docs" / "where.md").read_text(encoding="utf-8")
    named = {
        name for name in re.findall(r"`((?:fairlab|conf)/[\w/.]+)`", text) if "NAME" not in name and "GROUP" not in name
    }
    assert len(named) > 50
    assert not [name for name in named if not (ROOT / name).exists()]
    rooms = {path.name for path in (ROOT / "fairlab").iterdir() if (path / "__init__.py").is_file()}
    assert rooms == {name.split("/")[1] for name in named if name.startswith("fairlab/") and name.count("/") > 1}


@pytest.mark.slow
@pytest.mark.long
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    assert "make quickstart" in (site / "index.html").read_text(encoding="utf-8")
    assert "equal distance" in (site / "api" / "metrics.html").read_text(encoding="utf-8")
    assert "method.compat" in (site / "methods.html").read_text(encoding="utf-8")
    for name in choices("trainer"):
        assert f"trainer={name}" in (site / "configuration" / "trainer.html").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):  # nothing is loaded from another host
        loaded = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text("utf-8"))
        assert loaded == [], page
    if browser := shutil.which("chromium"):  # the search answers on a page that is opened from the disk, in a subfolder
        address = f"file://{site}/configuration/benchmark.html?q=stereotype"
        shown = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=15000", "--dump-dom"]
        dom = subprocess.run([*shown, address], capture_output=True, text=True, check=True, timeout=120).stdout
        assert re.search(r"\d+ matching documents", dom)


def test_the_dashboard_prints_its_layout_and_names_what_it_lacks(capsys, monkeypatch):
    dashboard.main(["team/fairlab", "--dry-run"])
    assert "coordinates: c::method.beta" in capsys.readouterr().out
    with pytest.raises(FairlabError, match="not TEAM/PROJECT"):
        dashboard.main(["team"])
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    monkeypatch.setitem(sys.modules, "wandb_workspaces.reports", None)
    monkeypatch.setitem(sys.modules, "wandb_workspaces.reports.v2", None)
    with pytest.raises(FairlabError, match=r"pip install 'fairlab\[dashboard\]'"):
        dashboard.main(["team/fairlab"])


def test_every_threat_names_tests_that_are_there():
    page = (ROOT / "docs" / "threat_model.md").read_text(encoding="utf-8")
    table = page.partition("## What is not trusted")[2].partition("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for threat in rows:
        assert len(threat) == 4
        assert re.findall(r"`(tests/[\w/]+\.py)`", threat[-1]), threat[0]
    for name in set(re.findall(r"`(tests/[\w/]+\.py)`", page)):
        assert "\ndef test_" in (ROOT / name).read_text(encoding="utf-8"), name


def menu():
    """Return the pages of the menu by part."""
    parts = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    return {name: pages for part in parts for name, pages in part.items()}


def test_the_menu_has_two_levels_and_every_page():
    assert list(menu()) == ["Start", "Tutorials", "How-to guides", "Explanation", "Reference"]
    pages = [page for part in menu().values() if not isinstance(part, str) for one in part for page in one.values()]
    assert all(isinstance(page, str) for page in pages)
    assert len(pages) == len(set(pages))
    notebooks = {f"tutorials/{path.stem}.md" for path in (ROOT / "docs" / "tutorials").glob("*.ipynb")}
    assert set(pages) == notebooks | {path.name for path in (ROOT / "docs").glob("*.md")}


@pytest.fixture
def screenshots():
    """The module that takes the pictures."""
    found = importlib.util.spec_from_file_location("screenshots", ROOT / "docs" / "screenshots.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_picture_is_older_if_the_words_or_the_style_of_its_page_changed(screenshots, tmp_path):
    page = "<style>p {color: red}</style><p>Answer 17 of /tmp/folder</p><script>seven()</script>"
    pages = {name: tmp_path / f"{name}.html" for name in ("same", "words", "style")}
    for path in pages.values():
        path.write_text(page)
    dates = {name: {"taken": "2026-01-01", "shows": screenshots.fingerprint(path)} for name, path in pages.items()}
    (tmp_path / "pictures.json").write_text(json.dumps(dates))
    pages["same"].write_text(page.replace("17", "18").replace("/tmp/folder", "/tmp/other").replace("seven", "eight"))
    pages["words"].write_text(page.replace("Answer", "Question"))
    pages["style"].write_text(page.replace("red", "blue"))
    older = screenshots.outdated(pages, tmp_path)
    assert [line.split(".webp")[0] for line in older] == ["words", "style"]
    assert "2026-01-01" in older[0]


@pytest.mark.slow
def test_pictures_older_than_what_they_show_are_listed(screenshots, tmp_path):
    runs = ROOT / "experiments" / "ccd/records/full", ROOT / "experiments" / "ensemble/records/skill/seed_42"
    made = {name: shot.page for name, shot in screenshots.pages(tmp_path, *runs).items()}
    for line in screenshots.outdated(made, ROOT / "docs" / "images"):
        warnings.warn(f"{line}; run python docs/screenshots.py", stacklevel=1)  # needs Chromium, so it is no failure
    assert set(made) == {path.stem for path in (ROOT / "docs" / "images").glob("*.webp")}


def test_every_picture_of_the_gallery_is_dated():
    pictures = {path.stem for path in (ROOT / "docs" / "images").glob("*.webp")}
    assert set(json.loads((ROOT / "docs" / "images" / "pictures.json").read_text(encoding="utf-8"))) == pictures
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(images/(\w+)\.webp\)", gallery)) == pictures


def test_the_notes_for_coding_assistants_name_what_is_there():
    notes = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w/]+(?:\.\w+|/))`", notes):
        assert (ROOT / name).exists(), name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}: " in makefile for target in re.findall(r"`make (\w+)`", notes))
