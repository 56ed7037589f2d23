"""``python -m fairlab.train``: measure a backbone, train it with a method, and measure it again."""

from __future__ import annotations

import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import MISSING, DictConfig, open_dict

from fairlab.benchmarks.runner import add, gate, measure, take
from fairlab.benchmarks.stages import LOADING, stage
from fairlab.checks.completeness import refuse_without, refuse_without_title
from fairlab.checks.escapes import print_escaped
from fairlab.checks.values import target_of
from fairlab.distributed import device, gather_over_ranks, rank, ranks
from fairlab.files import sha256
from fairlab.protocols import ChecksData, Method, Planned
from fairlab.record import TRAINING, Note, Record
from fairlab.run.augmenting.building import build_applied
from fairlab.run.augmenting.running import made_folder
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.build import build, build_benchmarks, build_with_some, parameters_of, plain
from fairlab.run.config.composing import composed, from_model
from fairlab.run.config.optimizing import set_optimizer
from fairlab.run.config.shortened import lowered, shortening_notes
from fairlab.run.environment import environment
from fairlab.run.folders import plain_config
from fairlab.run.further import facts_after_fitting, further_methods
from fairlab.run.job import job, process_count, refuse_changed_inputs
from fairlab.run.launch.processes import refuse_other_count
from fairlab.run.loggers import finish_loggers
from fairlab.run.pushing import push_model, refuse_push
from fairlab.run.starting import announce_backbone, starting_point
from fairlab.run.trainer import fit, make_trainer, parts_of_a_step, slow_precision, throughput
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import FairlabError

QUESTION = "What reduces the bias, and at what cost?"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="train")
def main(config: DictConfig) -> None:
    """Run one training run, or one job of a sweep, as Hydra's entry point."""
    with cli.one_sentence():
        job("train", from_model(config, HydraConfig.get().overrides.task), announce_backbone)


def work(config: DictConfig, record: Record) -> None:
    """Measure, train, measure again, export and report.

    Each result is added to ``record`` immediately.
    """
    config = lowered(config)
    with stage(record, LOADING):
        training = Training(config)

        from fairlab.benchmarks.axes import follow_axes
        from fairlab.reporting.report import write_report
        from fairlab.reporting.tables.marks import training_notes

        training.build_data()
        start, method, data, benchmarks = training.start, training.method, training.data, training.benchmarks
        inputs = {"data": data.facts(), "lexicon": lexicon_facts(config.axis), **start.facts()}
        refuse_changed_inputs(record, inputs)
        refuse_changed_step(record, training.parts_of_a_step)
        record.provenance |= environment() | inputs | {"parts_of_a_step": training.parts_of_a_step}
        data.write(record.folder)
        untrained = method.digest()
        trainer, history = training.make_trainer(record)
        print_escaped(start.announcement(inputs["data"], training.parts_of_a_step), *slow_precision(trainer))

    _measure_groups(data, record, config.axis)
    record.add_notes([*shortening_notes(config), *follow_axes(benchmarks, data)])
    trained_on = data.fingerprints()
    model: Any = start.on(trainer.strategy.root_device)
    gate(model, "before", record)
    training.take_before(record)
    if config.measure_before and method.measurable_before:
        measure(benchmarks, model, "before", record)
    with stage(record, "training"):
        fit(trainer, method, data, record, history)
        facts = method.facts() | facts_after_fitting(training.following, data)
        method.finish(record.folder)
    record.provenance |= {"method": facts, **start.facts_after(), "throughput": throughput(data, history)}
    start.on(trainer.strategy.root_device)
    if config.measure_before and not method.measurable_before:
        measure(benchmarks, method.measured("before"), "before", record)
    earlier = "before" if config.measure_before else None
    measure(benchmarks, method.measured("after"), "after", record, earlier=earlier, trained_on=trained_on)
    if rank():
        return
    record.add_notes([*training_notes(record), *_notes_of_weights(method.digest() == untrained)])
    with stage(record, "export"):
        export(method, start, trained_on, record)
    record.status = "finished"
    with stage(record, "report"):
        write_report(record)
    record.save()
    finish_loggers(trainer.loggers, record, trainer.global_step)
    if config.get("push"):
        push_model(record.folder / "model", config.push)


class Training:
    """Components of a training run, built in the order in which the run needs them.

    Attributes:
        start: Starting point of the run.
        benchmarks: Benchmarks to run.
        method: Training method, which holds the model.
        data: Training data; missing before :meth:`build_data`.
        parts_of_a_step: Number of parts per step; missing before :meth:`build_data`.
        following: Methods that follow the first one; missing before :meth:`build_data`.

    Raises:
        FairlabError: A component cannot be built.
    """

    def __init__(self, config: DictConfig) -> None:
        refuse_push(config.get("push"))
        self.config = config
        self.start = starting_point(config)  # first, so that missing weights are reported within seconds

        from lightning import seed_everything

        quieten()
        seed_everything(config.seed, workers=True, verbose=False)
        self.benchmarks = build_benchmarks(config)
        self.method = build_method(config, self.start.model)

    def build_data(self) -> None:
        """Build the training data, and the methods that follow the first one."""
        self.data, self.parts_of_a_step = build_data(self.config, self.start.model, self.method)
        if isinstance(self.method, ChecksData):
            self.method.check_data(self.data)
        self.following = further_methods(self.config, self.start.model, self.data)

    def make_trainer(self, record: Record) -> tuple[Any, Any]:
        """Return Lightning's trainer and the training history that it writes."""
        from fairlab.run.history import History

        history = History(record.folder / "checkpoints")
        model, method, data = self.start.model, self.method, self.data
        return make_trainer(self.config, record, history, model, method, data, self.parts_of_a_step), history

    def take_before(self, record: Record) -> None:
        """Copy the readings before training from the run named by ``before``, if there is one, to the record."""
        if self.config.before is not None:
            versions = {one.name: one.version for one in self.benchmarks}
            take("before", Path(self.config.before), record, versions)


def rehearse_training(config: DictConfig) -> None:
    """Build everything that :func:`work` builds before its first step, in a temporary folder; see ``dry_run``.

    Augmented data and prepared text are not written, and loggers are not started.

    Raises:
        FairlabError: Any error that would end the run before it trains.
    """
    config = lowered(config)
    refuse_other_count(process_count(config))
    training = Training(config)

    from fairlab.data.prepared import NAME as PREPARED

    with open_dict(config), tempfile.TemporaryDirectory() as folder:
        record = Record(Path(folder), plain_config(config), command="")
        training.take_before(record)
        if config.strict:
            gate(training.start.on(device()), "before", record)
        if augments_first(config):
            return
        if (prepared := config.data.get("prepared")) and not (Path(prepared) / PREPARED).is_file():
            config.data.prepared = None
        if config.logger:
            config.logger = config.callbacks = {}
        training.build_data()
        training.make_trainer(record)


def augments_first(config: DictConfig) -> bool:
    """Return whether the augmentation writes its output before training, instead of while the data is read."""
    applies = target_of(config.data).applies
    return bool(config.augmentation) and not issubclass(target_of(config.augmentation), applies)


def export(method: Any, start: Any, trained_on: Fingerprints | None, record: Record) -> None:
    """Write the trained model and the hashes of its training texts to the run folder."""
    record.provenance["model_sha256"] = sha256(method.export(record.folder / "model", start.card(record)))
    start.write(record)
    if trained_on is not None:
        trained_on.save(record.folder)


def lexicon_facts(axis: str) -> dict[str, str]:
    """Return the name and the SHA-256 of an axis's lexicon."""
    from fairlab.lexicons import load_lexicon

    return {"name": axis, "sha256": load_lexicon(axis).sha256}


def _notes_of_weights(equal: bool) -> list[Note]:
    text = "the trained weights equal the original ones: training had no effect, and after repeats before"
    return [Note(TRAINING, text)] if equal else []


def quieten() -> None:
    """Silence warnings from Lightning and torch about choices that fairlab makes deliberately."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=r".*LeafSpec.*deprecated|Found \d+ module\(s\) in eval mode")
    # Values are already reduced over the whole batch before they are logged.
    warnings.filterwarnings("ignore", message=r"It is recommended to use `self.log\(.*sync_dist=True")
    # Batches are made ahead in a thread.
    warnings.filterwarnings("ignore", message=r"The '\w+_dataloader' does not have many workers")
    # Our loaders skip finished batches; Lightning expects a loader with its own state.
    warnings.filterwarnings("ignore", message="You're resuming from a checkpoint that ended before the epoch ended")


def build_method(config: DictConfig, model: Any) -> Any:
    """Build the method with the configured debiasing of its loss, optimizer and schedule.

    Raises:
        FairlabError: The method lacks a member, or an optimizer was chosen for a method that does not train in steps.
    """
    debiasing = {"debiasing": build(config.debiasing)} if config.debiasing else {}
    method = build(config.method, model, seed=config.seed, **debiasing)
    refuse_incomplete(method)
    set_optimizer(config, method)
    return method


def refuse_incomplete(method: Any) -> None:
    """Raise an error if a method lacks a member that a run reads, or a text that describes its class."""
    here = "fairlab.methods.base"
    announced = [name for kind in type(method).__mro__ if kind.__module__ == here for name in kind.__annotations__]
    members = [*Method.__annotations__, *(name for name in vars(Method) if not name.startswith("_")), *announced]
    described = ("title", "limits", "citation")
    asked = [name for name in dict.fromkeys(members) if name not in described]
    refuse_without(method, asked, "method", f"{here}.Trained or Fitted")
    refuse_without_title(type(method), "method")


def build_data(config: DictConfig, model: Any, method: Any) -> tuple[Any, int]:
    """Return the training data with its augmentation, and the number of parts per step.

    If the data does not apply the augmentation itself, its rows are first augmented in a folder whose name is a hash of
    the content; an existing folder is reused.

    Raises:
        FairlabError: The augmentation does not suit the data.
    """
    settings, target = plain(config.data), target_of(config.data)
    workers = 0 if "num_workers" in parameters_of(settings) else settings.pop("num_workers", 0)
    parts = 1
    if "batch_size" in settings:
        parts = parts_of_a_step(settings["batch_size"], config.trainer.device_batch_size, ranks())
        settings["batch_size"] //= parts
    augmentation, objects = None, {"encoder": model, "epochs": method.epochs, "seed": config.seed}
    if config.augmentation:
        values, kind = augmenting(config), target_of(config.augmentation)
        rows = target.rows_to_augment(settings)
        if issubclass(kind, target.applies) and not settings.get("input"):
            augmentation = build_applied(values)
        elif issubclass(kind, Planned) and target.made_key and rows is not None:
            settings[target.made_key] = augment_on_rank_0(values | {"input": rows}, listed=target.made_key == "paths")
        else:
            raise FairlabError(
                f"augmentation={getattr(kind, 'name', kind.__name__)} does not work on {target.__name__}"
                + ("; give data.input=FILE, the texts to make groups from" if "input" in settings else "")
            )
    elif settings.get("input"):
        raise FairlabError("data.input is the input of an augmentation; also choose augmentation=NAME")
    data = build_with_some(settings, objects | {"augmentation": augmentation})
    set_workers(data, workers)
    return data, parts


def set_workers(data: Any, workers: int) -> None:
    """Set the number of processes that prefetch batches.

    Raises:
        FairlabError: The data does not prefetch batches, or has no attribute for the number of processes.
    """
    if hasattr(data, "num_workers"):
        data.num_workers = workers
    elif workers:
        raise FairlabError(f"{type(data).__name__} does not make batches in advance; omit data.num_workers")


def augmenting(config: DictConfig) -> dict[str, Any]:
    """Return the configuration of ``fairlab.augment`` for the augmentation of a training run, as plain containers.

    All other values, including the seed, are defaults of ``fairlab.augment``, so that runs that differ only in their
    seed share the output.
    """
    values, defaults = plain_config(config), plain_config(composed("augment", [], {}))
    chosen = ("augmentation", "rewriter", "llm", "axis", "attributes", "search", "biaser_set", "spacy")
    own = {key: values[key] for key in chosen if key in values}
    return {key: value for key, value in defaults.items() if value != MISSING} | own


def augment_on_rank_0(values: dict[str, Any], *, listed: bool) -> Any:
    """Run an augmentation in one process while the others wait; return its folder, in a list if ``listed``."""
    folder = str(made_folder(values)) if rank() == 0 else ""
    folder = gather_over_ranks(folder)[0]
    return [folder] if listed else folder


def refuse_changed_step(record: Record, parts: int) -> None:
    """Raise if a resumed run would split its steps into another number of parts, which changes its batches."""
    before = record.provenance.get("parts_of_a_step", parts)
    if before != parts:
        raise FairlabError(
            f"the run in {record.folder} splits every step into {before} parts and would now split it into {parts}; "
            "continue it with the same number of processes as before, or change trainer.device_batch_size accordingly"
        )


def _measure_groups(data: Any, record: Record, axis: str) -> None:
    """Record the polarity of the counterfactual training groups on ``axis``, with a note if groups have equal texts."""
    from fairlab.benchmarks.polarity import measure_polarity
    from fairlab.data.counterfactual import CounterfactualData
    from fairlab.data.equal_groups import equal_groups

    if isinstance(data, CounterfactualData):
        add(measure_polarity(data.groups["train"], "train", axis), "data", record)
        if said := equal_groups(data.groups["train"]):
            record.add_notes([Note(TRAINING, said, phase="after", mark="trained on equal groups")])


@quiet_when_unread()
def command() -> None:
    """Run the console script."""
    if cli.asks_for_plan(sys.argv[1:]):
        from fairlab.run.planned import print_plan

        print_plan("train", rehearse_training)
        return
    cli.run(main, "train")


if __name__ == "__main__":
    command()
