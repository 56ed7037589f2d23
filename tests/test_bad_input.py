"""Whatever is wrong with what a command is given, it ends in one sentence that names it, and leaves nothing half-done."""

from __future__ import annotations

import json
import shlex
import shutil
from functools import cache
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

from fairlab import augment, evaluate, report, reproduce, score, train
from fairlab.run import cli
from fairlab.run.job import job
from tests.bad_input import BASES, cases
from tests.conftest import make_groups, row, write_rows

CASES = cases()
ENTRIES = {
    "train": train.train,
    "evaluate": evaluate.evaluate,
    "augment": augment.augment,
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, tiny_folders):
    """A folder with the files that the table names."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    shutil.copytree(tiny_folders["bert"], folder / "tiny")
    shutil.copytree(tiny_folders["bert_mlm"], folder / "tiny_mlm")
    return folder


def write_inputs(folder: Path) -> None:
    groups = [row(group) for group in make_groups(12)]
    first = groups[0] | {"id": "a"}
    write_rows(folder / "groups.jsonl", groups)
    good = json.dumps(first).encode()
    lines = {
        "bad_json.jsonl": [good, b"{"],
        "long_number.jsonl": [good, b'{"id": ' + b"9" * 5000 + b"}"],
        "nested.jsonl": [good, b"[" * 200_000],
        "latin.jsonl": [good, b'{"id": "\xe9"}'],
        "empty.jsonl": [],
        "null.jsonl": [b"null"],
    }
    for name, content in lines.items():
        (folder / name).write_bytes(b"".join(line + b"\n" for line in content))
    write_rows(folder / "no_neutral.jsonl", [first | {"versions": {"man": "x", "woman": "y"}}])
    write_rows(folder / "twice.jsonl", [first, first])
    write_rows(folder / "number.jsonl", [first | {"versions": first["versions"] | {"man": 5}}])
    write_rows(folder / "others.jsonl", [first, first | {"id": "b", "versions": {"neutral": "x", "a": "y", "b": "z"}}])
    texts = [f"She saw her father {k} times." for k in range(12)]
    write_rows(folder / "labelled.jsonl", [{"text": text, "label": str(k % 2)} for k, text in enumerate(texts)])
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    (folder / "many.txt").write_text("\n".join(texts * 20) + "\n")
    (folder / "rain.txt").write_text("It rained.\nIt snowed.\n")
    (folder / "empty.txt").write_text("")
    (folder / "groups.doc").write_text("x")
    (folder / "bad.parquet").write_bytes(b"no")
    (folder / "open_quote.csv").write_text("text\n" + '"' + "x" * (17 << 20))
    (folder / "bad.yaml").write_text("a: [")
    (folder / "empty.yaml").write_text("")
    for name, content in (("full", "mine.txt"), ("broken_ensemble", "ensemble.json"), ("runs", "notes.txt")):
        (folder / name).mkdir()
        (folder / name / content).write_text("{")
    (folder / "task").mkdir()
    pairs = [f"{k}\tA man left {k}.\tHe is gone.\t{label}" for k, label in enumerate(["entailment", "not_entailment"] * 20)]
    for split in ("train", "dev"):
        (folder / "task" / f"{split}.tsv").write_text("index\tsentence1\tsentence2\tlabel\n" + "\n".join(pairs) + "\n")
    matrix = "published: ccd\nseeds: [1, 2]\noptions: {}\nruns: {}\ntables: {}\n"
    for name, content in {"mini": matrix, "bad": "a: [", "empty": "", "lacking": "seeds: [1]\n"}.items():
        (folder / "experiments" / name).mkdir(parents=True)
        (folder / "experiments" / name / "matrix.yaml").write_text(content)


@cache
def composed(base: str):
    """The configuration of a base, with Hydra's own part."""
    entry, overrides = BASES[base]
    with initialize_config_dir(cli.conf_dir(), version_base="1.3"):
        return entry, compose(entry, overrides=shlex.split(overrides), return_hydra_config=True)


def attempt(base: str, overrides: str) -> None:
    """What ``python -m fairlab.ENTRY`` does with a base and more overrides, once Hydra has composed the base."""
    entry, whole = composed(base)
    whole = whole.copy()
    given = shlex.split(overrides)
    try:
        with open_dict(whole.hydra):
            ConfigLoaderImpl._apply_overrides_to_config(OverridesParser.create().parse_overrides(given), whole)
            whole.hydra.overrides.task = given
            whole.hydra.mode = RunMode.RUN
            whole.hydra.runtime.output_dir = str(whole.hydra.run.dir)
        HydraConfig.instance().set_config(whole)
        config = OmegaConf.masked_copy(whole, [key for key in whole if key != "hydra"])
        OmegaConf.set_struct(config, True)
        OmegaConf.set_readonly(whole.hydra, True)
    except Exception as error:
        sentence = cli.explain(error, entry)
        if sentence is None:
            raise
        cli.stop(sentence)
    made = not Path(whole.hydra.runtime.output_dir).exists()
    Path(whole.hydra.runtime.output_dir).mkdir(parents=True, exist_ok=True)
    with cli.one_sentence(), initialize_config_dir(cli.conf_dir(), version_base="1.3"):
        if entry in ENTRIES:
            job(entry, config, ENTRIES[entry])
        else:
            {"score": score.score, "reproduce": reproduce.reproduce, "report": report.report}[entry](config)


@pytest.mark.parametrize(("base", "overrides", "words"), CASES, ids=[f"{base} {overrides}" for base, overrides, _ in CASES])
def test_bad_input_is_one_sentence(inputs, tmp_path, monkeypatch, capfd, base, overrides, words):
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        attempt(base, overrides)
    printed = capfd.readouterr()
    assert stop.value.code == 1
    lines = printed.err.strip().splitlines()
    assert lines, printed.out
    assert lines[-1].startswith("fairlab: ")
    assert words in lines[-1]
    assert len(lines) == 1
