"""``python -m fairlab.evaluate``: measure models or datasets with benchmarks, without training."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig

from fairlab.backbones.peft_folder import is_adapter_folder
from fairlab.benchmarks.runner import gate, measure_data, measure_models
from fairlab.benchmarks.stages import LOADING, stage
from fairlab.checks.progress import telling_steps
from fairlab.distributed import device, rank
from fairlab.files import holds_run
from fairlab.protocols import Benchmark, DataBenchmark
from fairlab.record import Note, Record
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.backbone_nodes import SETTINGS, backbone_node, model_facts
from fairlab.run.config.build import build, build_benchmarks
from fairlab.run.config.served_nodes import is_served
from fairlab.run.config.shortened import lowered, shortening_notes
from fairlab.run.environment import environment
from fairlab.run.folders import plain_config, sweep_of
from fairlab.run.job import job, refuse_changed_inputs
from fairlab.run.loggers import build_loggers, finish_loggers
from fairlab.run.pushing import push_model, refuse_push
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch takes seconds to import
    from fairlab.backbones.backbone import Backbone

QUESTION = "Is my model biased, beyond chance?"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="evaluate")
def main(config: DictConfig) -> None:
    """Run one evaluation, or one job of a sweep, as Hydra's entry point."""
    with cli.one_sentence():
        job("evaluate", config)


def work(config: DictConfig, record: Record) -> None:
    """Measure every model or every dataset with every benchmark.

    Each result is added to ``record`` immediately.
    """
    config = lowered(config)
    pushed = model_to_push(config)
    refuse_push(config.get("push"))
    record.add_notes(shortening_notes(config))
    loggers = [] if rank() else build_loggers(config.logger, record, sweep_of(record.folder))
    if config.dataset is not None:
        evaluate_data(config, record)
    else:
        with telling_steps():
            evaluate_models(config, record)
    if rank():
        return

    from fairlab.reporting.card import card_with_results
    from fairlab.reporting.report import write_report

    record.status = "finished"
    with stage(record, "report"):
        write_report(record)
    record.save()
    finish_loggers(loggers, record, step=0)
    if pushed is not None:
        push_model(pushed, config.push, lambda card: card_with_results(card, record.readings, pushed.parent.name))


def rehearse_evaluation(config: DictConfig) -> None:
    """Build the models and benchmarks that :func:`work` uses, without measuring; see ``dry_run``.

    Raises:
        FairlabError: Any error that would end the run before it measures.
    """
    config = lowered(config)
    model_to_push(config)
    refuse_push(config.get("push"))
    benchmarks = build_benchmarks(config)
    with tempfile.TemporaryDirectory() as folder:
        record = Record(Path(folder), plain_config(config), command="")
        if config.dataset is not None:
            named, _ = datasets_to_measure(config, benchmarks)
            for benchmark in benchmarks:
                for source in named.values():
                    benchmark.check_data(source, field_of(config))
                if benchmark.vectors:
                    embedder(config, benchmark.vectors, benchmark.name, record)
            return
        for label, node in models_to_measure(config).items():
            if is_served(node):  # only the run itself contacts its server
                continue
            backbone = build(node)
            if config.strict:
                gate(backbone.to(device()), label, record)


def model_to_push(config: DictConfig) -> Path | None:
    """Return the folder of the model to push, or None if ``push`` is not set.

    Raises:
        FairlabError: ``model`` is not the folder of a single run with a model.
    """
    if config.get("push") is None:
        return None
    folder = Path(str(config.model)) / "model"
    if not holds_run(folder.parent) or not folder.is_dir():
        raise FairlabError("push= uploads the model of one run with its readings; give model=RUN, the folder of a run")
    return folder


def evaluate_models(config: DictConfig, record: Record) -> None:
    """Measure every model with every benchmark, and compare each later model with the first.

    Raises:
        FairlabError: No model was given.
    """
    models = models_to_measure(config)
    named = named_inputs(config.model)
    inputs = {f"weights of {label}": model_facts(node) for label, node in models.items()}
    refuse_changed_inputs(record, inputs)
    benchmarks = build_benchmarks(config)
    record.provenance |= environment() | inputs
    one = len(models) == 1
    backbones = (("" if one else label, on_device(node, record)) for label, node in models.items())
    measure_named(benchmarks, backbones, {"" if one else label: Path(place) for label, place in named.items()}, record)


def models_to_measure(config: DictConfig) -> dict[str, DictConfig]:
    """Return the configurations of the models that an evaluation measures, by label.

    Raises:
        FairlabError: No model was given, or a model does not exist.
    """
    if config.model is None:
        raise FairlabError("model has no value; give one, for example model=...")
    named = named_inputs(config.model)
    if config.base is not None and not any(is_adapter_folder(Path(model)) for model in named.values()):
        raise FairlabError(f"base={config.base} is only for a folder of adapters, which model= is not; omit base=")
    return {label: backbone_node(model, asked(config), config.llm) for label, model in named.items()}


def on_device(node: DictConfig, record: Record) -> Backbone:
    """Build a model on its device, and record the loading time."""
    with stage(record, LOADING):
        return build(node).to(device(record.config.get("device")))


def measure_named(
    benchmarks: Sequence[Benchmark],
    backbones: Iterable[tuple[str, Backbone]],
    places: Mapping[str, Path],
    record: Record,
) -> None:
    """Measure models, with notes on training without effect and on benchmarks that overlap with training data.

    The label is empty if there is only one model. Notes are added for models whose path, in ``places``, is the folder
    of a run.
    """
    for label, place in places.items():
        record.add_notes(replace(note, phase=label) for note in notes_of_training(place))
    trained_on = {label: Fingerprints.load(place) for label, place in places.items()}
    measure_models(benchmarks, backbones, record, trained_on)


def notes_of_training(model: Path) -> list[Note]:
    """Return the notes on a model's training if it is the folder of a run.

    The result is empty for other models.
    """
    from fairlab.reporting.tables.marks import training_notes

    return training_notes(Record.load(model)) if holds_run(model) else []


def evaluate_data(config: DictConfig, record: Record) -> None:
    """Measure every dataset with every benchmark, embedding the texts as each benchmark configures."""
    benchmarks = build_benchmarks(config)
    named, inputs = datasets_to_measure(config, benchmarks)
    refuse_changed_inputs(record, inputs)
    record.provenance |= environment() | inputs
    for benchmark in benchmarks:
        embed, facts = embedder(config, benchmark.vectors, benchmark.name, record) if benchmark.vectors else (None, {})
        refuse_changed_inputs(record, facts)
        record.provenance |= facts
        for label, source in named.items():
            measure_data(benchmark, source, field_of(config), embed, label if len(named) > 1 else "", record)


def datasets_to_measure(
    config: DictConfig, benchmarks: Sequence[Any]
) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return the datasets of an evaluation by label, and their provenance.

    Raises:
        FairlabError: A model was also given, a benchmark measures models, or a dataset does not exist.
    """
    from fairlab.data.stream.manifest import dataset_facts

    if config.model is not None:
        raise FairlabError(
            "dataset= is measured without a model; "
            "omit model=, and choose an embedding with benchmark.db_index.vectors="
        )
    named = named_inputs(config.dataset, "dataset")
    inputs = {f"data of {label}": dataset_facts(source) for label, source in named.items()}
    if models := [benchmark.name for benchmark in benchmarks if not isinstance(benchmark, DataBenchmark)]:
        raise FairlabError(f"{models[0]} measures models, not data; with dataset=, use benchmark=db_index or shortcuts")
    return named, inputs


def field_of(config: DictConfig) -> str | list[str]:
    """Return the name or names of the text columns."""
    return config.field if isinstance(config.field, str) else list(config.field)


def embedder(
    config: DictConfig, name: str, about: str, record: Record
) -> tuple[Callable[[Sequence[str]], Any], dict[str, dict[str, Any]]]:
    """Return the function that embeds a dataset's texts, and the provenance of the embeddings.

    ``name`` is a model, or ``spacy:NAME`` for the word vectors of a spaCy pipeline. ``about`` is the benchmark whose
    results depend on the embeddings.

    Raises:
        FairlabError: The model cannot embed.
    """
    if name.startswith("spacy:"):
        from fairlab.text.word_vectors import WordVectors

        vectors = WordVectors(name.removeprefix("spacy:"))
        return vectors, {"vectors": vectors.facts}
    node = backbone_node(name, asked(config), config.llm)
    facts = {"vectors": model_facts(node)}
    backbone = build(node).to(device(config.device))
    found = gate(backbone, "vectors", record)
    if found.reason:
        raise FairlabError(f"{name} cannot embed: {found.reason}")
    record.add_notes(found.notes(about))
    return lambda texts: backbone.embed(texts, progress="embedding").numpy(), facts


def named_inputs(model: Any, key: str = "model") -> dict[str, str]:
    """Return models or datasets by label.

    Labels are used as given; otherwise the label is the last part of the name, numbered if several names share it.
    """
    if isinstance(model, DictConfig):
        return {str(label): str(name) for label, name in model.items()}
    names = [str(name) for name in ([model] if isinstance(model, str | int) else model)]
    if not names:
        raise FairlabError(f"{key} is an empty list; give at least one, for example {key}=[NAME]")
    labels = [Path(name.rpartition("#")[2]).name for name in names]  # for an address, the name of the model
    return {
        label if labels.count(label) == 1 else f"{label}_{labels[: k + 1].count(label)}": name
        for k, (label, name) in enumerate(zip(labels, names, strict=True))
    }


def asked(config: DictConfig) -> dict[str, Any]:
    """Return the backbone settings given in the command, which override the model's own settings."""
    return {name: config[name] for name in SETTINGS if config[name] is not None}


@quiet_when_unread()
def command() -> None:
    """Run the command as the console script does."""
    if cli.asks_for_plan(sys.argv[1:]):
        from fairlab.run.planned import print_plan

        print_plan("evaluate", rehearse_evaluation)
        return
    cli.run(main, "evaluate")


if __name__ == "__main__":
    command()
