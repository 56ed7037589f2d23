"""Whatever is wrong with what a command is given: one sentence that names it, and nothing half-written."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, DatasetDict
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import fairlab
from fairlab.lexicons import load_lexicon
from fairlab.methods.safety_ensemble.exported.export import save_ensemble
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.record import Record
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.run.command_line import cli, console
from fairlab.run.command_line.console import OWN
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.job import job
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows
from tests.damaged_models import OF_A_MODEL, OF_SENTENCE_TRANSFORMERS, copied

JOBS = ("train", "evaluate", "augment")
OTHERS = {name: getattr(import_module(f"fairlab.{name}"), name) for name in ("score", "reproduce", "report")}
# What may be left: the record that says why, and what Hydra and a server of language models keep.
OF_HYDRA = ["mode", "runtime", "run", "overrides", "job"]
LEFT = {"record.json", "metrics.json", ".lock", *(f"llm_ledger.sqlite{end}" for end in ("", "-shm", "-wal"))}


def read_table() -> tuple[dict[str, tuple[str, str]], list[tuple[str, str, str]]]:
    """Entry point and overrides of every base by name; and of every case its base, its overrides and words."""
    bases, cases, name = {}, [], ""
    for line in (Path(__file__).parent / "bad_input.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name, _, command = line[1:].partition("] ")
            bases[name] = tuple(command.split(" ", maxsplit=1))
        elif line and not line.startswith("#"):
            overrides, _, words = line.partition(" | ")
            cases.append((name, overrides, words))
    return bases, cases


BASES, CASES = read_table()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, tiny_folders):
    """A folder with the files that the table names."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    shutil.copytree(tiny_folders["bert"], folder / "tiny")
    shutil.copytree(tiny_folders["bert_mlm"], folder / "tiny_mlm")
    shutil.copytree(tiny_folders["llama"], folder / "tiny_llama")
    modules = [Transformer(str(folder / "tiny")), Pooling(32, "mean"), Dense(32, 8)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "sentences"), create_model_card=False)
    for source, damages in (("tiny", OF_A_MODEL), ("sentences", OF_SENTENCE_TRANSFORMERS)):
        for name, damage in damages.items():
            damage(copied(folder / source, folder / "damaged" / name))
    copied(folder / "tiny", folder / "damaged" / "gguf")
    (folder / "damaged" / "gguf" / "garbage.gguf").write_bytes(b"GGUF" + b"garbage" * 100)
    (folder / "damaged" / "gguf" / "empty.gguf").write_bytes(b"")
    (folder / "model.gguf").write_bytes(b"GGUF")
    Record(folder / "runs" / "1", config={}, command="python -m fairlab.train", status="finished").save()
    pipeline = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler()), ("model", LogisticRegression())])
    features = np.random.default_rng(0).random((20, 4))
    model = HarmModel([pipeline.fit(features, features[:, 0] > 0.5)], 1.0, 0.0)
    save_ensemble({"hate": model}, Sources([Sentiment()]), folder / "ensemble")
    (folder / "ensemble" / "sources.yaml").write_text(
        "sentiment: {_target_: fairlab.methods.safety_ensemble.sources.sentiment.Sentiment}\n"
    )
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
    claims = [(f"It was in {year}.", f"In {year} it was.") for year in range(1901, 1905)]
    named = [{"evidence": evidence, "claim": claim, "label": "SUPPORTS"} for evidence, claim in claims]
    write_rows(folder / "claims.jsonl", named)
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    (folder / "many.txt").write_text("\n".join(texts * 20) + "\n")
    (folder / "scores.csv").write_text("text,hate\nAnother text.,0.5\n")
    (folder / "rain.txt").write_text("It rained.\nIt snowed.\n")
    (folder / "empty.txt").write_text("")
    (folder / "zero_byte.txt").write_bytes(b"She left.\nHe \0left.\n")
    (folder / "long_line.txt").write_text("She left early. " * 700_000)
    write_prepared(folder)
    write_broken_texts(folder)
    (folder / "groups.doc").write_text("x")
    (folder / "bad.parquet").write_bytes(b"no")
    write_own_data(folder)
    (folder / "open_quote.csv").write_text("text\n" + '"' + "x" * (17 << 20))
    (folder / "bad.yaml").write_text("a: [")
    (folder / "empty.yaml").write_text("")
    names = "names: [[friend, Ann, Bob], [friend, Eve, Bob]]"
    (folder / "names.yaml").write_text(f"axis: pets\nattributes: [cat, dog]\nwords: {{}}\n{names}\n")
    for name, forms in {"one": "[n, cat]", "wordless": "[n, cat, dog, n]", "both": "[n, cat, cat]"}.items():
        attributes = ", ".join(["cat", "dog", "cow"][: forms.count(",")])
        (folder / f"{name}.yaml").write_text(f"axis: pets\nattributes: [{attributes}]\nwords: {{a: [{forms}]}}\n")
    words = "{a: [[{alone: n, before_verb: n}, cat, dog]]}"
    (folder / "context.yaml").write_text(f"axis: pets\nattributes: [cat, dog]\nwords: {words}\n")
    sets = "targets: {x: [%s], y: [b]}, %s: {p: [c], q: [d]}"
    (folder / "empty_set.yaml").write_text(f"tests: {{t: {{{sets % ('', 'attributes')}}}}}\n")
    (folder / "unknown_key.yaml").write_text(f"tests: {{t: {{{sets % ('a', 'poles')}}}}}\n")
    for name, content in (("full", "mine.txt"), ("broken_ensemble", "ensemble.json"), ("runs", "notes.txt")):
        (folder / name).mkdir()
        (folder / name / content).write_text("{")
    (folder / "runs" / "1").mkdir()
    (folder / "task").mkdir()
    labels = ["entailment", "not_entailment"] * 20
    pairs = [f"{k}\tA man left {k}.\tHe is gone.\t{label}" for k, label in enumerate(labels)]
    for split in ("train", "dev"):
        (folder / "task" / f"{split}.tsv").write_text("index\tsentence1\tsentence2\tlabel\n" + "\n".join(pairs) + "\n")
    write_outside(folder)
    matrix = "published: ccd\nseeds: [1, 2]\noptions: {}\nruns: {}\ntables: {}\n"
    others = {
        "unknown": matrix.replace("ccd", "nothing"),
        "climbing": matrix.replace("ccd", "../../secret"),
        "listed": matrix.replace("runs: {}", "runs: {a: [x]}"),
        "number": matrix.replace("runs: {}", "runs: {a: {quickstart: [5]}}"),
        "misspelled": matrix.replace("tables", "tabels"),
    }
    for name, content in ({"mini": matrix, "bad": "a: [", "empty": "", "lacking": "seeds: [1]\n"} | others).items():
        (folder / "experiments" / name).mkdir(parents=True)
        (folder / "experiments" / name / "matrix.yaml").write_text(content)


def write_broken_texts(folder: Path) -> None:
    """Texts that are not quite text, as tables, lines of JSON and plain lines hold them."""
    files = {
        "bytes.txt": b"She left.\xff\n",
        "bytes.jsonl": b'{"text": "She left \xff", "label": "1"}\n',
        "bytes.csv": b"text,label\nShe \xff left,1\n",
        "half.jsonl": b'{"text": "She \\ud83d left.", "label": "1"}\n',
        "half.txt": b"She \xed\xa0\xbd left.\n",
        "two.txt": "Zoë: she\n".encode() + "Zoë: he\n".encode("latin-1"),
        "repeated.csv": b"text,label,text\nShe left.,1,He left.\n",
        "control.csv": b"te\x07xt,label\nShe left.,1\n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    lexicon = "axis: pets\nattributes: [cat, dog]\nwords: {a: [[n, cat, dog]]}\n"
    (folder / "bell.yaml").write_text(lexicon + 'names: [[friend, "A\\x07nn", Bob]]\n')
    (folder / "everyone.yaml").write_text(lexicon + "people: ['*']\n")


def write_outside(folder: Path) -> None:
    """Lexicons and outputs of ``fairlab.augment`` as somebody may send them."""
    lexicon = "axis: pets\nattributes: [cat, dog]\nwords: {a: [[n, cat, dog]]}\n"
    lines = {"figures": "5", "polysemous": "[a]", "pos": "[a]", "returning": "5", "sources": "5", "idioms": "[[a]]"}
    lines |= {"misspelled": "", "tagged": "", "deep": "", "bomb": ""}
    more = {"misspelled": "polysemos: {a: b}\n", "tagged": "alone: !!python/name:os.system\n"}
    more |= {"deep": f"alone: {'[' * 5_000}\n"}
    bomb = "".join(f"x{k}: &x{k} [{', '.join([f'*x{k - 1}' if k else 'a'] * 9)}]\n" for k in range(12))
    more |= {"bomb": bomb}
    for name, value in lines.items():
        (folder / f"{name}.yaml").write_text(lexicon + more.get(name, f"{name}: {value}\n"))
    entries = {"number": {"file": 5, "sha256": "x"}, "climbs": {"file": "../texts.txt", "sha256": "x"}}
    entries["linked"] = {"file": "data-00000.jsonl", "sha256": "x"}
    for name in (*entries, "list"):
        (folder / f"manifest_{name}").mkdir()
        content = {"shards": [{"data": entries.get(name, {})}]} if name in entries else []
        (folder / f"manifest_{name}" / "manifest.json").write_text(json.dumps(content))
    (folder / "manifest_linked" / "data-00000.jsonl").symlink_to("/etc/hostname")


def write_prepared(folder: Path) -> None:
    """Text prepared by another tokenizer, and outputs of ``fairlab.augment`` that are not as their manifest says."""
    manifest = {"made_of": {"format": 1, "tokenizer": "another"}, "files": [], "dtype": "uint16"}
    (folder / "prepared").mkdir()
    (folder / "prepared" / "prepared.json").write_text(json.dumps(manifest))
    for name in ("changed", "unfinished"):
        (folder / name).mkdir()
        write_rows(folder / name / "data-00000.jsonl", [{"text": "She left.", "source_text": "He left."}])
    listed = {"data": {"file": "data-00000.jsonl", "sha256": "another"}}
    (folder / "changed" / "manifest.json").write_text(json.dumps({"shards": [listed]}))


def write_own_data(folder: Path) -> None:
    """Data as people bring it, and damaged."""
    columns = {"text": ["She left.", "He left."], "label": [0, 1]}
    pq.write_table(pa.table(columns), folder / "labels.parquet")
    (folder / "cut.parquet").write_bytes((folder / "labels.parquet").read_bytes()[:-40])
    pq.write_table(pa.table({"text": ["She left."], "image": [b"png"]}), folder / "pictures.parquet")
    (folder / "labels.csv").write_text("text,label\nShe left.,0\n")
    (folder / "ragged.csv").write_text("text,label\nShe left, he said,0\nalone\n")
    (folder / "bad.json").write_text('[{"text": "She left."')
    both = DatasetDict({split: Dataset.from_dict(columns) for split in ("train", "test")})
    both.save_to_disk(folder / "saved")
    shutil.copytree(folder / "saved", folder / "damaged_set")
    (folder / "damaged_set" / "test" / "data-00000-of-00001.arrow").write_bytes(b"no")


@cache
def composed(base: str):
    """The configuration of a base, with Hydra's own part."""
    entry, overrides = BASES[base]
    with initialize_config_dir(cli.conf_dir(), version_base="1.3"):
        whole = compose(entry, overrides=shlex.split(overrides), return_hydra_config=True)
    with open_dict(whole):
        whole.hydra = OmegaConf.masked_copy(whole.hydra, OF_HYDRA)  # the rest takes longer to copy than a case to run
    return entry, whole


def attempt(base: str, overrides: str) -> None:
    """What ``python -m fairlab.ENTRY`` does with a base and more overrides, once Hydra has composed the base.

    Commands of the console script that take no configuration are given to that.
    """
    if BASES[base][0] == "fairlab":
        sys.argv = ["fairlab", *shlex.split(overrides)]
        console.main()
        return
    entry, whole = composed(base)
    whole = whole.copy()
    given = shlex.split(overrides)
    all_given = [*shlex.split(BASES[base][1]), *given]
    try:
        with open_dict(whole.hydra):
            ConfigLoaderImpl._apply_overrides_to_config(OverridesParser.create().parse_overrides(given), whole)
            whole.hydra.overrides.task = given
            whole.hydra.mode = RunMode.RUN
            whole.hydra.runtime.output_dir = str(whole.hydra.run.dir)
        HydraConfig.instance().cfg = whole
        config = OmegaConf.masked_copy(whole, [key for key in whole if key != "hydra"])
        OmegaConf.set_struct(config, True)
    except Exception as error:
        sentence = cli.explain(error, entry, all_given)
        if sentence is None:
            raise
        cli.stop(sentence)
    Path(whole.hydra.runtime.output_dir).mkdir(parents=True, exist_ok=True)
    with cli.one_sentence(), initialize_config_dir(cli.conf_dir(), version_base="1.3"):
        if entry == "augment":
            refuse_misfits(entry, config)
        if entry in JOBS:
            job(entry, config)
        else:
            OTHERS[entry](config)


def link_named(inputs: Path, folder: Path, command: str) -> None:
    """Link those of the inputs whose names a command contains: all of them take longer to link than a case to run."""
    for path in inputs.iterdir():
        if path.stem in command or path.name == "experiments":  # of reproduce, which names what is in it
            (folder / path.name).symlink_to(path)


@pytest.mark.parametrize(("base", "overrides", "words"), CASES, ids=[f"{one[0]} {one[1]}" for one in CASES])
def test_bad_input_is_one_sentence(inputs, tmp_path, monkeypatch, capfd, base, overrides, words):
    link_named(inputs, tmp_path, f"{BASES[base][1]} {overrides}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    monkeypatch.setattr("sys.argv", sys.argv)
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)  # what the attempt sets goes with the test
    with pytest.raises(SystemExit) as stop:
        attempt(base, overrides)
    assert stop.value.code == 1
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith("fairlab: ")
    assert words in line
    left = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    left_over = [path for path in left if path.name not in LEFT and path.suffix != ".lock"]
    assert not [path for path in left_over if path.parent.name != "items"]
    for path in left:
        assert path.name != "record.json" or json.loads(path.read_text())["status"] == "failed"


BROKEN = {
    "bytes.txt": "line 1: not UTF-8",
    "bytes.csv": "line 2: not UTF-8",
    "half.jsonl": "line 1: the text contains half a surrogate pair",
    "two.txt": "line 2: not UTF-8",
    "repeated.csv": "has the column 'text' more than once",
    "control.csv": "with a character that is not text",
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_audit_refuses_broken_texts(tmp_path, name):
    write_broken_texts(tmp_path)
    with pytest.raises(FairlabError, match=f"{name}.*{BROKEN[name]}"):
        fairlab.audit(lambda texts: [0.5] * len(texts), str(tmp_path / name), mode="lexical")


@pytest.mark.parametrize("end", [" <b <i <!--", " &", "<", " [[", " ```"])
def test_markup_that_never_ends_hides_no_word(end):
    rules = RuleRewriter(load_lexicon("gender"), mode="lexical")
    assert rules(f"She left{end}", "man") == f"He left{end}"
    assert rules("x" + end * 200, "man") == "x" + end * 200


PLANNED = [
    pytest.param(*one, id=f"{one[0]} {one[1]}", marks=[] if place % 40 == 0 else pytest.mark.slow)
    for place, one in enumerate(case for case in CASES if BASES[case[0]][0] in ("train", "evaluate"))
]


@pytest.mark.parametrize(("base", "overrides", "words"), PLANNED)
def test_a_plan_refuses_what_the_run_refuses(inputs, tmp_path, monkeypatch, capfd, base, overrides, words):
    link_named(inputs, tmp_path, f"{BASES[base][1]} {overrides}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    entry, own = BASES[base]
    given = [*shlex.split(own), *shlex.split(overrides), "dry_run=true"]
    monkeypatch.setattr("sys.argv", [entry, *given])
    code = 0
    try:
        import_module(f"fairlab.{entry}").command()
    except SystemExit as stop:
        code = stop.code
    printed = capfd.readouterr()
    if code:
        (line,) = printed.err.strip().splitlines()
        assert (code, line[:9]) == (1, "fairlab: ")
        # The size of a model is read from its configuration before transformers reads that.
        assert words in line or "is not the configuration of a model" in line
    else:
        assert ": MISSING; " in printed.out
    left = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in left if path.suffix != ".lock"]


def test_the_table_covers_every_entry_point():
    assert len(CASES) >= 200
    assert {entry for entry, _ in BASES.values()} == {*JOBS, *OTHERS, "fairlab"}
    assert {words.split()[0] for base, words, _ in CASES if base == "console"} >= {*OWN, "serve", "view"} - {"version"}
    assert len({(base, overrides) for base, overrides, _ in CASES}) == len(CASES)
