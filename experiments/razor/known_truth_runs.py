"""Classifiers of the study with a known shortcut, one row per training in ``known_truth.jsonl``.

    python -m experiments.razor.known_truth_runs OUT [--words 3] [--seeds 42 43 44 45 46] [--training float32]

OUT holds the data and the models. A training whose row exists is not repeated. ``--training float32`` is for processors
without instructions for bfloat16, on which mixed precision is slower, not faster. A word is replaced by the next one if
the unbiased classifier of the first seed is less than 5 points better than the biased one, at 5 %.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.razor.known_truth import (
    AGAINST,
    ARMS,
    VALIDATION,
    Known,
    Rules,
    counts,
    drawn_words,
    read_pool,
    rewrites_of,
    sizes,
    thinned,
    training_pairs,
)
from experiments.razor.pairs import write
from experiments.shared import resumed
from fairlab.backbones.classification import Classifier
from fairlab.backbones.loading import load_backbone
from fairlab.data.published.tasks import CLAIMS, Example
from fairlab.record import Record
from fairlab.rewriting.labelled.paraphrase import Paraphrase
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.build import build
from fairlab.run.config.composing import composing

FILE = Path(__file__).with_name("known_truth.jsonl")
STEPS, BATCH = 600, 16
TRAINING = "mixed"  # precision: mixed or float32
LEAST_GAP = 5.0  # points between the biased and the unbiased classifier, below which a word is replaced
Result = dict[str, Any]


def finished(file: Path = FILE) -> list[Result]:
    """Return the rows of the finished trainings."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


def add(row: Result, file: Path = FILE) -> None:
    """Add the row of a finished training."""
    with file.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row, separators=(",", ":")) + "\n")


def written(right: Sequence[bool]) -> str:
    """Write one hexadecimal digit for every four predictions, 1 for a correct one; :func:`bits` reads it."""
    return np.packbits(np.array(right, dtype=bool)).tobytes().hex()


def bits(row: Result, kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return 100 for each correct prediction of a row and 0 for the others.

    Args:
        row: Row of a training.
        kind: Test pairs, ``follow`` or ``against``.
    """
    packed = np.frombuffer(bytes.fromhex(row[kind]), dtype=np.uint8)
    return 100.0 * np.unpackbits(packed, count=row[f"{kind}_n"])


def right_at(row: Result, percent: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return 100 or 0 for each test pair, where the word tells the label of ``percent`` % of the pairs."""
    follow, against = sizes(row["follow_n"], row["against_n"], percent)
    return np.concatenate([bits(row, "follow")[:follow], bits(row, "against")[:against]])


def trainings(
    words: Sequence[str], wanted: int, seeds: Sequence[int], file: Path = FILE
) -> Iterator[tuple[str, str, int]]:
    """Yield word, arm and seed of the trainings that the file lacks, in order.

    The caller adds the row of each training to the file before it asks for the next one.

    Args:
        words: Words in the order in which they are drawn.
        wanted: Number of words.
        seeds: Seeds; the first one decides whether a word is replaced.
        file: File of the rows.
    """
    kept = 0
    for word in words:
        if kept == wanted:
            return
        for seed in seeds:
            for arm in ARMS:
                of_word = {(one["arm"], one["seed"]): one for one in finished(file) if one["word"] == word}
                first = [of_word.get((name, seeds[0])) for name in ARMS[:2]]
                if None not in first and is_replaced(*first):  # type: ignore[arg-type]
                    break
                if (arm, seed) not in of_word:
                    yield word, arm, seed
            else:
                continue
            break
        else:
            kept += 1


def is_replaced(biased: Result, unbiased: Result) -> bool:
    """Return whether two classifiers of a word differ by less than 5 points where the word mostly misleads."""
    return bool(right_at(unbiased, AGAINST).mean() - right_at(biased, AGAINST).mean() < LEAST_GAP)


def train(
    folder: Path, pairs: Sequence[Example], validation: Sequence[Example], seed: int, training: str = TRAINING
) -> Record:
    """Train a classifier, or continue its training, and return the record of its run."""
    data, run = folder / "data", folder / "run"
    data.mkdir(parents=True, exist_ok=True)
    write([*pairs, *validation], data / "train.jsonl")
    epochs = math.ceil(STEPS * BATCH / len(pairs)) + 1
    settings = [*options(data, STEPS, STEPS, training), f"data.validation={VALIDATION}", f"data.batch_size={BATCH}"]
    return resumed.trained(run, [*settings, f"method.epochs={epochs}", f"seed={seed}"])


def options(data: Path, steps: int, every: int, training: str = TRAINING) -> list[str]:
    """Return options of ``fairlab.train`` for a classifier of claims that is measured afterwards.

    Args:
        data: Folder of the training pairs and of those that are held out.
        steps: Number of steps.
        every: Number of steps between validations.
        training: Precision, ``mixed`` or ``float32``.
    """
    of_data = ["data.task=fool_me_twice", f"data.path={data}", "data.limit=null", "data.unseen=[]"]
    of_method = ["method.lr=3e-5", f"method.steps={steps}", f"method.validate_every={every}"]
    of_training = [f"training={training}", "trainer.checkpoint_every=200", "benchmark=none", "measure_before=false"]
    return ["+experiment=razor_fever", *of_data, *of_method, *of_training]


def measured(model: Path, tests: Mapping[str, Sequence[Example]]) -> Result:
    """Return the predictions of a trained classifier on test pairs, by the name of the pairs; see :func:`written`."""
    backbone = load_backbone(str(model), pooling="mean", max_length=128, normalize=True)
    classifier, row = Classifier(backbone, CLAIMS), Result()
    for kind, examples in tests.items():
        found = classifier.outputs([pair for one in examples for pair in one.pairs]).argmax(axis=1)
        right = found == np.array([one.label for one in examples])
        row |= {kind: written(right), f"{kind}_n": len(right)}
    return row


def run(word: str, arm: str, seed: int, known: Known, rules: Rules, out: Path, training: str = TRAINING) -> Result:
    """Train and measure one classifier, and return its row."""
    made = rewrites_of(arm, known, seed, rules)
    folder = out / word / arm / f"seed_{seed}"
    record = train(folder, training_pairs(arm, known, made), known.validation, seed, training)
    row = {"word": word, "arm": arm, "seed": seed, "training": training, "pairs": len(known.biased)}
    row |= counts(known, made)
    row |= measured(folder / "run" / "model", {"follow": known.follow, "against": known.against})
    row["seconds"] = round(record.provenance["wall_seconds"])
    shutil.rmtree(folder)  # the model is several thousand times as large as the row
    return row


def paraphrasing() -> Paraphrase:
    """Return the rewriter of ``rewriter=paraphrase``, with its masked LM."""
    with composing():
        return Paraphrase(language_model=build(backbone_node("minilm_mlm", {})))


def main() -> None:
    """Run the missing trainings, and add a row for each of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44, 45, 46])
    parser.add_argument("--training", choices=("mixed", "float32"), default=TRAINING)
    given = parser.parse_args()
    pool = read_pool()
    rules = Rules(paraphrasing())
    data = cache(lambda word: thinned(pool, word))
    for word, arm, seed in trainings(drawn_words(pool), given.words, given.seeds):
        row = run(word, arm, seed, data(word), rules, given.out, given.training)
        add(row)
        print(word, arm, seed, row["seconds"], right_at(row, AGAINST).mean().round(1), flush=True)


if __name__ == "__main__":
    main()
