"""``python -m fairlab.augment``: counterfactual data from any amount of text, in shards, with a manifest."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from fairlab import __version__
from fairlab.files import gather, write_whole
from fairlab.plans.building import build_llm
from fairlab.plans.perturbing import Perturbing
from fairlab.plans.rounds import Rounds
from fairlab.plans.row_by_row import RowByRow
from fairlab.record import Note, Record, environment
from fairlab.run import cli
from fairlab.run.build import build
from fairlab.run.folders import plain_config
from fairlab.run.job import job, refuse_changed_inputs
from fairlab.types import FairlabError

if TYPE_CHECKING:  # imported where they are used: --help answers at once
    from fairlab.data.stream.manifest import Manifest


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="augment")
def main(config: DictConfig) -> None:
    """Hydra's entry: one augmentation, or one job of a sweep."""
    with cli.one_sentence():
        job("augment", config, augment)


def augment(config: DictConfig, record: Record) -> None:
    """Stream the input through the augmentation into the run's folder; what earlier runs finished there is kept."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it reports every request
    values = with_rewriter(config)
    if config.limit is not None and config.limit < 1:
        raise FairlabError(f"limit must be at least 1, or null for no limit, not {config.limit}")

    from fairlab.data.stream.manifest import Manifest, dataset_facts
    from fairlab.data.stream.rows import fields_of, read_rows, row_progress
    from fairlab.data.stream.shards import make_shards
    from fairlab.data.stream.subsample import WHOLE, subsample
    from fairlab.reporting.augmentation import data_card, write_quality_report

    source = dataset_facts(config.input)
    refuse_changed_inputs(record, {"input": source})
    record.provenance |= environment() | {"input": source, "rewriter": values["rewriter"]}
    record.save()
    if values.get("biaser_set"):
        asked = build(OmegaConf.create(values["biaser_set"]), llm=build_llm(values), seed=config.seed)
        values["axis"] = str(asked(values["axis"], record.folder))
    values["field"] = fields_of(config.input, values["field"])
    plan = plan_of(values)(values, partial(read_rows, config.input, values["field"]), record)
    name = HydraConfig.get().runtime.choices["augmentation"]
    made_by = {"augmentation": name, **plan.made_by(), "field": values["field"], "seed": config.seed}
    manifest = Manifest(__version__, source, made_by)
    prepared = plan.prepare()
    if prepared is None:
        return
    rows, builder = prepared
    shards = make_shards(
        row_progress(rows),
        builder,
        record.folder if config.limit is None else record.folder / WHOLE,
        shard_rows=config.shard_rows,
        num_proc=config.num_proc,
        engine=config.engine,
    )
    for summary in shards:
        manifest.add(summary)
    made = manifest.made
    if config.limit is not None:
        subsample(manifest, record.folder, config.limit, config.seed)
    gather_quarantine(manifest, record.folder)
    gather_review(manifest, record.folder)
    refuse_nothing(manifest, config.input, record.folder)
    if values["rewriter"]:
        record.provenance["rewriter"] |= plan.provenance()
    record.provenance |= spent(values)
    record.provenance["rows"] = manifest.rows() | {f"rejected: {name}": n for name, n in manifest.reasons.items()}
    record.readings, own = plan.report(manifest, made)
    record.notes = [*own, *_row_notes(manifest)]
    record.status = "finished"
    (record.folder / "README.md").write_text(data_card(manifest), encoding="utf-8")
    write_quality_report(record, manifest)
    manifest.write(record.folder)


def plan_of(values: Mapping[str, Any]) -> type[Perturbing | Rounds | RowByRow]:
    """What is done with the rows, by the settings the augmentation has."""
    if "sampling" in values["augmentation"]:
        return Perturbing
    return Rounds if "rounds" in values["augmentation"] else RowByRow


def with_rewriter(config: DictConfig) -> dict[str, Any]:
    """The configuration as plain containers, with the augmentation's own rewriter where none was chosen."""
    values = plain_config(config)
    augmentation = HydraConfig.get().runtime.choices.get("augmentation")
    known = hydra.compose(overrides=["+rewriter=auto"]).rewriter
    if augmentation not in known:
        what = f"{augmentation} is applied in training only" if augmentation else "no augmentation was chosen"
        raise FairlabError(f"{what}; add +augmentation=NAME with: {', '.join(known)}")
    if not values["rewriter"] and "axes" not in values["augmentation"]:
        raise FairlabError(f"rewriter=none only chooses words, for perturbation; choose another one for {augmentation}")
    if values["rewriter"] and "_target_" not in values["rewriter"]:
        if values["rewriter"][augmentation] == "none":
            return values | {"rewriter": {}}
        chosen = hydra.compose(overrides=[f"+rewriter={values['rewriter'][augmentation]}"]).rewriter
        values["rewriter"] = OmegaConf.to_container(chosen, resolve=True)
    return values


def gather_quarantine(manifest: Manifest, folder: Path) -> None:
    """All rows that could not be read in one file, ``quarantine.jsonl``."""
    path = folder / "quarantine.jsonl"
    names = manifest.files("quarantine")
    if not names:
        path.unlink(missing_ok=True)
        return
    gather(path, [folder / name for name in names])


def gather_review(manifest: Manifest, folder: Path) -> None:
    """All versions that were flagged in one file for a person, ``review.jsonl``; none where nothing was."""
    from fairlab.augmentation.identity import FLAGGED, review_lines

    if FLAGGED not in manifest.reasons:
        return
    lines = []
    for name in manifest.files("rejected"):
        with (folder / name).open(encoding="utf-8") as rows:
            for row in filter(lambda one: one["reason"] == FLAGGED, map(json.loads, rows)):
                lines += [json.dumps(line, ensure_ascii=False) + "\n" for line in review_lines(row)]
    write_whole(folder / "review.jsonl", "".join(lines))


def refuse_nothing(manifest: Manifest, source: str, folder: Path) -> None:
    """Raise when there is no row to write, saying why."""
    from fairlab.data.stream.shards import BAD

    if manifest.made:
        return
    if manifest.read == 0:
        raise FairlabError(f"{source} holds no row; give texts")
    if manifest.counts.get(BAD) == manifest.read:
        raise FairlabError(
            f"none of the {manifest.read} rows of {source} can be read; {folder / 'quarantine.jsonl'} says why; "
            "where the text is in another field, give field=NAME"
        )
    what = ", ".join(f"{count} {name}" for name, count in manifest.rows().items() if count)
    raise FairlabError(
        f"{source} gives nothing to write: {what}; rejected-*.jsonl in {folder} says why rows were rejected"
    )


def _row_notes(manifest: Manifest) -> list[Note]:
    """What became of the rows, in sentences for the terminal and the record."""
    counts = manifest.rows()
    read, written = counts.pop("read"), counts.pop("written")
    texts = [f"{written:,} rows written of {read:,} read"]
    texts += [f"{count:,} {name}" for name, count in counts.items() if count and name not in ("groups", "rejected")]
    texts += [f"{count:,} rejected: {reason}" for reason, count in manifest.reasons.items()]
    return [Note("augmentation", text) for text in texts]


def spent(values: dict[str, Any]) -> dict[str, Any]:
    """What the ledger's stages took in all, over runs; nothing without a language model."""
    llm = build_llm(values)
    if llm is None:
        return {}
    return {"ledger": {stage: vars(sums) for stage, sums in llm.ledger.stages().items()}}


def command() -> None:
    """The console script's entry."""
    cli.run(main, "augment")


if __name__ == "__main__":
    command()
