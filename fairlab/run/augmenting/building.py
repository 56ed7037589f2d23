"""Augmentations and rewriters from the configuration of fairlab.augment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairlab.checks.values import target_of
from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.protocols import Plan
from fairlab.run.config.build import build, build_with_some, named, parameters_of


def augment_lexicon(config: Mapping[str, Any]) -> Lexicon:
    """The lexicon of an augmenting configuration: of its axis, with the attributes it names."""
    lexicon = load_lexicon(config["axis"])
    return lexicon.only(config["attributes"]) if config["attributes"] is not None else lexicon


def build_rewriter(config: Mapping[str, Any], llm: Any, **settings: Any) -> Any:
    """The rewriter of an augmenting configuration; None where it names none.

    Args:
        config: as plain containers.
        llm: the language model, for a rewriter that asks one.
        settings: that no configuration holds, such as the examples that prompt search found.
    """
    if not config["rewriter"]:
        return None
    whole = load_lexicon(config["axis"])
    objects = {"lexicon": augment_lexicon(config), "whole": whole, "llm": llm, "seed": config["seed"], **settings}
    return build_with_some(*_with_language_model(config["rewriter"], objects))


def build_llm(config: Mapping[str, Any]) -> Any:
    """The language model of an augmenting configuration; None where it names none."""
    return build(config["llm"]) if config["llm"] else None


def build_augmentation(config: Mapping[str, Any], examples: Sequence[Mapping[str, str]] | None = None) -> Any:
    """The augmentation of rows that an augmenting configuration describes; every worker process calls it anew.

    Args:
        config: as plain containers.
        examples: of the rewriter's prompt, where a search has found some.
    """
    llm = build_llm(config)
    found = {} if examples is None else {"examples": examples}
    rewriter = build_rewriter(config, llm, **found)
    objects = {"rewriter": rewriter, "llm": llm, "seed": config["seed"]}
    return build_with_some(*_with_language_model(config["augmentation"], objects))


def _with_language_model(node: Mapping[str, Any], objects: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A node without the backbone it names, which is built and joins the objects; null is none."""
    rest, built = dict(node), dict(objects)
    if rest.get("language_model"):
        built["language_model"] = build(dict(rest.pop("language_model")))
    return rest, built


def build_perturbation(config: Mapping[str, Any]) -> Any:
    """The perturbation that an augmenting configuration describes, with its rewriter; every worker calls it anew.

    A rewriter of one axis is built for each, any other once.
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
    """What draws the choices of a perturbation, without its rewriter."""
    from fairlab.augmentation.perturbation import Choosing

    return Choosing(_perturbation(config), weights)


def _perturbation(config: Mapping[str, Any], **objects: Any) -> Any:
    return build(config["augmentation"], seed=config["seed"], **objects)


def plan_of(config: Mapping[str, Any]) -> Callable[..., Plan]:
    """The plan that an augmenting configuration's augmentation names."""
    plan: Callable[..., Plan] = named(target_of(config["augmentation"]).plan)
    return plan


def build_applied(config: Mapping[str, Any]) -> Any:
    """The augmentation that training data applies by itself, with its rewriter where it takes one.

    Args:
        config: of ``fairlab.augment``, as plain containers.
    """
    from fairlab.augmentation.perturbation import Perturbation

    if issubclass(target_of(config["augmentation"]), Perturbation):
        return build_perturbation(config)
    return build_augmentation(config)
