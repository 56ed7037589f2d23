"""Evaluation of models, and comparison of results."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fairlab.api.arguments import checked
from fairlab.api.debiasing import Run
from fairlab.api.loading import loaded_with_facts, model_name
from fairlab.api.results import Changes, Results
from fairlab.benchmarks.finding import refuse_undescribed
from fairlab.checks.values import shown
from fairlab.evaluate import measure_named
from fairlab.files import holds_run
from fairlab.judge.reading import read_tool_runs, unread_files
from fairlab.judge.verdicts import Judgement, judge
from fairlab.protocols import Benchmark
from fairlab.record import Record
from fairlab.reporting.tables.all_pairs import RunsCompared, compare_runs, warnings_on
from fairlab.reporting.tables.comparing import Side, compare_sides, of_other_definitions, only_side
from fairlab.reporting.tables.tool_records import results_file
from fairlab.run.config.build import build_benchmarks
from fairlab.run.config.composing import composed, own_settings
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.config.shortened import shortening_notes
from fairlab.run.environment import environment
from fairlab.run.folders import plain_config
from fairlab.text.pipeline import parsing_with
from fairlab.types import FairlabError


@checked
def evaluate(
    model: Any,
    benchmarks: str | Benchmark | Sequence[str | Benchmark],
    *,
    limit: int | None = None,
    strict: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Results:
    """Evaluate a model, or several models together, as ``fairlab evaluate`` does.

    A benchmark that a model cannot run, for example because it has no language-modelling head, is listed in
    ``not_run``.

    Args:
        model: Any value that :func:`fairlab.load` accepts, or a dictionary of several models by label, such as
            ``{"before": a, "after": b}``. Later models are compared with the first one, item by item.
        benchmarks: One or more benchmarks: names such as ``seat``, or objects that implement
            :class:`fairlab.protocols.Benchmark`.
        limit: Maximum number of items per benchmark, or per part of a benchmark, for quick trials. None for all items.
        strict: Whether to refuse a model that fails the behaviour check. If false, its numbers are marked instead.
        settings: Settings by dotted key, such as ``{"benchmark.crows_pairs.protocol": "meade"}``.

    Raises:
        FairlabError: A model, benchmark or setting does not exist, no model or benchmark is given, ``limit`` is below
            1, no benchmark could be run, or a model fails the behaviour check and ``strict`` is true.

    Example:
        >>> results = fairlab.evaluate("minilm", "cced", limit=20)  # doctest: +SKIP
        >>> round(results["cced/embedded/gap"], 2)  # doctest: +SKIP
        0.08
    """
    single = isinstance(benchmarks, str) or hasattr(benchmarks, "measure")
    if not single and not isinstance(benchmarks, Sequence):
        raise FairlabError(f"benchmarks must be names or objects that measure, not {shown(benchmarks)}; give ['seat']")
    asked: list[Any] = [benchmarks] if single else list(benchmarks)  # type: ignore[arg-type]
    models = dict(model) if isinstance(model, Mapping) else {"": model}
    if not asked or not models:
        what = "benchmarks is an empty list; give at least one, such as ['seat']" if models else "no model was given"
        raise FairlabError(what)
    names = [one for one in asked if isinstance(one, str)]
    own: list[Any] = [one for one in asked if not isinstance(one, str)]
    for one in own:
        refuse_undescribed(one)
    chosen_settings = own_settings(settings)
    for key in chosen_settings:
        if key.partition(".")[0] in names:
            raise FairlabError(
                f"settings need their full key, from the top of the configuration; give 'benchmark.{key}', not '{key}'"
            )
    values = {"limit": limit, **({"strict": True} if strict else {}), **chosen_settings}
    config = composed("evaluate", [f"benchmark=[{','.join(names)}]"], values)
    if names:
        refuse_misfits("evaluate", config, [f"{key}=" for key in values])
    chosen = [*(build_benchmarks(config) if names else []), *own]
    found = {label: loaded_with_facts(one, config) for label, one in models.items()}
    kept = tempfile.TemporaryDirectory(prefix="fairlab-")
    record = Record(Path(kept.name), _configuration(plain_config(config), models, own), _command(models, asked, values))
    weights = {f"weights of {label or model_name(models[label])}": facts for label, (_, facts) in found.items()}
    record.provenance |= environment() | weights
    record.add_notes(shortening_notes(config))
    places = {label: Path(one) for label, one in models.items() if isinstance(one, str | Path)}
    with parsing_with(config.spacy):
        measure_named(chosen, ((label, backbone) for label, (backbone, _) in found.items()), places, record)
    if not record.readings:
        reasons = "; ".join(dict.fromkeys(f"{entry.benchmark}: {entry.reason}" for entry in record.not_run))
        raise FairlabError(f"no benchmark could be measured ({reasons}); choose another benchmark, or another model")
    record.status = "finished"
    record.save()
    return Results(record, kept)


def _configuration(config: dict[str, Any], models: Mapping[str, Any], own: Sequence[Any]) -> dict[str, Any]:
    """Return the configuration for the record, with the names of models and the classes of user-defined benchmarks."""
    names = {label: model_name(model) for label, model in models.items()}
    classes = {one.name: {"_target_": f"{type(one).__module__}.{type(one).__qualname__}"} for one in own}
    return {**config, "model": names.get("", names), "benchmark": {**(config.get("benchmark") or {}), **classes}}


def _command(models: Mapping[str, Any], asked: Sequence[Any], values: Mapping[str, Any]) -> str:
    """Return the command line that corresponds to a call, except for arguments that a command line cannot express."""
    named_models = [f"{label}:{model_name(model)}" if label else model_name(model) for label, model in models.items()]
    model = named_models[0] if "" in models else f"{{{','.join(named_models)}}}"
    benchmarks = ",".join(one if isinstance(one, str) else one.name for one in asked)
    given = [f"{key}={value}" for key, value in values.items() if value is not None]
    return shlex.join(["python", "-m", "fairlab.evaluate", f"model={model}", f"benchmark=[{benchmarks}]", *given])


@checked
def compare(
    *measured: Any, adjust: Literal["holm", "bh"] = "holm", margin: float | None = None
) -> Changes | RunsCompared | Judgement:
    """Compare results of fairlab or of other evaluation tools, item by item.

    Readings that were measured with different versions of a benchmark are left out and listed in the result.

    Args:
        measured: Results to compare, with the baseline first. From fairlab: :class:`Results`, the return value of
            :func:`fairlab.debias`, a record, or the folder of a run. For a training run, the trained model is compared.
            From other tools: files or folders that :mod:`fairlab.judge.reading` can read, such as the results of
            lm-evaluation-harness or a log of inspect.
        adjust: Method that adjusts the p-values of all pairs: ``holm`` or ``bh`` (Benjamini-Hochberg).
        margin: Largest difference in other tools' results that counts as equal, or None for no equivalence test.

    Returns:
        :class:`Changes` for two results of fairlab, :class:`fairlab.reporting.tables.all_pairs.RunsCompared` for more
        than two, and :class:`fairlab.judge.verdicts.Judgement` for other tools. Differences are later minus earlier
        arguments.

    Raises:
        FairlabError: A result contains several models, or the results share no reading over the same items.

    Example:
        >>> before = fairlab.evaluate("minilm", "cced", limit=20)  # doctest: +SKIP
        >>> after = fairlab.evaluate(fairlab.load("minilm", pooling="cls"), "cced", limit=20)  # doctest: +SKIP
        >>> print(fairlab.compare(before, after))  # doctest: +SKIP
        |  | second minus first | unit | p | n |
        | --- | --- | --- | --- | --- |
        | CCED gap, bundled sentences | +0.0007...
    """
    measured = tuple((results_file(one) if isinstance(one, Record) else None) or one for one in measured)
    if all(isinstance(one, str | Path) and not holds_run(Path(one)) for one in measured):
        runs = [run for one in measured for run in read_tool_runs(one)]
        unread = [file for one in measured for file in unread_files(one)]
        return judge(runs, adjust=adjust, margin=margin, unread=unread)
    if len(measured) < 2:
        raise FairlabError("a single run cannot be compared; give at least two")
    if margin is not None:
        raise FairlabError(
            "margin applies only to results of other tools; fairlab's benchmarks define their own, so leave it out"
        )
    if len(measured) > 2 or adjust != "holm":
        return compare_runs(list(map(side, measured)), adjust)
    before, after = map(side, measured)
    return Changes(compare_sides(before, after), of_other_definitions(before, after), warnings_on([before, after]))


def side(measured: Any) -> Side:
    """Return the measured model in results, a run, a record or a run folder, for a comparison.

    Raises:
        FairlabError: The value has another type, or contains more than one model.
    """
    if isinstance(measured, str | Path):
        folder = Path(measured)
        if not holds_run(folder):
            raise FairlabError(f"{folder} holds no run (no record.json); give the folder of a run")
        return only_side(Record.load(folder))
    record = measured if isinstance(measured, Record) else getattr(measured, "record", None)
    if not isinstance(measured, Record | Results | Run) or not isinstance(record, Record):
        raise FairlabError(
            f"a {type(measured).__name__} is not a measurement; give Results, a run or the folder of a run"
        )
    return only_side(record)
