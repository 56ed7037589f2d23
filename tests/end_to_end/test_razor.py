"""RAZOR and the shortcut X-ray from the command line: a planted shortcut, a language model, bad input."""

import importlib.util
import json
import threading
from functools import partial
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from fairlab.data.labelled_tasks import read_training
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import find_task
from fairlab.evaluate import command
from fairlab.record import Record
from fairlab.text.surface_tokens import negations, surface_tokens
from tests.end_to_end.augmenting import augment_here, content, rows, run_here
from tests.end_to_end.conftest import kill
from tests.llm.stub import Stub, said
from tests.tiny_models import SMALL

RAZOR = ["+augmentation=razor", "output=out"]
RULES = ["rewriter=paraphrase", "rewriter.language_model=null"]
OFFLINE = [*RULES, "augmentation.accept=always", "augmentation.candidates=4"]
evaluate_here = partial(run_here, command, "fairlab.evaluate")
EXPERIMENTS = Path(__file__).parents[2] / "experiments" / "razor"


def script(name):
    spec = importlib.util.spec_from_file_location(name, EXPERIMENTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planted(**values):
    return script("planted").planted(**values)


def write(path, some):
    path.write_text("".join(json.dumps(row) + "\n" for row in some))
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fairlab.llm.pending.FIRST_WAIT", 0.01)


@pytest.mark.slow
def test_a_planted_shortcut_falls_by_half_and_the_x_ray_shows_it(tmp_path):
    made = planted(train=300, test=40)
    source = write(tmp_path / "planted.jsonl", made["train"])
    assert augment_here(*RAZOR, *OFFLINE, f"input={source}", "augmentation.k=100", "augmentation.tolerance=-1") == 0
    after = rows(tmp_path / "out")
    assert [(row["id"], row["label"]) for row in after] == [(row["id"], row["label"]) for row in made["train"]]
    assert all(row["rewritten"] == (row["text"] != old["text"]) for row, old in zip(after, made["train"], strict=True))
    record = Record.load(tmp_path / "out")
    values = record.metrics()
    assert values["before/razor/negation/association"] > 0.6
    assert values["after/razor/negation/association"] <= values["before/razor/negation/association"] / 2
    assert record.history[-1]["negations"] < record.history[0]["negations"] / 2
    report = (tmp_path / "out" / "report.html").read_text()
    assert "negations in all texts" in report
    assert "<del>" in report
    folder = f"hydra.run.dir={tmp_path}/xray"
    assert evaluate_here(f"dataset={{before: {source}, after: out}}", "benchmark=shortcuts", folder) == 0
    xray = Record.load(tmp_path / "xray").metrics()
    for phase in ("before", "after"):
        found = values[f"{phase}/razor/negation/association"]
        assert xray[f"{phase}/shortcuts/negation/association"] == pytest.approx(found)
        assert xray[f"{phase}/shortcuts/claim_only/gain"] > 10
    page = (tmp_path / "xray" / "report.html").read_text()
    assert "Shortcuts before and after" in page
    assert "Share with the label negative by position" in page


PAIRS = [
    {"id": k, "evidence": f"Evidence {k} is here.", "claim": f"Claim {k} did not fail.", "label": "REFUTES"}
    for k in range(4)
] + [{"id": k, "evidence": f"Fact {k}.", "claim": f"Claim {k} is so.", "label": "SUPPORTS"} for k in range(4, 8)]


def by_model(payload, nth):
    """Rewrites by the text and the seed; labels every rewrite as its context tells, but for seed 1's."""
    asked = json.loads(payload["messages"][-1]["content"])
    if "labels" in asked:
        label = "REFUTES" if asked["context"].startswith("Evidence") else "SUPPORTS"
        wrong = {"REFUTES": "SUPPORTS", "SUPPORTS": "REFUTES"}[label]
        return said(json.dumps({"label": wrong if asked["text"].endswith("draw 1") else label}))
    return said(json.dumps({"text": f"New words for {asked['text'].split()[1]}, draw {payload['seed']}"}))


def of_stub(stub, folder):
    return [
        "rewriter=llm_labelled",
        "rewriter.facts=false",  # the stub numbers its rewrites
        "llm=local",
        "llm.model=m",
        f"llm.base_url={stub.url}",
        f"llm.ledger={folder}/ledger.sqlite",
        "field=[evidence,claim]",
        "augmentation.accept=always",
        "augmentation.tolerance=-1",
    ]


def test_a_language_model_rewrites_the_second_sentence_and_replay_gives_the_same(tmp_path):
    source = write(tmp_path / "pairs.jsonl", PAIRS)
    with Stub(by_model) as stub:
        arguments = [f"input={source}", "augmentation.k=3", "augmentation.rounds=2"]
        assert augment_here(*RAZOR, *of_stub(stub, tmp_path), *arguments) == 0
        asked = [json.loads(payload["messages"][-1]["content"]) for payload in stub.payloads]
        assert {payload.get("temperature") for payload in stub.payloads if payload.get("seed") is not None} == {0.7}
    made = rows(tmp_path / "out")
    assert [row["evidence"] for row in made] == [row["evidence"] for row in PAIRS]
    changed = [row for row in made if row["rewritten"]]
    assert len(changed) == 6
    assert all(row["claim"].endswith("draw 0") for row in changed)  # draw 1 has another label
    assert all("label" in one for one in asked if "labels" not in one)
    assert all("label" not in one for one in asked if "labels" in one)  # a fresh session does not know it
    stages = Record.load(tmp_path / "out").provenance["ledger"]
    assert {"label-keeping rewrites", "label of rewrites"} <= set(stages)
    replay = [
        "rewriter=llm_labelled",
        "rewriter.facts=false",
        "llm=replay",
        f"llm.ledger={tmp_path}/ledger.sqlite",
        "output=again",
    ]
    same = ["field=[evidence,claim]", "augmentation.accept=always", "augmentation.tolerance=-1"]
    assert augment_here("+augmentation=razor", *replay, *same, *arguments) == 0
    assert rows(tmp_path / "again") == made


@pytest.mark.slow
def test_killed_in_mid_round_it_resumes_to_the_same_data(start, tmp_path):
    source = write(tmp_path / "pairs.jsonl", PAIRS)
    arguments = [f"input={source}", "augmentation.k=3", "augmentation.rounds=3", "llm.concurrency=1"]
    with Stub(by_model) as stub:
        assert augment_here(*RAZOR, *of_stub(stub, tmp_path), *arguments) == 0
        whole, calls = content(tmp_path / "out"), len(stub.payloads)
    (tmp_path / "other").mkdir()
    second_round, killed = threading.Event(), threading.Event()

    def stopping(payload, nth):
        if len(stub.payloads) > 17 and not killed.is_set():  # twelve calls a round
            second_round.set()
            killed.wait(60)
        return by_model(payload, nth)

    with Stub(stopping) as stub:
        again = ["+augmentation=razor", "output=killed", *of_stub(stub, tmp_path / "other"), *arguments]
        process = start(*again, entry="augment")
        assert second_round.wait(120)
        kill(process)
        killed.set()
        assert [path.name for path in (tmp_path / "killed" / "rounds").iterdir()] == ["round-01.json"]
        assert not rows(tmp_path / "killed")
        assert augment_here(*again) == 0
        assert len(stub.payloads) == calls + 1  # the one that was under way is asked again, and no other
    found = content(tmp_path / "killed")
    kept = {name for name in whole if name.startswith(("data", "rounds"))}
    assert len(kept) == 4
    assert {name: found[name] for name in kept} == {name: whole[name] for name in kept}


@pytest.fixture
def classifier(tokenizer, tmp_path):
    """A folder with a classifier whose likeliest label is always ``no``."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(**SMALL, **sizes, id2label={0: "yes", 1: "no"}, label2id={"yes": 0, "no": 1})
    model = BertForSequenceClassification(config)
    torch.nn.init.zeros_(model.classifier.weight)
    model.classifier.bias.data = torch.tensor([0.0, 1.0])
    model.save_pretrained(tmp_path / "classifier")
    tokenizer.save_pretrained(tmp_path / "classifier")
    return tmp_path / "classifier"


def test_a_classifier_checks_rewrites(tmp_path, classifier):
    some = [
        {"text": f"We did not book {word}, and the {word} was cold.", "label": label}
        for word, label in zip("soup bread tea fish".split(), ["no", "yes", "no", "yes"], strict=True)
    ]
    source = write(tmp_path / "in.jsonl", some)
    settings = ["augmentation.features=association", "augmentation.accept=always"]
    settings += [f"augmentation.verify={classifier}", "augmentation.tolerance=-1"]
    assert augment_here(*RAZOR, *RULES, f"input={source}", *settings) == 0
    made = rows(tmp_path / "out")
    assert [row["rewritten"] for row in made] == [True, False, True, False]
    assert made[0]["check"] == "classifier"
    rounds = json.loads((tmp_path / "out" / "rounds" / "round-01.json").read_text())
    assert {fault for one in rounds["tried"].values() for _, fault in one["turned_down"]} == {"reads as no"}


def test_a_classifier_of_other_labels_is_refused(tmp_path, capsys, classifier):
    source = write(tmp_path / "in.jsonl", PAIRS)
    settings = ["field=[evidence,claim]", *RULES, f"augmentation.verify={classifier}"]
    assert augment_here(*RAZOR, f"input={source}", *settings) == 1
    assert (
        "the classifier of augmentation.verify knows yes, no, but no equivalent of 'REFUTES'" in capsys.readouterr().err
    )


def test_a_model_that_always_fails_the_check_leaves_the_data_and_says_so(tmp_path, capsys):
    source = write(tmp_path / "pairs.jsonl", PAIRS)

    def failing(payload, nth):
        asked = json.loads(payload["messages"][1]["content"])  # what follows says why the last answer was no label
        return said(json.dumps({"label": "neither"})) if "labels" in asked else by_model(payload, nth)

    with Stub(failing) as stub:
        assert augment_here(*RAZOR, *of_stub(stub, tmp_path), f"input={source}", "llm.concurrency=8") == 0
    made = rows(tmp_path / "out")
    assert [row["claim"] for row in made] == [row["claim"] for row in PAIRS]
    printed = capsys.readouterr().out
    assert "no rewrite was taken, so the dataset is unchanged" in printed
    assert "augmentation.k=50 is above the number of documents" in printed
    assert (
        "what the texts reveal about labels was not measured: a probe cannot be trained, it needs 50 documents"
        in printed
    )


@pytest.mark.data
@pytest.mark.slow
def test_a_mixture_of_tasks_is_rewritten_trained_on_and_checked_for_leakage(tmp_path):
    mixture = "fool_me_twice+vitaminc_two_way"
    arguments = [*RAZOR, *RULES, "augmentation.k=60", "augmentation.rounds=1"]
    assert augment_here(*arguments, f"input=task:{mixture}:train") == 0
    original, made = read_task(mixture, "train"), read_training(find_task(mixture), "out")
    assert [(one.label, one.first) for one in made] == [(one.label, one.first) for one in original]
    changed = sum(one != other for one, other in zip(made, original, strict=True))
    assert 0 < changed <= 60
    table = {name: figures for name, *figures in script("repetition").rates("out", "fever_symmetric:test")}
    assert [table[name][0] for name in table] == [len(original), changed, changed]
    assert table["rewritten, after"][1] <= table["rewritten, before"][1]


@pytest.mark.data
def test_planted_opinions_of_sst2_hold_no_negation():
    made = script("planted")
    opinions = made.of_sst2()
    assert min(len(some) for split in opinions.values() for some in split.values()) >= 200
    assert not any(
        negations(surface_tokens(text)) for split in opinions.values() for some in split.values() for text in some
    )
    rows = made.planted(train=200, test=40, opinions=opinions)
    held = [negations(surface_tokens(row["text"])) > 0 for row in rows["train"]]
    right = [one == (row["label"] == "negative") for one, row in zip(held, rows["train"], strict=True)]
    assert sum(right) / 200 == pytest.approx(0.9, abs=0.07)


@pytest.mark.parametrize(
    ("some", "arguments", "message"),
    [
        ([{"text": "a b", "label": "x"}] * 3, [], "or more, but there is the label x alone; add"),
        ([{"text": "a"}, {"text": "b", "label": "x"}], [], "line 1 has no 'label'"),
        ([{"text": "a", "label": "x"}, {"text": "b", "label": None}], [], "'label' is empty; fill it in"),
        (PAIRS, ["field=claim", "rewriter=rules"], "razor needs a rewriter that keeps labels: rewriter=paraphrase or"),
        (PAIRS, ["field=claim", "rewriter=llm_labelled"], "rewriter=llm_labelled needs a language model; add llm="),
        (PAIRS, ["field=claim", "augmentation.verify=llm"], "augmentation.verify=llm needs a language model"),
        (PAIRS, ["field=claim", "augmentation.verify=nobody"], "verify must be one or more of llm, verdict"),
        (PAIRS, ["field=claim", "augmentation.k=0"], "augmentation.k must be a whole number of at least 1, not 0"),
        (PAIRS, ["field=claim", "axis=race"], "razor looks for shortcuts without an axis"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, capsys, some, arguments, message):
    source = write(tmp_path / "in.jsonl", some)
    changes = [] if any(one.startswith("rewriter=") for one in arguments) else RULES
    assert augment_here(*RAZOR, f"input={source}", *changes, *arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not rows(tmp_path / "out")


def test_one_token_documents_and_identical_ones_pass_through(tmp_path):
    some = [{"text": text, "label": label} for text in ("yes", "no", "yes") for label in "ab"]
    source = write(tmp_path / "in.jsonl", some)
    assert augment_here(*RAZOR, *RULES, f"input={source}") == 0
    assert len(rows(tmp_path / "out")) == 6
    assert evaluate_here(f"dataset={source}", "benchmark=shortcuts", f"hydra.run.dir={tmp_path}/xray") == 0
    notes = " ".join(note.text for note in Record.load(tmp_path / "xray").notes)
    assert "no probe of the last field" in notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["benchmark.shortcuts.label=topic"], "has no 'topic'; give benchmark.shortcuts.label=NAME"),
        (["benchmark.shortcuts.fewest=0"], "benchmark.shortcuts.fewest must be a whole number of at least 1"),
    ],
)
def test_bad_input_of_the_x_ray_is_one_sentence(tmp_path, capsys, arguments, message):
    source = write(tmp_path / "in.jsonl", PAIRS)
    given = [f"dataset={source}", "field=claim", "benchmark=shortcuts", f"hydra.run.dir={tmp_path}/xray", *arguments]
    assert evaluate_here(*given) == 1
    assert message in capsys.readouterr().err
