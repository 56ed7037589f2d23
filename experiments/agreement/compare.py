"""Run official code and fairlab on the same weights and the same files, and write their values side by side.

    python experiments/agreement/compare.py NAME MODEL --python OFFICIAL_PYTHON --bias-bench DIR --crows-pairs DIR

``MODEL`` is a folder of a masked language model in the format of transformers, ``OFFICIAL_PYTHON`` an interpreter that
has what ``official.py`` says, and the others are checkouts of McGill-NLP/bias-bench and nyu-mll/crows-pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import fairlab
from fairlab.files import write_whole

HERE = Path(__file__).parent
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {  # the checkout, our benchmark and its settings
    "seat": ("bias-bench", "seat", {}),
    "crows_pairs": ("crows-pairs", "crows_pairs", {}),
    "crows_pairs_meade": ("bias-bench", "crows_pairs", {"crows_pairs.protocol": "meade"}),
}


def main() -> None:
    """Compare and write ``records/NAME.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("model", type=Path)
    parser.add_argument("--python", required=True, type=Path)
    parser.add_argument("--bias-bench", required=True, type=Path)
    parser.add_argument("--crows-pairs", required=True, type=Path)
    parser.add_argument("--kinds", nargs="+", choices=ASKED, default=list(ASKED))
    given = parser.parse_args()
    checkouts = {"bias-bench": given.bias_bench.resolve(), "crows-pairs": given.crows_pairs.resolve()}
    data = Path(os.environ["FAIRLAB_DATA"]).resolve()
    record: dict[str, Any] = {
        "model": given.name,
        "commits": {name: head(path) for name, path in checkouts.items()},
        "kinds": {},
    }
    file = HERE / "records" / f"{given.name}.json"
    for kind in given.kinds:
        checkout, benchmark, settings = ASKED[kind]
        with tempfile.TemporaryDirectory() as folder:
            official = official_values(kind, checkouts[checkout], given, data, Path(folder))
        started = time.perf_counter()
        ours = fairlab.evaluate(str(given.model), [benchmark], settings=settings)
        seconds = round(time.perf_counter() - started, 1)
        values = {key: [value, ours[key]] for key, value in official["values"].items()}
        record["kinds"][kind] = {"seconds": [official["seconds"], seconds], "values": values}
        write_whole(file, json.dumps(record, indent=1) + "\n")
        print(f"{kind}: {len(values)} values, largest difference {max(abs(a - b) for a, b in values.values()):.2g}")


def official_values(kind: str, checkout: Path, given: argparse.Namespace, data: Path, folder: Path) -> dict[str, Any]:
    """What the official code says, from a process of its own."""
    output = folder / f"{kind}.json"
    command = [given.python, HERE.resolve() / "official.py", kind, checkout, given.model.resolve(), data, output]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kind} by {checkout} failed: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(output.read_text(encoding="utf-8")))


def head(checkout: Path) -> str:
    """The commit of a checkout."""
    return subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
