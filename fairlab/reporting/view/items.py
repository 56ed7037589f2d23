"""The items of a run's benchmarks: what each was scored before and after, and its texts.

A run folder keeps values alone. Texts are read anew from where the benchmark took them: the files of the user, or the
data that comes with fairlab. Only texts whose licence lets everybody pass them on may be written into a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.runner import items_file
from fairlab.checks.foreign import read_tensors
from fairlab.data.published.download import locate
from fairlab.record import Record
from fairlab.types import FairlabError

Array = NDArray[np.floating]
MOST_VALUES = 4  # for an item whose texts are not known; wider arrays are embeddings
FREE = ("cced/embedded", "cced/winogender", "winogender", "winobias/type1", "winobias/type2")  # CC0 and MIT
DIFFERENT = "the files there are now do not have the items that were measured"


@dataclass(frozen=True)
class ScoredItems:
    """Items of one benchmark, or of one part of it, of a run.

    Attributes:
        name: name of the benchmark, and of the part where it has several.
        values: what each score is called.
        ids: names of the N items.
        texts: the texts of each item; empty where they cannot be had.
        scores: by phase, the scores (N, number of values).
        free: whether the texts may be written into a page.
        missing: why there are no texts; empty where there are.
    """

    name: str
    values: Sequence[str]
    ids: Sequence[str]
    texts: Sequence[Sequence[str]]
    scores: Mapping[str, Array]
    free: bool
    missing: str = ""

    @property
    def changed(self) -> list[int]:
        """Places of the items, those first whose scores changed most between the first phase and the last."""
        phases = list(self.scores.values())
        moved = (
            np.nan_to_num(np.abs(phases[-1] - phases[0]).max(axis=1)) if len(phases) > 1 else np.zeros(len(self.ids))
        )
        return np.argsort(-moved, kind="stable").tolist()


@dataclass(frozen=True)
class ItemsPart:
    """The texts of some items of a benchmark, and how their scores are found in what a run kept."""

    name: str
    key: str
    values: Sequence[str]
    ids: Sequence[str]
    texts: Sequence[Sequence[str]]


def items_of(record: Record) -> list[ScoredItems]:
    """Items of all benchmarks whose values lie beside a record."""
    folder = record.folder / "items"
    names = dict.fromkeys(file.stem for file in sorted(folder.rglob("*.safetensors"))) if folder.is_dir() else {}
    return [found for name in names for found in _of_benchmark(name, record)]


def _of_benchmark(name: str, record: Record) -> list[ScoredItems]:
    arrays: dict[str, dict[str, Array]] = {}
    for phase in record.phases:
        file = items_file(record.folder, phase, name)
        try:
            arrays |= {phase: read_tensors(file)} if file.is_file() else {}
        except FairlabError:
            continue
    settings = _settings(name, record)
    try:
        parts, why = _parts(name, settings), ""
    except (FairlabError, KeyError, OSError) as error:
        parts, why = [], str(error)
    found = [scored for part in parts if (scored := _scored(name, part, arrays)) is not None]
    return found or _without_texts(name, arrays, why)


def _settings(name: str, record: Record) -> Mapping[str, Any]:
    """The configuration of a benchmark, whose key is the name without its variant."""
    of_all = record.config.get("benchmark") or {}
    return of_all.get(name) or of_all.get(name.partition("@")[0]) or {}


def _scored(name: str, part: ItemsPart, arrays: Mapping[str, Mapping[str, Array]]) -> ScoredItems | None:
    """The scores of a part; None where no phase has them, or they are of other items."""
    scores = {phase: _columns(name, found[part.key]) for phase, found in arrays.items() if part.key in found}
    sizes = {values.shape for values in scores.values()}
    if sizes != {(len(part.ids), len(part.values))}:
        return None
    return ScoredItems(part.name, part.values, part.ids, part.texts, scores, part.name in FREE)


def _columns(name: str, values: Array) -> Array:
    """Scores (N, number of values) from what a benchmark keeps."""
    from fairlab.benchmarks.cced import distances

    if name == "cced":
        return distances(values)
    return values.astype(np.float64).reshape(len(values), -1)


def _without_texts(name: str, arrays: Mapping[str, Mapping[str, Array]], why: str) -> list[ScoredItems]:
    """What can be shown as numbers: arrays with few values for each item."""
    found = []
    for key in dict.fromkeys(key for of_phase in arrays.values() for key in of_phase):
        scores = {phase: of_phase[key] for phase, of_phase in arrays.items() if key in of_phase}
        shapes = {values.shape for values in scores.values()}
        shape = next(iter(shapes))
        if len(shapes) > 1 or not 1 <= len(shape) <= 2 or (len(shape) == 2 and shape[1] > MOST_VALUES):
            continue
        columns = {phase: values.astype(np.float64).reshape(shape[0], -1) for phase, values in scores.items()}
        width = next(iter(columns.values())).shape[1]
        values = [key] if width == 1 else [f"{key} {k + 1}" for k in range(width)]
        ids = [str(k + 1) for k in range(shape[0])]
        missing = why or DIFFERENT
        found.append(ScoredItems(f"{name}/{key}", values, ids, [], columns, free=True, missing=missing))
    return found


def _parts(name: str, settings: Mapping[str, Any]) -> list[ItemsPart]:
    """The texts of a benchmark, as it is configured; none of one whose items have no text of their own.

    Raises:
        FairlabError: the files cannot be had, or are not what they should be.
    """
    match name.partition("@")[0]:
        case "cced":
            return [part for given in settings["sets"] if (part := _groups(given, settings.get("test"))) is not None]
        case "crows_pairs":
            return [_crows_pairs(name, settings)]
        case "stereoset":
            return _stereoset(name, settings)
        case "stsb":
            return [_stsb(settings)]
        case "winogender":
            return [_winogender()]
        case "winobias":
            return _winobias()
    return []


def _groups(given: str, held_out: float | None) -> ItemsPart | None:
    from fairlab.benchmarks.cced import held_out_groups, set_name
    from fairlab.types import DataUnavailable

    try:
        groups = held_out_groups(given, held_out)
    except DataUnavailable:
        return None
    subset = set_name(given)
    values = [f"distance of {name}" for name in groups[0].attributes]
    return ItemsPart(f"cced/{subset}", subset, values, [g.id for g in groups], [g.texts for g in groups])


def _crows_pairs(name: str, settings: Mapping[str, Any]) -> ItemsPart:
    from fairlab.benchmarks.readings import REGULAR
    from fairlab.data.published.crows_pairs import irregular_pairs, read_crows_pairs

    pairs = read_crows_pairs(locate("crows_pairs/crows_pairs_anonymized.csv", settings.get("path")))
    if wanted := settings.get("bias_types"):
        pairs = [pair for pair in pairs if pair.bias_type in {kind.replace("-", "_") for kind in wanted}]
    flagged = irregular_pairs(pairs) if settings.get("items") == REGULAR else {}
    pairs = [pair for pair in pairs if pair.id not in flagged]
    texts = [[pair.more, pair.less] for pair in pairs]
    values = ["score of the more stereotyping", "score of the less"]
    return ItemsPart(name, "scores", values, [f"{pair.id} {pair.bias_type}" for pair in pairs], texts)


def _stereoset(name: str, settings: Mapping[str, Any]) -> list[ItemsPart]:
    from fairlab.benchmarks.readings import REGULAR
    from fairlab.data.published.stereoset import DOMAINS, irregular_items, read_stereoset

    examples = read_stereoset(locate("stereoset/stereoset.json", settings.get("path")))
    examples = [example for example in examples if example.domain in (settings.get("domains") or DOMAINS)]
    flagged = irregular_items(examples) if settings.get("items") == REGULAR else {}
    values = ["stereotype", "anti-stereotype", "unrelated"]
    parts = []
    for task in dict.fromkeys(example.task for example in examples):
        some = [example for example in examples if example.task == task and example.id not in flagged]
        texts = [[example.context, *example.sentences] for example in some]
        ids = [f"{example.domain}: {example.target}" for example in some]
        parts.append(ItemsPart(f"{name}/{task}", task, values, ids, texts))
    return parts


def _stsb(settings: Mapping[str, Any]) -> ItemsPart:
    from fairlab.data.published.stsb import read_sts

    pairs = read_sts(locate("glue/STS-B/dev.tsv", settings.get("path")))
    ids = [f"{k + 1} (people: {pair.score:g} of 5)" for k, pair in enumerate(pairs)]
    return ItemsPart("stsb", "cosines", ["cosine"], ids, [[pair.first, pair.second] for pair in pairs])


def _winogender() -> ItemsPart:
    from fairlab.data.published.winogender import read_winogender, schemas

    groups = read_winogender(locate("winogender/all_sentences.tsv"))
    texts = {group.id: [group.versions["man"], group.versions["woman"], group.versions["neutral"]] for group in groups}
    ids = [schema.id for schema in schemas(groups)]
    values = ["log-likelihood of he", "of she", "of they"]
    return ItemsPart("winogender", "log_likelihoods", values, ids, [texts[name] for name in ids])


def _winobias() -> list[ItemsPart]:
    from fairlab.data.published.winobias import SPLITS, TYPES, read_winobias

    values = ["log-likelihood of the stereotype", "of the other"]
    parts = []
    for kind in TYPES:
        pairs = []
        for split in SPLITS:
            files: list[Path] = [locate(f"winobias/{side}_stereotyped_{kind}.txt.{split}") for side in ("pro", "anti")]
            pairs += read_winobias(*files)[0]
        texts = [[pair.pro.text, pair.anti.text] for pair in pairs]
        ids = [f"{pair.cluster} {k + 1}" for k, pair in enumerate(pairs)]
        parts.append(ItemsPart(f"winobias/{kind}", kind, values, ids, texts))
    return parts
