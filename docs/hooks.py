"""Pages of the documentation site that are made from other files: README, experiments, configuration, docstrings."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from fairlab.checks.redaction import without_secrets
from fairlab.reporting.view.browsing import browse, view_page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")
# Pages elsewhere in the repository, by their place on the site.
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "perf/README.md": "results/performance.md",
    "fairlab/data/embedded/README.md": "embedded/data.md",
    "fairlab/backbones/embedded/minilm_mlm/README.md": "embedded/minilm_mlm.md",
}
TITLES = {"root": "entry points"}
ELSEWHERE |= {
    str(path.relative_to(ROOT)): f"results/{path.parent.name}.md"
    for path in sorted((ROOT / "experiments").glob("*/README.md"))
}
RUNS = {"experiments/atlas/records": "atlas_runs.html"}  # folders of records, and the page that shows their runs


def on_config(config: Any) -> Any:
    """Add the made pages to the navigation."""
    results = [place for place in ELSEWHERE.values() if place.startswith("results/")]
    embedded = [place for place in ELSEWHERE.values() if place.startswith("embedded/")]
    config.nav += [
        {"Results": results},
        {"Configuration": [{TITLES.get(group, group): f"configuration/{group}.md"} for group in groups()]},
        {"API": [{name: f"api/{name}.md"} for name in modules()]},
        {"Project": [{"Decisions": "decisions.md"}, "contributing.md", "changes.md", *embedded]},
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the made pages."""
    for source, place in ELSEWHERE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    for folder, place in RUNS.items():
        if has_runs(folder):
            files.append(File.generated(config, place, content=runs_page(folder)))
    for group in groups():
        files.append(File.generated(config, f"configuration/{group}.md", content=configuration(group)))
    for name in modules():
        files.append(File.generated(config, f"api/{name}.md", content=f"::: fairlab.{name}\n"))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between pages; to files that are no page, into text."""
    own = page.file.src_uri
    source = next((name for name, place in ELSEWHERE.items() if place == own), f"docs/{own}")

    def turned(match: re.Match[str]) -> str:
        image, label, target, anchor = match.groups()
        if "://" in target or own.startswith(("api/", "configuration/")):
            return match[0]
        place = os.path.normpath(os.path.join(os.path.dirname(source), target))
        shown = RUNS[place] if place in RUNS and has_runs(place) else None
        page_of = ELSEWHERE.get(place) or shown or (place.removeprefix("docs/") if place.startswith("docs/") else None)
        if page_of is None:
            return label
        return f"{image}[{label}]({os.path.relpath(page_of, os.path.dirname(own) or '.')}{anchor or ''})"

    return LINK.sub(turned, markdown)


def has_runs(folder: str) -> bool:
    """Whether there is a record below a folder of the repository."""
    return any((ROOT / folder).rglob("record.json*"))


def runs_page(folder: str) -> str:
    """The page of ``fairlab.view`` of the runs below a folder of the repository."""
    return without_secrets(view_page(browse([ROOT / folder]), served=False))


def groups() -> list[str]:
    """Configuration groups, and ``root`` for what stands beside them."""
    return ["root", *sorted(path.name for path in (ROOT / "conf").iterdir() if path.is_dir())]


def configuration(group: str) -> str:
    """The yaml of a group, file by file; its comments say what the values are."""
    folder = ROOT / "conf" if group == "root" else ROOT / "conf" / group
    files = sorted(folder.glob("*.yaml")) if group == "root" else sorted(folder.rglob("*.yaml"))
    parts = [f"# {TITLES.get(group, f'{group}=')}\n"]
    for path in files:
        name = path.relative_to(folder).with_suffix("")
        heading = f"python -m fairlab.{name}" if group == "root" else f"{'+' * (group == 'experiment')}{group}={name}"
        if group == "root" and name.name.endswith("help"):
            continue
        parts.append(f"## `{heading}`\n\n```yaml\n{path.read_text(encoding='utf-8').rstrip()}\n```\n")
    return "\n".join(parts)


def modules() -> list[str]:
    """Packages and modules of fairlab, each with a page of its own."""
    found = (path for path in (ROOT / "fairlab").iterdir() if not path.name.startswith("_"))
    return sorted(path.stem for path in found if path.suffix == ".py" or (path / "__init__.py").is_file())
