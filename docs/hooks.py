"""Generated pages of the documentation site: README, tutorials, experiments, configuration and API reference."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from fairlab.checks.redaction import without_secrets
from fairlab.reporting.view.browsing import browse, view_page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")
# Files outside of docs/ that become pages, each with its path on the site.
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "perf/README.md": "results/performance.md",
    "fairlab/data/embedded/README.md": "embedded/data.md",
    "fairlab/backbones/embedded/minilm_mlm/README.md": "embedded/minilm_mlm.md",
}
TITLES = {"root": "entry points"}
RESULTS = {
    "ccd": "Results: CCD",
    "ccd_second_study": "Plan: CCD, second study",
    "glue": "Results: GLUE",
    "llm": "Results: language models",
    "perturbation_second_study": "Plan: fairtuning, second study",
    "razor": "Results: RAZOR",
    "razor_second_study": "Plan: RAZOR, second study",
}
ELSEWHERE |= {
    str(path.relative_to(ROOT)): f"results/{path.parent.name}.md"
    for path in sorted((ROOT / "experiments").glob("*/README.md"))
}
ELSEWHERE |= {
    str(path.relative_to(ROOT)): f"results/{path.parent.name}_{path.stem}.md"
    for path in sorted((ROOT / "experiments").glob("*/second_study.md"))
}
ELSEWHERE |= {
    str(path.relative_to(ROOT)): f"tutorials/{path.stem}.md"
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
}
RUNS = {"experiments/atlas/records": "atlas_runs.html"}  # page that shows the runs, by folder of records


def on_config(config: Any) -> Any:
    """Add the generated pages to the sections of the menu, which keeps two levels."""
    parts = {name: pages for part in config.nav for name, pages in part.items()}
    parts["Explanation"] += [
        {RESULTS.get(name, f"Results: {name}"): f"results/{name}.md"}
        for name in sorted(Path(place).stem for place in ELSEWHERE.values() if place.startswith("results/"))
    ]
    parts["Reference"] += [{f"fairlab.{name}": f"api/{name}.md"} for name in modules()]
    parts["Reference"] += [{f"conf: {TITLES.get(one, one)}": f"configuration/{one}.md"} for one in groups()]
    parts["Reference"] += ["contributing.md", "changes.md"]
    parts["Reference"] += [place for place in ELSEWHERE.values() if place.startswith("embedded/")]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to the site."""
    for source, place in ELSEWHERE.items():
        files.append(File.generated(config, place, content=markdown_of(ROOT / source)))
    for folder, place in RUNS.items():
        if has_runs(folder):
            files.append(File.generated(config, place, content=runs_page(folder)))
    for group in groups():
        files.append(File.generated(config, f"configuration/{group}.md", content=configuration(group)))
    for name in modules():
        files.append(File.generated(config, f"api/{name}.md", content=f"::: fairlab.{name}\n"))
    files.append(File.generated(config, "llms.txt", content=llms(config)))
    return files


def markdown_of(path: Path) -> str:
    """Return the content of a file as Markdown. Code cells of a notebook become Python code blocks."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
    title, _, rest = parts[0].partition("\n")
    return "\n\n".join([title, f'*Notebook: <a href="{path.name}" download>{path.name}</a>*', rest, *parts[1:]])


def llms(config: Any) -> str:
    """Return the content of ``llms.txt``: a description of fairlab and a list of all pages, for language models."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for part in config.nav:
        for name, pages in part.items():
            if isinstance(pages, str):
                lines += [f"- [{name}]({page_address(pages)})", ""]
                continue
            titled = [one if isinstance(one, dict) else {Path(one).stem.capitalize(): one} for one in pages]
            rows = [f"- [{title}]({page_address(page)})" for one in titled for title, page in one.items()]
            lines += [f"## {name}", "", *rows, ""]
    return "\n".join(lines)


def page_address(page: str) -> str:
    """Return the relative address of a page on the site."""
    return f"{page.removesuffix('.md')}.html"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Convert links between files of the repository to links between pages. Links to other files become plain text."""
    own = page.file.src_uri
    if own == "index.md":
        page.meta["hide"] = ["navigation"]  # the start page is alone in its part of the menu
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
    """Return whether a folder of the repository contains a record."""
    return any((ROOT / folder).rglob("record.json*"))


def runs_page(folder: str) -> str:
    """Return the page of ``fairlab.view`` for the runs in a folder of the repository."""
    return without_secrets(view_page(browse([ROOT / folder]), served=False))


def groups() -> list[str]:
    """Return the names of the configuration groups, and ``root`` for the files outside of groups."""
    return ["root", *sorted(path.name for path in (ROOT / "conf").iterdir() if path.is_dir())]


def configuration(group: str) -> str:
    """Return a page with the YAML files of a configuration group, whose comments explain the values."""
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
    """Return the names of fairlab's public packages and modules, which have one page each."""
    found = (path for path in (ROOT / "fairlab").iterdir() if not path.name.startswith("_"))
    return sorted(path.stem for path in found if path.suffix == ".py" or (path / "__init__.py").is_file())
