"""Small samples of all data that the papers' runs read, under the published names and in the published layout."""

from __future__ import annotations

import csv
import json
from itertools import islice
from pathlib import Path
from typing import Any

ROWS = 200  # rows of a training set
OF_TEST = 40  # rows of an evaluation set
NEWS = "corpora/news-commentary-v15.en.txt"
ENOUGH = 60  # sentences per kind; ADEPT needs at least 30 for every pair of words
IN_LINES = ("CoLA", "RTE", "MRPC", "STS-B", "WNLI")  # GLUE tasks with one row per line in both splits
HASH = "0" * 16
LABELS = ["entailment", "neutral", "contradiction"]
OF_FEVER = {"supports": "SUPPORTS", "refutes": "REFUTES", "not enough info": "NOT ENOUGH INFO"}


def write_data(folder: Path, published: Path) -> None:
    """Write the folder for ``FAIRLAB_DATA``.

    Data that is not sampled is linked to the published folder, and is shortened by ``limit=``.
    """
    folder.mkdir(parents=True)
    for place in published.iterdir():
        if place.name not in ("glue", "sst2", "corpora", "fever", "panda", "counterfactual_safety", "stereoset"):
            (folder / place.name).symlink_to(place)
    for place in (*published.glob("glue/*"), *published.glob("corpora/*")):
        if place.name not in (*IN_LINES, "QQP", "QNLI", "SNLI", "MNLI"):
            (folder / place.parent.name).mkdir(exist_ok=True)
            (folder / place.parent.name / place.name).symlink_to(place)
    for name in (*(f"glue/{task}" for task in IN_LINES), "sst2"):
        for split, count in (("train", ROWS), ("dev", OF_TEST)):
            first_lines(published / name / f"{split}.tsv", folder / name / f"{split}.tsv", count)
    first_lines(published / "glue/QNLI/dev.tsv", folder / "glue/QNLI/dev.tsv", OF_TEST)
    first_lines(published / "glue/QNLI/dev.tsv", folder / "glue/QNLI/train.tsv", ROWS)
    first_lines(published / "glue/SNLI/validation.tsv", folder / "glue/SNLI/train.tsv", ROWS)
    for name in ("QQP", "MNLI"):
        for split, count in (("train", ROWS), ("dev", OF_TEST)):
            rows = json.loads((published / "glue" / name / f"{split}.json").read_text(encoding="utf-8"))
            write(folder / "glue" / name / f"{split}.json", json.dumps(dict(islice(rows.items(), count))))
    claims = [json.loads(line) for line in claims_of(published)]
    write(folder / "fever/train.jsonl", "".join(json.dumps(row) + "\n" for row in claims[:ROWS]))
    write(folder / NEWS, "\n".join(news()) + "\n")
    write(folder / "corpora/few.txt", "\n".join(news()[::7]) + "\n")
    stereoset = json.loads((published / "stereoset/stereoset.json").read_text(encoding="utf-8"))
    chosen = {row["id"] for row in stereoset["stereotype"][::100]}
    stereoset = {label: [row for row in rows if row["id"] in chosen] for label, rows in stereoset.items()}
    write(folder / "stereoset/stereoset.json", json.dumps(stereoset))
    reports = sorted((published / "corpora/state_union").glob("*.txt"))
    write(folder / "reports.txt", "\n\n".join(islice(paragraphs(reports), 300)) + "\n")
    seeds = "counterfactual_safety/counterfactual_fairness_dataset_seeds.csv"
    with (published / seeds).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
        rows = [rows[0], *rows[1::12]]  # every harm still occurs
    (folder / seeds).parent.mkdir()
    with (folder / seeds).open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows(rows)


def write(file: Path, text: str) -> None:
    """Write a file, and create its folder if it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def first_lines(source: Path, place: Path, count: int) -> None:
    """Copy the first ``count`` + 1 lines of a file, of which one may be a header."""
    with source.open(encoding="utf-8", newline="") as lines:
        write(place, "".join(islice(lines, count + 1)))


def claims_of(published: Path) -> list[str]:
    """Return claims with evidence and a label, as JSON lines."""
    return [line for k in range(5) for line in (published / f"vitaminc/train_{k}.jsonl").read_text().splitlines()]


def paragraphs(files: list[Path]) -> Any:
    """Yield the paragraphs of several files, in order."""
    for file in files:
        yield from (part for part in file.read_text(encoding="utf-8", errors="replace").split("\n\n") if part.strip())


def news() -> list[str]:
    """Return sentences with a word for a man, for a woman, or for a stereotype."""
    kinds = [("he", "his brother"), ("she", "her sister"), ("the assistant", "an aggressive clerk")]
    return [
        f"In year {number} {who} said that {whom} had read page {number % 97} of the report ."
        for number in range(ENOUGH)
        for who, whom in kinds
    ]


def write_hub_data(cache: Path, published: Path) -> None:
    """Write Hub datasets to a cache of the ``datasets`` library, with their published columns and splits."""
    from datasets import ClassLabel, Features, Value

    pair = {"premise": Value("string"), "hypothesis": Value("string")}
    claims = [json.loads(line) for line in claims_of(published)]
    fever = [
        {"claim": row["claim"], "evidence": [["Page", "0", row["evidence"]]], "label": OF_FEVER[row["label"].lower()]}
        for row in claims
    ]
    vitaminc = [
        {"claim": row["claim"], "evidence": row["evidence"], "label": OF_FEVER[row["label"].lower()]} for row in claims
    ]
    tests = {"train": ROWS, "validation": OF_TEST, "test": OF_TEST}
    keep(cache, "copenlu/fever_gold_evidence", "default", {name: fever[:n] for name, n in tests.items()}, None)
    keep(cache, "tals/vitaminc", "default", {name: vitaminc[-n:] for name, n in tests.items()}, None)
    mnli = [
        {"premise": row["text_a"], "hypothesis": row["text_b"], "label": LABELS.index(row["label"])}
        for row in json.loads((published / "glue/MNLI/train.json").read_text(encoding="utf-8")).values()
    ]
    splits = {"train": ROWS, "validation_matched": OF_TEST, "validation_mismatched": OF_TEST}
    labels = ClassLabel(names=LABELS)
    keep(cache, "nyu-mll/glue", "mnli", {k: mnli[-n:] for k, n in splits.items()}, Features(pair | {"label": labels}))
    snli = list(csv.DictReader((published / "glue/SNLI/validation.tsv").open(encoding="utf-8"), delimiter="\t"))
    rows = [{key: row[key] for key in pair} | {"label": int(row["label"])} for row in snli[: 2 * ROWS]]
    keep(
        cache,
        "stanfordnlp/snli",
        "plain_text",
        {k: rows[-n:] for k, n in tests.items()},
        Features(pair | {"label": labels}),
    )
    rows = [
        {"premise": f"The {one} near the {other} danced .", "hypothesis": f"The {who} danced .", "label": label}
        for one, other in (("doctor", "actor"), ("judge", "artist"), ("lawyer", "student"))
        for label, who in enumerate((one, other))
    ]
    features = Features(pair | {"label": ClassLabel(names=["entailment", "non-entailment"])})
    keep(cache, "jhu-cogsci/hans", "plain_text", {"train": rows, "validation": rows}, features)
    card = (published / "panda/panda_card_examples.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in card]
    many = [
        {**row, "original": f"{row['original']} {k}", "perturbed": f"{row['perturbed']} {k}"}
        for k in range(20)
        for row in pairs
    ]
    keep(cache, "facebook/panda", "default", {"train": many, "validation": many[:OF_TEST]}, None)


def keep(cache: Path, name: str, configuration: str, splits: dict[str, list[dict[str, Any]]], features: Any) -> None:
    """Store a dataset in the layout in which the ``datasets`` library caches a download."""
    import shutil
    import tempfile

    from datasets import Dataset, DatasetInfo, SplitDict, SplitInfo, Version

    short = name.split("/")[1]
    folder = cache / name.replace("/", "___") / configuration / "0.0.0" / HASH
    folder.mkdir(parents=True)
    made = {split: Dataset.from_list(rows, features=features) for split, rows in splits.items()}
    sizes = SplitDict({split: SplitInfo(split, 1, len(rows), dataset_name=short) for split, rows in splits.items()})
    for split, rows in made.items():
        with tempfile.TemporaryDirectory() as place:
            rows.save_to_disk(place, num_shards=1)
            shutil.copy(next(Path(place).glob("*.arrow")), folder / f"{short}-{split}.arrow")
    found = next(iter(made.values())).features
    DatasetInfo(
        features=found, splits=sizes, config_name=configuration, dataset_name=short, version=Version("0.0.0")
    ).write_to_directory(str(folder))
