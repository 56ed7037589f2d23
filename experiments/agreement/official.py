"""Run one benchmark by the official code, in a process and an environment of its own; writes its values as JSON.

Nothing of the official code is here: it is imported from a checkout. Called by ``compare.py``; it needs torch,
transformers before 5, numpy before 2 and pandas before 2, which is what that code was written for.
"""

import csv
import json
import runpy
import sys
import time
from pathlib import Path


def seat(checkout: Path, model: str, data: Path) -> dict[str, float]:
    """Effect sizes of the six gender tests by bias-bench, which averages the last layer over all tokens."""
    from bias_bench.benchmark.seat import SEATRunner
    from transformers import AutoModel, AutoTokenizer

    tests = [f"sent-weat{name}" for name in ("6", "6b", "7", "7b", "8", "8b")]
    encoder, tokenizer = AutoModel.from_pretrained(model).eval(), AutoTokenizer.from_pretrained(model)
    runner = SEATRunner(encoder, tokenizer, tests, str(checkout / "data" / "seat"), "", n_samples=100, parametric=True)
    return {f"seat/{one['test'][9:]}/effect_size": float(one["effect_size"]) for one in runner()}


def crows_pairs(checkout: Path, model: str, data: Path) -> dict[str, float]:
    """The score of all pairs and of each bias type by metric.py of CrowS-Pairs; it names its model in its text."""
    import transformers

    masked, tokenizer = (
        transformers.AutoModelForMaskedLM.from_pretrained(model),
        transformers.AutoTokenizer.from_pretrained(model),
    )
    transformers.BertForMaskedLM.from_pretrained = lambda _: masked
    transformers.BertTokenizer.from_pretrained = lambda _: tokenizer
    scores = Path("crows_scores.csv").absolute()
    pairs = data / "crows_pairs" / "crows_pairs_anonymized.csv"
    sys.argv = ["metric.py", "--input_file", str(pairs), "--lm_model", "bert", "--output_file", str(scores)]
    runpy.run_path(str(checkout / "metric.py"), run_name="__main__")
    with scores.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {"crows_pairs/all/metric_score": share(rows)}
    for kind in sorted({row["bias_type"] for row in rows}):
        of_kind = [row for row in rows if row["bias_type"] == kind]
        found[f"crows_pairs/{kind.replace('-', '_')}/metric_score"] = share(of_kind)
    return found


def share(rows: list[dict[str, str]]) -> float:
    """Per cent of pairs with the score 1."""
    return 100 * sum(float(row["score"]) for row in rows) / len(rows)


def crows_pairs_meade(checkout: Path, model: str, data: Path) -> dict[str, float]:
    """The score of three bias types by bias-bench."""
    from bias_bench.benchmark.crows import CrowSPairsRunner
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    masked, tokenizer = AutoModelForMaskedLM.from_pretrained(model).eval(), AutoTokenizer.from_pretrained(model)
    pairs = str(data / "crows_pairs" / "crows_pairs_anonymized.csv")
    found = {}
    for asked, kind in (("gender", "gender"), ("race", "race_color"), ("religion", "religion")):
        runner = CrowSPairsRunner(masked, tokenizer, pairs, bias_type=asked)
        found[f"crows_pairs@meade/{kind}/metric_score"] = float(runner())
    return found


KINDS = {one.__name__: one for one in (seat, crows_pairs, crows_pairs_meade)}

if __name__ == "__main__":
    kind, folder, weights, published, output = sys.argv[1:]
    sys.path.insert(0, folder)
    started = time.perf_counter()
    values = KINDS[kind](Path(folder), weights, Path(published))
    seconds = time.perf_counter() - started
    Path(output).write_text(json.dumps({"seconds": round(seconds, 1), "values": values}), encoding="utf-8")
