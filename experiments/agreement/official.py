"""Run one benchmark with the official code, in a separate process and environment, and write its values as JSON.

No official code is included; it is imported from a checkout. ``compare.py`` calls this script. It needs torch,
transformers before 5, numpy before 2 and pandas before 2, for which that code was written (WEFE: pandas 2).
"""

import collections
import csv
import json
import math
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
import transformers

SEAT = ("6", "6b", "7", "7b", "8", "8b")
PERMUTATIONS = 20_000  # number of permutations, which sent-bias draws one by one
DRAWS = 2_000  # number of permutations; WEFE takes some milliseconds for each
CLASSIFIERS = 10  # as in bias-bench for GPT-2; its 80 for 768 dimensions would remove everything from smaller models


def seat(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the effect sizes of the six gender tests by bias-bench, which averages the last layer over all tokens."""
    return seat_of(*load_model(transformers.AutoModel, model), checkout)


def seat_of(encoder: Any, tokenizer: Any, checkout: Path) -> dict[str, float]:
    """Return the effect sizes of the six gender tests for a loaded model."""
    from bias_bench.benchmark.seat import SEATRunner

    tests = [f"sent-weat{name}" for name in SEAT]
    runner = SEATRunner(encoder, tokenizer, tests, str(checkout / "data" / "seat"), "", n_samples=100, parametric=True)
    return {f"seat/{one['test'][9:]}/effect_size": float(one["effect_size"]) for one in runner()}


def seat_p(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return effect sizes and p-values by sent-bias, on the mean of the last layer.

    The encoders of sent-bias itself cannot be installed, so its test is run on these embeddings.
    """
    from sentbias.weat import run_test

    encoded = mean_of_last_layer(model)
    found = {}
    for name in SEAT:
        sets = json.loads((checkout / "tests" / f"sent-weat{name}.jsonl").read_text(encoding="utf-8"))
        for one in sets.values():
            one["encs"] = {text: encoded(text) for text in one["examples"]}
        effect, p = run_test(sets, n_samples=PERMUTATIONS)
        found |= {f"seat/{name}/effect_size": float(effect), f"seat/{name}/p": float(p)}
    return found


def wefe(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the effect sizes and p-values of the word tests by WEFE, on the mean of the last layer.

    The effect sizes are also returned with n - 1 as the divisor of the variance.
    """
    from gensim.models import KeyedVectors
    from wefe.metrics import WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    encoded, found = mean_of_last_layer(model), {}
    for name in SEAT:
        sets = json.loads((data / "seat" / f"weat{name}.jsonl").read_text(encoding="utf-8"))
        targets, attributes = ([sets[part + side]["examples"] for side in "12"] for part in ("targ", "attr"))
        words = sorted({word for part in (*targets, *attributes) for word in part})
        vectors = numpy.stack([encoded(word) for word in words])
        embeddings = KeyedVectors(vectors.shape[1])
        embeddings.add_vectors(words, vectors)
        result = WEAT().run_query(
            Query(targets, attributes), WordEmbeddingModel(embeddings), calculate_p_value=True, p_value_iterations=DRAWS
        )
        size, n = float(result["effect_size"]), sum(map(len, targets))
        found |= {
            f"seat/weat{name}/effect_size": size,
            f"seat/weat{name}/effect_size with n - 1": size * math.sqrt((n - 1) / n),
            f"seat/weat{name}/p": float(result["p_value"]),
        }
    return found


def sentence_debias(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the effect sizes of SEAT after removing the direction that bias-bench finds in pairs of sentences."""
    from bias_bench.debias import compute_gender_subspace

    encoder, tokenizer = load_model(transformers.AutoModel, model)
    pairs_ = [{"male_example": group["man"], "female_example": group["woman"]} for group in groups()]
    direction = compute_gender_subspace(pairs_, encoder, tokenizer)
    return seat_projected(torch.eye(len(direction)) - torch.outer(direction, direction), checkout, encoder, tokenizer)


def inlp(checkout: Path, model: str, data: Path, types: list[str], intercept: bool = False) -> dict[str, float]:
    """Return the effect sizes of SEAT after removing the directions of bias-bench's classifiers, with its parameters.

    The outermost function of bias-bench only accepts embeddings with 768 dimensions, so the functions that it calls are
    used instead. The embeddings and the projection of the first classifier alone are written to the working directory.
    """
    from bias_bench.debias.inlp import context_nullspace_projection, debias
    from sklearn.svm import LinearSVC

    encoder, tokenizer = load_model(transformers.AutoModel, model)
    sentences = [[group[version] for group in groups()] for version in ("man", "woman", "neutral")]
    features = context_nullspace_projection._extract_gender_features(encoder, tokenizer, *sentences)
    numpy.save("embeddings.npy", numpy.stack(features))
    x_train, x_dev, _, y_train, y_dev, _ = context_nullspace_projection._split_gender_dataset(*features)
    settings = {"fit_intercept": intercept, "class_weight": None, "dual": False, "random_state": 0}
    width = x_train.shape[1]
    projection, seen, _ = debias.get_debiasing_projection(
        LinearSVC, settings, CLASSIFIERS, width, True, 0, x_train, y_train, x_dev, y_dev
    )
    numpy.save("first.npy", numpy.eye(width) - seen[0])
    return seat_projected(torch.tensor(projection, dtype=torch.float32), checkout, encoder, tokenizer)


def inlp_intercept(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the same effect sizes as :func:`inlp` for classifiers with an intercept."""
    return inlp(checkout, model, data, types, intercept=True)


def seat_projected(projection: Any, checkout: Path, encoder: Any, tokenizer: Any) -> dict[str, float]:
    """Return the effect sizes after projecting every token's last hidden state, and write the projection to a file."""
    numpy.save("projection.npy", projection.numpy())

    def projected(module: Any, given: Any, output: Any) -> Any:
        output["last_hidden_state"] = output["last_hidden_state"] @ projection.T
        return output

    encoder.register_forward_hook(projected)
    return seat_of(encoder, tokenizer, checkout)


def holistic_bias(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the number of sentences that HolisticBias generates for each axis, and write the distinct ones."""
    from holistic_bias.src.sentences import HolisticBiasSentenceGenerator

    found: dict[str, float] = {}
    for version in ("1.0", "1.1"):
        sentences = HolisticBiasSentenceGenerator(version, f"v{version}").sentences
        different = sorted({one["text"] for one in sentences})
        Path(f"sentences-{version}.json").write_text(json.dumps(different), encoding="utf-8")
        counts = collections.Counter(one["axis"] for one in sentences)
        found |= {f"{version}/sentences": len(sentences), f"{version}/different sentences": len(different)}
        found |= {f"{version}/{'no axis' if axis == 'null' else axis}": n for axis, n in sorted(counts.items())}
    return found


def crows_pairs(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the score of all pairs and of each bias type by CrowS-Pairs' metric.py, which loads its model by name."""
    stand_in(model, "BertForMaskedLM", "BertTokenizer", transformers.AutoModelForMaskedLM)
    scores = Path("crows_scores.csv").absolute()
    run(checkout / "metric.py", "--input_file", pairs(data, types), "--lm_model", "bert", "--output_file", scores)
    with scores.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {} if types else {"crows_pairs/all/metric_score": share(rows)}
    for kind in sorted({row["bias_type"] for row in rows}):
        of_kind = [row for row in rows if row["bias_type"] == kind]
        found[f"crows_pairs/{kind.replace('-', '_')}/metric_score"] = share(of_kind)
    return found


def share(rows: list[dict[str, str]]) -> float:
    """Return the percentage of pairs with the score 1."""
    return 100 * sum(float(row["score"]) for row in rows) / len(rows)


def crows_pairs_meade(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the score of bias types by bias-bench. If none are named, use the bias types in its paper."""
    from bias_bench.benchmark.crows import CrowSPairsRunner

    causal = is_causal(model)
    kind_of_model = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    found = {}
    for asked in types or ("gender", "race", "religion"):
        runner = CrowSPairsRunner(
            *load_model(kind_of_model, model), pairs(data, []), is_generative=causal, bias_type=asked
        )
        kind = "race_color" if asked == "race" else asked
        found[f"crows_pairs@meade/{kind}/metric_score"] = float(runner())
    return found


def stereoset(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the scores of the intrasentence task by StereoSet's own scripts, which load their models by name."""
    code, gold = checkout / "code", Path("stereoset.json").absolute()
    sys.path.insert(0, str(code))
    shared = ("--input-file", gold, "--no-cuda", "--skip-intersentence", "--output-dir", Path.cwd())
    if is_causal(model):
        stand_in(model, "GPT2LMHeadModel", "GPT2Tokenizer", transformers.AutoModelForCausalLM)
        predictions = Path("predictions_gpt2_ModelNSP_GPT2LM.json").absolute()
        run(code / "eval_generative_models.py", *shared)
    else:
        stand_in(model, "BertForMaskedLM", "BertTokenizer", transformers.AutoModelForMaskedLM)
        predictions = Path("predictions.json").absolute()
        named = ("--pretrained-class", "bert-base-uncased", "--intrasentence-model", "BertLM")
        run(
            code / "eval_discriminative_models.py",
            *shared,
            *named,
            "--tokenizer",
            "BertTokenizer",
            "--output-file",
            predictions,
        )
    evaluator = runpy.run_path(str(code / "evaluation.py"))["ScoreEvaluator"](str(gold), str(predictions))
    of_domains = evaluator.get_overall_results()["intrasentence"]
    return stereoset_readings("stereoset", of_domains, types)


def stereoset_meade(checkout: Path, model: str, data: Path, types: list[str]) -> dict[str, float]:
    """Return the scores of the intrasentence task by bias-bench."""
    from bias_bench.benchmark.stereoset import StereoSetRunner

    causal, gold = is_causal(model), Path("stereoset.json").absolute()
    kind_of_model = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    masked, tokenizer = load_model(kind_of_model, model)
    runner = StereoSetRunner(masked, tokenizer, "a model", str(gold), is_generative=causal)
    predictions = Path("predictions.json")
    predictions.write_text(json.dumps(runner()), encoding="utf-8")
    script = runpy.run_path(str(checkout / "experiments" / "stereoset_evaluation.py"))
    return stereoset_readings(
        "stereoset@meade", script["ScoreEvaluator"](str(gold), str(predictions)).get_overall_results(), types
    )


def stereoset_readings(name: str, found: dict[str, Any], types: list[str]) -> dict[str, float]:
    """Return language-model score, stereotype score and ICAT of each domain and, if all were measured, over all."""
    of_subsets = {domain: found.get(domain) for domain in types or ("gender", "profession", "race", "religion")}
    if not types:
        of_subsets["intrasentence"] = found["overall"]
    said = {"lms": "LM Score", "ss": "SS Score", "icat": "ICAT Score"}
    return {
        f"{name}/{subset}/{quantity}": float((scores or found["intrasentence"][subset])[key])
        for subset, scores in of_subsets.items()
        for quantity, key in said.items()
    }


def load_model(kind: Any, model: str) -> tuple[Any, Any]:
    """Load a model and its tokenizer."""
    return kind.from_pretrained(model).eval(), transformers.AutoTokenizer.from_pretrained(model)


def mean_of_last_layer(model: str) -> Callable[[str], Any]:
    """Return a function from a text to the mean of the last layer over its tokens."""
    encoder, tokenizer = load_model(transformers.AutoModel, model)

    def encoded(text: str) -> Any:
        with torch.no_grad():
            return encoder(**tokenizer(text, return_tensors="pt"))["last_hidden_state"][0].mean(dim=0).numpy()

    return encoded


def groups() -> list[dict[str, str]]:
    """Return the counterfactual groups on which projections are fitted, as written by ``compare.py``."""
    return list(json.loads(Path("groups.json").read_text(encoding="utf-8")))


def is_causal(model: str) -> bool:
    """Return whether a model is a causal language model."""
    return str(transformers.AutoConfig.from_pretrained(model).architectures[0]).endswith(("CausalLM", "LMHeadModel"))


def stand_in(model: str, model_class: str, tokenizer_class: str, kind: Any) -> None:
    """Provide a model and its tokenizer to code that loads others from transformers by name."""
    weights, tokenizer = load_model(kind, model)
    getattr(transformers, model_class).from_pretrained = lambda *_, **__: weights
    getattr(transformers, tokenizer_class).from_pretrained = lambda *_, **__: tokenizer


def run(script: Path, *arguments: object) -> None:
    """Run a script as if from the command line."""
    sys.argv = [script.name, *map(str, arguments)]
    runpy.run_path(str(script), run_name="__main__")


def pairs(data: Path, types: list[str]) -> str:
    """Return the path of the CrowS-Pairs file, or of a file with some bias types only."""
    whole = data / "crows_pairs" / "crows_pairs_anonymized.csv"
    if not types:
        return str(whole)
    with whole.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = [row for row in reader if row["bias_type"] in types]
    part = Path("pairs.csv").absolute()
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, reader.fieldnames or [])
        writer.writeheader()
        writer.writerows(rows)
    return str(part)


KINDS = {
    one.__name__: one
    for one in (
        seat,
        seat_p,
        wefe,
        crows_pairs,
        crows_pairs_meade,
        stereoset,
        stereoset_meade,
        sentence_debias,
        inlp,
        inlp_intercept,
        holistic_bias,
    )
}

if __name__ == "__main__":
    kind, folder, weights, published, asked, output = sys.argv[1:]
    sys.path.insert(0, folder)
    started = time.perf_counter()
    values = KINDS[kind](Path(folder), weights, Path(published), [one for one in asked.split(",") if one])
    seconds = time.perf_counter() - started
    Path(output).write_text(json.dumps({"seconds": round(seconds, 1), "values": values}), encoding="utf-8")
