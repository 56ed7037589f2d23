"""Run official code and fairlab on the same weights and files, and record both values of each reading.

    python experiments/agreement/compare.py NAME MODEL --python OFFICIAL_PYTHON --checkouts FOLDER --kinds seat ...

``MODEL`` is a folder in transformers format, as ``models.py`` writes it. ``OFFICIAL_PYTHON`` is an interpreter with the
packages that ``official.py`` lists, and ``FOLDER`` contains the checkouts in ``COMMITS``. Kinds that are not requested
keep their values in the record. ``holistic_bias`` needs no model.
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

import ours

import fairlab
from fairlab.data.published.stereoset import LABELS, read_stereoset
from fairlab.files import write_whole
from fairlab.run.environment import environment

HERE = Path(__file__).parent
COMMITS = {  # commits of the official code; other commits may give other values
    "bias-bench": "291426aab926f78ecfc7bd040b531429ee8123e0",
    "crows-pairs": "8aaac11c485473159ec9328a65253a5be9a479dc",
    "sent-bias": "e3559fb669ca4832743b42fee715994c15c7f1af",
    "StereoSet": "ead7d086a64a192a1eca88e0dd2fd163de375218",
    "ResponsibleNLP": "0ec714eb084217f44cd9ac466d9e988c795302f9",
    "wefe": "1998132a3e809481a7456d952f7473d191990946",
}
PROJECTIONS = ("sentence_debias", "inlp", "inlp_intercept")


@dataclass(frozen=True)
class Asked:
    """Checkout of the official code, the corresponding benchmark of fairlab, and its settings."""

    checkout: str
    benchmark: str
    settings: dict[str, Any] = field(default_factory=dict)


KINDS = {
    "seat": Asked("bias-bench", "seat"),
    "seat_p": Asked("sent-bias", "seat"),
    "wefe": Asked("wefe", "seat", {"benchmark.seat.tests": ["weat6", "weat6b", "weat7", "weat7b", "weat8", "weat8b"]}),
    "crows_pairs": Asked("crows-pairs", "crows_pairs"),
    "crows_pairs_meade": Asked("bias-bench", "crows_pairs", {"benchmark.crows_pairs.protocol": "meade"}),
    "stereoset": Asked("StereoSet", "stereoset", {"benchmark.stereoset.task": ["intrasentence"]}),
    "stereoset_meade": Asked(
        "bias-bench",
        "stereoset",
        {"benchmark.stereoset.protocol": "meade", "benchmark.stereoset.task": ["intrasentence"]},
    ),
    "sentence_debias": Asked("bias-bench", "seat"),
    "inlp": Asked("bias-bench", "seat"),
    "inlp_intercept": Asked("bias-bench", "seat"),
    "holistic_bias": Asked("ResponsibleNLP", ""),
}
PART = {
    "crows_pairs": "benchmark.crows_pairs.bias_types",
    "stereoset": "benchmark.stereoset.domains",
}  # setting of the benchmark that --types sets


def main() -> None:
    """Compare both implementations, and write the record ``NAME.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--python", required=True, type=Path)
    parser.add_argument("--checkouts", required=True, type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--types", nargs="+", default=[], help="bias types of CrowS-Pairs, domains of StereoSet")
    parser.add_argument("--records", type=Path, default=HERE / "records")
    given = parser.parse_args()
    if given.model is None and given.kinds != ["holistic_bias"]:
        parser.error("give the folder of a model; only holistic_bias needs none")
    if "FAIRLAB_DATA" not in os.environ:
        parser.error("set FAIRLAB_DATA to the folder that holds the published data")
    file = given.records / f"{given.name}.json"
    record = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"model": given.name, "kinds": {}}
    for kind in given.kinds:
        record["kinds"][kind] = compared(kind, given)
        write_whole(file, json.dumps(record, separators=(",", ":")) + "\n")
        pairs = record["kinds"][kind]["values"].values()
        print(f"{kind}: {len(pairs)} values, largest difference {max(abs(a - b) for a, b in pairs):.2g}", flush=True)


def compared(kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """Return the values and seconds of both implementations, and the commit of the official code."""
    asked = KINDS[kind]
    checkout = (given.checkouts / asked.checkout).resolve()
    commit = head(checkout)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        official = official_values(kind, checkout, given, folder)
        started = time.perf_counter()
        values, more = our_values(kind, checkout, given, folder)
        seconds = round(time.perf_counter() - started, 1)
    for key in set(official["values"]) - set(values):
        values[key] = values[key.split(" with ")[0]]
    return {
        "repository": asked.checkout,
        "commit": commit,
        "fairlab": environment()["revision"],
        "types": given.types if asked.benchmark in PART else [],
        "seconds": [official["seconds"], seconds],
        "values": {key: [value, values[key]] for key, value in official["values"].items()},
        **more,
    }


def our_values(
    kind: str, checkout: Path, given: argparse.Namespace, folder: Path
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the values that fairlab computes, and the other fields to store in the record."""
    asked = KINDS[kind]
    if kind == "holistic_bias":
        return ours.generated(checkout, folder), {}
    settings = dict(asked.settings)
    if given.types and asked.benchmark in PART:
        settings[PART[asked.benchmark]] = given.types
    model: Any = str(given.model)
    more: dict[str, Any] = {}
    if kind in PROJECTIONS:
        model, more["projections"] = ours.projected(kind, given.model, folder)
    found = fairlab.evaluate(model, [asked.benchmark], settings=settings)
    p = {f"{one.benchmark}/{one.subset}/p": one.p for one in found.readings if one.p is not None}
    return found.record.metrics() | p, more


def official_values(kind: str, checkout: Path, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run the official code in a separate process, and return its values."""
    output, data = folder / f"{kind}.json", Path(os.environ["FAIRLAB_DATA"]).resolve()
    command = [given.python.absolute(), HERE.resolve() / "official.py", kind, checkout]
    command += ["" if given.model is None else given.model.resolve(), data, ",".join(given.types), output]
    write_examples(data, given.types, folder / "stereoset.json")
    ours.write_groups(folder / "groups.json")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kind} by {checkout} failed: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(output.read_text(encoding="utf-8")))


def write_examples(data: Path, types: list[str], file: Path) -> None:
    """Write StereoSet's intrasentence examples, optionally of some domains only, in the layout of the official code."""
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
    """Return the commit of a checkout.

    Raises:
        SystemExit: There is no checkout, its commit differs from ``COMMITS``, or its code or data is changed.
    """
    asked = ["git", "-C", str(checkout)]
    found = subprocess.run([*asked, "rev-parse", "HEAD"], capture_output=True, text=True)
    wanted = COMMITS[checkout.name]
    if found.returncode:
        raise SystemExit(f"{checkout} is not a checkout; clone {checkout.name} there, and check out {wanted}")
    if (commit := found.stdout.strip()) != wanted:
        raise SystemExit(
            f"{checkout} is at {commit[:12]}, and the comparison is with {wanted[:12]}; "
            f"git -C {checkout} checkout {wanted}"
        )
    files = ["*.py", "*.jsonl", "holistic_bias/dataset"]
    changed = subprocess.run(
        [*asked, "diff", "--name-only", "HEAD", "--", *files], capture_output=True, text=True, check=True
    )
    if names := changed.stdout.split():
        raise SystemExit(f"{checkout / names[0]} differs from its commit; check it out again")
    return commit


if __name__ == "__main__":
    main()
