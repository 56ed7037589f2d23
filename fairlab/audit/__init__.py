"""``python -m fairlab.audit``: test whether your classifier treats groups of people alike.

The audit rewrites people in labelled texts, and compares the effect with a control in which the same number of other
words is changed. It also compares error rates between groups. If prompts are given, it audits a model that generates
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hydra
from omegaconf import DictConfig

from fairlab.record import Record
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.build import plain
from fairlab.run.job import job
from fairlab.types import FairlabError

QUESTION = "Is my model biased, beyond chance?"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="audit")
def main(config: DictConfig) -> None:
    """Run the audit as Hydra's entry point."""
    with cli.one_sentence():
        job("audit", config)


def work(config: DictConfig, record: Record) -> None:
    """Audit the models on the dataset, and write the record and the report."""
    from fairlab.audit.running import Settings, audit_models
    from fairlab.benchmarks.stages import stage
    from fairlab.data.stream.manifest import dataset_facts
    from fairlab.reporting.report import write_report
    from fairlab.run.environment import environment

    values = plain(config)
    if values["prompts"] is not None:
        _writing(values, record)
        return
    if values["dataset"] is None:
        raise FairlabError("dataset has no value; give dataset=FILE, or prompts=FILE for a model that writes")
    settings = Settings(**{name: values[name] for name in vars(Settings()) if name in values})
    record.provenance |= environment() | {"data": dataset_facts(config.dataset)}
    audit_models(named_models(values["model"]), str(config.dataset), settings, record)
    record.status = "finished"
    with stage(record, "report"):
        write_report(record)


def _writing(values: Mapping[str, Any], record: Record) -> None:
    """Audit a model that generates texts from prompts, and write the record and the report."""
    from fairlab.audit.writing import audit_writing, writing_settings
    from fairlab.distributed import device
    from fairlab.reporting.report import write_report
    from fairlab.run.config.backbone_nodes import backbone_node, model_facts
    from fairlab.run.config.build import build, built
    from fairlab.run.config.composing import composing
    from fairlab.run.environment import environment

    with composing():
        node = backbone_node(str(values["model"]), {}, values["llm"])
        model = build(node).to(device())
    record.provenance |= environment() | {"weights": model_facts(node)}
    scorer = built(values["scorer"])
    audit_writing(model, values["prompts"], writing_settings(values), scorer, values["output"], record)
    record.status = "finished"
    write_report(record)


def named_models(given: Any) -> dict[str, Any]:
    """Return models by label.

    Args:
        given: Model, which gets an empty label; list of names, which are the labels; or mapping from labels to models.
    """
    if isinstance(given, Mapping):
        return {str(label): model for label, model in given.items()}
    if isinstance(given, list):
        return {str(model): model for model in given}
    return {"": given}


@quiet_when_unread()
def command() -> None:
    """Run the console script."""
    cli.run(main, "audit")
