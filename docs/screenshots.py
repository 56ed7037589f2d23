"""Take screenshots of all kinds of pages, made from the committed records, with headless Chromium.

    python docs/screenshots.py [--check] [--run DIR] [--ensemble DIR] [--output DIR] [--width 1280]

Screenshots are written to docs/images. ``pictures.json`` in the same folder holds the date of each screenshot and a
fingerprint of its page. ``--check`` takes no screenshots: it lists those whose page has changed, and exits with 1 if
there are any. Committed records have no per-item values, so plots of embeddings and of an ensemble's subgroups are
missing. ``--run`` and ``--ensemble`` replace these records by finished runs that have the values.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
COLOURS = 64  # number of colours in a screenshot; more are not visible, and make files 50 % larger
TEXTS = [
    "She told her brother that the nurse had left.",
    "The chairman kissed his wife.",
    "My aunt mends clocks, and he paid the waitress.",
    "The rain fell all day.",
    "His father slept in the boat while the queen left early.",
]


def main() -> None:
    """Make the pages in a temporary folder, and take their screenshots or compare them with the existing ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="list the screenshots whose page has changed")
    parser.add_argument("--run", type=Path, default=EXPERIMENTS / "ccd/records/full")
    parser.add_argument("--ensemble", type=Path, default=EXPERIMENTS / "ensemble/records/skill/seed_42")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/images")
    parser.add_argument("--width", type=int, default=1280)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = pages(Path(folder), chosen.run, chosen.ensemble)
        if chosen.check:
            older = outdated({name: shot.page for name, shot in made.items()}, chosen.output)
            print("\n".join(older) or "no picture is older than what it shows")
            sys.exit(bool(older))
        dates = {}
        for name, shot in made.items():
            picture = chosen.output / f"{name}.webp"
            take_screenshot(shot, picture, chosen.width, Path(folder) / "profile")
            dates[name] = {"taken": date.today().isoformat(), "shows": fingerprint(shot.page)}
            print(f"{picture}: {shot.page.stat().st_size:,} bytes of HTML")
        (chosen.output / "pictures.json").write_text(json.dumps(dates, indent=1) + "\n", encoding="utf-8")


def outdated(made: dict[str, Path], folder: Path) -> list[str]:
    """Return one line for each screenshot in a folder whose page has changed."""
    known = json.loads((folder / "pictures.json").read_text(encoding="utf-8"))
    older = [name for name, page in made.items() if known.get(name, {}).get("shows") != fingerprint(page)]
    return [
        f"{name}.webp of {known.get(name, {}).get('taken', 'an unknown date')} shows an older page" for name in older
    ]


def fingerprint(page: Path) -> str:
    """Return a hash of a page's words and styles, without numbers, addresses and scripts, which vary between runs."""
    html = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    styles = "".join(re.findall(r"<style.*?</style>", html, flags=re.DOTALL))
    text = re.sub(r"<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
    words = re.findall(r"[A-Za-z]{3,}", re.sub(r"\S*[/\d]\S*", " ", text))
    return hashlib.sha256((styles + " ".join(words)).encode()).hexdigest()[:16]


class Shot(NamedTuple):
    """Page to take a screenshot of, with the height to show and the state of the page in its address."""

    page: Path
    height: int
    state: str = ""


def pages(folder: Path, run: Path, ensemble: Path) -> dict[str, Shot]:
    """Make all pages, and return them by the name of their screenshot."""
    runs = view(folder)
    return {
        "report": Shot(report(run, folder / "ccd_bert"), 1500),
        "ensemble": Shot(report(ensemble, folder / "safety_ensemble"), 1500),
        "sweep": Shot(sweep(folder), 1500),
        "reproduction": Shot(reproduction(folder), 1200),
        "augmentation": Shot(augmentation(folder), 1200),
        "view": Shot(runs, 900),
        "comparison": Shot(runs, 960, f"tab=compare&picked={','.join(places(runs, 'adept/seed_42', 'ccd/seed_42'))}"),
    }


def copy_records(source: Path, copy: Path) -> Path:
    """Copy records, so that no page is written next to the committed records."""
    return Path(shutil.copytree(source, copy, ignore=shutil.ignore_patterns("model", "checkpoints", "*.html")))


def report(run: Path, copy: Path) -> Path:
    """Write the report of a run. The page has the name of the copy."""
    from fairlab.record import Record
    from fairlab.reporting.report import write_report

    return write_report(Record.load(copy_records(run, copy)))


def sweep(folder: Path) -> Path:
    """Write the page of a sweep over beta."""
    from fairlab.reporting.many_runs.sweep import write_sweep
    from fairlab.reporting.tables.grouping import headlines
    from fairlab.reporting.tables.runs import read_runs

    runs = folder / "beta"
    for name in ("beta_0.5", "seed_44", "beta_1.5"):  # beta_0 and other seeds are older and have fewer readings
        copy_records(EXPERIMENTS / "ccd/records" / name, runs / name)
    records = read_runs(runs)
    return write_sweep(runs, records, headlines(records))


def reproduction(folder: Path) -> Path:
    """Write the page of a reproduced paper."""
    from fairlab.reporting.many_runs.reproduction import cells, read_matrix
    from fairlab.reporting.many_runs.study import write_study
    from fairlab.reproduce import finished_records

    matrix = read_matrix(EXPERIMENTS / "ccd/matrix.yaml", "quickstart")
    records = finished_records(EXPERIMENTS / "ccd/records/study", matrix)
    page = folder / "reproduction.html"
    write_study([(table, cells(table, matrix, records)) for table in matrix.tables.values()], matrix, records, page)
    return page


def augmentation(folder: Path) -> Path:
    """Augment a few sentences, and return the report page."""
    file = folder / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    options = ["+augmentation=counterfactual_groups", f"input={file}", f"output={folder / 'groups'}"]
    subprocess.run([sys.executable, "-m", "fairlab.augment", *options], check=True, stdout=subprocess.DEVNULL)
    return folder / "groups" / "report.html"


def view(folder: Path) -> Path:
    """Write the page of all committed runs of a study."""
    from fairlab import view as viewing

    runs = copy_records(EXPERIMENTS / "ccd/records/study", folder / "study")
    viewing.main([str(runs)])
    return runs / "view.html"


def places(page: Path, *names: str) -> list[str]:
    """Return the positions of named runs on a page of all runs."""
    (summary,) = re.findall(r'id="summary">(.*?)</script>', page.read_text(encoding="utf-8"), flags=re.DOTALL)
    known = [run["name"] for run in json.loads(summary)["runs"]]
    return [str(known.index(name)) for name in names]


def take_screenshot(shot: Shot, picture: Path, width: int, profile: Path) -> None:
    """Take a screenshot of the top of a page.

    It is saved as lossless WebP with few colours, which takes half as much space as PNG.
    """
    from PIL import Image

    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    taken = profile.with_name("picture.png")
    options = [f"--user-data-dir={profile}", f"--window-size={width},{shot.height}", f"--screenshot={taken}"]
    address = f"{shot.page.resolve().as_uri()}{'#' * bool(shot.state)}{shot.state}"
    subprocess.run([*command, *options, address], check=True, capture_output=True, timeout=120)
    few = Image.open(taken).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.convert("RGB").save(picture, lossless=True, quality=100, method=6)


if __name__ == "__main__":
    main()
