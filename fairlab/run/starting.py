"""What a run starts from: a pretrained model, or the classifiers that an ensemble is made of."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from fairlab.backbones.hub import licence_in
from fairlab.backbones.loading import find_weights, weights_facts
from fairlab.record import Record
from fairlab.run.config.build import build, plain
from fairlab.types import FairlabError


class Pretrained:
    """A run that starts from ``backbone``.

    Attributes:
        model: the backbone, which a method changes in place.
    """

    def __init__(self, config: DictConfig) -> None:
        self.config = config
        self.model = build(config.backbone)

    def announcement(self, data: dict[str, Any], parts: int) -> str:
        """What is trained on, and how much of it in a step."""
        size = self.config.data.get("batch_size")
        taken = f", added up from {parts} parts" if parts > 1 else ""
        return f"trained on {data['trained_on']}" + (f", {size:,} items a step{taken}" if size else "")

    def facts(self) -> dict[str, dict[str, Any]]:
        """Names and hashes of the weights."""
        return {"weights": weights_facts(self.config.backbone)}

    def facts_after(self) -> dict[str, Any]:
        """What else the record says of the model."""
        return {"decoder_tied_to_embeddings": decoder_is_tied(self.model)}

    def on(self, device: Any) -> Any:
        """The model, on a device."""
        return self.model.to(device)

    def card(self, record: Record) -> str:
        """The model card of what was trained."""
        from fairlab.reporting.card import model_card

        config = self.config.backbone
        where = {key: config.get(key) for key in ("revision", "package", "gguf")}
        return model_card(record, licence_in(find_weights(config.name, **where)))

    def write(self, record: Record) -> None:
        """Nothing beside the exported model."""


class SourceClassifiers:
    """A run that starts from the classifiers of ``source``.

    Attributes:
        model: the classifiers, whose scores a method learns from.

    Raises:
        FairlabError: there are none.
    """

    def __init__(self, config: DictConfig) -> None:
        if not config.get("source"):
            raise FairlabError("the ensemble needs source classifiers; give source=[NAME,NAME]")
        from fairlab.methods.safety_ensemble.sources.registry import source_class

        for source in config.source.values():  # a run of hours must not end in an export that cannot be read
            source_class(source["_target_"])
        self.config = config
        self.model = [build(source) for source in config.source.values()]

    def announcement(self, data: dict[str, Any], parts: int) -> str:
        """What is trained on, and how many scores there are."""
        features = self._sources().features
        return f"{data['trained_on']}, {len(features)} scores of {len(self.model)} sources"

    def facts(self) -> dict[str, dict[str, Any]]:
        """Names and hashes of the sources."""
        return {"sources": self._sources().facts()}

    def facts_after(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def on(self, device: Any) -> Any:
        """The sources, which stay where they are."""
        return self.model

    def card(self, record: Record) -> str:
        """None yet: it tells of the exported files, and is written after them."""
        return ""

    def write(self, record: Record) -> None:
        """The sources, reliability diagrams and the card, beside the exported models."""
        from fairlab.methods.safety_ensemble.exported.portable import write_sources
        from fairlab.reporting.safety_card import write_safety_card

        write_sources(plain(self.config.source), record.folder / "model")
        write_safety_card(record)

    def _sources(self) -> Any:
        from fairlab.methods.safety_ensemble.sources.combined import Sources

        return Sources(self.model)


def announce_backbone(config: DictConfig) -> None:
    """Print the scale, the backbone and what it stands in for; nothing where a value is wrong, which the check says."""
    scale, name = (OmegaConf.select(config, key) for key in ("scale.name", "backbone.name"))
    if not scale or not name:
        return
    adapters, original = (config.backbone.get(key) for key in ("adapters", "stands_for"))
    stands_for = f", standing in for {original}; scale=paper trains that one" if original else ""
    print(f"{scale} scale: the backbone is {name}{f' with the adapters {adapters}' if adapters else ''}{stands_for}")


def starting_point(config: DictConfig) -> Pretrained | SourceClassifiers:
    """What the configuration starts from: a backbone where it names one."""
    return Pretrained(config) if config.get("backbone") else SourceClassifiers(config)


def decoder_is_tied(encoder: Any) -> bool | None:
    """Whether the masked LM's output layer shares the input embeddings, and so follows them; None without a head."""
    output = encoder.model.get_output_embeddings()
    if output is None:
        return None
    return bool(output.weight is encoder.model.get_input_embeddings().weight)
