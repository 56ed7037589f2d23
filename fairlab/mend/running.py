"""Debiasing of any model: checks of the arguments, and choice of the procedure by the kind of model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from fairlab.audit.running import Settings
from fairlab.checks.escapes import print_escaped
from fairlab.checks.values import faults, nearest_known
from fairlab.mend.classifier import WAYS, ClassifierWish, mend_classifier
from fairlab.mend.encoder import GENDER, METHODS, OF_GENDER, Wish, mend_encoder
from fairlab.mend.judging import price_of
from fairlab.mend.outcome import MendOutcome
from fairlab.run.folders import OUTPUTS
from fairlab.types import Count, FairlabError, Seed, Texts

PRICE = "stsb:-0.5"  # for an encoder: largest fall of STS-B's correlation, times 100
KEYS: dict[str, Any] = {
    "axis": str | Texts,
    "keep": str | None,
    "methods": Texts | None,
    "limit": Count | None,
    "name": str | int | None,
    "seed": Seed | None,
    "output": str | Path | None,
    "scale": Literal["quickstart", "paper"],
}
OF_ENCODERS: dict[str, Any] = {"groups": str | None, "benchmarks": Texts | None}
OF_CLASSIFIERS: dict[str, Any] = {
    "field": str | Texts,
    "label": str | Texts,
    "group": str | Texts | None,
    "labels": Sequence[str | int] | None,
    "mode": Literal["syntax", "lexical"],
}


def mend_model(model: Any, given: Mapping[str, Any], data: Any = None) -> MendOutcome:
    """Debias an encoder or, with labelled ``data``, a classifier, and write the result to a folder.

    A killed run is resumed if its folder is given as ``output`` with the same settings.

    Args:
        model: Name or folder of an encoder; or a classifier, in any form that :func:`fairlab.audit` accepts.
        given: Settings by name: the settings in ``KEYS`` and the settings for the kind of model.
        data: Labelled rows for a classifier, or None for an encoder.

    Raises:
        FairlabError: A setting does not exist or does not fit, or :func:`mend_encoder` or :func:`mend_classifier`
            fails.
    """
    values = {name: value for name, value in given.items() if value is not None}
    known = KEYS | (OF_ENCODERS if data is None else OF_CLASSIFIERS)
    for name in values:
        if name not in known:
            raise FairlabError(_unknown(name, known, data is None))
    for sentence in chain.from_iterable(faults(name, value, known[name]) for name, value in values.items()):
        raise FairlabError(sentence)
    if "output" not in values:
        values["output"] = OUTPUTS / "mend" / time.strftime("%Y-%m-%d_%H-%M-%S")
        print_escaped(f"writing to {values['output']}; if this is killed, output={values['output']} resumes it")
    folder = Path(values.pop("output"))
    if data is None:
        return mend_encoder(_encoder_wish(model, values), folder)
    return mend_classifier(_classifier_wish(model, data, values), folder)


def _unknown(name: str, known: Mapping[str, Any], is_encoder: bool) -> str:
    if is_encoder and name in OF_CLASSIFIERS:
        return f"{name} is for classifiers, which need data=FILE with labelled rows; give it, or leave {name} out"
    return f"there is no key '{name}'{nearest_known(name, list(known))}; there are: {', '.join(known)}"


def _encoder_wish(model: Any, values: dict[str, Any]) -> Wish:
    axis = values.pop("axis", GENDER)
    if not isinstance(axis, str):
        raise FairlabError(f"mend takes one axis for an encoder, not {', '.join(axis)}; give one")
    groups = values.pop("groups", OF_GENDER if axis == GENDER else None)
    if groups is None:
        raise FairlabError(
            f"axis={axis} needs groups=FILE, counterfactual groups to learn from, which "
            "fairlab.augment +augmentation=counterfactual_groups makes"
        )
    price = price_of(values.pop("keep", PRICE), PRICE.partition(":")[0])
    methods = tuple(values.pop("methods", METHODS))
    name = str(values.pop("name", ""))
    return Wish(str(model), axis, price, groups, methods, name=name, **values)


def _classifier_wish(model: Any, data: Any, values: dict[str, Any]) -> ClassifierWish:
    price = price_of(values.pop("keep", "accuracy:-2"), "accuracy")
    ways = values.pop("methods", WAYS)
    if other := [way for way in ways if way not in WAYS]:
        raise FairlabError(f"there is no method '{other[0]}' for a classifier; there are: {', '.join(WAYS)}")
    axes = values.pop("axis", (GENDER,))
    axes = [axes] if isinstance(axes, str) else list(axes)
    scale = values.pop("scale", "quickstart")
    name = str(values.pop("name", ""))
    return ClassifierWish(model, data, Settings(axis=axes, keep=-price.least, **values), price, ways, scale, name)
