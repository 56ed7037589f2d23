"""Run official code and fairlab on the same weights and the same files, and write their values side by side.

    python experiments/agreement/compare.py NAME MODEL --python OFFICIAL_PYTHON --checkouts FOLDER --kinds seat ...

``MODEL`` is a folder of transformers, as ``models.py`` writes it, ``OFFICIAL_PYTHON`` an interpreter that has what
``official.py`` says, and ``FOLDER`` holds checkouts of McGill-NLP/bias-bench, W4ngatang/sent-bias, nyu-mll/crows-pairs
and moinnadeem/StereoSet. What a record holds of other kinds stays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fairlab
from fairlab.data.published.stereoset import LABELS, read_stereoset
from fairlab.files import write_whole

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Asked:
    """The checkout of the official code, our benchmark, and its settings."""

    checkout: str
    benchmark: str
    settings: dict[str, Any] = field(default_factory=dict)


KINDS = {
    "seat": Asked("bias-bench", "seat"),
    "seat_p": Asked("sent-bias", "seat"),
    "crows_pairs": Asked("crows-pairs", "crows_pairs"),
    "crows_pairs_meade": Asked("bias-bench", "crows_pairs", {"crows_pairs.protocol": "meade"}),
    "stereoset": Asked("StereoSet", "stereoset", {"stereoset.task": ["intrasentence"]}),
    "stereoset_meade": Asked(
        "bias-bench", "stereoset", {"stereoset.protocol": "meade", "stereoset.task": ["intrasentence"]}
    ),
}
PART = {"crows_pairs": "crows_pairs.bias_types", "stereoset": "stereoset.domains"}  # what --types is called there


def main() -> None:
    """Compare and write ``NAME.json`` among the records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("model", type=Path)
    parser.add_argument("--python", required=True, type=Path)
    parser.add_argument("--checkouts", required=True, type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--types", nargs="+", default=[], help="bias types of CrowS-Pairs, domains of StereoSet")
    parser.add_argument("--records", type=Path, default=HERE / "records")
    given = parser.parse_args()
    file = given.records / f"{given.name}.json"
    record = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"model": given.name, "kinds": {}}
    for kind in given.kinds:
        record["kinds"][kind] = compared(kind, given)
        write_whole(file, json.dumps(record, indent=1) + "\n")
        pairs = record["kinds"][kind]["values"].values()
        print(f"{kind}: {len(pairs)} values, largest difference {max(abs(a - b) for a, b in pairs):.2g}", flush=True)


def compared(kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """Both codes' values and seconds, and the commit of the official code."""
    asked = KINDS[kind]
    checkout = (given.checkouts / asked.checkout).resolve()
    with tempfile.TemporaryDirectory() as folder:
        official = official_values(kind, checkout, given, Path(folder))
    settings = dict(asked.settings)
    if given.types and asked.benchmark in PART:
        settings[PART[asked.benchmark]] = given.types
    started = time.perf_counter()
    found = fairlab.evaluate(str(given.model), [asked.benchmark], settings=settings)
    seconds = round(time.perf_counter() - started, 1)
    ours = found.record.metrics() | {
        f"{one.benchmark}/{one.subset}/p": one.p for one in found.readings if one.p is not None
    }
    return {
        "repository": asked.checkout,
        "commit": head(checkout),
        "fairlab": found.record.provenance["revision"],
        "types": given.types if asked.benchmark in PART else [],
        "seconds": [official["seconds"], seconds],
        "values": {key: [value, ours[key]] for key, value in official["values"].items()},
    }


def official_values(kind: str, checkout: Path, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """What the official code says, from a process of its own."""
    output, data = folder / f"{kind}.json", Path(os.environ["FAIRLAB_DATA"]).resolve()
    command = [given.python.absolute(), HERE.resolve() / "official.py", kind, checkout, given.model.resolve()]
    command += [data, ",".join(given.types), output]
    write_examples(data, given.types, folder / "stereoset.json")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kind} by {checkout} failed: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(output.read_text(encoding="utf-8")))


def write_examples(data: Path, types: list[str], file: Path) -> None:
    """Write StereoSet's intrasentence examples, or those of some domains, in the layout of the official codes."""
    examples = [
        {
            "id": one.id,
            "bias_type": one.domain,
            "target": one.target,
            "context": one.context,
            "sentences": [
                {
                    "id": f"{one.id} {label}",
                    "sentence": sentence,
                    "gold_label": label,
                    "labels": [{"label": label, "human_id": ""}],
                }
                for label, sentence in zip(LABELS, one.sentences, strict=True)
            ],
        }
        for one in read_stereoset(data / "stereoset" / "stereoset.json")
        if one.task == "intrasentence" and (not types or one.domain in types)
    ]
    content = {"version": "", "data": {"intrasentence": examples, "intersentence": []}}
    file.write_text(json.dumps(content), encoding="utf-8")


def head(checkout: Path) -> str:
    """The commit of a checkout.

    Raises:
        SystemExit: code or stimuli in it are not as the commit has them.
    """
    asked = ["git", "-C", str(checkout)]
    changed = subprocess.run(
        [*asked, "diff", "--name-only", "HEAD", "--", "*.py", "*.jsonl"], capture_output=True, text=True, check=True
    ).stdout.split()
    if changed:
        raise SystemExit(f"{checkout / changed[0]} is not as its commit has it; check it out anew")
    return subprocess.run([*asked, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
