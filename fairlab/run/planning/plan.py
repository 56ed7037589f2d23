"""Text of a plan: the requirements of each run and of all runs together."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlab.run.launch.processes import count_of
from fairlab.run.planning.calls import Calls, calls_of
from fairlab.run.planning.hours import Device
from fairlab.run.planning.measuring import head_of, not_measured, phases, tokens_read
from fairlab.run.planning.memory import Memory, training_memory
from fairlab.run.planning.needs import Need, model_settings, needs_of
from fairlab.run.planning.sizes import ModelSize, model_size
from fairlab.run.planning.work import Work, reading_flops, source_of, training_flops, training_work

LOSS_OVER_WORDS = ("MLM", "CausalLMTuning", "PerturberTraining")  # methods with a loss over the vocabulary
FITTED = ("CCDLinear", "INLP", "SentenceDebias")  # methods that read their data once and train no layers


@dataclass(frozen=True)
class Measuring:
    """Cost of a run's benchmarks.

    Attributes:
        tokens: Number of tokens that models read in all phases.
        flops: FLOPs of reading these tokens.
        unknown: Benchmarks whose cost is unknown and not included.
        not_run: Reasons why benchmarks cannot measure a model, by name.
    """

    tokens: float
    flops: float
    unknown: Sequence[str] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunPlan:
    """Requirements of one run.

    Attributes:
        title: Name of the run.
        commands: Commands of the run.
        needs: External inputs of the run.
        size: Size of its model; None if it has no model or the size is unknown.
        work: Work of its training; None if no network is trained.
        memory: Memory that a device needs; None if no network is trained.
        flops: FLOPs of training, or None if unknown.
        measured: Cost of its benchmarks; None if the cost of all benchmarks is unknown.
        mixed: Whether matrices are multiplied in bfloat16.
        calls: Calls of a language model.
        problem: Reason why the run cannot be planned; empty if it can.
        times: Number of seeds.
        unestimated: Reason why the cost of training is not estimated; empty if it is estimated or there is no training.
    """

    title: str
    commands: Sequence[Sequence[str]] = ()
    needs: Sequence[Need] = ()
    size: ModelSize | None = None
    work: Work | None = None
    memory: Memory | None = None
    flops: float | None = None
    measured: Measuring | None = None
    mixed: bool = False
    calls: Calls | None = None
    problem: str = ""
    times: int = 1
    unestimated: str = ""


def plan_of_run(
    title: str,
    config: Mapping[str, Any],
    commands: Sequence[Sequence[str]] = (),
    times: int = 1,
    made: Mapping[str, ModelSize] | None = None,
) -> RunPlan:
    """Plan a run from its configuration of ``fairlab.train``, ``evaluate`` or ``augment``.

    Args:
        title: Name of the run.
        config: Configuration as plain containers.
        commands: Commands of the run.
        times: Number of seeds.
        made: Sizes of models made by other runs, by the ending of their folder names.
    """
    models = model_settings(config)
    size = _size(models[0], made or {}) if models else None
    measured = _measuring(config, models, made or {})
    plan = RunPlan(title, commands, needs_of(config), size, measured=measured, times=times)
    if "method" not in config:
        texts = None if "input" not in config else training_work(_as_training(config)).items
        return replace(plan, calls=calls_of(config, texts))
    method = config["method"]["_target_"].rpartition(".")[2]
    if size is None or method in FITTED:
        known = size is not None or not models
        why = "no network is trained by gradients" if known else f"{models[0]['name']} is neither here nor listed"
        return replace(plan, calls=calls_of(config, None), unestimated=why)
    work = training_work(config)
    adapters = bool(config["method"].get("rank"))
    words = size.vocabulary * size.width if method in LOSS_OVER_WORDS and size.layers and not _has_head(size) else 0
    multiplied = size.multiplied + round(words * _asked_about(config["method"]))
    flops = None if work.read is None else training_flops(multiplied, work.read, adapters=adapters)
    mixed = "bf16" in str(config["trainer"].get("precision", ""))
    memory = _memory(config, size, work, method, mixed)
    return replace(plan, work=work, memory=memory, flops=flops, mixed=mixed, calls=calls_of(config, None))


def _measuring(
    config: Mapping[str, Any], models: Sequence[Mapping[str, Any]], made: Mapping[str, ModelSize]
) -> Measuring | None:
    """Return the cost of the benchmarks over all measured models; None without models or if a size is unknown."""
    read, flops, unknown, not_run = 0.0, 0.0, list[str](), dict[str, str]()
    for settings in models:
        if (size := _size(settings, made)) is None:
            return None
        refused = not_measured(config, settings)
        asked = {name: node for name, node in config.get("benchmark", {}).items() if name not in refused}
        tokens, unknown = tokens_read({**config, "benchmark": asked}, head_of(settings))
        not_run |= refused
        times = phases(config) if "method" in config else 1
        read, flops = read + times * tokens, flops + times * reading_flops(size.multiplied, tokens)
    return Measuring(read, flops, unknown, not_run) if flops or not_run else None


def _size(settings: Mapping[str, Any], made: Mapping[str, ModelSize]) -> ModelSize | None:
    name = str(settings["name"])
    return next((size for place, size in made.items() if place in name), None) or model_size(settings)


def _has_head(size: ModelSize) -> bool:
    """Return whether the parameter count includes a head over the vocabulary, as in causal models."""
    return "llama" in size.name.casefold() or "smollm" in size.name.casefold()


def _asked_about(method: Mapping[str, Any]) -> float:
    """Return the share of tokens for which a loss over the vocabulary computes logits: masked tokens only, or all."""
    return float(method.get("mask_share") or 1.0)


def _as_training(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return an augmentation's input in the form of training data, so that it is counted in the same way."""
    data = {"_target_": ".Rows", "limit": config.get("limit"), **source_of(str(config["input"]))}
    return {"data": data, "method": {}, "trainer": {}}


def _memory(config: Mapping[str, Any], size: ModelSize, work: Work, method: str, mixed: bool) -> Memory:
    settings, data, trainer = config["method"], config["data"], config["trainer"]
    processes = count_of(trainer)
    share = math.ceil(work.batch / processes)
    at_once = min(share, trainer.get("device_batch_size") or share)
    rank = settings.get("rank")
    # Two matrices of width x rank for each of a layer's six matrices (four of attention, two of the feed-forward part).
    adapters = size.layers * rank * (8 * size.width + 2 * (size.width + size.inner)) if rank else 0
    number = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}[str(config["backbone"].get("dtype", "float32"))]
    return training_memory(
        size,
        texts=at_once * work.texts,
        length=int(data.get("block") or config["backbone"].get("max_length") or 128),
        trained=adapters or size.parameters,
        weight_bytes=0.5 if settings.get("quantize") else number,
        numbers="bfloat16" if number == 2 or settings.get("quantize") else "autocast" if mixed else "float32",
        dropout=bool(settings.get("dropout", True)),
        logits=_asked_about(settings) if method in LOSS_OVER_WORDS else 0.0,
        recompute="full" if settings.get("checkpointing") else trainer.get("recompute", "none"),
        shards=processes if trainer.get("strategy") == "fsdp" else 1,
    )


def plan_text(
    title: str,
    runs: Sequence[RunPlan],
    devices: Sequence[Device],
    left_out: Mapping[str, str] | None = None,
    *,
    busy: str = "",
    single: bool = False,
) -> str:
    """Return the plan as text: the requirements of each run, and their sum.

    Args:
        title: Title of the plan.
        runs: Plans of the runs, in execution order.
        devices: Devices for which hours are estimated.
        left_out: Runs that are not available, with the reason.
        busy: Reason why this machine is not among the devices; empty if it is among them or was not requested.
        single: Whether there is only one run, which needs no sum.
    """
    parts = [title, "=" * len(title), "", *_needs([need for run in runs for need in run.needs]), ""]
    parts += ["Runs", "----", *_runs(runs, devices)]
    if left_out:
        parts += ["Not run, and why", "----------------", *_left_out(left_out), ""]
    parts += [] if single else [*_sum(runs, devices), ""]
    return "\n".join([*parts, *_basis(devices, busy)])


def _needs(needs: Iterable[Need]) -> list[str]:
    once = {need.name: need for need in needs}.values()
    lines = [
        f"  {need.name}: " + (f"available, {need.there}" if need.there else f"MISSING; {need.remedy}") for need in once
    ]
    return ["Inputs from elsewhere", "---------------------------", *lines]


def _runs(runs: Sequence[RunPlan], devices: Sequence[Device]) -> list[str]:
    """Return the lines about every run; runs with identical lines are merged."""
    together: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for run in runs:
        together.setdefault((run.times, tuple(_run(run, devices))), []).append(run.title)
    lines = []
    for (times, said), titles in together.items():
        each = f", {times} seeds" + (" each" if len(titles) > 1 else "") if times > 1 else ""
        lines += [f"{', '.join(titles)}{each}", *said, ""]
    return lines


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """Return the lines about unavailable runs, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"  {', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _run(run: RunPlan, devices: Sequence[Device]) -> list[str]:
    lines = [f"    {shlex.join(['python', *command[1:]])}" for command in run.commands]
    if run.problem:
        return [*lines, f"    cannot be planned: {run.problem}"]
    if run.size is not None:
        lines.append(f"    model: {run.size.name}, {_millions(run.size.parameters)} parameters ({run.size.source})")
    if run.work is not None:
        lines.append(f"    training: {_worked(run.work)}")
    if run.memory is not None:
        lines.append(f"    memory of a device: {_shares(run.memory)}, and about 1 GB for the libraries")
    if run.flops is not None:
        each = " a seed" if run.times > 1 else ""
        lines.append(
            f"    training takes {run.flops:.2g} FLOP{each}: {_hours(run.flops, run.mixed, run.memory, devices)}"
        )
    elif run.work is not None:
        lines.append("    FLOP and hours of training: unknown, because the number of items is unknown")
    elif run.unestimated:
        lines.append(f"    {run.unestimated}; the cost of training is not estimated")
    if run.measured is not None:
        besides = f", besides {', '.join(run.measured.unknown)}" if run.measured.unknown else ""
        hours = _hours(run.measured.flops, False, None, devices)
        read = f"    measuring reads about {_millions(round(run.measured.tokens))} tokens{besides}: {hours}"
        lines += [read] if run.measured.flops else []
        lines += [f"    not run: {name}: {why}" for name, why in run.measured.not_run.items()]
    if run.calls is not None:
        lines.append(f"    language model: {_asked(run.calls)}")
    return lines


def _worked(work: Work) -> str:
    items = "an unknown number of items" if work.items is None else f"{work.items:,} items"
    steps = (
        ""
        if work.steps is None
        else f", {work.steps:,} steps of {work.batch:,}, about {work.tokens:.3g} tokens per item"
    )
    return f"{items} ({work.source}){steps}"


def _shares(memory: Memory) -> str:
    named = (
        ("weights", memory.weights),
        ("gradients", memory.gradients),
        ("optimiser", memory.optimiser),
        ("activations", memory.activations),
        *([("gathered", memory.gathered)] if memory.gathered else []),
    )
    return " + ".join(f"{name} {_gb(value)}" for name, value in named) + f" = {_gb(memory.total)}"


def _hours(flops: float, mixed: bool, memory: Memory | None, devices: Sequence[Device]) -> str:
    said = []
    for device in devices:
        few, many = device.hours(flops, mixed=mixed)
        small = memory is not None and device.memory is not None and memory.total + 1e9 > device.memory
        said.append(f"{device.name} {_span(few, many)}" + (" (its memory is too small)" if small else ""))
    return "; ".join(said)


def _asked(calls: Calls) -> str:
    price = "free" if calls.free else "cost unknown; give llm.price={input: .., output: ..}"
    price = price if calls.dollars is None else f"about ${calls.dollars:,.2f}"
    return (
        f"{calls.model}, {calls.calls:,} calls for {calls.of}, about {_millions(calls.prompt_tokens)} prompt tokens "
        f"and {_millions(calls.completion_tokens)} of replies; {price}"
    )


def _sum(runs: Sequence[RunPlan], devices: Sequence[Device]) -> list[str]:
    needs = {need.name: need for run in runs for need in run.needs}.values()
    downloads = sum(need.download or 0 for need in needs if not need.there)
    unsized = sum(need.download is None and not need.there for need in needs)
    more = f", and {unsized} of unknown size" if unsized else ""
    brought = sum(not need.there and need.download == 0 and "made" not in need.remedy for need in needs)
    known = [run for run in runs if run.flops is not None]
    open_runs = sum(run.times for run in runs if run.work is not None and run.flops is None)
    lines = [
        "All together",
        "------------",
        f"  downloads: {downloads / 1e9:.1f} GB{more}; to be provided by hand: {brought}",
    ]
    if known:
        flops = sum((run.flops or 0) * run.times for run in known)
        lines.append(f"  training: {flops:.2g} FLOP in {sum(run.times for run in known)} runs")
        lines += _one_after_the_other([((run.flops or 0) * run.times, run.mixed) for run in known], devices)
    if measured := [(run.measured.flops * run.times, False) for run in runs if run.measured is not None]:
        lines.append(f"  measuring: {sum(flops for flops, _ in measured):.2g} FLOP")
        lines += _one_after_the_other(measured, devices)
    if open_runs:
        lines.append(f"  {open_runs} more runs train on an unknown number of items and are not in the sum")
    memories = [run.memory.total for run in runs if run.memory is not None]
    lines += [f"  memory of a device: {_gb(max(memories) + 10**9)} at most, libraries included"] if memories else []
    asked = [run.calls for run in runs if run.calls is not None]
    if asked:
        paid = [calls for calls in asked if not calls.free]
        dollars = [calls.dollars for calls in paid]
        price = "" if not paid else "; a price is unknown for some" if None in dollars else ""
        total = f", about ${sum(dollar or 0 for dollar in dollars):,.2f}" if any(dollars) else ""
        lines.append(f"  language models: {sum(calls.calls for calls in asked):,} calls{total}{price}")
        lines.append("    (counted for 1,000 texts if their number is unknown)")
    return lines


def _one_after_the_other(work: Sequence[tuple[float, bool]], devices: Sequence[Device]) -> list[str]:
    """Return the hours per device of work given as FLOP and whether they are in bfloat16."""
    lines = []
    for device in devices:
        spans = [device.hours(flops, mixed=mixed) for flops, mixed in work]
        span = _span(sum(few for few, _ in spans), sum(many for _, many in spans))
        lines.append(f"    on {device.name}, one after the other: {span}")
    return lines


def _basis(devices: Sequence[Device], busy: str) -> list[str]:
    """Return the lines about how the figures were obtained."""
    lines = ["Basis of the figures", "------------------------"]
    for device in devices:
        low, high = device.share
        lines.append(
            f"  {device.name}: {device.float32 / 1e12:.3g} TFLOP/s in float32, {device.bf16 / 1e12:.3g} in bfloat16, "
            f"with {low:.0%} to {high:.0%} of it assumed"
        )
    return [
        *lines,
        *([f"  no hours for this machine: {busy}"] if busy else []),
        "  Training is 6 FLOP for each parameter and token, 4 with adapters, measuring 2. Loading and reports",
        "  are not included, nor are a method's own passes over its data. Formulas and sources: docs/planning.md.",
    ]


def _span(few: float, many: float) -> str:
    """Format a range of hours in words.

    Example:
        >>> _span(0.01, 0.05), _span(2, 7.5), _span(100, 600)
        ('0.6 to 3 minutes', '2 to 7.5 hours', '4.2 to 25 days')
    """
    if many < 1 / 60:
        return "less than a minute"
    for unit, hours, top in (("minutes", 1 / 60, 100), ("hours", 1.0, 72)):
        if many / hours < top:
            return f"{_figure(few / hours)} to {_figure(many / hours)} {unit}"
    return f"{_figure(few / 24)} to {_figure(many / 24)} days"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _millions(count: int) -> str:
    return f"{count / 1e9:.3g} billion" if count >= 1e9 else f"{count / 1e6:.3g} million"


def _gb(count: float) -> str:
    return f"{count / 1e9:.2g} GB" if count < 1e10 else f"{count / 1e9:.0f} GB"
