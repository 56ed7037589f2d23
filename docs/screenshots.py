"""Write the pictures of docs/images: every kind of page, made of the committed records, in a headless Chromium.

    python docs/screenshots.py [--run DIR] [--ensemble DIR] [--output DIR] [--width 1280]

Committed records have no per-item values, so that figures of embeddings and of an ensemble's subgroups are missing.
``--run`` and ``--ensemble`` take finished runs that have them in place of the committed ones.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
TEXTS = [
    "She told her brother that the nurse had left.",
    "The chairman kissed his wife.",
    "My aunt mends clocks, and he paid the waitress.",
    "The rain fell all day.",
    "His father slept in the boat while the queen left early.",
]


def main() -> None:
    """Make the pages in a temporary folder and take their pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=EXPERIMENTS / "ccd/records/full")
    parser.add_argument("--ensemble", type=Path, default=EXPERIMENTS / "ensemble/records/skill/seed_42")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/images")
    parser.add_argument("--width", type=int, default=1280)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, (page, height) in pages(Path(folder), chosen.run, chosen.ensemble).items():
            picture = chosen.output / f"{name}.png"
            take(page, picture, chosen.width, height, Path(folder) / "profile")
            print(f"{picture}: {page.stat().st_size:,} bytes of HTML")


def pages(folder: Path, run: Path, ensemble: Path) -> dict[str, tuple[Path, int]]:
    """The pages by the name of their picture, each with the height to show."""
    return {
        "report": (report(run, folder), 1500),
        "ensemble": (report(ensemble, folder), 1500),
        "sweep": (sweep(folder), 1500),
        "reproduction": (reproduction(folder), 1200),
        "augmentation": (augmentation(folder), 1200),
        "view": (view(folder), 900),
    }


def copied(source: Path, folder: Path) -> Path:
    """A copy of records, so that no page is written beside those that are committed."""
    without = shutil.ignore_patterns("model", "checkpoints", "*.html")
    return Path(shutil.copytree(source, folder / source.name, ignore=without))


def report(run: Path, folder: Path) -> Path:
    """The report of a run."""
    from fairlab.record import Record
    from fairlab.reporting.report import write_report

    return write_report(Record.load(copied(run, folder)))


def sweep(folder: Path) -> Path:
    """The page of a sweep over beta."""
    from fairlab.reporting.many_runs.sweep import write_sweep
    from fairlab.reporting.tables.grouping import headlines
    from fairlab.reporting.tables.runs import read_runs

    runs = folder / "beta"
    for name in ("beta_0", "beta_0.5", "seed_42", "seed_43", "seed_44", "beta_1.5"):
        copied(EXPERIMENTS / "ccd/records" / name, runs)
    records = read_runs(runs)
    return write_sweep(runs, records, headlines(records))


def reproduction(folder: Path) -> Path:
    """The page of a reproduced paper."""
    from fairlab.reporting.many_runs.reproduction import cells, read_matrix
    from fairlab.reporting.many_runs.study import write_study
    from fairlab.reproduce import finished_records

    matrix = read_matrix(EXPERIMENTS / "ccd/matrix.yaml", "quickstart")
    records = finished_records(EXPERIMENTS / "ccd/records/study", matrix)
    page = folder / "reproduction.html"
    write_study([(table, cells(table, matrix, records)) for table in matrix.tables.values()], matrix, records, page)
    return page


def augmentation(folder: Path) -> Path:
    """The page of counterfactual groups made of a few sentences."""
    file = folder / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    options = ["+augmentation=counterfactual_groups", f"input={file}", f"output={folder / 'groups'}"]
    subprocess.run([sys.executable, "-m", "fairlab.augment", *options], check=True, stdout=subprocess.DEVNULL)
    return folder / "groups" / "report.html"


def view(folder: Path) -> Path:
    """The page of all committed runs of a study."""
    from fairlab import view as viewing

    runs = copied(EXPERIMENTS / "ccd/records/study", folder)
    viewing.main([str(runs)])
    return runs / "view.html"


def take(page: Path, picture: Path, width: int, height: int, profile: Path) -> None:
    """A picture of the top of a page."""
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options = [f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={picture.resolve()}"]
    subprocess.run([*command, *options, page.resolve().as_uri()], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
