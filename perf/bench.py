"""Run the performance scripts, and fail if a ratio is more than a fifth lower than the committed one.

    python perf/bench.py [SCRIPT ...] [--packages DIR] [--augly PYTHON] [--model DIR]

Each script compares fairlab with a plain implementation in a single run, so that its ratios can be compared between
machines. The new figures are written to a temporary folder, and those in perf/results are not changed. Scripts whose
options are not given are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness import FOLDER, results
from tables import SCRIPTS

LEAST = 0.8  # smallest accepted share of the committed ratio
# Arguments of each script in addition to --write: the option of this command that provides the value, and the flag.
TAKES = {
    "rewriting": ("augly", "--augly"),
    "safety_scoring": ("packages",),
    "safety_sources": ("packages",),
    "safety_startup": ("packages",),
    "safety_load": ("model",),
}


def ratios(result: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield each ratio in a script's figures with its path of keys. A list of ratios is reduced to its median.

    ``ratio`` is a number, or a list with one number per repeat. ``ratios`` is used if there is no ``ratio``.
    """
    if not isinstance(result, Mapping):
        return
    for key, value in result.items():
        if key == "ratio" or (key == "ratios" and "ratio" not in result):
            yield name or key, statistics.median(value) if isinstance(value, list) else float(value)
        else:
            yield from ratios(value, f"{name}, {key}" if name else str(key))


def fallen(found: Mapping[str, Any], committed: Mapping[str, Any]) -> list[str]:
    """Describe the ratios of a script that fell by more than a fifth or are no longer measured."""
    now = dict(ratios(found))
    return [
        f"{name} from {before:.3g} to {now[name]:.3g}" if name in now else f"{name}, which is not measured any more"
        for name, before in ratios(committed)
        if name not in now or not now[name] >= LEAST * before
    ]


def run(script: str, arguments: list[str], folder: Path) -> list[str]:
    """Run a script, compare its figures with the committed ones, and describe the ratios that fell."""
    file = Path(__file__).with_name(f"{script}.py")
    command = [sys.executable, str(file), *arguments, "--write"]
    print(f"== {script}", flush=True)
    if not results(script).is_file():
        print("not compared: no figures of it are committed")
        return []
    if subprocess.run(command, env=os.environ | {FOLDER: str(folder)}, check=False).returncode:
        return [f"{script} itself failed"]
    found, committed = (
        json.loads(one.read_text(encoding="utf-8")) for one in (folder / f"{script}.json", results(script))
    )
    return [f"{script}: {fall}" for fall in fallen(found, committed)]


def main() -> None:
    """Run the scripts named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "scripts", nargs="*", metavar="SCRIPT", help=f"scripts to run, from {', '.join(SCRIPTS)}; all by default"
    )
    parser.add_argument("--packages", help="folder of the unpacked packages tox_block and toxic_classifier")
    parser.add_argument("--augly", help="path of Python in an environment with AugLy")
    parser.add_argument("--model", help="folder of a run of safety_ensemble")
    given = parser.parse_args()
    if unknown := [name for name in given.scripts if name not in SCRIPTS]:
        sys.exit(f"there is no script {unknown[0]}; there are: {', '.join(SCRIPTS)}")
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "results"
        for one in (folder, folder.with_name("figures")):
            one.mkdir()
        for script in given.scripts or SCRIPTS:
            option, *flag = TAKES.get(script, ("",))
            if option and not getattr(given, option):
                print(f"== {script} is left out; give --{option}", flush=True)
                continue
            wrong += run(script, [*flag, *([getattr(given, option)] if option else [])], folder)
    if wrong:
        sys.exit(f"{len(wrong)} fell by more than a fifth or failed: {'; '.join(wrong)}")
    print("no ratio fell by more than a fifth")


if __name__ == "__main__":
    main()
