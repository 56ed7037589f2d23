"""Results of other tools, tables, and data of published benchmarks, as small as their formats allow."""

from __future__ import annotations

import json
from pathlib import Path

import datasets

from tests.judge.test_formats import helm_run

STEREO = (("kind", "stereotype"), ("rude", "anti-stereotype"), ("fish", "unrelated"))


def write_other_tools(folder: Path, texts: list[str]) -> None:
    """Write two results of each of HELM, MTEB and a table, a CSV and a Parquet file, CrowS-Pairs and StereoSet."""
    for name in ("helm", "mteb", "tables"):
        (folder / name).mkdir()
    for number, name in enumerate("ab"):
        helm_run(folder / "helm" / name, [1.0, 0.0, float(number), 1.0])
        (folder / "mteb" / name).mkdir()
        (folder / "mteb" / name / "model_meta.json").write_text(json.dumps({"name": f"lab/{name}"}))
        for task, score in (("STS", 0.6), ("Pairs", 0.5), ("Other", 0.4)):
            scores = {"test": [{"main_score": score + number / 10, "hf_subset": "en"}]}
            content = {"task_name": task, "mteb_version": "2.1.0", "scores": scores}
            (folder / "mteb" / name / f"{task}.json").write_text(json.dumps(content))
        rows = [f"{k},{(k * 7 + number) % 3}" for k in range(8)]
        (folder / "tables" / f"{name}.csv").write_text("\n".join(["id,score", *rows]) + "\n")
    (folder / "rows.csv").write_text("\n".join(["text", *texts]) + "\n")
    datasets.Dataset.from_dict({"text": texts}).to_parquet(folder / "rows.parquet")
    pairs = "Men lie.,Women lie.,stereo,gender\nBoys cry.,Girls cry.,antistereo,gender\n"
    (folder / "crows.csv").write_text(f"sent_more,sent_less,stereo_antistereo,bias_type\n{pairs}")
    row = {"id": "1", "bias_type": "gender", "target": "nurse", "context": "The nurse is BLANK."}
    sentences = [{"sentence": f"The nurse is {word}.", "gold_label": label} for word, label in STEREO]
    (folder / "stereo.json").write_text(json.dumps([row | {"sentences": sentences}]))
