"""Text of a plan, with the requirements of all runs together and of each group of identical runs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlab.run.launch.processes import count_of
from fairlab.run.planning.calls import Calls, calls_of
from fairlab.run.planning.hours import SHARE, gpus
from fairlab.run.planning.measuring import not_measured
from fairlab.run.planning.memory import Memory, training_memory
from fairlab.run.planning.needs import MADE, Need, model_settings, needs_of
from fairlab.run.planning.sizes import ModelSize, model_size
from fairlab.run.planning.work import Work, source_of, training_flops, training_work

LOSS_OVER_WORDS = ("MLM", "CausalLMTuning", "PerturberTraining")  # methods with a loss over the vocabulary
FITTED = ("CCDLinear", "INLP", "SentenceDebias")  # methods that read their data once and train no layers


@dataclass(frozen=True)
class RunPlan:
    """Requirements of one run.

    Attributes:
        title: Name of the run.
        commands: Commands of the run.
        needs: External inputs of the run.
        size: Size of the run's model; None if there is no model or its size is unknown.
        work: Amount of training; None if no network is trained.
        memory: Memory that a device needs; None if no network is trained.
        flops: FLOPs of training, or None if unknown.
        not_run: Reasons why benchmarks cannot measure the model, by benchmark.
        mixed: Whether matrices are multiplied in bfloat16.
        calls: Estimated calls of a language model, or None without one.
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
    not_run: Mapping[str, str] = field(default_factory=dict)
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
    """Return the plan of a run from its configuration of ``fairlab.train``, ``evaluate`` or ``augment``.

    Args:
        title: Name of the run.
        config: Configuration as plain containers.
        commands: Commands of the run.
        times: Number of seeds.
        made: Sizes of models made by other runs, by the ending of their folder names.
    """
    models = model_settings(config)
    size = _size(models[0], made or {}) if models else None
    not_run = {name: why for settings in models for name, why in not_measured(config, settings).items()}
    plan = RunPlan(title, commands, needs_of(config), size, not_run=not_run, times=times)
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
    multiplied = size.multiplied + round(words * _share_with_logits(config["method"]))
    flops = None if work.read is None else training_flops(multiplied, work.read, adapters=adapters)
    mixed = "bf16" in str(config["trainer"].get("precision", ""))
    memory = _memory(config, size, work, method, mixed)
    return replace(plan, work=work, memory=memory, flops=flops, mixed=mixed, calls=calls_of(config, None))


def _size(settings: Mapping[str, Any], made: Mapping[str, ModelSize]) -> ModelSize | None:
    name = str(settings["name"])
    return next((size for place, size in made.items() if place in name), None) or model_size(settings)


def _has_head(size: ModelSize) -> bool:
    """Return whether the parameter count includes a language modelling head, as for causal models."""
    return "llama" in size.name.casefold() or "smollm" in size.name.casefold()


def _share_with_logits(method: Mapping[str, Any]) -> float:
    """Return the share of tokens with logits over the vocabulary: the masked tokens, or all tokens."""
    return float(method.get("mask_share") or 1.0)


def _as_training(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of training data for an augmentation's input, so that it is counted in the same way."""
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
        logits=_share_with_logits(settings) if method in LOSS_OVER_WORDS else 0.0,
        recompute="full" if settings.get("checkpointing") else trainer.get("recompute", "none"),
        shards=processes if trainer.get("strategy") == "fsdp" else 1,
    )


def plan_text(
    title: str, runs: Sequence[RunPlan], left_out: Mapping[str, str] | None = None, *, single: bool = False
) -> str:
    """Return the plan as text: the totals of all runs, their external inputs, and the requirements of each run.

    ``left_out`` has the reasons why runs are not available, by run. A ``single`` run needs no totals.
    """
    parts = [title, "=" * len(title), ""]
    parts += [] if single else [*_sum(runs), ""]
    parts += [*_needs([need for run in runs for need in run.needs]), "", "Runs", "----", *_runs(runs)]
    if left_out:
        parts += ["Not run, and why", "----------------", *_left_out(left_out), ""]
    return "\n".join([*parts, *_basis()])


def _needs(needs: Iterable[Need]) -> list[str]:
    once = {need.name: need for need in needs if not need.remedy.startswith(MADE)}.values()
    lines = [
        f"  {need.name}: " + (f"available, {need.there}" if need.there else f"MISSING; {need.remedy}") for need in once
    ]
    return ["Inputs from elsewhere", "---------------------", *lines]


def _runs(runs: Sequence[RunPlan]) -> list[str]:
    """Return the lines about all runs.

    Runs with identical requirements are merged under one of their commands.
    """
    together: dict[tuple[int, tuple[str, ...]], list[RunPlan]] = {}
    for run in runs:
        together.setdefault((run.times, tuple(_run(run))), []).append(run)
    lines = []
    for (times, said), equal in together.items():
        each = f", {times} seeds" + (" each" if len(equal) > 1 else "") if times > 1 else ""
        commands = [f"    {shlex.join(['python', *command[1:]])}" for command in equal[0].commands]
        lines += [f"{', '.join(run.title for run in equal)}{each}", *commands, *said, ""]
    return lines


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """Return the lines about unavailable runs, grouped by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"  {', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _run(run: RunPlan) -> list[str]:
    """Return the lines about the requirements of a run, in two columns."""
    if run.problem:
        return [f"    cannot be planned: {run.problem}"]
    rows = []
    if run.size is not None:
        rows.append(("model", f"{run.size.name}, {_millions(run.size.parameters)} parameters ({run.size.source})"))
    if run.work is not None:
        rows.append(("training", _worked(run.work)))
    if run.memory is not None:
        rows.append(("device memory", f"{_shares(run.memory)}, and about 1 GB for the libraries"))
    if run.flops is not None:
        each = " per seed" if run.times > 1 else ""
        rows.append(("computation", f"{run.flops:.2g} FLOP{each}: {_hours(run.flops, run.mixed, run.memory)}"))
    elif run.work is not None:
        rows.append(("computation", "unknown, because the number of items is unknown"))
    elif run.unestimated:
        rows.append(("computation", f"not estimated: {run.unestimated}"))
    rows += [("not run", f"{name}: {why}") for name, why in run.not_run.items()]
    if run.calls is not None:
        rows.append(("language model", _asked(run.calls)))
    return [f"    {name:<14}  {value}" for name, value in rows]


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


def _hours(flops: float, mixed: bool, memory: Memory | None) -> str:
    said = []
    for device in gpus():
        small = memory is not None and memory.total + 1e9 > device.memory
        too_small = " (its memory is too small)" if small else ""
        said.append(f"{device.name} {_span(*device.hours(flops, mixed=mixed))}{too_small}")
    return "; ".join(said)


def _asked(calls: Calls) -> str:
    price = "free" if calls.free else "cost unknown; give llm.price={input: .., output: ..}"
    price = price if calls.dollars is None else f"about ${calls.dollars:,.2f}"
    return (
        f"{calls.model}, {calls.calls:,} calls for {calls.of}, about {_millions(calls.prompt_tokens)} prompt tokens "
        f"and {_millions(calls.completion_tokens)} of replies; {price}"
    )


def _sum(runs: Sequence[RunPlan]) -> list[str]:
    needs = {need.name: need for run in runs for need in run.needs}.values()
    downloads = sum(need.download or 0 for need in needs if not need.there)
    unsized = sum(need.download is None and not need.there for need in needs)
    more = f", and {unsized} of unknown size" if unsized else ""
    brought = sum(not need.there and need.download == 0 and not need.remedy.startswith(MADE) for need in needs)
    known = [run for run in runs if run.flops is not None]
    open_runs = sum(run.times for run in runs if run.work is not None and run.flops is None)
    lines = [
        "All together",
        "------------",
        f"  downloads: {downloads / 1e9:.1f} GB{more}; to be provided by hand: {brought}",
    ]
    if known:
        flops = sum((run.flops or 0) * run.times for run in known)
        lines.append(f"  training: {flops:.2g} FLOP in {sum(run.times for run in known)} runs, one after the other")
        for device in gpus():
            spans = [device.hours((run.flops or 0) * run.times, mixed=run.mixed) for run in known]
            lines.append(f"    on {device.name}: {_span(sum(few for few, _ in spans), sum(many for _, many in spans))}")
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


def _basis() -> list[str]:
    """Return the lines that explain how the figures were obtained."""
    low, high = SHARE
    peaks = "; ".join(f"{one.name} {one.float32 / 1e12:.3g}, {one.bf16 / 1e12:.3g} in bfloat16" for one in gpus())
    return [
        "Basis of the figures",
        "--------------------",
        f"  Hours: {low:.0%} to {high:.0%} of the peak, in TFLOP/s: {peaks}.",
        "  Training is 6 FLOP for each parameter and token, 4 with adapters. Loading, benchmarks, reports and passes",
        "  of a method over its data are not included. Formulas and sources: docs/planning.md.",
    ]


def _span(few: float, many: float) -> str:
    """Format a range of hours in suitable units.

    Example:
        >>> _span(0.01, 0.05), _span(2, 7.5), _span(100, 600)
        ('0.6 to 3 minutes', '2 to 7.5 hours', '4.2 to 25 days')
        >>> _span(0, 0.016), _span(0, 1 / 60), _span(1, 99.9 / 60), _span(1, 100 / 60), _span(24, 71.9), _span(24, 72)
        ('less than a minute', '0 to 1 minutes', '60 to 100 minutes', '1 to 1.7 hours', '24 to 72 hours', '1 to 3 days')
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
