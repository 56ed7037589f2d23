"""Starting point of a run: a pretrained model, or the source classifiers of an ensemble."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from fairlab.backbones.hub import licence_in
from fairlab.backbones.loading import find_weights, weights_facts
from fairlab.checks.escapes import print_escaped
from fairlab.checks.values import TARGET
from fairlab.record import Record
from fairlab.run.config.backbone_nodes import LOAD
from fairlab.run.config.build import as_config, build, plain
from fairlab.types import FairlabError

IN_4_BITS = "fairlab.backbones.quantization.load_in_4_bits"  # loader used instead of LOAD


class Pretrained:
    """Starting point of a run that trains a backbone.

    Attributes:
        model: Backbone, which a method changes in place.
    """

    def __init__(self, config: DictConfig) -> None:
        self.config = config
        self.model = build(_loaded_as(config))

    def announcement(self, data: dict[str, Any], parts: int) -> str:
        """Return a sentence about the training data and the number of items per step."""
        size = self.config.data.get("batch_size")
        taken = f", accumulated from {parts} parts" if parts > 1 else ""
        return f"trained on {data['trained_on']}" + (f", {size:,} items per step{taken}" if size else "")

    def facts(self) -> dict[str, dict[str, Any]]:
        """Return the names and hashes of the weights."""
        return {"weights": weights_facts(self.config.backbone)}

    def facts_after(self) -> dict[str, Any]:
        """Return the fact that is known only after training: whether the output layer is tied."""
        return {"decoder_tied_to_embeddings": decoder_is_tied(self.model)}

    def on(self, device: Any) -> Any:
        """Return the model moved to ``device``."""
        return self.model.to(device)

    def card(self, record: Record) -> str:
        """Return the model card of the trained model."""
        from fairlab.reporting.card import model_card

        config = self.config.backbone
        where = {key: config.get(key) for key in ("revision", "package", "gguf")}
        return model_card(record, licence_in(find_weights(config.name, **where)))

    def write(self, record: Record) -> None:
        """Do nothing: no files are added to the exported model."""


def _loaded_as(config: DictConfig) -> DictConfig:
    """Return the configuration for loading a backbone, in 4 bits if the method keeps the weights in 4 bits.

    If weights can only be loaded in full precision, for example from a GGUF file, the method quantizes them.
    """
    node, method = config.backbone, config.get("method")
    if not (method and method.get("quantize")) or node.get(TARGET) != LOAD:
        return node
    from fairlab.backbones.quantization import NOT_IN_4_BITS

    if any(node.get(name) is not None for name in NOT_IN_4_BITS):
        return node
    return as_config({**plain(node), TARGET: IN_4_BITS})


class SourceClassifiers:
    """Starting point of a run that learns from the scores of the classifiers configured in ``source``.

    Raises:
        FairlabError: There are no classifiers.
    """

    def __init__(self, config: DictConfig) -> None:
        if not config.get("source"):
            raise FairlabError("the ensemble needs source classifiers; give source=[NAME,NAME]")
        from fairlab.methods.safety_ensemble.sources.registry import source_class

        # checked now, so that a run of hours does not end with an unreadable export
        for source in config.source.values():
            source_class(source["_target_"])
        self.config = config
        self.model = [build(source) for source in config.source.values()]

    def announcement(self, data: dict[str, Any], parts: int) -> str:
        """Return a sentence about the training data and the number of scores."""
        features = self._sources().features
        return f"{data['trained_on']}, {len(features)} scores of {len(self.model)} sources"

    def facts(self) -> dict[str, dict[str, Any]]:
        """Return the names and hashes of the sources."""
        return {"sources": self._sources().facts()}

    def facts_after(self) -> dict[str, Any]:
        """Return an empty dict: no facts are added after training."""
        return {}

    def on(self, device: Any) -> Any:
        """Return the sources, which stay on their device."""
        return self.model

    def card(self, record: Record) -> str:
        """Return an empty string: :meth:`write` writes the card, which describes the exported files."""
        return ""

    def write(self, record: Record) -> None:
        """Write the sources, reliability diagrams and the card next to the exported models."""
        from fairlab.methods.safety_ensemble.exported.portable import write_sources
        from fairlab.reporting.safety_card import write_safety_card

        write_sources(plain(self.config.source), record.folder / "model")
        write_safety_card(record)

    def _sources(self) -> Any:
        from fairlab.methods.safety_ensemble.sources.combined import Sources

        return Sources(self.model)


def announce_backbone(config: DictConfig) -> None:
    """Print the scale, and the name of the backbone with the model that it stands for.

    If the scale or the backbone is not set, nothing is printed.
    """
    scale, name = (OmegaConf.select(config, key) for key in ("scale.name", "backbone.name"))
    if not scale or not name:
        return
    adapters, original = (config.backbone.get(key) for key in ("adapters", "stands_for"))
    stands_for = f", used instead of {original}, which scale=paper trains" if original else ""
    print_escaped(
        f"{scale} scale: the backbone is {name}{f' with the adapters {adapters}' if adapters else ''}{stands_for}"
    )


def starting_point(config: DictConfig) -> Pretrained | SourceClassifiers:
    """Return the starting point of a run: a backbone if the configuration has one, else source classifiers."""
    return Pretrained(config) if config.get("backbone") else SourceClassifiers(config)


def decoder_is_tied(encoder: Any) -> bool | None:
    """Return whether the output layer shares its weights with the input embeddings, or None without an output layer."""
    output = encoder.model.get_output_embeddings()
    if output is None:
        return None
    return bool(output.weight is encoder.model.get_input_embeddings().weight)
