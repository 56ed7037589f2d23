"""``python -m fairlab.augment``: counterfactual data from any amount of text, in shards, with a manifest."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from fairlab import __version__, cli
from fairlab.build import (
    augment_lexicon,
    build,
    build_augmentation,
    build_choosing,
    build_llm,
    build_perturbation,
    build_rewriter,
)
from fairlab.files import sha256, whole, write_whole
from fairlab.job import job, refuse_changed_inputs
from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.record import Note, Reading, Record, environment
from fairlab.runs import output_folder, plain_config
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported where they are used: --help answers at once
    from fairlab.data.manifest import Manifest
    from fairlab.data.rows import BadRow

OmegaConf.register_new_resolver("output_folder", output_folder, replace=True)


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="augment")
def main(config: DictConfig) -> None:
    """Hydra's entry: one augmentation, or one job of a sweep."""
    with cli.one_sentence():
        job("augment", config, augment)


def augment(config: DictConfig, record: Record) -> None:
    """Stream the input through the augmentation into the run's folder; what earlier runs finished there is kept."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it reports every request
    values = with_rewriter(config)
    perturbing = "sampling" in values["augmentation"]
    on_axes = "axes" in values["augmentation"]
    made_by = describe_on_axes(config) if on_axes else describe_groups(config, augment_lexicon(values))
    source = describe(config.input)
    refuse_changed_inputs(record, {"input": source})

    from fairlab.data.manifest import Manifest
    from fairlab.data.shards import make_shards
    from fairlab.reporting.audit import write_sheet
    from fairlab.reporting.augmentation import data_card, write_quality_report

    record.provenance |= environment() | {"input": source, "rewriter": values["rewriter"]}
    record.save()
    manifest = Manifest(__version__, source, made_by)
    if perturbing:
        choices = make_choices(config, values, record)
        if not values["rewriter"]:
            return
        rows: Iterator[Row | BadRow] = with_choices_of(rows_of(config), choices)
        builder = partial(build_perturbation, values)
    else:
        examples = search_prompt(values, record) if values.get("search") else None
        rows, builder = rows_of(config), partial(build_augmentation, values, examples)
    shards = make_shards(
        shown(rows),
        builder,
        record.folder,
        shard_rows=config.shard_rows,
        num_proc=config.num_proc,
        engine=config.engine,
    )
    for summary in shards:
        manifest.add(summary)
    gather_quarantine(manifest, record.folder)
    refuse_nothing(manifest, config.input, record.folder)
    if values["rewriter"]:
        record.provenance["rewriter"] |= builder().rewriter.provenance
    record.provenance |= spent(values)
    record.provenance["rows"] = manifest.rows() | {f"rejected: {name}": n for name, n in manifest.reasons.items()}
    record.readings = shares(manifest, config.seed) if perturbing else polarity(manifest, config.seed)
    record.notes = notes(manifest)
    record.status = "finished"
    (record.folder / "README.md").write_text(data_card(manifest), encoding="utf-8")
    if perturbing:
        write_sheet(manifest, record.folder)
    write_quality_report(record, manifest)
    manifest.write(record.folder)


def describe_groups(config: DictConfig, lexicon: Lexicon) -> dict[str, Any]:
    """What makes an output on one axis."""
    return {
        "augmentation": HydraConfig.get().runtime.choices["augmentation"],
        "axis": lexicon.axis,
        "attributes": list(lexicon.attributes),
        "lexicon_sha256": lexicon.sha256,
        "field": config.field,
        "seed": config.seed,
    }


def describe_on_axes(config: DictConfig) -> dict[str, Any]:
    """What makes an output on several axes.

    Raises:
        FairlabError: an axis or attributes were given as for the other augmentations.
    """
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
        "field": fields_of(config),
        "seed": config.seed,
    }


def fields_of(config: DictConfig) -> str | list[str]:
    """Names of the text's field, or fields."""
    if config.input.startswith("task:"):
        from fairlab.data.glue import find_task

        return find_task(config.input.split(":")[1]).field_names
    return config.field if isinstance(config.field, str) else list(config.field)


def make_choices(config: DictConfig, values: dict[str, Any], record: Record) -> Path:
    """The manifest of a perturbation's choices: the one given, or one that is made in the run's folder, in shards."""
    from fairlab.data.perturbed import CHOICES
    from fairlab.data.shards import make_shards

    if values["augmentation"]["choices"] is not None:
        return Path(values["augmentation"]["choices"])
    folder = record.folder / "choices"
    folder.mkdir(exist_ok=True)
    weights = axis_weights(config, values, folder / "weights.json")
    builder = partial(build_choosing, values, weights)
    made = make_shards(
        shown(rows_of(config)),
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
        perturbation = build_choosing(values, {}).perturbation
        weights = perturbation.weights(row.text for row in rows_of(config) if isinstance(row, Row))
        write_whole(file, json.dumps(weights) + "\n")
    return json.loads(file.read_text(encoding="utf-8"))


def with_choices_of(rows: Iterator[Row | BadRow], file: Path) -> Iterator[Row | BadRow]:
    """Rows with their choices."""
    from fairlab.data.perturbed import with_choices

    return with_choices(rows, file)


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


def with_rewriter(config: DictConfig) -> dict[str, Any]:
    """The configuration as plain containers, with the augmentation's own rewriter where none was chosen."""
    values = plain_config(config)
    augmentation = HydraConfig.get().runtime.choices.get("augmentation")
    if augmentation is None or not values["augmentation"]:
        raise FairlabError(
            "no augmentation was chosen; add +augmentation=NAME with: "
            + ", ".join(name for name in cli.choices("augmentation") if name != "none")
        )
    if not values["rewriter"] and "axes" not in values["augmentation"]:
        raise FairlabError(f"rewriter=none only chooses words, for perturbation; choose another one for {augmentation}")
    if values["rewriter"] and "_target_" not in values["rewriter"]:
        if augmentation not in values["rewriter"]:
            raise FairlabError(f"choose a rewriter for {augmentation}: rewriter=word_swap, rules or llm")
        if values["rewriter"][augmentation] == "none":
            return values | {"rewriter": {}}
        chosen = hydra.compose(overrides=[f"+rewriter={values['rewriter'][augmentation]}"]).rewriter
        values["rewriter"] = OmegaConf.to_container(chosen, resolve=True)
    return values


def describe(source: str) -> dict[str, Any]:
    """Name and hash of the input: a file's without its folder, or a hub data set, which is not hashed."""
    if source.startswith("task:"):
        from fairlab.data.glue import digest
        from fairlab.data.rows import task_examples

        return {"name": source, "sha256": digest(task_examples(source)[1])}
    path = Path(source)
    if not path.is_file():
        return {"name": source, "sha256": "not taken: streamed from the hub"}
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}


def rows_of(config: DictConfig) -> Iterator[Row | BadRow]:
    """The input's rows."""
    from fairlab.data.rows import read_rows

    return read_rows(config.input, fields_of(config))


def shown(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """The rows, with their number on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} rows read"), TimeElapsedColumn())
    with Progress(*columns, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("", total=None)
        for row in rows:
            progress.advance(task)
            yield row


def search_prompt(values: dict[str, Any], record: Record) -> list[dict[str, str]]:
    """The examples that prompt search finds, its rounds in the folder ``search``."""
    from fairlab.augmentation.prompt_search import history
    from fairlab.data.rows import read_rows

    rewriter = build_rewriter(values, build_llm(values))
    search = build(OmegaConf.create(values["search"]), rewriter=rewriter)
    rows = (row for row in read_rows(values["input"], values["field"]) if isinstance(row, Row))
    texts = list(islice((row.text for row in rows if search.wanted(row.text)), search.texts))
    if not texts:
        raise FairlabError(f"no row of {values['input']} holds a word of the axis '{rewriter.lexicon.axis}'")
    rounds = search(texts, record.folder / "search")
    record.history = history(rounds)
    record.save()
    last = rounds[-1]
    return [*last["examples"], *([last["correction"]] if last["correction"] else [])]


def gather_quarantine(manifest: Manifest, folder: Path) -> None:
    """All rows that could not be read in one file, ``quarantine.jsonl``."""
    path = folder / "quarantine.jsonl"
    names = manifest.files("quarantine")
    if not names:
        path.unlink(missing_ok=True)
        return
    gather(path, [folder / name for name in names])


def gather(path: Path, files: Sequence[Path]) -> None:
    """Several files as one, in order."""
    with whole(path) as temporary, temporary.open("wb") as gathered:
        for name in files:
            with name.open("rb") as file:
                shutil.copyfileobj(file, gathered)


def refuse_nothing(manifest: Manifest, source: str, folder: Path) -> None:
    """Raise when there is no row to write, saying why."""
    from fairlab.data.shards import BAD

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


def polarity(manifest: Manifest, seed: int) -> list[Reading]:
    """Polarity accuracy of what the rewriter made, before any filter."""
    from fairlab.metrics.proportions import wilson_interval

    judged = manifest.counts.get("judged", 0)
    readings = []
    for name in ("union", "neutral", *manifest.made_by["attributes"]) if judged else ():
        right = manifest.counts.get(f"right/{name}", 0)
        low, high = (100.0 * bound for bound in wilson_interval(right, judged))
        quantity = "union_accuracy" if name == "union" else f"accuracy_{name}"
        readings.append(
            Reading(
                "polarity",
                "rewrites",
                quantity,
                100.0 * right / judged,
                "%",
                100.0,
                judged,
                low,
                high,
                headline=name == "union",
                seed=seed,
            )
        )
    return readings


def notes(manifest: Manifest) -> list[Note]:
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
