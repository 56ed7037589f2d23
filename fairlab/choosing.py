"""The first stage of a perturbation: every choice of word and target, before anything is rewritten.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from fairlab.build import build_choosing
from fairlab.files import gather, sha256, write_whole
from fairlab.lexicons import load_lexicon
from fairlab.record import Note, Reading, Record
from fairlab.runs import plain_config
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported where it is used: --help answers at once
    from fairlab.data.manifest import Manifest


def describe_on_axes(config: DictConfig) -> dict[str, Any]:
    """What makes an output on several axes.

    Raises:
        FairlabError: an axis or attributes were given as for the other augmentations.
    """
    from fairlab.data.rows import fields_of

    if config.axis != "gender" or config.attributes is not None:
        raise FairlabError(
            "this augmentation takes its axes from augmentation.axes, such as augmentation.axes=[race]; leave out axis "
            "and attributes"
        )
    node = plain_config(config)["augmentation"]
    lexicons = [load_lexicon(axis) for axis in node["axes"]]
    return {
        "augmentation": HydraConfig.get().runtime.choices["augmentation"],
        "axis": ", ".join(lexicon.axis for lexicon in lexicons),
        **{name: node[name] for name in ("sampling", "at_least") if name in node},
        "lexicon_sha256": [lexicon.sha256 for lexicon in lexicons],
        "field": fields_of(config.input, config.field),
        "seed": config.seed,
    }


def make_choices(config: DictConfig, values: dict[str, Any], record: Record) -> Path:
    """The manifest of a perturbation's choices: the one given, or one that is made in the run's folder, in shards."""
    from fairlab.data.perturbed import CHOICES
    from fairlab.data.rows import fields_of, read_rows, shown
    from fairlab.data.shards import make_shards

    if values["augmentation"]["choices"] is not None:
        return Path(values["augmentation"]["choices"])
    folder = record.folder / "choices"
    folder.mkdir(exist_ok=True)
    weights = axis_weights(config, values, folder / "weights.json")
    builder = partial(build_choosing, values, weights)
    made = make_shards(
        shown(read_rows(config.input, fields_of(config.input, config.field))),
        builder,
        folder,
        shard_rows=config.shard_rows,
        num_proc=config.num_proc,
        engine=config.engine,
    )
    names, read = list[str](), 0
    for summary in made:
        read += summary["read"]
        names += [summary["files"]["data"]["file"]] if "data" in summary["files"] else []
    path = record.folder / CHOICES
    gather(path, [folder / name for name in names])
    with path.open("rb") as lines:
        count = sum(1 for _ in lines)
    record.provenance["choices"] = {"rows": count, "sha256": sha256(path), "weights": weights}
    record.notes = [Note("augmentation", f"{count:,} choices of {read:,} rows")]
    record.status = record.status if values["rewriter"] else "finished"
    record.save()
    return path


def axis_weights(config: DictConfig, values: dict[str, Any], file: Path) -> dict[str, float]:
    """The axes' weights in the draw, from all texts; counted once."""
    if not file.exists():
        from fairlab.data.rows import fields_of, read_rows

        perturbation = build_choosing(values, {}).perturbation
        rows = read_rows(config.input, fields_of(config.input, config.field))
        weights = perturbation.weights(row.text for row in rows if isinstance(row, Row))
        write_whole(file, json.dumps(weights) + "\n")
    return json.loads(file.read_text(encoding="utf-8"))


def shares(manifest: Manifest, seed: int) -> list[Reading]:
    """Per cent of rows that really changed, in all and by axis: table 13 of Qian et al. 2022."""
    from fairlab.metrics.proportions import wilson_interval

    readings = []
    for axis in ("all", *manifest.made_by["axis"].split(", ")):
        count = manifest.counts.get("perturbed" if axis == "all" else f"perturbed/{axis}", 0)
        low, high = (100.0 * bound for bound in wilson_interval(count, manifest.read))
        value = 100.0 * count / manifest.read
        place = ("perturbation", axis, "perturbed")
        readings.append(Reading(*place, value, "%", None, manifest.read, low, high, headline=axis == "all", seed=seed))
    return readings
