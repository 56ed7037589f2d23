"""Conversion of any classifier to a function from texts to probabilities or scores.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields, Kind
from fairlab.audit.endpoints import load_endpoint
from fairlab.audit.mending import split_rule, with_rule
from fairlab.checks.foreign import error_text
from fairlab.llm.urls import is_address
from fairlab.text.labels import as_written
from fairlab.types import FairlabError

Array = NDArray[np.float64]
PICKLES = (".joblib", ".pkl", ".pickle")
SKOPS = ".skops"
AT_ONCE = 256  # texts that an exported ensemble scores at once


def as_classifier(model: Any, llm: Mapping[str, Any] | None = None) -> AnyClassifier:
    """Convert any model that classifies or scores texts to a function with labels.

    Args:
        model: Folder or hub name of a transformers classifier, folder of a run or of an exported ensemble, address of
            an endpoint (:mod:`fairlab.audit.endpoints`), ``MODULE:NAME`` of an object in a Python module, or any of
            these followed by ``@`` and a ``mended.json`` or its folder; or an object: a scikit-learn pipeline, or a
            function from a list of texts to probabilities. A function receives a text with several fields as a tuple; a
            pipeline receives the fields joined by a space.
        llm: Settings of an endpoint's connection, as in :func:`~fairlab.audit.endpoints.load_endpoint`.

    Raises:
        FairlabError: The model is of another kind, or cannot be loaded.
    """
    if isinstance(model, AnyClassifier):
        return model
    if isinstance(model, str | Path):
        return _named(str(model), llm)
    if hasattr(model, "predict_proba") or hasattr(model, "predict"):
        return _pipeline(model)
    if hasattr(model, "is_cut"):  # a Backbone, whose class takes seconds to import
        return _transformer(model, model.name)
    if callable(model):
        name = f"the function {getattr(model, '__name__', type(model).__name__)}"
        return AnyClassifier(name, lambda texts: model([one[0] if len(one) == 1 else tuple(one) for one in texts]))
    raise FairlabError(
        f"a {type(model).__name__} is not a classifier; give a folder or hub name, a scikit-learn pipeline or a "
        "function from texts to probabilities"
    )


def _named(name: str, llm: Mapping[str, Any] | None) -> AnyClassifier:
    from fairlab.methods.safety_ensemble.exported.trust import DESCRIPTION
    from fairlab.run.exported_ensemble import model_folder

    if name.endswith(PICKLES):
        raise FairlabError(
            f"{name} is a pickle, which runs code when it is read, so fairlab does not open it; write a file "
            f"mine.py with the lines 'import joblib' and 'model = joblib.load({name!r})', and give model=mine:model"
        )
    if name.endswith(SKOPS):
        raise FairlabError(
            f"{name} contains scikit-learn objects, and only you can decide which to trust; load it with skops in a "
            "Python module of your own and give model=MODULE:NAME"
        )
    base, rule = split_rule(name)
    if rule is not None:
        return with_rule(as_classifier(base, llm), rule)
    if is_address(name):
        return load_endpoint(name, llm)
    if Path(name).is_dir() and (model_folder(Path(name)) / DESCRIPTION).is_file():
        return _ensemble(name)
    module, colon, attribute = name.partition(":")
    if colon and not Path(name).exists() and attribute.isidentifier():
        return _of_module(module, attribute, name)
    return _loaded(name)


def _of_module(module: str, attribute: str, name: str) -> AnyClassifier:
    """Import an object from the user's own module, which may be in the working directory, and convert it."""
    import sys

    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:
        raise FairlabError(
            f"model={name} cannot be imported ({type(error).__name__}: {error_text(error)}); give MODULE:NAME of a "
            "Python module in the working directory"
        ) from error
    return as_classifier(found)


def _loaded(name: str) -> AnyClassifier:
    """Load a transformers classifier from a folder, a run or the hub.

    It reads as many tokens as in its own pipeline; the classifier of a run reads as many as in its training.
    """
    from fairlab.backbones.tokenizers import UNLIMITED
    from fairlab.distributed import device
    from fairlab.run.config.backbone_nodes import backbone_node
    from fairlab.run.config.build import build
    from fairlab.run.config.composing import composing

    with composing():
        node = backbone_node(name, {})
        if "longest" in node:
            node.longest = UNLIMITED
        return replace(_transformer(build(node).to(device()), name), weights=name)


def _transformer(backbone: Any, name: str) -> AnyClassifier:
    """Wrap a transformers classifier.

    Its configuration determines whether softmax or sigmoid is applied.
    """
    from scipy.special import expit, softmax

    from fairlab.backbones.classification import Classifier

    config = backbone.model.config
    labels = tuple(str(label) for _, label in sorted((getattr(config, "id2label", None) or {}).items()))
    classifier = Classifier(backbone, labels)
    several = getattr(config, "problem_type", None) == "multi_label_classification"
    kind: Kind = "score" if len(labels) == 1 and not several else "several" if several else "one"

    def call(texts: Sequence[Fields]) -> Array:
        if any(len(fields) > 2 for fields in texts):
            raise FairlabError("a transformers classifier reads one text or a pair; give one or two fields")
        pairs = [(fields[0], fields[1] if len(fields) > 1 else None) for fields in texts]
        outputs = classifier.outputs(pairs, progress="classifying").astype(np.float64)
        if kind == "score":
            return outputs
        return np.asarray(expit(outputs) if several else softmax(outputs, axis=1))

    return AnyClassifier(name, call, () if kind == "score" else labels, kind)


def _pipeline(model: Any) -> AnyClassifier:
    """Wrap a scikit-learn pipeline: ``predict_proba`` of a classifier, or ``predict`` of a regressor."""
    name = f"this {type(model).__name__}"
    if not hasattr(model, "predict_proba"):
        if hasattr(model, "classes_"):
            raise FairlabError(
                f"{name} returns no probabilities; wrap its last step in CalibratedClassifierCV, or fit one with "
                "predict_proba"
            )
        return AnyClassifier(name, lambda texts: model.predict([" ".join(fields) for fields in texts]), kind="score")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    listed = getattr(last, "classes_", None)  # a list of arrays if there is one classifier per column
    columns = getattr(last, "multilabel_", False) or (isinstance(listed, list) and bool(np.ndim(listed[0])))
    classes = () if columns else tuple(as_written(label) for label in getattr(model, "classes_", ()))

    def call(texts: Sequence[Fields]) -> Any:
        found = model.predict_proba([" ".join(fields) for fields in texts])
        return np.stack([one[:, -1] for one in found], axis=1) if isinstance(found, list) else found

    return AnyClassifier(name, call, classes, "several" if columns else None)


def _ensemble(folder: str) -> AnyClassifier:
    """Load an exported safety ensemble, whose labels are harms."""
    from fairlab.run.exported_ensemble import load_columns, model_folder

    columns = load_columns(str(model_folder(Path(folder))), None, {})
    harms = tuple(columns.ensemble.models)

    def call(texts: Sequence[Fields]) -> Array:
        rows = columns([" ".join(fields) for fields in texts])
        return np.array([[row[harm] if row[harm] is not None else np.nan for harm in harms] for row in rows])

    thresholds = tuple(columns.ensemble.thresholds.items())
    return AnyClassifier(folder, call, harms, "several", thresholds, at_once=AT_ONCE)
