"""The papers' matrices at paper scale, with something in the place of what their authors did not publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TRIALS = "trials"
PAPERS = ("ccd", "perturbation", "biasers", "ensemble", "razor")
DATA = "${oc.env:FAIRLAB_DATA}"
NEWS = f"input={DATA}/corpora/news-commentary-v15.en.txt"
FEW = f"input={DATA}/corpora/few.txt"  # for language models, which are asked ten times for every text
REPORTS = [f"data.path={DATA}/reports.txt", "method.quantize=false"]
TEXT = ["data.paths=[corpora/novels/Jane-Eyre_1260.txt]", "data.limit_characters=4000"]
FEW_HELD_OUT = "data.validation=4"  # the 1,000 of paper scale are more than there are, as are those of a test
NO_ROW = "no row of the paper"
SIZE_OF_DATA = "limit=8"  # items of each part of a benchmark


def write_matrix(paper: str, place: Path, server: str) -> None:
    """Write a paper's matrix with a command in the place of each reason for having none at paper scale.

    Args:
        paper: name of the paper, or ``trials``.
        place: where it goes.
        server: address of the server that stands for every language model.
    """
    file = Path(__file__).with_name("trials.yaml") if paper == TRIALS else ROOT / f"experiments/{paper}/matrix.yaml"
    matrix = yaml.safe_load(file.read_text(encoding="utf-8"))
    for name, run in matrix["runs"].items():
        given = stand_in(paper, name, matrix["runs"])
        if given is not None:
            run["paper"] = given
    for name, overrides in matrix.get("made", {}).items():
        matrix["made"][name] = made_small(overrides, server)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(yaml.safe_dump(matrix, sort_keys=False), encoding="utf-8")


def made_small(overrides: list[str], server: str) -> list[str]:
    """Return the overrides of made data, those of a language model with another address and fewer texts."""
    if not any(one.startswith("llm=") for one in overrides):
        return overrides
    return [FEW if one == NEWS else one for one in overrides] + [f"llm.base_url={server}"]


def stand_in(paper: str, run: str, runs: dict[str, Any]) -> list[str] | None:
    """Return what a run does in the place of one that cannot be done as published; None where the matrix' own stands.

    Args:
        paper: name of the paper.
        run: id of the run.
        runs: all runs of the matrix.
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
    """Return the overrides with few sentences held out, where there are sentences to hold out."""
    few = [one.replace("test=1000", "test=4") for one in overrides]
    return [*few, FEW_HELD_OUT] if any(one.startswith("data.") for one in few) else few
