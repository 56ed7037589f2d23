"""The papers' experiment matrices at paper scale, with substitutes for data and models that were not published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TRIALS = "trials"
PAPERS = ("ccd", "perturbation", "biasers", "ensemble", "razor")
DATA = "${oc.env:FAIRLAB_DATA}"
NEWS = f"input={DATA}/corpora/news-commentary-v15.en.txt"
FEW = f"input={DATA}/corpora/few.txt"  # for language models, which are called ten times per text
REPORTS = [f"data.path={DATA}/reports.txt", "method.quantize=false"]
TEXT = ["data.paths=[corpora/novels/Jane-Eyre_1260.txt]", "data.limit_characters=4000"]
FEW_HELD_OUT = "data.validation=4"  # there are fewer texts than the 1,000 held out at paper scale
NO_ROW = "no row of the paper"
SIZE_OF_DATA = "limit=8"  # items per part of a benchmark


def write_matrix(paper: str, place: Path, server: str) -> None:
    """Write a paper's matrix in which every run that is unavailable at paper scale has substitute overrides.

    Args:
        paper: Name of the paper, or ``trials``.
        place: Path of the file to write.
        server: Address of the stub server that is used for every language model.
    """
    file = Path(__file__).with_name("trials.yaml") if paper == TRIALS else ROOT / f"experiments/{paper}/matrix.yaml"
    matrix = yaml.safe_load(file.read_text(encoding="utf-8"))
    for name, run in matrix["runs"].items():
        given = stand_in(paper, name, matrix["runs"])
        if given is not None:
            run["paper"] = given
    for name, overrides in matrix.get("made", {}).items():
        matrix["made"][name] = shrink_data(overrides, server)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(yaml.safe_dump(matrix, sort_keys=False), encoding="utf-8")


def shrink_data(overrides: list[str], server: str) -> list[str]:
    """Return the overrides for making data, with the stub server and fewer texts if they use a language model."""
    if not any(one.startswith("llm=") for one in overrides):
        return overrides
    return [FEW if one == NEWS else one for one in overrides] + [f"llm.base_url={server}"]


def stand_in(paper: str, run: str, runs: dict[str, Any]) -> list[str] | None:
    """Return the overrides that replace a run's own on the simulated cluster, or None if its own can be used.

    Args:
        paper: Name of the paper.
        run: Id of the run.
        runs: All runs in the matrix.
    """
    if runs[run]["paper"] == NO_ROW:
        return None
    if paper == "biasers" and run != "data_bias":
        return runs[run]["paper"] + REPORTS
    if paper == "perturbation" and run in ("roberta", "fairberta"):
        return [one for one in runs[run]["quickstart"] if not one.startswith("data.")] + TEXT
    if paper == "ccd" and isinstance(runs[run]["paper"], list):
        return held_out(runs[run]["paper"])
    twin = runs.get(run.replace("fairberta_", "roberta_"), {}).get("paper")
    if paper == "perturbation" and run.startswith("fairberta_") and isinstance(twin, list):
        return [*twin, "backbone.name=runs/fairberta/model"]
    return None


def held_out(overrides: list[str]) -> list[str]:
    """Reduce the number of held-out sentences in overrides, if the run has sentences to hold out."""
    few = [one.replace("test=1000", "test=4") for one in overrides]
    return [*few, FEW_HELD_OUT] if any(one.startswith("data.") for one in few) else few
