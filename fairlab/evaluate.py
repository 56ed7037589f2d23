"""``python -m fairlab.evaluate``: measure one model, or several side by side, without training anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from fairlab import cli
from fairlab.backbones.loading import find_weights, published_settings, weights_facts
from fairlab.build import build
from fairlab.job import job, refuse_changed_inputs
from fairlab.measuring import measure
from fairlab.record import Note, Record, environment
from fairlab.runs import run_folder
from fairlab.types import FairlabError

SETTINGS = ("pooling", "normalize", "max_length", "dtype")
# What the model a run started from had, not what it trained.
OF_THE_BASE = ("package", "gguf", "weights_sha256", "revision", "adapters", "adapters_sha256")
FALLBACK = {"pooling": "mean", "normalize": False, "max_length": 128}

OmegaConf.register_new_resolver("run_folder", run_folder, replace=True)


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="evaluate")
def main(config: DictConfig) -> None:
    """Hydra's entry: one evaluation, or one job of a sweep."""
    with cli.one_sentence():
        job("evaluate", config, evaluate)


def evaluate(config: DictConfig, record: Record) -> None:
    """Measure every model with every benchmark; everything measured goes into ``record`` at once."""
    models = {label: backbone_node(config, model) for label, model in labelled(config.model).items()}
    inputs = {f"weights of {label}": weights_facts(node) for label, node in models.items()}
    refuse_changed_inputs(record, inputs)
    benchmarks = [build(benchmark) for benchmark in config.benchmark.values()]

    from fairlab.reporting.report import write_report

    record.provenance |= environment() | inputs
    first = next(iter(models))
    seen: dict[str, str] = {}
    for label, node in models.items():
        phase = label if len(models) > 1 else ""
        backbone = build(node).to(device())
        if (twin := seen.setdefault(backbone.digest(), label)) != label:
            text = f"{label} and {twin} have the same weights, so nothing but their settings can differ between them"
            record.notes = list(dict.fromkeys([*record.notes, Note("weights", text)]))
        if label == first:
            measure(benchmarks, backbone, phase, record)
        else:
            measure(benchmarks, backbone, phase, record, earlier=first, change=f"{label} less {first}")
    record.status = "finished"
    write_report(record)


def labelled(model: Any) -> dict[str, str]:
    """Models by label: as given, or the last part of each name, numbered where two are the same."""
    if isinstance(model, DictConfig):
        return {str(label): str(name) for label, name in model.items()}
    names = [str(name) for name in ([model] if isinstance(model, str | int) else model)]
    if not names:
        raise FairlabError("model is an empty list; give at least one, for example model=[minilm]")
    labels = [Path(name).name for name in names]
    return {
        label if labels.count(label) == 1 else f"{label}_{labels[: k + 1].count(label)}": name
        for k, (label, name) in enumerate(zip(labels, names, strict=True))
    }


def backbone_node(config: DictConfig, model: str) -> DictConfig:
    """The backbone configuration of a model: a named one, that of the run that trained it, or the model's own.

    Raises:
        FairlabError: the run has no model yet.
    """
    node: Any
    if model in cli.choices("backbone"):
        node = hydra.compose(overrides=[f"+backbone={model}"]).backbone
    elif (Path(model) / "record.json").is_file():
        trained = Path(model) / "model"
        if not trained.is_dir():
            raise FairlabError(f"the run in {model} has exported no model; let it finish with ckpt={model}")
        record = Record.load(Path(model))
        entries = record.provenance.get("data", {}).get("train_entries")
        node = record.config["backbone"] | {"name": str(trained), "entries": entries} | dict.fromkeys(OF_THE_BASE)
    else:
        own = published_settings(find_weights(model))
        node = {"_target_": "fairlab.backbones.loading.load_backbone", "name": model} | FALLBACK | own
    chosen = {name: config[name] for name in SETTINGS if config[name] is not None}
    return OmegaConf.create({**node, **chosen})


def device() -> str:
    """A GPU where there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def command() -> None:
    """The console script's entry."""
    cli.run(main, "evaluate")


if __name__ == "__main__":
    command()
