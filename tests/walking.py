"""A folder with everything that commands open, and ways in which somebody who sends it may spoil a file of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import yaml
from hydra.core.hydra_config import HydraConfig
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from fairlab.methods.safety_ensemble.exported.export import save_ensemble
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.run.command_line import console
from tests.conftest import make_groups, row, write_rows
from tests.other_tools import write_other_tools

SECRET, VARIABLE = "the secret of this walk", "INNOCENT"
OUTSIDE = "outside"  # folder beside the one in which commands run
HERE = Path(__file__).parent
MEASURED = "benchmark=[cced] benchmark.cced.sets=[groups.jsonl]"
TRAINING = (
    "train +experiment=ccd_bert backbone=bert_base backbone.name=tiny backbone.max_length=32 data.path=groups.jsonl "
    f"{MEASURED} trainer=cpu trainer.max_steps=2"
)
MEASURING = f"evaluate model=tiny max_length=32 {MEASURED}"
# Commands that end well in the folder below, each over other files. What they open is found, not listed.
COMMANDS = (
    MEASURING,
    f"evaluate model=sentences max_length=32 {MEASURED}",
    f"evaluate model=runs/trained {MEASURED}",
    f"{MEASURING} ckpt=stopped/evaluation",
    "evaluate model=masked max_length=32 benchmark=[likelihood_pairs,seat] benchmark.seat.tests=[tests.yaml] "
    "benchmark.likelihood_pairs.sets=[groups.jsonl] limit=4",
    "evaluate dataset=made field=source_text benchmark=[db_index] benchmark.db_index.vectors=tiny max_length=32 "
    "limit=4",
    f"{TRAINING} before=runs/trained",
    f"{TRAINING} trainer.checkpoint_every=1 ckpt=stopped/training",
    TRAINING.replace("data.path=groups.jsonl", "data.path=grouped axis=pets.yaml"),
    "train +experiment=fairberta augmentation=none backbone=bert_base backbone.name=masked backbone.max_length=32 "
    "data.paths=[many.txt] data.batch_size=4 data.passage=24 data.validation=0.2 data.prepared=prepared "
    "benchmark=[perplexity] benchmark.perplexity.path=many.txt benchmark.perplexity.lines=4 trainer=cpu "
    "trainer.max_steps=2 measure_before=false",
    "augment +augmentation=cda input=made field=source_text axis=pets.yaml output=new",
    "augment +augmentation=cda input=saved output=new",
    "augment +augmentation=cda input=texts.txt shard_rows=5 output=halfway",
    "augment +augmentation=perturbation rewriter.mode=lexical input=texts.txt output=perturbed",
    "score model=ensemble input=texts.txt output=scores.jsonl",
    "score model=ensemble input=many.txt output=begun.jsonl part_rows=10",
    "serve ensemble port=0",
    "report runs=runs",
    "view runs",
    "view runs --serve",
    "ls runs runs",
    "compare runs/1 runs/2",
    "table runs --latex --output table.tex",
    "cite runs --output runs.bib",
    "cite runs/trained --methods",
    "compare lm_eval/tiny_a lm_eval/tiny_b",
    "compare every_eval_ever/tiny_a.json every_eval_ever/tiny_b.json",
    "compare inspect/a.eval inspect/b.json",
    "compare helm/a helm/b",
    "compare mteb/a mteb/b",
    "compare tables/a.csv tables/b.csv",
    "augment +augmentation=cda input=rows.csv output=new",
    "augment +augmentation=cda input=rows.parquet output=new",
    "evaluate model=masked max_length=32 benchmark=[crows_pairs,stereoset] benchmark.crows_pairs.path=crows.csv "
    "benchmark.stereoset.path=stereo.json benchmark.stereoset.task=[intrasentence]",
    "drift earlier.jsonl later.jsonl",
    "reproduce paper=own output=reproduced",
    "reproduce paper=own output=reproduced dry_run=true",
    "audit model=classifier dataset=rated.jsonl mode=lexical",
    "mend classifier data=to_mend.jsonl mode=lexical methods=[threshold] output=mended",
    "doctor",
    "version",
)


def run(command: str) -> None:
    """Run a command of the console script in this process; leaves the process as it was."""
    instance, arguments = HydraConfig.instance(), sys.argv
    kept, handlers = instance.cfg, {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    sys.argv = ["fairlab", *command.split()]
    try:
        console.main()
    finally:
        sys.argv, instance.cfg = arguments, kept
        for number, handler in handlers.items():
            signal.signal(number, handler)


# ---------------------------------------------------------------- everything that is opened


def write_world(folder: Path, models: dict[str, Path]) -> None:
    """Write the files of all commands, most of them by the commands themselves; the working directory is ``folder``."""
    groups = [row(group) for group in make_groups(12)]
    write_rows(folder / "groups.jsonl", groups)
    texts = [f"She saw her father {k} times. The dog slept." for k in range(12)]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    write_rows(
        folder / "rated.jsonl", [{"text": text, "label": ["no", "yes"][k % 2]} for k, text in enumerate(texts * 3)]
    )
    people = [f"{['He', 'She'][k % 2]} saw the boat {k} times." for k in range(300)]
    write_rows(
        folder / "to_mend.jsonl", [{"text": text, "label": ["no", "yes"][k // 2 % 2]} for k, text in enumerate(people)]
    )
    (folder / "many.txt").write_text("\n".join(texts * 20) + "\n")
    lexicon = {"axis": "gender", "attributes": ["man", "woman"], "words": {"pets": [["n", "dog", "cat"]]}}
    lexicon |= {"sources": {"pets": "made up"}, "polysemous": {"dog": "the verb"}}
    (folder / "pets.yaml").write_text(yaml.safe_dump(lexicon))
    shutil.copy(HERE.parent / "docs" / "own_axis" / "disability_seat.yaml", folder / "tests.yaml")
    for tool in ("lm_eval", "every_eval_ever", "inspect"):
        shutil.copytree(HERE / "judge" / "fixtures" / tool, folder / tool)
    write_other_tools(folder, texts)
    write_models(folder, models)
    for command in (
        f"{MEASURING} hydra.run.dir=runs/1",
        f"{MEASURING} seed=1 hydra.run.dir=runs/2",
        f"{TRAINING} hydra.run.dir=runs/trained",
        f"{MEASURING} hydra.run.dir=stopped/evaluation",
        f"{TRAINING} trainer.checkpoint_every=1 hydra.run.dir=stopped/training",
        "augment +augmentation=cda input=texts.txt output=made",
        "augment +augmentation=counterfactual_groups rewriter.mode=lexical input=texts.txt output=grouped",
        "augment +augmentation=cda input=texts.txt shard_rows=5 output=halfway",
        "augment +augmentation=perturbation rewriter.mode=lexical input=texts.txt output=perturbed",
        "score model=ensemble input=many.txt output=earlier.jsonl",
        "score model=ensemble input=many.txt output=later.jsonl",
        *(one for one in COMMANDS if "prepared" in one),
    ):
        run(command)
    for place in ("stopped/evaluation", "stopped/training", "halfway", "perturbed"):
        record = json.loads((folder / place / "record.json").read_text())
        (folder / place / "record.json").write_text(json.dumps(record | {"status": "interrupted", "readings": []}))
    shutil.rmtree(folder / "outputs", ignore_errors=True)
    datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": texts})}).save_to_disk(folder / "saved")
    write_paper(folder)


def write_models(folder: Path, models: dict[str, Path]) -> None:
    """Write an encoder, a masked language model, a model of sentence-transformers and an exported ensemble."""
    shutil.copytree(models["bert"], folder / "tiny")
    shutil.copytree(models["bert_mlm"], folder / "masked")
    classifier = AutoModelForSequenceClassification.from_pretrained(models["bert"], id2label={0: "no", 1: "yes"})
    classifier.save_pretrained(folder / "classifier")
    AutoTokenizer.from_pretrained(models["bert"]).save_pretrained(folder / "classifier")
    modules = [Transformer(str(folder / "tiny")), Pooling(32, "mean"), Dense(32, 8)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "sentences"), create_model_card=False)
    pipeline = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler()), ("model", LogisticRegression())])
    features = np.random.default_rng(0).random((20, 4))
    model = HarmModel([pipeline.fit(features, features[:, 0] > 0.5)], 1.0, 0.0)
    save_ensemble({"hate": model}, Sources([Sentiment()]), folder / "ensemble")
    source = "fairlab.methods.safety_ensemble.sources.sentiment.Sentiment"
    (folder / "ensemble" / "sources.yaml").write_text(f"sentiment: {{_target_: {source}}}\n")


def write_paper(folder: Path) -> None:
    """Write a matrix whose one run is finished."""
    rows = {"no debiasing": {"run": "ccd", "phase": "before"}, "CCD-CDA": "ccd"}
    table = {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}, "rows": rows}
    runs = {"ccd": {"quickstart": TRAINING.split()[1:]}}
    matrix = {"published": "ccd", "seeds": [1], "options": {"quickstart": []}, "runs": runs, "tables": {6: table}}
    (folder / "experiments" / "own").mkdir(parents=True)
    (folder / "experiments" / "own" / "matrix.yaml").write_text(yaml.safe_dump(matrix))
    (folder / "reproduced" / "runs" / "ccd").mkdir(parents=True)
    finished = shutil.copytree(folder / "runs" / "trained", folder / "reproduced" / "runs" / "ccd" / "seed_1")
    record = json.loads((finished / "record.json").read_text())
    record["command"] = f"python -m fairlab.{TRAINING} seed=1 scale=quickstart hydra.run.dir=reproduced/runs/ccd/seed_1"
    (finished / "record.json").write_text(json.dumps(record))


# ---------------------------------------------------------------- what is opened


class Openings:
    """Paths that Python opens or lists while it is on; what compiled code opens is not seen."""

    def __init__(self) -> None:
        self.on, self.hears = False, False
        self.paths: set[str] = set()

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], str | os.PathLike):
            self.paths.add(os.fspath(arguments[0]))

    @contextmanager
    def below(self, folder: Path) -> Iterator[set[Path]]:
        """Collect the relative paths of what is opened below a folder."""
        if not self.hears:  # a hook stays for good, and slows all that a process does: none before it is needed
            sys.addaudithook(self._hear)
        found: set[Path] = set()
        self.paths, self.on, self.hears = set(), True, True
        try:
            yield found
        finally:
            self.on = False
            below = (Path(os.path.abspath(path)) for path in self.paths if path)
            found |= {path.relative_to(folder) for path in below if path.is_relative_to(folder) and path != folder}


# ---------------------------------------------------------------- ways to spoil a file

Spoil = Callable[[Path], None]
VOCABULARY, FEW = 200, 3  # entries that make a mapping a vocabulary, and how many of those are spoilt
WRONG = [5, -1, 1e300, True, None, "x", "", [], [5], ["x"], {}, {"x": 5}, [[]], "a\ud800b"]
CLIMBS = ["../outside/secret", f"${{oc.env:{VARIABLE}}}", "outside", "/dev/zero"]


def ways(file: Path) -> dict[str, Spoil]:
    """Return ways to spoil the content of a file, by name: of its bytes, and of each value in it."""
    found: dict[str, Spoil] = {
        "empty": lambda path: _write(path, b""),
        "cut": lambda path: _write(path, path.read_bytes()[: path.stat().st_size // 2]),
        "garbage": lambda path: _write(path, b"\xff\xfe\0garbage" * 20),
        "a list": lambda path: _write(path, b"[]"),
        "a bit flipped": lambda path: _write(path, flipped(path.read_bytes())),
        "nested": lambda path: _write(path, b"[" * 100_000),
    }
    reading = READERS.get(file.suffix)
    if reading is None:
        return found
    read, write = reading
    for key in keys_of(read(file)):
        for number, value in enumerate([*WRONG, *CLIMBS]):

            def spoil(path: Path, key: tuple[Any, ...] = key, value: Any = value) -> None:
                content = read(path)
                write(path, with_value(content, key, value))

            found[f"{'.'.join(map(str, key))} = {json.dumps(value)} ({number})"] = spoil
        found[f"{'.'.join(map(str, key))} left out"] = lambda path, key=key: write(path, without(read(path), key))
    return found


def flipped(content: bytes) -> bytes:
    """Return the content with one bit of its middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :] if content else b"x"


def keys_of(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value; the first item of a list stands for all, and a few of a vocabulary do."""
    if above:
        yield above
    if isinstance(content, dict):
        for name, value in list(content.items())[: FEW if len(content) > VOCABULARY else None]:
            yield from keys_of(value, (*above, name))
    elif isinstance(content, list) and content:
        yield from keys_of(content[0], (*above, 0))


def with_value(content: Any, key: tuple[Any, ...], value: Any) -> Any:
    """Return the content with another value at a place."""
    node = content
    for part in key[:-1]:
        node = node[part]
    node[key[-1]] = value
    return content


def without(content: Any, key: tuple[Any, ...]) -> Any:
    """Return the content without the value at a place."""
    node = content
    for part in key[:-1]:
        node = node[part]
    del node[key[-1]]
    return content


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write_arrays(path: Path, content: dict[str, Any]) -> None:
    """Write arrays; what is none becomes one of that value."""
    save_file({name: np.atleast_1d(np.asarray(value)) for name, value in content.items()}, path)


def _arrays(path: Path) -> dict[str, Any]:
    return dict(load_file(path))


READERS: dict[str, tuple[Callable[[Path], Any], Callable[[Path, Any], Any]]] = {
    ".json": (
        lambda path: json.loads(path.read_text(encoding="utf-8")),
        lambda path, content: path.write_text(json.dumps(content), encoding="utf-8"),
    ),
    ".yaml": (
        lambda path: yaml.safe_load(path.read_text(encoding="utf-8")),
        lambda path, content: path.write_text(yaml.safe_dump(content), encoding="utf-8"),
    ),
    ".jsonl": (
        _lines,
        lambda path, content: path.write_text("".join(json.dumps(one) + "\n" for one in content), encoding="utf-8"),
    ),
}


# ---------------------------------------------------------------- a walk


@contextmanager
def sandbox(world: Path, place: Path, entries: set[str]) -> Iterator[Path]:
    """Copy entries of the world into a fresh folder beside one with a secret, and work there."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "here").mkdir(parents=True)
    (place / OUTSIDE).mkdir()
    (place / OUTSIDE / "secret").write_text(SECRET)
    for name in entries:
        copy = shutil.copytree if (world / name).is_dir() else shutil.copy2
        copy(world / name, place / "here" / name)
    before = Path.cwd()
    os.chdir(place / "here")
    try:
        yield place / "here"
    finally:
        os.chdir(before)


def ending(command: str, printed: Callable[[], tuple[str, str]]) -> tuple[int, str, str]:
    """Return the exit code of a command, what it printed, and what is wrong with how it ended."""
    printed()
    code, wrong = 0, ""
    try:
        run(command)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:  # whatever escapes is a traceback for the user
        wrong = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    out, err = printed()
    lines = err.strip().splitlines()
    if not wrong and code not in (0, 1):
        wrong = f"exit code {code}"
    elif not wrong and code and not (lines and lines[-1].startswith("fairlab: ")):
        wrong = f"no sentence at the end: {err[-200:]!r}"
    elif "Traceback" in err:
        wrong = f"a traceback: {err[-200:]!r}"
    elif "\x1b" in out + err:
        wrong = "a control character at the terminal"
    return code, out + err, wrong


def harm(here: Path, said: str) -> str:
    """Return what a command did that no file may make it do, or an empty text."""
    outside = here.parent / OUTSIDE
    if SECRET in said:
        return "the secret was printed"
    if [path.name for path in outside.iterdir()] != ["secret"] or (outside / "secret").read_text() != SECRET:
        return "something outside was written"
    for folder, _, names in os.walk(here):
        for path in (Path(folder, name) for name in names):
            if not path.is_symlink() and path.is_file() and SECRET.encode() in path.read_bytes():
                return f"the secret is in {path.relative_to(here)}"
    return ""
