"""Write MTEB results of two small encoders on two tasks with synthetic sentences; see ``make_models.py``."""

import random
from pathlib import Path

import mteb
from datasets import Dataset, DatasetDict
from mteb.abstasks.pair_classification import AbsTaskPairClassification
from mteb.abstasks.sts import AbsTaskSTS
from mteb.cache import ResultCache
from sentence_transformers import SentenceTransformer

WHO, WHAT = ["nurse", "pilot", "clerk", "baker"], ["sings", "reads", "waits", "calls"]


def pairs(seed: int, column: str) -> DatasetDict:
    """Return 24 pairs of sentences, with their similarity in a column."""
    rng = random.Random(seed)
    rows: dict[str, list[str | float]] = {"sentence1": [], "sentence2": [], column: []}
    for _ in range(24):
        (one, two), (does, did) = rng.choices(WHO, k=2), rng.choices(WHAT, k=2)
        alike = (one == two) + (does == did)
        rows["sentence1"].append(f"The {one} {does}.")
        rows["sentence2"].append(f"The {two} {did}.")
        rows[column].append(2.0 * alike if column == "score" else int(alike > 0))
    return DatasetDict(test=Dataset.from_dict(rows))


def task_metadata(name: str, kind: str, score: str, languages: object) -> mteb.TaskMetadata:
    """Return the metadata that MTEB requires for a task."""
    return mteb.TaskMetadata(
        name=name,
        type=kind,
        main_score=score,
        eval_langs=languages,
        eval_splits=["test"],
        dataset={"path": "lab/made", "revision": "1"},
        description="made sentences",
        reference=None,
        category="t2t",
        modalities=["text"],
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )


class MadeSTS(AbsTaskSTS):
    """Similarity task with two subsets."""

    metadata = task_metadata("MadeSTS", "STS", "cosine_spearman", {"a": ["eng-Latn"], "b": ["eng-Latn"]})

    def load_data(self, **_: object) -> None:
        """Create the pairs."""
        self.dataset = {"a": pairs(1, "score"), "b": pairs(2, "score")}
        self.data_loaded = True


class MadePairs(AbsTaskPairClassification):
    """Classification task for pairs that share a word or share none."""

    metadata = task_metadata("MadePairs", "PairClassification", "max_ap", ["eng-Latn"])

    def load_data(self, **_: object) -> None:
        """Create the pairs."""
        self.dataset = pairs(3, "labels")
        self.data_loaded = True


for name in ("tiny_a", "tiny_b"):
    model = SentenceTransformer(name, device="cpu")
    model.tokenizer.pad_token = model.tokenizer.eos_token
    cache = ResultCache(Path("mteb", name))
    mteb.evaluate(model, [MadeSTS(), MadePairs()], cache=cache, overwrite_strategy="always")
    for one in cache.load_results(tasks=["MadeSTS", "MadePairs"], validate_and_filter=False).model_results:
        print(name, [(found.task_name, found.get_score()) for found in one.task_results])
