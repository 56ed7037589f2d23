"""Parts of the GPU check: commands of fairlab on random models, and the figures read from their records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlab.record import Record
from fairlab.run.planned import planned

# Largest accepted differences between losses, between readings, and between readings that are percentages of items.
BOUNDS = {"float32": 1e-3, "bfloat16": 5e-2, "resumed": 1e-4, "sharded": 1e-4, "readings": 2e-3, "per cent": 2.0}

COMPILING = 60  # additional steps of compiled training, so that compilation is not timed


@dataclass(frozen=True)
class Setting:
    """Amount of work: full on a GPU, tiny to test the check itself.

    Attributes:
        length: Maximum input length in tokens.
        steps: Number of steps of each timed training run.
        groups: Number of counterfactual groups per step.
        blocks: Number of blocks per step, half of which are in a device batch.
        examples: Number of labelled texts, and of pairs, per step.
    """

    length: int
    steps: int
    groups: int
    blocks: int
    examples: int


FULL, TINY = Setting(512, 50, 24, 128, 128), Setting(64, 6, 8, 8, 8)


@dataclass(frozen=True)
class Command:
    """Command of fairlab and the folder of its run.

    Attributes:
        name: Name of the run's folder.
        entry: Module to run.
        arguments: Command-line arguments.
        variables: Environment variables.
        killed_at: Path of a file in the run's folder; the process is killed as soon as the file exists. None to let the
            process end.
    """

    name: str
    entry: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    killed_at: str | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Return the arguments, with the folder of the run unless it is already given or the entry point has none."""
        named = any(one.startswith("ckpt=") for one in self.arguments) or not self.entry.startswith("fairlab.")
        return self.arguments if named else (*self.arguments, f"hydra.run.dir={self.name}")


Figures = Callable[[dict[str, Record]], dict[str, Any]]


@dataclass(frozen=True)
class Part:
    """Part of the check.

    Attributes:
        name: Name of the part.
        title: Description of the part in the table.
        seconds: Time limit in seconds.
        commands: Commands to run, in order.
        figures: Function that maps the records of all runs so far, by name, to the figures of the part.
        alone: Whether the part is timed, so that no other part may run at the same time.
    """

    name: str
    title: str
    seconds: int
    commands: tuple[Command, ...]
    figures: Figures
    alone: bool = False


NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
ONE_SET = ("benchmark=[cced]", "benchmark.cced.sets=[embedded]")
SHORT = ("limit=16", "measure_before=false", "trainer.checkpoint_every=100000")
ONE_SHARD = {
    "cuda": ("trainer=fsdp", "trainer.devices=1"),
    "cpu": ("trainer=ddp_cpu", "trainer.strategy=fsdp", "trainer.devices=1"),
}


def all_parts(made: Path, models: dict[str, Any], peak: float, how: Setting, device: str) -> list[Part]:
    """Return all parts, in the order in which they are run.

    Args:
        made: Folder of models and texts.
        models: Sizes of the models.
        peak: Speed of bfloat16 matrix products on the device, in FLOP/s.
        how: Amount of work.
        device: Device to check.
    """
    return [*equality(made, how, device), *evaluation(made), *Timed(made, models, peak, how).parts()]


def equality(made: Path, how: Setting, device: str) -> list[Part]:
    """Return the parts that compare results: CPU and device, float32 and bfloat16, resumed and sharded training."""
    small = model_of(made, "bert_base", "bert_small", 64)
    ccd = ("+experiment=ccd_bert", *small, f"data.path={made}/short.jsonl", *ONE_SET, "data.limit=96", "seed=1")
    text = (f"data.paths=[{made}/running.txt]", "data.limit_characters=60000", "data.batch_size=16")
    mlm = ("+experiment=fairberta", *small, *text, "augmentation=none", "data.twin=original", *ONE_SET)
    mlm += ("method.dropout=null", "training=float32", "method.validate_every=1000")

    def run(name: str, arguments: tuple[str, ...], steps: int = 20, **more: Any) -> Command:
        return Command(name, "fairlab.train", (*SHORT, f"trainer.max_steps={steps}", *arguments), **more)

    often = ("trainer.checkpoint_every=5",)
    kill = {"killed_at": "checkpoints/last.ckpt"}
    return [
        Part(
            "equal_mlm",
            "MLM training in float32: the CPU and the device",
            90,
            (run("mlm_cpu", mlm, variables=NO_GPU), run("mlm_gpu", mlm)),
            lambda found: difference(found["mlm_cpu"], found["mlm_gpu"], "float32"),
        ),
        Part(
            "equal_ccd",
            "CCD in float32: the CPU and the device",
            90,
            (run("ccd_cpu", ccd, variables=NO_GPU), run("ccd_gpu", ccd)),
            lambda found: difference(found["ccd_cpu"], found["ccd_gpu"], "float32", first_step=True),
        ),
        Part(
            "resumed",
            "MLM training that was killed and continued, and that was not",
            150,
            (
                run("mlm_killed", (*mlm, "data.limit_characters=600000", *often), 200, **kill),
                run("mlm_killed", (*mlm, "data.limit_characters=600000", *often, "ckpt=mlm_killed"), 200),
                run("mlm_whole", (*mlm, "data.limit_characters=600000", *often), 200),
            ),
            lambda found: difference(found["mlm_whole"], found["mlm_killed"], "resumed"),
        ),
        Part(
            "one_device",
            "MLM training on the device in float32, and in bfloat16, and by FSDP with one process",
            120,
            (
                run("mlm_one", mlm),
                run("mlm_bf16", (*mlm, "training=mixed")),
                run("mlm_fsdp", (*mlm, *ONE_SHARD[device])),
            ),
            lambda found: together(
                bfloat16=difference(found["mlm_one"], found["mlm_bf16"], "bfloat16"),
                sharded=difference(found["mlm_one"], found["mlm_fsdp"], "sharded"),
            ),
        ),
    ]


class Timed:
    """Parts that measure throughput and memory."""

    def __init__(self, made: Path, models: dict[str, Any], peak: float, how: Setting) -> None:
        self.made, self.models, self.peak, self.how = made, models, peak, how

    def parts(self) -> list[Part]:
        """Return the timed parts."""
        how, made = self.how, self.made
        bert = model_of(made, "bert_large", "bert_large", how.length)
        roberta = model_of(made, "roberta_base", "roberta_base", how.length)
        ccd = ("+experiment=ccd_bert", *bert, "training=mixed", f"data.batch_size={how.groups}", "method.epochs=20")
        ccd += (*ONE_SET, "method.validate_every=1000", "data.validation=4")
        long, mixed = (f"data.path={made}/long.jsonl",), (f"data.path={made}/mixed.jsonl",)
        mlm = ("+experiment=fairberta", *roberta, f"data.paths=[{made}/running.txt]", "augmentation=none", *ONE_SET)
        mlm += ("data.twin=original", f"data.batch_size={how.blocks}", f"trainer.device_batch_size={how.blocks // 2}")
        mlm += ("training=pretraining", "method.epochs=20", "method.validate_every=1000", f"data.block={how.length}")
        labelled = (
            "+experiment=glue",
            *model_of(made, "roberta_base", "roberta_base", min(128, how.length)),
            "task=sst2",
        )
        labelled += (f"data.path={made}/labelled", f"data.batch_size={how.examples}", "training=mixed")
        perturber = ("+experiment=perturber", "scale=paper", f"backbone.name={made}/bart_large", *ONE_SET)
        perturber += (f"backbone.max_length={how.length}", f"data.path={made}/pairs.jsonl")
        perturber += (f"data.batch_size={how.examples // 2}", "data.test=0.0")
        llama = ("backbone=smollm2", "backbone.package=null", "backbone.gguf=null", "backbone.weights_sha256=null")
        llama += (f"backbone.name={made}/llama_1b", f"backbone.max_length={how.length}", "backbone.dtype=bfloat16")
        lora = ("method=causal_lm", *llama, "data=entries", f"data.path={made}/running.txt", "data.expandable=false")
        lora += ("augmentation=cda_text", "data.sample=500", "data.limit=null", "data.tokens=400000", "method.rank=64")
        lora += ("benchmark=[perplexity]", f"benchmark.perplexity.path={made}/running.txt", "training=mixed")
        lora += (f"data.block={how.length}", f"data.batch_size={max(4, how.groups // 2)}", "method.validate_every=1000")
        expandable = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
        most = "method.validate_every=1000"
        compiled = ("trainer.compile=true", f"trainer.max_steps={how.steps + COMPILING}")
        return [
            self.part("ccd", "CCD of BERT-large, texts of full length", (*ccd, *long), "bert_large"),
            self.part("mlm", "MLM pretraining of RoBERTa-base, packed blocks, two parts a step", mlm, "roberta_base"),
            self.part("ccd_mixed", "CCD of BERT-large, texts of mixed length", (*ccd, *mixed), "bert_large"),
            self.part(
                "fairtune", "fine-tuning of RoBERTa-base on labelled texts", (*labelled, most), "roberta_base", 128
            ),
            self.part("perturber", "a perturber of BART-large's size", (*perturber, most), None, seconds=110),
            self.part(
                "lora", "adapters of a causal LM of a billion weights in bfloat16", lora, "llama_1b", adapters=True
            ),
            self.part(
                "ccd_compiled",
                "CCD as above, compiled",
                (*ccd, *long, *compiled),
                "bert_large",
                seconds=150,
            ),
            self.part(
                "mlm_compiled",
                "MLM pretraining as above, compiled",
                (*mlm, *compiled),
                "roberta_base",
                seconds=120,
            ),
            self.part(
                "expandable",
                "CCD on mixed lengths with expandable segments",
                (*ccd, *mixed),
                "bert_large",
                variables=expandable,
            ),
        ]

    def part(
        self,
        name: str,
        title: str,
        arguments: tuple[str, ...],
        model: str | None,
        length: int | None = None,
        *,
        adapters: bool = False,
        seconds: int = 75,
        variables: Mapping[str, str] | None = None,
    ) -> Part:
        """Return a part that trains one model.

        Its figures are tokens per second, the share of the peak speed, and memory, as measured and as planned.
        """
        arguments = (*SHORT, f"trainer.max_steps={self.how.steps}", *arguments)
        command = Command(name, "fairlab.train", arguments, variables or {})

        def figures(found: dict[str, Record]) -> dict[str, Any]:
            record = found[name]
            measured = dict(record.provenance["throughput"])
            measured["memory_bytes"] = record.provenance["stages"]["training"]["gpu_peak_bytes"]
            if model:
                each = flops(self.models[model], length or self.how.length, adapters=adapters)
                measured["share_of_peak"] = measured["tokens_per_second"] * each / self.peak
            planned_bytes = planned("train", name, arguments).memory
            measured["planned_memory_bytes"] = planned_bytes.total if planned_bytes else None
            measured["last_loss"] = losses(record)[-1]
            return measured

        return Part(name, title, seconds, (command,), figures, alone=True)


def evaluation(made: Path) -> list[Part]:
    """Return the part that evaluates a model on the CPU and on the device."""
    what = (
        "benchmark=[cced,crows_pairs]",
        "benchmark.cced.sets=[embedded]",
        "benchmark.crows_pairs.bias_types=[gender]",
    )
    arguments = (f"model={made}/bert_small", *what, f"benchmark.crows_pairs.path={made}/crows_pairs.csv")

    def figures(found: dict[str, Record]) -> dict[str, Any]:
        return readings_difference(found["evaluate_cpu"], found["evaluate_gpu"])

    commands = (
        Command("evaluate_cpu", "fairlab.evaluate", arguments, NO_GPU),
        Command("evaluate_gpu", "fairlab.evaluate", arguments),
    )
    return [Part("evaluate", "CCED and CrowS-Pairs: the CPU and the device", 90, commands, figures)]


def model_of(made: Path, backbone: str, name: str, length: int) -> tuple[str, ...]:
    """Return the overrides that select a random model."""
    return (f"backbone={backbone}", f"backbone.name={made}/{name}", f"backbone.max_length={length}")


def flops(model: Mapping[str, int], length: int, *, adapters: bool) -> float:
    """Return the FLOPs of training per token, by Chowdhery et al. 2022 ("PaLM"), appendix B.

    These are 6 per weight of a matrix product, and 12 per layer, dimension and position of attention. With adapters,
    two thirds of both are counted, because the frozen weights have no gradient. Embeddings and the output layer are not
    counted.
    """
    whole = 6 * model["multiplied"] + 12 * model["layers"] * model["width"] * length
    return whole * (2 / 3 if adapters else 1)


def losses(record: Record) -> list[float]:
    """Return the training loss of each step."""
    return [row["train/loss"] for row in record.history if "train/loss" in row]


def difference(expected: Record, found: Record, bound: str, *, first_step: bool = False) -> dict[str, Any]:
    """Return the largest differences between the losses and the readings of two runs, and whether they are small.

    Args:
        expected: Record of the reference run.
        found: Record of the run to check.
        bound: Name of the bound on relative differences between losses.
        first_step: Whether the bound applies only to the first step. CCD's first gradient consists only of rounding
            errors, because trained and original embeddings are equal, so its later losses depend on the processor.
    """
    ours, theirs = losses(found), losses(expected)
    assert len(ours) == len(theirs), f"{len(ours)} and {len(theirs)} steps"
    each = [abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours, theirs, strict=True)]
    read = readings_difference(expected, found)
    small = (each[0] if first_step else max(each)) <= BOUNDS[bound]
    result = {"steps": len(ours), "first_loss": each[0], "losses": max(each), "allowed": BOUNDS[bound]}
    return result | {"readings": read["readings"], "equal": small and read["equal"]}


def together(**comparisons: dict[str, Any]) -> dict[str, Any]:
    """Combine several comparisons by name, and state whether all of them are within their bounds."""
    return {**comparisons, "equal": all(one["equal"] for one in comparisons.values())}


def readings_difference(expected: Record, found: Record) -> dict[str, Any]:
    """Return the largest difference between the readings of two runs. Percentages of items are reported separately."""
    ours, theirs = found.metrics(), expected.metrics()
    each = {name: abs(ours[name] - theirs[name]) for name in theirs if name in ours}
    assert each, "no reading in common"
    shares = [value for name, value in each.items() if "crows_pairs" in name]
    others = [value for name, value in each.items() if "crows_pairs" not in name]
    result = {"compared": len(each), "readings": max(others, default=0.0), "per_cent": max(shares, default=0.0)}
    equal = result["readings"] <= BOUNDS["readings"] and result["per_cent"] <= BOUNDS["per cent"]
    return result | {"equal": equal}
