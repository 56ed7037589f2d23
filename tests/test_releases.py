"""A release: one version and day everywhere, metadata, dependencies with bounds, and workflows that can be read."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import fairlab

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = dict(
    line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
)


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))


def requirements():
    """Direct requirements of the core and of all extras, but for fairlab's own extras."""
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"], *(line for lines in extras.values() for line in lines)]
    return [one for one in map(Requirement, lines) if one.name != "fairlab"]


def test_version_and_day_are_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest, day = re.findall(r"^## \[([\d.]+)\] - (\d{4}-\d\d-\d\d)$", CHANGES, re.MULTILINE)[0]
    assert citation["version"] == newest == fairlab.__version__
    assert str(citation["date-released"]) == day
    assert f"year    = {{{day[:4]}}}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert citation["authors"] == PROJECT["project"]["authors"]
    assert citation["license"] == PROJECT["project"]["license"]


def test_changes_are_kept_in_the_order_of_versions_and_by_kind():
    sections = re.split(r"^## ", CHANGES, flags=re.MULTILINE)[1:]
    names = [re.match(r"\[(.+?)\]", section)[1] for section in sections]
    assert names[0] == "Unreleased"
    assert names[1:] == sorted(names[1:], key=Version, reverse=True)
    for section in sections:
        kinds = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert len(kinds) == len(set(kinds))
        assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_every_requirement_has_a_lower_bound_that_the_pinned_version_meets():
    for one in requirements():
        if (name := canonicalize_name(one.name)) in PINNED:
            assert one.specifier.contains(PINNED[name]), one
    core = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    assert [one.name for one in core if not any(part.operator == ">=" for part in one.specifier)] == []
    assert [one.name for one in core if canonicalize_name(one.name) not in PINNED] == []


def test_packages_for_types_come_along_and_the_source_archive_has_what_it_names():
    assert (ROOT / "fairlab" / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]
    for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert list(ROOT.glob(pattern.lstrip("/"))), pattern


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_for_contributors_points_to_is_there(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)[)#]", text) if "://" not in target]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_image_copies_what_the_build_needs():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] == "!"}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], "pyproject.toml", "README.md", "LICENSE", "constraints.txt"}
    assert {re.sub(r"experiments/\w+/", "experiments/*/", one) for one in needed} == kept


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_can_be_read_ends_in_time_and_holds_no_secret(path):
    text = path.read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    assert {"name", True, "permissions", "jobs"} <= set(found)  # YAML 1.1 reads the key `on` as true
    assert found["name"] == path.stem
    assert "secrets." not in text
    assert re.search(r"torch==\d", text) is None  # constraints.txt has the version
    for job in found["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            uses = step.get("uses", "./")
            assert uses.startswith("./") or "@" in uses
            if uses.startswith("./."):
                assert (ROOT / uses / "action.yml").is_file()
            for script in re.findall(r"\.ci/\w+", step.get("run", "")):
                assert (ROOT / script).stat().st_mode & 0o111


def test_every_python_that_is_declared_is_tested():
    declared = [one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"] if "Python :: 3." in one]
    assert workflow("ci")["jobs"]["check"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"


def test_only_the_publishing_job_may_ask_for_a_token_and_only_for_tags():
    release = workflow("release")
    assert release[True] == {"push": {"tags": ["v*"]}}
    asking = [name for name, job in release["jobs"].items() if "id-token" in job.get("permissions", {})]
    assert asking == ["publish"]
    assert release["permissions"] == {"contents": "read"}
    assert release["jobs"]["publish"]["needs"] == "build"
