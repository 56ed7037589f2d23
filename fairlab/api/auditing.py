"""Audit of a classifier or of a model that writes texts."""

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
from fairlab.audit.data import source_name
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
    """Test whether a classifier or a model that writes texts treats people alike, as ``fairlab audit`` does.

    Args:
        model: Classifier: a folder, hub name, address or ``MODULE:NAME`` as on the command line; a pair of a
            transformers model and its tokenizer; a transformers or scikit-learn pipeline; or a function from a list of
            texts to probabilities. Several classifiers are given as a dictionary by label, and are compared with the
            first one. With ``prompts``: a model that writes texts, in any form that :func:`fairlab.load` accepts or
            returns.
        data: File of labelled texts, DataFrame, or list of rows, each a dictionary by column name. None if ``prompts``
            is given.
        field: Name of the column with the text or prompt, or names of two columns for pairs of texts.
        label: Name of the column with the label or score. For multi-label data: names of one 0/1 column per label.
        group: Name of a column with groups, or names of several; None to use the groups that the lexicons find.
        axis: Axes along which the people in the texts are changed.
        labels: Names of the model's labels as spelled in the data, in the order of its outputs; None for the model's
            own names; an empty list if the model returns scores.
        prompts: File of prompts, one per line or row, or list of rows, for an audit of the texts that a model writes.
            Of the arguments above, only ``field`` and ``axis`` are used in this case.
        settings: Settings as in ``conf/audit.yaml``: ``threshold``, ``margin``, ``sheet``, ``mend``, ``fit``, ``keep``,
            ``mode``, ``limit``, ``seed``, ``name``, ``api_key_env``, ``question``, ``answers``, and ``llm`` as a
            dictionary. With ``prompts``: ``temperature``, ``max_tokens``, ``system``, ``scorer`` (an object that rates
            sentiment), ``output``, ``mode``, ``limit``, ``seed`` and ``name``.

    Raises:
        FairlabError: The data, the model or a setting is invalid.

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
    types = {**keys_of("audit"), "llm": Mapping[str, Any] | None}
    given = {key: value for key, value in {**vars(chosen), "name": name}.items() if key != "fit"}
    for fault in chain.from_iterable(faults(key, value, types[key]) for key, value in given.items()):
        raise FairlabError(fault)
    models = dict(model) if isinstance(model, Mapping) else {"": model}
    if not models:
        raise FairlabError("no model was given; give a classifier")
    found = {name: str(one) if isinstance(one, str | Path) else as_audited(one) for name, one in models.items()}
    kept = tempfile.TemporaryDirectory(prefix="fairlab-")
    config = {**vars(chosen), "axis": axes, "labels": labels and list(labels), "dataset": source_name(data)}
    config["name"] = name
    config["fit"] = None if chosen.fit is None else source_name(chosen.fit)
    names = {name: one if isinstance(one, str) else one.name for name, one in found.items()}
    config["model"] = names.get("", names)
    record = Record(Path(kept.name), config, "fairlab.audit in Python")
    record.provenance |= environment()
    audited = audit_models(found, data, chosen, record)
    record.status = "finished"
    record.save()
    return Audited(record, kept, audited)


def _audit_prompts(model: Any, prompts: Any, columns: dict[str, Any], settings: dict[str, Any]) -> Audited:
    """Audit the texts that a model writes. Settings that are not given have the values of ``conf/audit.yaml``."""
    _refuse_unknown(settings, set(OF_WRITING))
    scorer = settings.pop("scorer", None)
    given = {"model": model_name(model), "prompts": source_name(prompts), **columns, **settings}
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
    """Results of an audit, with the answer for each model.

    Attributes:
        models: Audited classifiers by label, which can be audited again. The label ``mended`` belongs to the classifier
            that ``mend`` created. Empty for a model that writes texts.
    """

    models: dict[str, AnyClassifier] = field(default_factory=dict, repr=False)

    @property
    def answers(self) -> dict[str, AuditAnswer]:
        """Return the answer for each model, by label: whether the model treats people alike.

        A single model has an empty label.
        """
        return {label: AuditAnswer(**one) for label, one in self.record.provenance["answers"].items()}

    @property
    def sentence(self) -> str:
        """Return the answers as text, with one line per model."""
        return "\n".join(f"{label}: {one.sentence}" if label else one.sentence for label, one in self.answers.items())


def as_audited(model: Any) -> AnyClassifier:
    """Convert a model of any kind to a classifier; transformers objects are loaded first, with their own length."""
    if hasattr(model, "model") and hasattr(model, "tokenizer") and not hasattr(model, "is_cut"):
        model = (model.model, model.tokenizer)
    if isinstance(model, tuple):
        from fairlab.backbones.tokenizers import UNLIMITED, readable_length

        network, tokenizer = model
        backbone = load(model, max_length=readable_length(network, tokenizer, None, model_name(model), UNLIMITED))
        backbone.__dict__["name"] = model_name(model)
        return as_classifier(backbone)
    return as_classifier(model)
