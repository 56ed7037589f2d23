"""Construction of augmentations and rewriters from the configuration of ``fairlab.augment``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from fairlab.checks.values import target_of
from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.protocols import Plan
from fairlab.record import Record
from fairlab.run.config.build import build, build_with_some, parameters_of


class PlanOfRun:
    """Base class of plans."""

    def __init__(self, values: dict[str, Any], read: Callable[[], Iterator[Any]], record: Record) -> None:
        self.values, self.read, self.record = values, read, record

    def made_by(self) -> dict[str, Any]:
        """Return the settings of the augmentation for the manifest, including its identities or lexicons."""
        return target_of(self.values["augmentation"]).made_by(self.values)


def augment_lexicon(config: Mapping[str, Any]) -> Lexicon:
    """Return the lexicon of the configured axis, limited to the configured attributes if there are any."""
    lexicon = load_lexicon(config["axis"])
    return lexicon.only(config["attributes"]) if config["attributes"] is not None else lexicon


def build_rewriter(config: Mapping[str, Any], llm: Any, **settings: Any) -> Any:
    """Build the configured rewriter, or return None if none is configured.

    ``settings`` are values that cannot be in a configuration, such as the examples found by prompt search.
    """
    if not config["rewriter"]:
        return None
    whole = load_lexicon(config["axis"])
    objects = {"lexicon": augment_lexicon(config), "whole": whole, "llm": llm, "seed": config["seed"], **settings}
    return build_with_some(*_with_language_model(config["rewriter"], objects))


def build_llm(config: Mapping[str, Any]) -> Any:
    """Build the configured language model, or return None if none is configured."""
    return build(config["llm"]) if config["llm"] else None


def build_augmentation(config: Mapping[str, Any], examples: Sequence[Mapping[str, str]] | None = None) -> Any:
    """Build a row augmentation, with the examples that a prompt search found for the rewriter's prompt, if any.

    This function is called in each worker process.
    """
    llm = build_llm(config)
    found = {} if examples is None else {"examples": examples}
    rewriter = build_rewriter(config, llm, **found)
    objects = {"rewriter": rewriter, "llm": llm, "seed": config["seed"]}
    return build_with_some(*_with_language_model(config["augmentation"], objects))


def _with_language_model(node: Mapping[str, Any], objects: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Build a node's scoring model (``language_model``), if it has one, and move it from the node to the objects."""
    rest, built = dict(node), dict(objects)
    if rest.get("language_model"):
        built["language_model"] = build(dict(rest.pop("language_model")))
    return rest, built


def build_perturbation(config: Mapping[str, Any]) -> Any:
    """Build the configured perturbation with its rewriter.

    This function is called in each worker process. A rewriter that takes a lexicon is built once per axis, and any
    other rewriter only once.
    """
    from fairlab.rewriting.word_rewriters import ByAxis

    node = config["rewriter"]
    if not node:
        return _perturbation(config)
    objects = {"llm": build_llm(config), "seed": config["seed"]}
    if "lexicon" in parameters_of(node):
        lexicons = [load_lexicon(axis) for axis in config["augmentation"]["axes"]]
        of_axis = {one.axis: build_with_some(node, objects | {"lexicon": one}) for one in lexicons}
        return _perturbation(config, rewriter=ByAxis(of_axis))
    return _perturbation(config, rewriter=build_with_some(node, objects))


def build_choosing(config: Mapping[str, Any], weights: Mapping[str, float]) -> Any:
    """Build the object that draws words and target attributes for a perturbation, but no rewriter."""
    from fairlab.augmentation.perturbation import Choosing

    return Choosing(_perturbation(config), weights)


def _perturbation(config: Mapping[str, Any], **objects: Any) -> Any:
    return build(config["augmentation"], seed=config["seed"], **objects)


def plan_of(config: Mapping[str, Any]) -> Callable[..., Plan]:
    """Return the class of the plan named by the configured augmentation."""
    plan: Callable[..., Plan] = resolve_name(target_of(config["augmentation"]).plan)
    return plan


def build_applied(config: Mapping[str, Any]) -> Any:
    """Build the augmentation that is applied to training data while it is read."""
    from fairlab.augmentation.perturbation import Perturbation

    if issubclass(target_of(config["augmentation"]), Perturbation):
        return build_perturbation(config)
    return build_augmentation(config)
