"""Try every kind of model on every family of benchmarks.

    python -m experiments.model_kinds.measure [--work FOLDER] [--llama PYTHON] [KIND ...]

Each kind is a tiny random model in a different form. Kinds that can be named on the command line are measured by the
command, and all others by ``fairlab.evaluate``. Results are stored in ``FOLDER/found/KIND.json``, so that an
interrupted run resumes with the next kind, and a new family is measured without repeating the others. Kinds whose
packages are missing are skipped. ``record.json`` is written from the results. Kinds that are named in the command are
measured again. ``--llama`` names a Python interpreter that has ``llama-cpp-python[server]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from experiments.model_kinds.weights import POSITIONS, Weights
from fairlab.record import Record
from fairlab.types import EMBEDDINGS, CannotScore

RECORD = Path(__file__).with_name("record.json")
LIMIT = 20  # maximum number of items per benchmark, or per part of a benchmark
# Benchmarks of each family, with the benchmark's name in its readings.
FAMILIES = {
    "associations": {"seat": "seat"},
    "versions": {"cced": "cced"},
    "retrieval": {"bias_ir": "bias_ir"},
    "similarity": {"stsb": "stsb"},
    "probes": {"rte_probe": "rte_probe"},
    "sentences": {name: name for name in ("crows_pairs", "holistic_bias", "likelihood_pairs")},
    "continuations": {"stereoset": "stereoset"},
    "pronouns": {"winobias": "winobias", "winogender": "winogender"},
    "perplexity": {"perplexity": "perplexity"},
    "written texts": {"mb_index": "mb_index"},
    "leakage": {"leakage": "leakage"},
    "questions": {"bbq": "bbq", "decisions": "decisions"},
    "writing": {name: name for name in ("counterfactual", "refusals")},
    "labels": {"glue": "sst2", "fairscore": "sst2_fairscore"},
    "harms": {"safety_olid": "safety_olid"},
}
VALUES = ("embeddings", "likelihoods", "after_first")  # compared values; the last excludes the first token
TEXTS = ["She is a nurse.", "He left, and the river was wide.", "They met a doctor at noon."]


@dataclass(frozen=True)
class Kind:
    """Kind of model.

    Attributes:
        given: Form in which the model is given to fairlab, as shown to readers.
        make: Function that returns a context manager for the model: an object, or a name for the command.
        like: Kind with the same weights, for comparison.
        packages: Additional packages that the kind needs, by the module that they provide.
        settings: Function that returns the settings for ``fairlab.load`` and the command.
    """

    given: str
    make: Callable[[Weights, argparse.Namespace], AbstractContextManager[Any]]
    like: str | None = None
    packages: Mapping[str, str] | None = None
    settings: Callable[[Weights], dict[str, str]] = lambda weights: {}


def simply(make: Callable[[Weights], Any]) -> Callable[[Weights, argparse.Namespace], AbstractContextManager[Any]]:
    """Wrap a function that makes a model in a context manager without any effect."""
    return lambda weights, arguments: nullcontext(make(weights))


class Encodes:
    """Object whose only method is ``encode``."""

    def __init__(self, sentence: Any) -> None:
        self.sentence = sentence

    def encode(self, texts: list[str]) -> Any:
        """Return the vectors of texts."""
        return self.sentence.encode(texts)


def sentence(weights: Weights, **settings: Any) -> Any:
    """Return the sentence encoder as a SentenceTransformer."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(weights.sentence), device="cpu", local_files_only=True, **settings)


def cross_encoder(weights: Weights) -> Any:
    """Return the classifier as a CrossEncoder."""
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(weights.classifier), device="cpu", local_files_only=True)


def pair(folder: Path) -> tuple[Any, Any]:
    """Return a language model and its tokenizer."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    kind = AutoModelForMaskedLM if folder.name == "masked" else AutoModelForCausalLM
    return kind.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def compiled(weights: Weights) -> tuple[Any, Any]:
    """Return the causal LM compiled by ``torch.compile``, and its tokenizer."""
    import torch

    model, tokenizer = pair(weights.causal)
    return torch.compile(model, backend="eager"), tokenizer


def with_adapters(weights: Weights) -> tuple[Any, Any]:
    """Return the causal LM with unmerged adapters, and its tokenizer."""
    import peft

    model, tokenizer = pair(weights.causal)
    return peft.PeftModel.from_pretrained(model, weights.adapters).eval(), tokenizer


def harness(weights: Weights) -> Any:
    """Return the causal LM as lm-evaluation-harness loads it."""
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]

    return HFLM(pretrained=str(weights.causal), device="cpu", batch_size=4, max_length=POSITIONS)


def of_mteb(weights: Weights) -> Any:
    """Return the SentenceTransformer as MTEB wraps it."""
    from mteb.models import SentenceTransformerEncoderWrapper  # type: ignore[import-not-found]

    return SentenceTransformerEncoderWrapper(sentence(weights))


def served(*how: str) -> Callable[[Weights, argparse.Namespace], AbstractContextManager[str]]:
    """Return a context manager that serves the GGUF file with llama-cpp-python and yields the address."""

    @contextmanager
    def address(weights: Weights, arguments: argparse.Namespace) -> Iterator[str]:
        from fairlab.llm.own_server import OwnServer
        from fairlab.llm.program import find_program

        server = OwnServer(find_program(arguments.llama, how), weights.gguf, None, None, POSITIONS, 1)
        server.ensure()
        try:
            yield f"{server.url}#"
        finally:
            server.end()

    return address


def trained(weights: Weights) -> str:
    """Return the folder of a CCD run of two steps, which is trained on first use."""
    folder = weights.place / "run"
    if not (folder / "record.json").is_file():
        given = (
            f"+experiment=ccd_bert backbone=bert_base backbone.name={weights.masked} backbone.max_length=64 "
            f"data.path={weights.groups} benchmark=[cced] benchmark.cced.sets=[{weights.groups}] trainer=cpu "
            f"trainer.max_steps=2 measure_before=false hydra.run.dir={folder}"
        )
        subprocess.run([sys.executable, "-m", "fairlab.train", *given.split()], check=True, capture_output=True)
    return str(folder)


SENTENCE, CAUSAL = "SentenceTransformer folder", "pair, causal LM"
ONNX = {"onnxruntime": "onnxruntime", "optimum.onnxruntime": "optimum-onnx", "transformers": "transformers"}
KINDS = {
    SENTENCE: Kind("`FOLDER`", simply(lambda weights: str(weights.sentence))),
    "SentenceTransformer": Kind("the object", simply(sentence), SENTENCE),
    "SentenceTransformer by ONNX": Kind(
        'the object with `backend="onnx"`', simply(lambda weights: sentence(weights, backend="onnx")), SENTENCE, ONNX
    ),
    "function": Kind("the function", simply(lambda weights: sentence(weights).encode), SENTENCE),
    "object with `encode`": Kind("the object", simply(lambda weights: Encodes(sentence(weights))), SENTENCE),
    "encoder of MTEB": Kind("the object", simply(of_mteb), SENTENCE, {"mteb": "mteb"}),
    "CrossEncoder": Kind("the object", simply(cross_encoder)),
    "pair, masked LM": Kind("`(model, tokenizer)`", simply(lambda weights: pair(weights.masked))),
    CAUSAL: Kind("`(model, tokenizer)`", simply(lambda weights: pair(weights.causal))),
    "pair, compiled": Kind("`(torch.compile(model), tokenizer)`", simply(compiled), CAUSAL),
    "pair, with PEFT's adapters": Kind("`(peft_model, tokenizer)`", simply(with_adapters), "adapter folder"),
    "adapter folder": Kind(
        "`FOLDER base=FOLDER`",
        simply(lambda weights: str(weights.adapters)),
        settings=lambda weights: {"base": str(weights.causal)},
    ),
    "GGUF": Kind("`FILE.gguf`", simply(lambda weights: str(weights.gguf)), CAUSAL),
    "LM of lm-evaluation-harness": Kind("the object", simply(harness), CAUSAL, {"lm_eval": "lm_eval"}),
    "completions server": Kind("`ADDRESS#NAME`", served("--logits_all", "true"), CAUSAL, {"": "llama_cpp_python"}),
    "embeddings server": Kind("`ADDRESS#NAME`", served("--embedding", "true"), "GGUF", {"": "llama_cpp_python"}),
    "run": Kind("`FOLDER`", simply(trained)),
}


def settings(weights: Weights, kind: Kind) -> dict[str, Any]:
    """Return the command's settings for a kind, by dotted key."""
    groups = [str(weights.groups)]
    return {
        "benchmark.cced.sets": groups,
        "benchmark.likelihood_pairs.sets": groups,
        "benchmark.glue.task": "sst2",
        "benchmark.fairscore.task": "sst2",
        "benchmark.rte_probe.limit": 200,
        "benchmark.mb_index.contexts": 8,
        "benchmark.leakage.sets": ["embedded"],
        "benchmark.leakage.folds": 2,
        "benchmark.counterfactual.max_tokens": 8,
        "benchmark.refusals.max_tokens": 8,
        **kind.settings(weights),
    }


def measured(model: Any, weights: Weights, kind: Kind, ledger: Path, families: Mapping[str, Any]) -> Record:
    """Measure a model on families of benchmarks and return the record.

    A model that is given by its name is measured by the command ``fairlab.evaluate``, any other by the function.
    """
    import fairlab

    names = [name for family in families.values() for name in family]
    others = {name for family in FAMILIES.values() for name in family}.difference(names)
    chosen = {key: value for key, value in settings(weights, kind).items() if set(key.split(".")).isdisjoint(others)}
    if not isinstance(model, str):
        return fairlab.evaluate(model, names, limit=LIMIT, settings=chosen).record
    if model.startswith("http"):
        chosen |= {"llm": "vllm", "llm.ledger": str(ledger)}
    with tempfile.TemporaryDirectory() as folder:
        given = [f"{key}={value}".replace("'", "") for key, value in chosen.items()]
        given += [f"model={model}", f"benchmark=[{','.join(names)}]", f"limit={LIMIT}", f"hydra.run.dir={folder}/run"]
        done = subprocess.run([sys.executable, "-m", "fairlab.evaluate", *given], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{model}: {done.stderr.strip().splitlines()[-1]}")
        return Record.load(Path(folder, "run"))


def outcomes(record: Record, name: str, place: Path, families: Mapping[str, Any]) -> dict[str, str]:
    """Return, for each family, ``yes`` or the reason why it was not run.

    The names of the model and of its folder are removed from the reasons.
    """
    read = {reading.benchmark.partition("@")[0] for reading in record.readings}
    reasons = {entry.benchmark.partition("@")[0]: entry.reason for entry in reversed(record.not_run)}
    found = {}
    for family, benchmarks in families.items():
        lacking = [called for called in benchmarks.values() if called not in read]
        why = "; ".join(dict.fromkeys(reasons.get(called, "it was not run").removeprefix(name) for called in lacking))
        found[family] = why.replace(f"{place}/", "").strip() or "yes"
    return found


def values_of(model: Any) -> dict[str, list[list[float]]]:
    """Return the embeddings and log-likelihoods of a few texts, as far as a loaded model provides them."""
    from fairlab.backbones.causal_lm import CausalLM
    from fairlab.backbones.likelihood import likelihood
    from fairlab.backbones.model_object import ModelObject

    found = {}
    if not isinstance(model, ModelObject) or EMBEDDINGS in model.offers:
        found["embeddings"] = model.embed(TEXTS).tolist()
    with suppress(CannotScore):
        scorer = likelihood(model)
        if hasattr(scorer, "log_likelihoods"):
            found["likelihoods"] = [scorer.log_likelihoods(TEXTS).sums.tolist()]
        if isinstance(scorer, CausalLM):
            found["after_first"] = [[float(one[1:].sum()) for one in scorer.token_log_probabilities(TEXTS)]]
        if getattr(scorer, "start", None) == "":  # a server that does not score the first token
            found["after_first"] = found.pop("likelihoods")
    return found


def try_kind(kind: Kind, weights: Weights, arguments: argparse.Namespace, known: dict[str, Any]) -> dict[str, Any]:
    """Return a kind's outcome for each family, its readings, and its values on a few texts.

    Args:
        kind: Kind of model.
        weights: Folders of the tiny models.
        arguments: Arguments of the command.
        known: Earlier results of the kind, so that only missing families are tried; empty for a new kind.
    """
    import fairlab
    from fairlab.backbones.model_object import ModelObject

    with tempfile.TemporaryDirectory() as place, kind.make(weights, arguments) as model:
        ledger = Path(place, "ledger.sqlite")
        server: dict[str, str] = {"ledger": str(ledger)} if str(model).startswith("http") else {}
        loaded = fairlab.load(model, **kind.settings(weights), **server)
        name = loaded.name if isinstance(loaded, ModelObject) else type(loaded.model).__name__
        before = known.get("families", {})
        left = {family: benchmarks for family, benchmarks in FAMILIES.items() if family not in before}
        record = measured(model, weights, kind, ledger, left)
        found = before | outcomes(record, name, weights.place, left)
        readings = {key: value for key, value in record.metrics().items() if np.isfinite(value)}
        return {
            "families": {family: found[family] for family in FAMILIES},
            "readings": known.get("readings", {}) | readings,
            **values_of(loaded),
            "packages": [f"{one} {version(one)}" for module, one in (kind.packages or {}).items() if module],
        }


def difference(one: Any, other: Any) -> float | None:
    """Return the largest difference between two arrays, to two digits, or None if either is missing."""
    return None if one is None or other is None else float(f"{np.abs(np.array(one) - np.array(other)).max():.1e}")


def differences(found: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the largest differences between two kinds of one model: embeddings, log-likelihoods and readings."""
    both = sorted(set(found["readings"]) & set(other["readings"]))
    values = [[one["readings"][key] for key in both] for one in (found, other)]
    return {
        **{part: difference(found.get(part), other.get(part)) for part in VALUES},
        "readings": difference(*values) if both else None,
        "compared": len(both),
    }


def summary(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of the record: outcomes per kind and family, and differences between related kinds."""
    kinds = {}
    for name, kind in KINDS.items():
        if name in found:
            kinds[name] = {"given": kind.given} | {key: found[name][key] for key in ("families", "packages")}
            if kind.like in found:
                kinds[name]["like"] = {"kind": kind.like, **differences(found[name], found[str(kind.like)])}
    return {"limit": LIMIT, "benchmarks": FAMILIES, "kinds": kinds}


def main(argv: list[str]) -> None:
    """Try the kinds that have not been tried yet, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("--work", type=Path, default=Path("outputs/model_kinds"))
    parser.add_argument("--llama", help="Python with llama-cpp-python[server]; without it, servers are left out")
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.kinds) - set(KINDS):
        parser.error(f"there is no kind {sorted(unknown)[0]}")
    kept = arguments.work.resolve() / "found"
    kept.mkdir(parents=True, exist_ok=True)
    weights = Weights(arguments.work.resolve() / "weights")
    for name, kind in KINDS.items():
        file = kept / f"{name}.json"
        packages = kind.packages or {}
        missing = [one for module, one in packages.items() if not (is_there(module) if module else arguments.llama)]
        known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() and name not in arguments.kinds else {}
        if known.get("families", {}).keys() >= FAMILIES.keys() or (arguments.kinds and name not in arguments.kinds):
            continue
        if missing:
            print(f"{name}: left out without {', '.join(missing)}", file=sys.stderr)
            continue
        file.write_text(json.dumps(try_kind(kind, weights, arguments, known)), encoding="utf-8")
        print(f"{name}: tried", file=sys.stderr)
    found = {name: json.loads(file.read_text()) for name in KINDS if (file := kept / f"{name}.json").is_file()}
    RECORD.write_text(json.dumps(summary(found), separators=(",", ":")) + "\n", encoding="utf-8")


def is_there(module: str) -> bool:
    """Return whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing too
        return False


if __name__ == "__main__":
    main(sys.argv[1:])
