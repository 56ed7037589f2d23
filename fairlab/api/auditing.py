"""Audit of the user's own classifier, or of a model that writes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from fairlab.api.arguments import checked
from fairlab.api.loading import load, model_name
from fairlab.api.results import Results
from fairlab.audit.answer import AuditAnswer
from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.classifiers import as_classifier
from fairlab.audit.running import Settings, audit_models
from fairlab.audit.writing import audit_writing, writing_settings
from fairlab.checks.values import faults
from fairlab.record import Record
from fairlab.run.config.build import built, plain
from fairlab.run.config.composing import composed
from fairlab.run.config.schema import keys_of, refuse_misfits
from fairlab.run.environment import environment
from fairlab.types import FairlabError

OF_WRITING = ("temperature", "max_tokens", "system", "scorer", "output", "mode", "limit", "seed", "name")


@checked
def audit(
    model: Any,
    data: Any = None,
    field: str | Sequence[str] = "text",
    label: str | Sequence[str] = "label",
    group: str | Sequence[str] | None = None,
    axis: str | Sequence[str] = ("gender",),
    labels: Sequence[str] | None = None,
    prompts: Any = None,
    **settings: Any,
) -> Audited:
    """Test whether a classifier, or a model that writes, treats people alike, as ``fairlab audit`` does.

    Args:
        model: Classifier: folder, hub name, address or ``MODULE:NAME`` as on the command line, a pair of a transformers
            model and its tokenizer or a transformers pipeline, a scikit-learn pipeline, or a function from a list of
            texts to probabilities; or several by label, which are compared with the first. With ``prompts``, a model
            that writes, as :func:`fairlab.load` takes or returns it.
        data: File of labelled texts, DataFrame, or list of rows by column; None if ``prompts`` is given.
        field: Column of the text or prompt, or two columns for pairs of texts.
        label: Column of the label or score, or a column of 0 and 1 per label for several labels at once.
        group: Column of groups, or several columns; None uses the groups that the lexicons find.
        axis: Axes along which people change.
        labels: Names of the model's labels as the data writes them, in the order of its outputs; None takes its own,
            and an empty list is for a model of scores.
        prompts: File of prompts, one per line or row, or rows by column, for an audit of what a model writes. Only
            ``field`` and ``axis`` are then used of the arguments above.
        settings: ``threshold``, ``margin``, ``sheet``, ``mend``, ``fit``, ``keep``, ``mode``, ``limit``, ``seed``
            and ``name``, as in ``conf/audit.yaml``; with ``prompts``: ``temperature``, ``max_tokens``, ``system``,
            ``scorer`` (of sentiment, an object), ``output``, ``mode``, ``limit``, ``seed`` and ``name``.

    Raises:
        FairlabError: If the data, the model or a setting does not fit.

    Example:
        >>> import fairlab
        >>> rows = [{"text": f"{who} sings song {k}.", "label": k % 2} for k in range(40) for who in ("He", "She")]
        >>> found = fairlab.audit(lambda texts: [float("He " in text) for text in texts], rows, mode="lexical")
        >>> found["audit/gender/flips"] > 50
        True
    """
    axes = [axis] if isinstance(axis, str) else list(axis)
    if prompts is not None:
        if data is not None:
            raise FairlabError("data is for a classifier, and prompts for a model that writes; leave one of them out")
        return _audit_prompts(model, prompts, {"field": field, "axis": axes}, settings)
    _refuse_unknown(settings, {*vars(Settings()), "name"} - {"field", "label", "group", "axis", "labels"})
    name = settings.pop("name", None)
    chosen = Settings(field, label, group, axes, labels, **settings)
    types = keys_of("audit")
    given = {key: value for key, value in {**vars(chosen), "name": name}.items() if key != "fit"}  # here it may be rows
    for fault in chain.from_iterable(faults(key, value, types[key]) for key, value in given.items()):
        raise FairlabError(fault)
    models = dict(model) if isinstance(model, Mapping) else {"": model}
    if not models:
        raise FairlabError("no model was given; give a classifier")
    found = {name: as_audited(one) for name, one in models.items()}
    kept = tempfile.TemporaryDirectory(prefix="fairlab-")
    config = {**vars(chosen), "axis": axes, "labels": labels and list(labels), "dataset": _where(data)}
    config["name"] = name
    config["fit"] = None if chosen.fit is None else _where(chosen.fit)
    config["model"] = {name: one.name for name, one in found.items()} if "" not in found else found[""].name
    record = Record(Path(kept.name), config, "fairlab.audit in Python")
    record.provenance |= environment()
    audited = audit_models(found, data, chosen, record)
    record.status = "finished"
    record.save()
    return Audited(record, kept, audited)


def _audit_prompts(model: Any, prompts: Any, columns: dict[str, Any], settings: dict[str, Any]) -> Audited:
    """Audit what a model writes, with the settings of ``conf/audit.yaml`` where none is given."""
    _refuse_unknown(settings, set(OF_WRITING))
    scorer = settings.pop("scorer", None)
    given = {"model": model_name(model), "prompts": _where(prompts), **columns, **settings}
    config = composed("audit", [], given)
    refuse_misfits("audit", config, [f"{key}=" for key in given])
    values = plain(config)
    kept = tempfile.TemporaryDirectory(prefix="fairlab-")
    record = Record(Path(kept.name), values, "fairlab.audit in Python")
    record.provenance |= environment()
    rater = built(values["scorer"]) if scorer is None else scorer
    output = values["output"] if scorer is None else settings.get("output")
    audit_writing(load(model), prompts, writing_settings(values), rater, output, record)
    record.status = "finished"
    record.save()
    return Audited(record, kept)


def _refuse_unknown(settings: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(set(settings) - known):
        raise FairlabError(f"there is no setting '{unknown[0]}' of an audit; there are: {', '.join(sorted(known))}")


@dataclass(frozen=True)
class Audited(Results):
    """Results of an audit, with its answer.

    Attributes:
        models: Audited classifiers by label, which may be audited again. ``mended`` is the classifier that ``mend``
            made. Empty for a model that writes.
    """

    models: dict[str, AnyClassifier] = field(default_factory=dict, repr=False)

    @property
    def answers(self) -> dict[str, AuditAnswer]:
        """Return for each model whether it treats people alike; a single model has an empty label."""
        return {label: AuditAnswer(**one) for label, one in self.record.provenance["answers"].items()}

    @property
    def sentence(self) -> str:
        """Return the answers, one line per model."""
        return "\n".join(f"{label}: {one.sentence}" if label else one.sentence for label, one in self.answers.items())


def _where(data: Any) -> str:
    return str(data) if isinstance(data, str | Path) else f"this {type(data).__name__}"


def as_audited(model: Any) -> AnyClassifier:
    """Return a model of any kind as a classifier; transformers objects are loaded first."""
    if hasattr(model, "model") and hasattr(model, "tokenizer") and not hasattr(model, "is_cut"):
        model = (model.model, model.tokenizer)
    if isinstance(model, tuple):
        backbone = load(model)
        backbone.__dict__["name"] = model_name(model)
        return as_classifier(backbone)
    return as_classifier(model)
