"""Debiasing of an encoder: methods are tried, and the selected method is confirmed on other readings.

Every step is a run of ``fairlab train`` or ``fairlab evaluate`` with its own record and command.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fairlab.benchmarks.bias_ir import BiasIR
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.group_sets import WINOGENDER
from fairlab.benchmarks.seat import SEAT
from fairlab.benchmarks.stsb import STSB
from fairlab.checks.escapes import print_escaped
from fairlab.data.counterfactual import hold_out, split_groups
from fairlab.data.groups import EMBEDDED, groups_sha256, read_groups
from fairlab.data.published.download import locate
from fairlab.files import write_whole
from fairlab.mend.judging import KeptUtility, MendJudgement, best_of, judge_change
from fairlab.mend.outcome import CHOSEN, PROVEN, TRIED, MendOutcome, concluded, publish
from fairlab.mend.parts import begun, export_trained, remove_weights, run_part
from fairlab.metrics.bootstrap import FEWEST_ITEMS
from fairlab.record import Record
from fairlab.run.command_line.cli import choices
from fairlab.run.config.backbone_nodes import backbone_node, model_facts
from fairlab.run.config.composing import composed, composing
from fairlab.types import FairlabError, Group

METHODS = ("sentence_debias", "inlp", "leace", "ccd_linear", "ccd", "ccd_aligned", "dpce", "adept")
ORIGINAL, GENDER = "original", "gender"
OF_GENDER = "embedded/people"
SPLITS = ("train", "validation", "test")
HELD_OUT = 0.15  # share of groups without splits that is used for choosing, and again for confirming
GROUPS, CHOOSING = "groups.jsonl", "held_out.jsonl"
PAIRS = 1500  # pairs of STS-B's training part that are used for choosing


@dataclass(frozen=True)
class Wish:
    """Request to debias an encoder.

    Attributes:
        model: Name or folder of the model.
        axis: Demographic axis to debias.
        price: Limit on the loss of utility.
        groups: Path of counterfactual groups of the axis, as in ``data.path``.
        methods: Names of the methods to try.
        benchmarks: Names of the benchmarks for confirmation; empty for the default benchmarks of the axis.
        scale: ``quickstart`` or ``paper``, which selects the methods' default settings.
        seed: Seed of training.
        limit: Maximum number of items per benchmark, or None.
        name: Name of the result in its report and in tables; empty to name it after the model.
    """

    model: str
    axis: str
    price: KeptUtility
    groups: str
    methods: Sequence[str]
    benchmarks: Sequence[str] = ()
    scale: str = "quickstart"
    seed: int = 42
    limit: int | None = None
    name: str = ""


def mend_encoder(wish: Wish, folder: Path) -> MendOutcome:
    """Try methods on an encoder, and export the best one that keeps its utility.

    Steps that an earlier run finished in the folder are not repeated.

    Raises:
        FairlabError: The model, the groups or a name does not exist, no method fits the model, or the folder contains a
            run with other settings.
    """
    for name in wish.methods:
        if name not in choices("method"):
            raise FairlabError(f"there is no method '{name}'; there are: {', '.join(METHODS)}")
    with begun(folder, _facts(wish)):
        return _mend(wish, folder)


def _facts(wish: Wish) -> dict[str, Any]:
    """Return the settings with hashes of the model and of the groups' files, which identify the run."""
    with composing():
        model = model_facts(backbone_node(wish.model, {}))
    settings = {key: value for key, value in asdict(wish).items() if key != "name"}
    return {**settings, "model": [wish.model, model], "groups": groups_sha256(wish.groups)}


def _mend(wish: Wish, folder: Path) -> MendOutcome:
    wish = replace(wish, groups=prepared_groups(wish.groups, folder))
    proving = _confirmation_evaluation(wish)
    composed("evaluate", *proving)  # reports a wrong name before anything is downloaded or trained
    choosing = _selection_evaluation(wish, folder / CHOOSING)
    runs, skipped = _runs(wish, folder)
    models = {ORIGINAL: wish.model} | runs
    chosen_by = run_part("evaluate", choosing[0], {"model": models, **choosing[1]}, folder / CHOSEN)
    tried = [judge_change(chosen_by, name, ORIGINAL, wish.price) for name in runs]
    best = best_of(tried)
    remove_weights([folder / TRIED / name for name in runs if best is None or name != best.label])
    proof = chosen_by
    judged: MendJudgement | None = None
    trained: list[Record] = []
    if best is not None:
        print_escaped(f"{best.label} is best; measuring it on readings that were not used for the choice")
        both = {name: models[name] for name in (ORIGINAL, best.label)}
        proof = run_part("evaluate", proving[0], {"model": both, **proving[1]}, folder / PROVEN)
        judged = judge_change(proof, best.label, ORIGINAL, wish.price)
        trained = [Record.load(folder / TRIED / best.label)]
    outcome = concluded(folder, wish.model, wish.price, tried, skipped, judged)
    publish(outcome, proof, trained, wish.name or wish.model)
    if best is not None and outcome.is_mended:
        export_trained(folder / TRIED / best.label, proof, {ORIGINAL: "before", best.label: "after"}, folder)
    outcome.save()
    return outcome


def prepared_groups(path: str, folder: Path) -> str:
    """Split groups into training, validation and test groups if they are not split, and return their path.

    The validation groups, by which a method is selected, are also written to a separate file.

    Raises:
        FairlabError: The groups cannot be read, or have only some of the splits.
    """
    groups = read_groups(path)
    marked = {group.extra.get("split") for group in groups}
    if marked == {None}:
        rest, test = hold_out(groups, HELD_OUT, 0, path)
        parts = split_groups(rest, HELD_OUT, path) | {"test": test}
        groups = [replace(one, extra={**one.extra, "split": name}) for name in SPLITS for one in parts[name]]
        _write(groups, folder / GROUPS)
        path = str(folder / GROUPS)
    elif missing := [name for name in SPLITS if name not in marked]:
        raise FairlabError(f"{path} has splits, but no group in the split {missing[0]}; assign some, or remove 'split'")
    choosing = [group for group in groups if group.extra["split"] == "validation"]
    _write([replace(one, extra={}) for one in choosing], folder / CHOOSING)
    return path


def _write(groups: Sequence[Group], file: Path) -> None:
    rows = [{**one.extra, "id": one.id, "axis": one.axis, "versions": one.versions} for one in groups]
    write_whole(file, "".join(json.dumps(row, default=str) + "\n" for row in rows))


def _runs(wish: Wish, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Train with every method, and return the folders of the runs, and the reasons why other methods do not fit.

    Raises:
        FairlabError: No method fits.
    """
    runs, skipped, started = {}, {}, time.monotonic()
    for k, name in enumerate(wish.methods, start=1):
        rest = (time.monotonic() - started) / max(k - 1, 1) * (len(wish.methods) - k + 1)
        left = f"; about {max(round(rest / 60), 1)} min left for the methods" if k > 1 else ""
        print_escaped(f"trying {name} ({k} of {len(wish.methods)}){left}")
        try:
            _train(wish, name, folder / TRIED / name)
            runs[name] = str(folder / TRIED / name)
        except FairlabError as error:
            skipped[name] = str(error)
    if not runs:
        raise FairlabError(f"no method fits {wish.model}: {next(iter(skipped.values()), 'none was given')}")
    return runs, skipped


def _train(wish: Wish, method: str, folder: Path) -> None:
    """Train a copy of the model with a debiasing method, without running benchmarks."""
    given = [f"scale={wish.scale}", f"method={method}", "data=groups", "benchmark=none"]
    values: dict[str, Any] = {"model": wish.model, "data.path": wish.groups, "seed": wish.seed, "axis": wish.axis}
    values["measure_before"] = False
    if method == "ccd_linear" and wish.axis != GENDER:  # its additional training groups are about gender
        values |= {"method.short": None, "method.directions": []}
    run_part("train", given, values, folder)


Evaluation = tuple[list[str], dict[str, Any]]  # choices and values of fairlab.evaluate


def _selection_evaluation(wish: Wish, held_out: Path) -> Evaluation:
    """Return the evaluation for selection, whose groups, tests and sentence pairs are not part of any benchmark.

    Raises:
        FairlabError: There are too few groups for a verdict.
    """
    of_gender = wish.axis == GENDER
    count = len(read_groups(str(held_out)))
    if count < FEWEST_ITEMS and not of_gender:  # gender has other readings to choose by
        raise FairlabError(
            f"{wish.groups} leaves {count} groups to choose a method by, too few for a verdict; give groups with "
            f"at least {FEWEST_ITEMS} in each split (at least {math.ceil(FEWEST_ITEMS / HELD_OUT)} without splits)"
        )
    values: dict[str, Any] = {
        "benchmark.cced.sets": [str(held_out), *(["embedded/pronouns"] if of_gender else [])],
        "benchmark.stsb.path": str(locate("glue/STS-B/train.tsv")),
        "+benchmark.stsb.limit": PAIRS,
        "limit": wish.limit,
    }
    values |= {"benchmark.seat.tests": [str(EMBEDDED / "associations.yaml")]} if of_gender else {}
    return [f"benchmark=[cced,{'seat,' if of_gender else ''}stsb]"], values


def _confirmation_evaluation(wish: Wish) -> Evaluation:
    """Return the evaluation for confirmation: the given benchmarks, or the defaults of the axis."""
    of_gender = wish.axis == GENDER
    usual = (CCED, SEAT, BiasIR, STSB) if of_gender else (CCED, STSB)
    names = [*(wish.benchmarks or (one.description.name for one in usual))]
    names += [] if wish.price.name in names else [wish.price.name]
    test = "embedded" if wish.groups == OF_GENDER else wish.groups
    sets = (
        {"benchmark.cced.sets": [test, *([WINOGENDER] if of_gender else [])]} if CCED.description.name in names else {}
    )
    return [f"benchmark=[{','.join(names)}]"], {**sets, "limit": wish.limit}
