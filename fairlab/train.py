"""``python -m fairlab.train``: measure a backbone, train it with a method, measure it again, and write the record."""

from __future__ import annotations

import inspect
import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from fairlab.backbones.loading import WEIGHTS, weights_facts
from fairlab.benchmarks.runner import add, measure, take
from fairlab.distributed import rank
from fairlab.files import sha256
from fairlab.record import Note, Record, environment
from fairlab.run import cli
from fairlab.run.build import build
from fairlab.run.job import job, refuse_changed_inputs
from fairlab.run.loggers import finish_loggers
from fairlab.run.trainer import decoder_is_tied, fit, make_trainer, throughput
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch, Lightning and transformers are imported where they are used: --help answers at once
    from fairlab.backbones.backbone import Backbone
    from fairlab.data.counterfactual import CounterfactualData


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="train")
def main(config: DictConfig) -> None:
    """Hydra's entry: one run, or one job of a sweep."""
    with cli.one_sentence():
        job("train", config, train)


def train(config: DictConfig, record: Record) -> None:
    """The run itself: before, fit, after, export, report; everything measured goes into ``record`` at once."""
    if not config.get("backbone"):
        train_ensemble(config, record)
        return
    print(announcement(config))
    encoder = build(config.backbone)  # first, so that missing weights are said within seconds

    from lightning import seed_everything

    from fairlab.backbones.export import export_backbone
    from fairlab.reporting.card import model_card
    from fairlab.reporting.report import write_report
    from fairlab.run.checkpoints import History

    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=r".*LeafSpec.*deprecated|Found \d+ module\(s\) in eval mode")
    # Values are the whole batch's when they are logged.
    warnings.filterwarnings("ignore", message=r"It is recommended to use `self.log\(.*sync_dist=True")
    # Our loaders pass over the batches that are done; Lightning looks for a loader with a state of its own.
    warnings.filterwarnings("ignore", message="You're resuming from a checkpoint that ended before the epoch ended")
    seed_everything(config.seed, workers=True, verbose=False)
    benchmarks = [build(benchmark) for benchmark in config.benchmark.values()]
    method = build_method(config, encoder)
    augmentation = build_augmentation_in_training(config.augmentation) if config.augmentation else None
    data = build(config.data, encoder=encoder, epochs=method.epochs, seed=config.seed, augmentation=augmentation)
    inputs = {"data": data.facts(), "weights": weights_facts(config.backbone)}
    refuse_changed_inputs(record, inputs)
    record.provenance |= environment() | inputs
    if hasattr(data, "write"):
        data.write(record.folder)

    untrained = encoder.digest()
    history = History()
    trainer = make_trainer(config, record, history, encoder, method, data.total_batches)
    encoder.to(trainer.strategy.root_device)
    _measure_groups(data, record)
    if config.before is not None:
        take("before", Path(config.before), record)
    if config.measure_before:
        measure(benchmarks, encoder, "before", record)
    fit(trainer, method, data, record, history)
    facts = method.facts()
    if hasattr(method, "finish"):
        method.finish(record.folder)
    record.provenance |= {
        "method": facts,
        "decoder_tied_to_embeddings": decoder_is_tied(encoder),
        "throughput": throughput(data, history),
    }
    encoder.to(trainer.strategy.root_device)
    measure(benchmarks, encoder, "after", record, earlier="before" if config.measure_before else None)
    if rank():
        return
    export_backbone(encoder, record.folder / "model", model_card(record))
    record.provenance["model_sha256"] = sha256(record.folder / "model" / WEIGHTS)
    if encoder.digest() == untrained:
        text = "the trained weights equal the original ones: nothing was learned, and after repeats before"
        record.notes.append(Note("training", text))
    record.status = "finished"
    write_report(record)
    record.save()
    finish_loggers(trainer.loggers, record, trainer.global_step)


def build_method(config: DictConfig, encoder: Backbone) -> Any:
    """The method, with the debiasing of its loss where one was chosen.

    Raises:
        FairlabError: the method trains no classifier.
    """
    if not config.debiasing:
        return build(config.method, encoder, seed=config.seed)
    if "debiasing" not in inspect.signature(get_object(config.method["_target_"])).parameters:
        raise FairlabError("debiasing= is of classifiers; choose it with +experiment=razor_fever, razor_nli or glue")
    return build(config.method, encoder, seed=config.seed, debiasing=build(config.debiasing))


def train_ensemble(config: DictConfig, record: Record) -> None:
    """The run of a method without a backbone, whose models stand on the scores of source classifiers.

    Its baseline is measured as ``before`` and what it makes of it as ``after``.
    """
    from fairlab.reporting.report import write_report

    if not config.get("source"):
        raise FairlabError("the ensemble needs source classifiers; give source=[NAME,NAME]")
    sources = [build(source) for source in config.source.values()]
    method = build(config.method, sources, seed=config.seed)
    augmentation = build(config.augmentation) if config.augmentation else None
    data = build(config.data, seed=config.seed, augmentation=augmentation)
    benchmarks = [build(benchmark) for benchmark in config.benchmark.values()]
    inputs = {"data": data.facts(), "sources": method.sources.facts()}
    refuse_changed_inputs(record, inputs)
    record.provenance |= environment() | inputs
    print(f"{inputs['data']['trained_on']}, {len(method.sources.features)} scores of {len(sources)} sources")
    method.fit(data)
    record.provenance["method"] = method.facts()
    for phase, earlier in (("before", None), ("after", "before")):
        measure(benchmarks, method.judged[phase], phase, record, earlier=earlier)
    method.finish(record.folder)
    OmegaConf.save(config.source, record.folder / "model" / "sources.yaml", resolve=True)
    record.status = "finished"
    write_report(record)


def build_augmentation_in_training(node: DictConfig) -> Any:
    """The augmentation that training applies to its data.

    Raises:
        FairlabError: it needs a rewriter, as only ``fairlab.augment`` builds it.
    """
    parameters = inspect.signature(get_object(node["_target_"])).parameters.values()
    if any(parameter.default is parameter.empty and parameter.name not in node for parameter in parameters):
        raise FairlabError(
            "this augmentation makes groups of texts, not of groups; run python -m fairlab.augment +augmentation=NAME "
            "input=FILE output=DIR, then train with data.path=DIR"
        )
    return build(node)


def announcement(config: DictConfig) -> str:
    """The run's first line: its scale, and what stands in for what."""
    backbone = config.backbone
    stand_in = f", standing in for {backbone.stands_for}; scale=paper trains that one" if backbone.stands_for else ""
    adapters = f" with the adapters {backbone.adapters}" if backbone.get("adapters") else ""
    return f"{config.scale.name} scale: the backbone is {backbone.name}{adapters}{stand_in}"


def _measure_groups(data: CounterfactualData, record: Record) -> None:
    """Polarity of the training groups, once; other data has none."""
    from fairlab.benchmarks.polarity import measure_polarity
    from fairlab.data.counterfactual import CounterfactualData

    if isinstance(data, CounterfactualData):
        add(measure_polarity(data.groups["train"], "train"), "data", record)


def command() -> None:
    """The console script's entry."""
    cli.run(main, "train")


if __name__ == "__main__":
    command()
