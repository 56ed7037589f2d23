"""The commands of the documentation run at a tiny size; those of the README have a module of their own.

What needs GPUs, a language model's server or the paper's models is composed alone, in ``tests/test_docs.py``.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import pandas
import pytest
from datasets import Dataset, DatasetDict
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from fairlab.data.perturbation_pairs import FIELDS
from tests.conftest import WORDS, make_groups, row, write_rows
from tests.end_to_end.conftest import tiny_backbone
from tests.end_to_end.test_biaser_llm import contexts, sentence
from tests.end_to_end.test_shortcuts import claims
from tests.test_docs import COMMANDS, runs_at_a_tiny_size

OWN_AXIS = Path(__file__).parents[2] / "docs" / "own_axis"
PERSONS = [f"The {'king' if k % 3 else 'boat'} of number {k} saw the {WORDS[k % 11]} of Maria." for k in range(60)]


def distinct():
    """Entry and arguments of every command that is run here, each once, with two values of a sweep at most."""
    seen = set()
    for _, entry, arguments in COMMANDS:
        arguments = re.sub(r"=([\w.]+,[\w.]+)(,[\w.]+)+", r"=\1", arguments)
        if runs_at_a_tiny_size(entry, arguments) and (entry, arguments) not in seen:
            seen.add((entry, arguments))
            yield entry, arguments


def glue_rows(count):
    label = ("not_entailment", "entailment")
    lines = [f"{k}\t{PERSONS[k]}\ta {'good' if k % 2 else 'bad'} king\t{label[k % 2]}" for k in range(count)]
    return "index\tsentence1\tsentence2\tlabel\n" + "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def _place(tmp_path, tiny_folders):
    """What a reader of the pages would have: texts, groups, pairs and tasks."""
    groups = [row(group) for group in make_groups(12)]
    for name in ("small.jsonl", "my.jsonl"):
        write_rows(tmp_path / name, groups)
    for name in ("texts.txt", "corpus.txt"):
        (tmp_path / name).write_text("\n".join(PERSONS), encoding="utf-8")
    shutil.copytree(OWN_AXIS, tmp_path / "docs" / "own_axis")
    write_rows(tmp_path / "texts.jsonl", [{"text": text} for text in PERSONS])
    write_rows(tmp_path / "FILE.jsonl", [one | {"text": one["claim"]} for one in claims(60)])
    _audited(tmp_path)
    names = dict(enumerate(("negative", "neutral", "positive")))
    classifier = AutoModelForSequenceClassification.from_pretrained(
        tiny_folders["bert"], num_labels=3, id2label=names, label2id={name: place for place, name in names.items()}
    )
    for part in (classifier, AutoTokenizer.from_pretrained(tiny_folders["bert"])):
        part.save_pretrained(tmp_path / "my_classifier")
    (tmp_path / "pairs.csv").write_text("premise,hypothesis\n" + "".join(f"{text},{text}\n" for text in PERSONS))
    pairs = [
        (f"He saw the {WORDS[k % 11]} {k}.", "He", "woman", f"She saw the {WORDS[k % 11]} {k}.") for k in range(24)
    ]
    write_rows(tmp_path / "pairs.jsonl", [dict(zip(FIELDS, pair, strict=True)) for pair in pairs])
    (tmp_path / "my_pairs.csv").write_text("\n".join([",".join(FIELDS), *map(",".join, pairs)]) + "\n")
    both = Dataset.from_dict({"text": PERSONS[:6]})
    DatasetDict({"train": both, "test": both}).save_to_disk(tmp_path / "my_data")
    for name in ("reports", "rte", "sst2", "data/measured"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "reports" / "one.txt").write_text("\n\n".join(map(sentence, range(60))))
    (tmp_path / "stereoset.json").write_text(json.dumps({"data": {"intersentence": list(contexts(12))}}))
    for split, count in (("train", 60), ("dev", 20)):
        (tmp_path / "rte" / f"{split}.tsv").write_text(glue_rows(count))
        (tmp_path / "sst2" / f"{split}.tsv").write_text("".join(f"text {k}\t{k % 2}\n" for k in range(count)))
    for task, rows in (("fever_two_way", claims(60)), ("snli_validation", inferences(60))):
        (tmp_path / "data" / task).mkdir()
        write_rows(tmp_path / "data" / task / "train.jsonl", rows)
    write_rows(tmp_path / "data" / "measured" / "test.jsonl", claims(20, 100))


def _audited(folder):
    """What a reader of the page on audits would have: reviews, comments, and models of both."""
    labels = ("negative", "neutral", "positive")
    people = [f"{who} told {other} of number {k}." for k in range(40) for who, other in (("She", "him"), ("He", "her"))]
    rows = [f'"{text}",{labels[k % 3]}' for k, text in enumerate(people)]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    for name, start in (("train", 0), ("fit", 100), ("test", 200)):
        told = [f"{text} {start}" for text in people]
        lines = [f'"{text}",{("fine", "abusive")[k % 5 % 2]}' for k, text in enumerate(told)]
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *lines]) + "\n")
    sexes = ["f" if text.startswith("She") else "m" for text in people]
    table = {"comment": people, "toxic": [k % 5 % 2 for k in range(len(people))], "sex": sexes}
    pandas.DataFrame(table).to_parquet(folder / "comments.parquet")
    (folder / "my_model.py").write_text(MODEL)


MODEL = """
import pandas
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

rows = pandas.read_parquet("comments.parquet")
pipeline, newer = (
    make_pipeline(CountVectorizer(), LogisticRegression(C=c)).fit(rows.comment, rows.toxic) for c in (1, 10)
)
"""


def inferences(count):
    """The claims as pairs of SNLI, every third of which is neutral."""
    labels = {"SUPPORTS": "entailment", "REFUTES": "contradiction"}
    return [
        {"premise": one["evidence"], "hypothesis": one["claim"], "label": labels[one["label"]] if k % 3 else "neutral"}
        for k, one in enumerate(claims(count))
    ]


def reduced(experiment, folders, bart):
    """Overrides that make an experiment take a moment, whatever else a command says."""
    bert = tiny_backbone(folders["bert_mlm"])
    groups = [*bert, "benchmark=[cced]", "benchmark.cced.sets=[small.jsonl]", "data.validation=2", "data.limit=8"]
    lines = ["data.batch_size=4", "data.passage=24", "data.validation=0.2", "method.steps=2"]
    perplexity = ["benchmark=perplexity", "benchmark.perplexity.path=texts.txt", "benchmark.perplexity.lines=4"]
    few = ["data.batch_size=8", "method.epochs=1", "data.validation=0.3"]
    two_steps = ["data.limit=60", "+trainer.max_steps=2", "benchmark.perturber.limit=4"]
    pairs = ["benchmark.perturber.path=pairs.jsonl", "benchmark.perturber.paths=null"]
    llama = [*tiny_backbone(folders["llama"]), "backbone.max_length=64", "data.path=reports/one.txt"]
    causal = ["data.validation=5", "data.block=64", "data.batch_size=1", "method.rank=2", "trainer=cpu"]
    mb_index = [f"benchmark.mb_index.{one}" for one in ("stereoset=stereoset.json", "limit=6", "stride=32")]
    unmeasured = [f"~benchmark.{name}" for name in ("fever", "fever_symmetric_v01", "vitaminc", "mnli")]
    facts = ["benchmark=quickstart/fact_checking", *unmeasured, "benchmark.fever_symmetric.path=data/measured"]
    claims = [*tiny_backbone(folders["bert"]), *facts, "data.unseen=[]", *few]
    return {
        "ccd_bert": groups,
        "fairberta": [*bert, "data.paths=[texts.txt]", *lines, *perplexity],
        "fairtune_glue": [*tiny_backbone(folders["bert"]), "data.path=rte", *few],
        "perturber": [f"backbone.name={bart}", "backbone.max_length=64", *two_steps, *few, *pairs],
        "perturber_smollm2": [*tiny_backbone(folders["llama"]), "backbone.max_length=64", *two_steps, *few, *pairs],
        "biaser_llm": [*llama, "augmentation=cda_text", "data.expandable=false", *causal, *mb_index],
        "fairtune": [*tiny_backbone(folders["bert"]), *few],
        "glue": [*tiny_backbone(folders["bert"]), "data.path=sst2", *few],
        "razor_fever": [*claims, "data.task=fever_two_way", "data.path=data/fever_two_way"],
        "razor_nli": [*claims, "data.path=data/snli_validation"],
    }[experiment]


# What a command starts from -> the command that makes it.
MADE_BEFORE = {
    "data.path=my_groups": (
        "augment",
        "+augmentation=counterfactual_groups axis=gender input=texts.txt output=my_groups",
    ),
    "sets=[disability_groups": (
        "augment",
        "+augmentation=counterfactual_groups axis=docs/own_axis/disability.yaml input=docs/own_axis/disability.txt "
        "output=disability_groups",
    ),
    "OUT": ("augment", "+augmentation=perturbation input=texts.jsonl output=OUT"),
    "made/razor": ("augment", "+augmentation=razor input=FILE field=[evidence,claim] output=made/razor"),
    "after: DIR": ("augment", "+augmentation=razor input=FILE field=text augmentation.label=label output=DIR"),
    **{
        f"{label}:runs/{label}": (
            "train",
            f"+experiment=fairtune data.path=train.csv {more} hydra.run.dir=runs/{label}",
        )
        for label, more in (("plain", "augmentation=none"), ("fairtuned", ""), ("paired", "augmentation=none"))
    },
    "model=runs/plain": (
        "train",
        "+experiment=fairtune augmentation=none data.path=train.csv hydra.run.dir=runs/plain",
    ),
    "@audits/odds/mended.json": (
        "audit",
        "model=runs/plain mend=odds fit=fit.csv dataset=test.csv hydra.run.dir=audits/odds",
    ),
    "model=RUN": ("train", "+experiment=fairtune_glue task=rte hydra.run.dir=RUN"),
    "outputs/ccd_bert/RUN": ("train", "+experiment=ccd_bert hydra.run.dir=outputs/ccd_bert/RUN"),
}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize(("entry", "arguments"), distinct())
def test_a_command_of_the_pages(entry, arguments, run, tiny_folders, tiny_bart):
    before = [command for made, command in MADE_BEFORE.items() if made in arguments]
    for module, words in [*before, (entry, arguments)]:
        given = [one.replace("FILE", "FILE.jsonl") for one in shlex.split(words)]
        named = next((one.partition("=")[2] for one in given if one.startswith("+experiment=")), None)
        smaller = reduced(named, tiny_folders, tiny_bart) if named else ["limit=8"] * (module == "evaluate")
        chosen = {one.partition("=")[0] for one in given}
        done = run(*given, *(one for one in smaller if one.partition("=")[0] not in chosen), entry=module)
        assert done.returncode == 0, done.stderr
