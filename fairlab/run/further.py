"""Chained methods: each method in ``then`` is applied to the output of the previous methods in the same run.

``then=[inlp]`` uses the settings in the method's file; ``then=[{ccd_linear: {lean: 1}}]`` overrides some of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from fairlab.checks.values import TARGET, target_of
from fairlab.run.command_line import cli
from fairlab.run.config.build import build, plain
from fairlab.run.config.composing import composed
from fairlab.types import FairlabError

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.methods.base import Fitted


def further_methods(config: DictConfig, encoder: Any, data: Any) -> list[Fitted]:
    """Build the methods in ``then`` before training, with the settings in their files at the scale of the run.

    Raises:
        FairlabError: A method does not exist, lacks a setting or trains in steps, or the data does not consist of
            counterfactual groups.
    """
    if not config.get("then"):
        return []

    from fairlab.data.counterfactual import groups_of
    from fairlab.methods.base import Fitted

    found = []
    for name, changed in map(_name_and_settings, plain(config)["then"]):
        settings = method_settings(name, config.scale.name)
        if unknown := changed.keys() - settings.keys():
            known = ", ".join(key for key in settings if key != TARGET)
            raise FairlabError(f"then={name} has no setting {min(unknown)}; there are {known}")
        if not issubclass(target_of(settings), Fitted):
            raise FairlabError(
                f"then={name} cannot follow another method, because it trains in steps; give it as method="
            )
        groups_of(data)
        found.append(build({**settings, **changed}, encoder, seed=config.seed))
    return found


def _name_and_settings(one: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the settings of an entry of ``then``."""
    if not isinstance(one, Mapping):
        return str(one), {}
    if len(one) != 1 or not isinstance(next(iter(one.values())), Mapping):
        raise FairlabError(f"then must list methods such as inlp or {{ccd_linear: {{lean: 1}}}}, not {dict(one)}")
    ((name, settings),) = one.items()
    return str(name), settings


def facts_after_fitting(methods: Sequence[Fitted], data: Any) -> dict[str, object]:
    """Fit each method to the output of the previous ones, and return the facts of all under the key ``then``."""
    facts = []
    for method in methods:
        method.fit(data)
        facts.append(method.facts())
    return {"then": facts} if facts else {}


def method_settings(name: str, scale: str) -> dict[str, Any]:
    """Return the settings in a method's file at the given scale.

    Raises:
        FairlabError: The method's file does not exist.
    """
    if name not in (known := cli.choices("method")):
        raise FairlabError(f"then={name} names no method; there are {', '.join(known)}")
    return plain(composed("train", [f"method={name}", f"scale={scale}"], {}).method)
