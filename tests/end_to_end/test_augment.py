"""The command fairlab.augment, from input to training."""

import io
import json
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from fairlab.data.groups import read_groups
from fairlab.files import sha256
from fairlab.llm import batch_server
from fairlab.record import Record
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.run.augmenting.building import build_applied
from fairlab.run.command_line import cli
from tests.conftest import make_groups, row, write_rows
from tests.end_to_end.augmenting import (
    TEXTS,
    augment_here,
    by_model,
    content,
    of_stub,
    rewritten,
    rows,
    write_texts,
)
from tests.end_to_end.conftest import kill, tiny_backbone
from tests.llm.batch_stub import BatchStub
from tests.llm.stub import Act, Stub, refused, said

CDA = ["+augmentation=cda", "input=texts.jsonl"]
GROUPS = ["+augmentation=counterfactual_groups", "input=texts.jsonl"]
FAST = ["rewriter=word_swap"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fairlab.llm.pending.FIRST_WAIT", 0.01)
    write_texts(tmp_path / "texts.jsonl")


def test_cda_makes_groups_and_says_what_became_of_every_row(tmp_path, capsys):
    assert augment_here(*CDA, "output=out", "shard_rows=3") == 0
    out = tmp_path / "out"
    made = rows(out)
    assert [row["source_id"] for row in made] == ["r0", "r2", "r3", "r4", "r5", "r7"]
    first = made[0]
    assert first["versions"] == {
        "neutral": "They saw their cat on the wall.",
        "man": "He saw his cat on the wall.",
        "woman": "She saw her cat on the wall.",
    }
    assert first["changed"] == {
        "neutral": [["She", "They"], ["her", "their"]],
        "man": [["She", "He"], ["her", "his"]],
        "woman": [],
    }
    assert (first["id"], first["source_place"], first["source_text"]) == ("1", "line 1", TEXTS[0])
    assert (first["rewriter"], len(first["lexicon_sha256"])) == ("word_swap", 64)
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["read"], manifest["counts"]["rows without a word of the axis"]) == (8, 2)
    listed = [entry for shard in manifest["shards"] for entry in shard.values()]
    assert [entry["file"] for entry in listed] == ["data-00000.jsonl", "data-00001.jsonl", "data-00002.jsonl"]
    assert all(sha256(out / entry["file"]) == entry["sha256"] for entry in listed)
    printed = capsys.readouterr().out
    assert "6 rows written of 8 read" in printed
    assert "2 rows without a word of the axis" in printed
    assert Record.load(out).metrics()["polarity/rewrites/union_accuracy"] == 100.0


def test_the_card_and_the_report(tmp_path):
    assert augment_here(*CDA, f"input={tmp_path}/texts.jsonl", "output=out") == 0
    card = (tmp_path / "out" / "README.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    assert head["configs"][0]["data_files"] == "data-*.jsonl"
    assert "| written | 6 |" in card
    report = (tmp_path / "out" / "report.html").read_text()
    assert "<del>She</del><ins>They</ins> saw <del>her</del><ins>their</ins> cat" in report
    assert "src=" not in report  # nothing is fetched
    for file in ("README.md", "manifest.json", "data-00000.jsonl"):
        assert str(tmp_path) not in (tmp_path / "out" / file).read_text()


@pytest.mark.parametrize("output", ["add", "replace"])
def test_cda_of_labelled_rows(tmp_path, output):
    lines = ["id,sentence,label", "a,The queen left.,1", "b,It rained.,0", 'c,"He, she said, and Mr. Bell.",1']
    (tmp_path / "labelled.csv").write_text("\n".join(lines) + "\n")
    arguments = ["input=labelled.csv", "field=sentence", f"augmentation.output={output}", "output=out"]
    assert augment_here(*CDA[:1], *arguments) == 0
    made = rows(tmp_path / "out")
    swapped = {row["id"]: (row["sentence"], row["label"]) for row in made if "changed" in row}
    assert swapped == {"a-cda": ("The king left.", "1"), "c-cda": ("She, he said, and Ms. Bell.", "1")}
    kept = [row for row in made if "changed" not in row]
    assert [row["id"] for row in kept] == (["a", "b", "c"] if output == "add" else ["b"])
    assert kept[-1].keys() == {"id", "sentence", "label"}


def test_an_axis_of_more_attributes_and_a_choice_of_two(tmp_path):
    (tmp_path / "t.txt").write_text("The Muslim baker sang.\nA Christian left.\n")
    assert augment_here("+augmentation=cda", "axis=religion", "input=t.txt", "output=all") == 0
    assert len(rows(tmp_path / "all")[0]["versions"]) > 3
    chosen = ["axis=religion", "attributes=[christian,muslim]", "augmentation.output=replace"]
    assert augment_here("+augmentation=cda", *chosen, "input=t.txt", "output=two") == 0
    assert [row["text"] for row in rows(tmp_path / "two")] == ["The Christian baker sang.", "A Muslim left."]


def test_rows_that_cannot_be_read_are_kept_with_their_line(tmp_path):
    lines = [b'{"text": "She left."}', b'{"text": "\xe9t\xe9"}', b"{broken", b'{"other": 1}', b'{"text": "he\\u0000x"}']
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join([*lines, b'{"text": "He stayed."}']) + b"\n")
    assert augment_here(*CDA[:1], "input=bad.jsonl", "output=out") == 0
    assert [row["source_place"] for row in rows(tmp_path / "out")] == ["line 1", "line 6"]
    bad = {row["place"]: row["reason"] for row in rows(tmp_path / "out", "quarantine")}
    notes = [note.text for note in Record.load(tmp_path / "out").notes]
    assert f"{len(bad)} rows that cannot be read; see quarantine.jsonl in the output folder" in notes
    assert list(bad) == ["line 2", "line 3", "line 4", "line 5"]
    for place, reason in zip(bad, ["not UTF-8", "not JSON", "no text in the field 'text'", "NUL"], strict=True):
        assert reason in bad[place]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["input=none.jsonl"], "none.jsonl is not a file"),
        (["input=empty.txt"], "empty.txt holds no row"),
        (["input=rain.txt"], "rain.txt yields no rows to write: 2 read, 2 rows without a word of the axis"),
        (["field=body"], "none of the 8 rows of texts.jsonl can be read"),
        (["axis=taste"], "no lexicon for the axis 'taste'; there are lexicons for: age, disability, ethnicity, gender"),
        (["attributes=[man,robot]"], "the axis 'gender' has no attribute 'robot'; it has man, woman"),
        (["attributes=[man]"], "attributes must name at least two"),
        (["rewriter=llm"], "rewriter=llm needs a language model; add llm=local"),
        (
            ["axis=age", "augmentation.output=add"],
            "augmentation.output=add exchanges two attributes, but there are 5: ",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_sentence(tmp_path, capsys, arguments, message):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "rain.txt").write_text("It rained.\nIt snowed.\n")
    assert augment_here(*CDA, "output=out", *arguments) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert Record.load(tmp_path / "out").status == "failed"
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_missing_output_augmentation_or_verifier(capsys, tmp_path):
    assert augment_here(*CDA) == 1
    assert "output has no value" in capsys.readouterr().err
    assert augment_here("input=texts.jsonl", "output=out") == 1
    known = capsys.readouterr().err.partition("no augmentation was chosen; give augmentation=NAME with: ")[2]
    assert {"cda", "biasers_by_llm", "prompt_search", "fairtuning"} <= set(known.strip().split(", "))
    assert set(known.strip().split(", ")).isdisjoint(["eda", "crossaug", "cda_text", "perturbed_text", "rules", "none"])
    assert augment_here("augmentation=rules", "input=texts.jsonl", "output=another") == 1
    assert f"rules works only during training; give augmentation=NAME with: {known}" in capsys.readouterr().err
    assert augment_here(*GROUPS, "augmentation.verify=[taste]", "output=other") == 1
    assert "there is no verifier 'taste'; there are: polarity, words" in capsys.readouterr().err
    assert not list(tmp_path.glob("*/data*"))


def test_a_folder_that_holds_something_else_is_not_touched(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    assert augment_here(*CDA, "output=out") == 1
    assert "out already exists and does not contain an augmentation; choose another output" in capsys.readouterr().err
    assert augment_here(*CDA, "output=done") == 0
    before = content(tmp_path / "done")
    assert augment_here(*CDA, "output=done", "seed=1") == 1
    assert "done already holds another run (seed=0, not 1)" in capsys.readouterr().err
    assert augment_here(*CDA, "output=done", "num_proc=2") == 0  # the same augmentation: there is nothing to do
    assert content(tmp_path / "done") == before
    write_texts(tmp_path / "texts.jsonl", TEXTS[:3])
    assert augment_here(*CDA, "output=done") == 1
    assert "done changed since it started; put the old file back" in capsys.readouterr().err


def test_a_corrected_command_or_file_replaces_a_run_that_made_nothing(tmp_path, capsys):
    write_rows(tmp_path / "texts.jsonl", [{"comment": "She left."}])
    assert augment_here(*CDA, "output=out") == 1
    assert "give field=NAME" in capsys.readouterr().err
    assert augment_here(*CDA, "field=comment", "output=out") == 0
    assert augment_here(*CDA, "output=other") == 1
    write_texts(tmp_path / "texts.jsonl")
    assert augment_here(*CDA, "output=other") == 0
    assert content(tmp_path / "other")
    assert Record.load(tmp_path / "other").status == "finished"


def test_numbers_are_not_texts(tmp_path, capsys):
    write_rows(tmp_path / "texts.jsonl", [{"text": 37}])
    assert augment_here(*CDA, "output=out") == 1
    assert "line 1: no text in the field 'text', but 37 without quotes; write it in quotes" in capsys.readouterr().err


def test_a_shard_that_was_damaged_is_made_again(tmp_path):
    assert augment_here(*CDA, "output=out", "shard_rows=2") == 0
    before = content(tmp_path / "out")
    kept = (tmp_path / "out" / "data-00001.jsonl").stat().st_mtime_ns
    (tmp_path / "out" / "data-00000.jsonl").write_text("damaged")
    assert augment_here(*CDA, "output=out", "shard_rows=2") == 0
    assert content(tmp_path / "out") == before
    assert (tmp_path / "out" / "data-00001.jsonl").stat().st_mtime_ns == kept


def test_an_output_does_not_go_on_with_another_lexicon(tmp_path, capsys):
    lexicon = tmp_path / "pets.yaml"
    lexicon.write_text("axis: pets\nattributes: [cat, dog]\nwords: {pets: [[n, cat, dog]]}\n")
    command = [*CDA, "axis=pets.yaml", "output=out"]
    assert augment_here(*command) == 0
    assert augment_here(*command) == 0
    lexicon.write_text(lexicon.read_text().replace("dog", "cow"))
    before = content(tmp_path / "out")
    assert augment_here(*command) == 1
    said = "fairlab: the file pets.yaml of the run in out changed since it started; put the old file back"
    assert said in capsys.readouterr().err.replace(f"{tmp_path}/", "")
    assert content(tmp_path / "out") == before


@pytest.mark.slow
@pytest.mark.parametrize("num_proc", [1, 2])
def test_killed_in_the_middle_it_ends_with_the_same_bytes(start, tmp_path, num_proc):
    write_texts(tmp_path / "texts.jsonl", [f"{text} {k}" for k in range(150) for text in TEXTS])
    arguments = [*GROUPS, *FAST, "shard_rows=10", f"num_proc={num_proc}"]
    killed = start(*arguments, "output=killed", entry="augment")
    shards = tmp_path / "killed" / "shards"
    while len(list(shards.glob("*.json"))) < 3:
        assert killed.poll() is None, "finished before it could be killed"
        time.sleep(0.005)
    kill(killed)
    time.sleep(0.3 * (num_proc - 1))  # orphans notice
    finished = {path: path.stat().st_mtime_ns for path in shards.glob("*.json")}
    assert 3 <= len(finished) < 120
    assert not (tmp_path / "killed" / "manifest.json").exists()
    assert augment_here(*arguments[:-1], "output=killed") == 0
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert augment_here(*arguments[:-1], "output=whole") == 0
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


@pytest.mark.slow
def test_groups_of_rules_feed_training(run, tmp_path, tiny_folders):
    write_texts(tmp_path / "texts.jsonl", [f"{text} {k}" for k in range(5) for text in TEXTS])
    assert augment_here(*GROUPS, *FAST, "output=out", "shard_rows=10") == 0
    groups = read_groups("out")
    assert len(groups) == 5 * 6
    measured = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(12)])
    training = ["benchmark=[cced]", f"benchmark.cced.sets=[{measured}]", "data.path=out"]
    done = run("+experiment=ccd_bert", *tiny_backbone(tiny_folders["bert_mlm"]), *training)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.long
def test_a_training_killed_while_it_makes_its_data_goes_on_with_the_shards_that_are_there(
    run, start, tmp_path, tiny_folders
):
    texts = write_texts(tmp_path / "texts.jsonl", [f"{text} {k}" for k in range(1000) for text in TEXTS])
    measured = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(12)])
    small = ["benchmark=[cced]", f"benchmark.cced.sets=[{measured}]", "data.limit=20", "data.validation=4"]
    making = ["augmentation=counterfactual_groups", *FAST, f"data.input={texts}"]
    arguments = ["+experiment=ccd_bert", *tiny_backbone(tiny_folders["bert_mlm"]), *small, *making]
    killed = start(*arguments)
    finished: list[Path] = []
    while not finished:
        assert killed.poll() is None, "finished before it could be killed"
        finished = list((tmp_path / "outputs" / "augmented").glob("*/shards/*.json"))
        time.sleep(0.005)
    kill(killed)
    (made,) = (tmp_path / "outputs" / "augmented").iterdir()
    before = {path: path.stat().st_mtime_ns for path in made.glob("shards/*.json")}
    assert 1 <= len(before) < 4
    assert not (made / "manifest.json").exists()
    done = run(*arguments, "ckpt=last")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list((tmp_path / "outputs" / "ccd_bert").iterdir())) == 1
    assert augment_here(*GROUPS, *FAST, "output=apart") == 0
    assert rows(made) == rows(tmp_path / "apart")


def test_training_takes_no_augmentation_of_texts(run, small):
    done = run(*small, "augmentation=counterfactual_groups")
    assert done.returncode == 1
    assert "augmentation=counterfactual_groups does not work on CounterfactualData; give data.input=FILE, " in (
        done.stderr
    )


def test_a_batch_job_makes_the_same_groups_at_half_the_price(tmp_path, monkeypatch):
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setattr(batch_server, "POLL", 0.01)
    price = "llm.price={input: 1.0, output: 2.0}"
    with Stub(by_model) as stub:
        assert augment_here(*GROUPS, *of_stub(stub, tmp_path), price, "output=out") == 0
    with BatchStub(by_model) as stub:
        job = [f"llm.base_url={stub.url}", "llm.model=m", f"llm.ledger={tmp_path}/jobs.sqlite", price]
        assert augment_here(*GROUPS, "rewriter=llm", "llm=openai", "llm.batch=true", *job, "output=batched") == 0
    assert rows(tmp_path / "batched") == rows(tmp_path / "out")
    assert ([len(lines) for lines in stub.uploads], stub.direct) == ([6], [])
    one, half = (Record.load(tmp_path / name).provenance["ledger"]["groups"] for name in ("out", "batched"))
    assert half["dollars"] == pytest.approx(one["dollars"] / 2)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("name", ["cda_text", "perturbed_text"])
def test_training_takes_an_augmentation_of_running_text(name):
    node = OmegaConf.load(Path(cli.conf_dir()) / "augmentation" / f"{name}.yaml")
    augmentation = build_applied(
        {"augmentation": OmegaConf.to_container(node), "rewriter": None, "llm": None, "seed": 0}
    )
    assert augmentation.texts("The bridge was closed to him.")


def test_groups_by_a_language_model_and_its_replay(tmp_path, monkeypatch):
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("SOME_API_KEY", key)
    with Stub(by_model) as stub:
        arguments = [*GROUPS, *of_stub(stub, tmp_path), "llm.api_key_env=SOME_API_KEY"]
        assert augment_here(*arguments, "output=out") == 0
        assert set(stub.keys) == {f"Bearer {key}"}
        assert len(stub.payloads) == 6  # rows without a word of the axis are not asked about
    made = rows(tmp_path / "out")
    assert {row["model"] for row in made} == {"m"}
    assert {row["confidence"] for row in made} == {0.9}
    assert Record.load(tmp_path / "out").provenance["ledger"]["groups"]["calls"] == 6
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path
    replay = ["rewriter=llm", "llm=replay", f"llm.ledger={tmp_path}/ledger.sqlite"]
    assert augment_here(*GROUPS, *replay, "output=again") == 0
    assert content(tmp_path / "again") == content(tmp_path / "out")


@pytest.mark.slow
def test_a_server_that_dies_half_way_is_not_asked_again(tmp_path, capsys):
    write_texts(tmp_path / "texts.jsonl", [f"She saw {k} ships." for k in range(12)])
    first = Stub(by_model)

    def dying(payload, nth):
        if len(first.payloads) <= 5:
            return by_model(payload, nth)
        threading.Thread(target=first.server.shutdown).start()
        first.server.socket.close()
        return Act(body=b"{}", cut=True)

    first.act = dying
    with first:
        arguments = [*GROUPS, *of_stub(first, tmp_path), "shard_rows=4", "output=out"]
        assert augment_here(*arguments, "llm.concurrency=1") == 1
    assert "m cannot be reached" in capsys.readouterr().err
    assert not (tmp_path / "out" / "manifest.json").exists()
    with Stub(by_model) as second:
        assert augment_here(*arguments, f"llm.base_url={second.url}") == 0
        asked = [
            stub.payloads[k]["messages"][-1]["content"] for stub in (first, second) for k in range(len(stub.payloads))
        ]
        assert len(set(asked)) == 12
        assert len(asked) == 13  # only the call in flight when it died
    with Stub(by_model) as third:
        (tmp_path / "other").mkdir()
        assert augment_here(*GROUPS, *of_stub(third, tmp_path / "other"), "shard_rows=4", "output=whole") == 0
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_texts_a_server_never_answers_stop_the_run_or_are_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "fairlab.llm.client.LLM.__init__.__kwdefaults__", {"budget": None, "price": None, "retries": 1, "repairs": 1}
    )

    def ill(payload, nth):
        return refused(503) if "queen" in payload["messages"][-1]["content"] else by_model(payload, nth)

    with Stub(ill) as stub:
        arguments = [*GROUPS, *of_stub(stub, tmp_path), "output=out"]
        assert augment_here(*arguments) == 1
        assert "1 of 6 calls got no answer (server error: " in capsys.readouterr().err
        assert augment_here(*arguments, "rewriter.unanswered=reject") == 0
    (reject,) = rows(tmp_path / "out", "rejected")
    assert (reject["id"], reject["reason"]) == ("r3", "rewriter: server error")


@pytest.mark.parametrize("chosen", ["drop", "keep", "fallback"])
def test_what_becomes_of_groups_of_the_wrong_polarity(tmp_path, chosen):
    def careless(payload, nth):
        text = payload["messages"][-1]["content"]
        if "queen" in text:
            same = dict.fromkeys(("neutral", "man", "woman"), text)
            return said(json.dumps(same | {"confidence": 1.0}))
        asked_again = any(TEXTS[5] == message["content"] for message in payload["messages"])
        return said("no") if asked_again else by_model(payload, nth)

    with Stub(careless) as stub:
        arguments = [*GROUPS, *of_stub(stub, tmp_path), f"augmentation.filter={chosen}", "output=out"]
        assert augment_here(*arguments) == 0
    record = Record.load(tmp_path / "out")
    assert record.metrics()["polarity/rewrites/union_accuracy"] == 80.0  # four of the five that the model rewrote
    by_id = {row["source_id"]: row for row in rows(tmp_path / "out")}
    rejects = {row["id"]: row["reason"] for row in rows(tmp_path / "out", "rejected")}
    if chosen == "drop":
        assert set(by_id) == {"r0", "r2", "r4", "r7"}
        assert rejects == {"r3": "wrong polarity", "r5": "rewriter: malformed JSON"}
    elif chosen == "keep":
        assert set(by_id) == {"r0", "r2", "r3", "r4", "r7"}
        assert by_id["r3"]["check"].startswith("wrong polarity: 'neutral' reads as woman by ")
        assert by_id["r0"]["check"] == "passed"
    else:
        assert set(by_id) == {"r0", "r2", "r3", "r4", "r5", "r7"}
        assert by_id["r3"]["versions"]["man"] == "The king left early."
        assert (by_id["r3"]["rewriter"], by_id["r0"]["rewriter"]) == ("rules", "llm")
        assert by_id["r5"]["fallback_from"].startswith("rewriter: malformed JSON")
        assert not rejects
    report = (tmp_path / "out" / "report.html").read_text()
    assert ("wrong polarity: &#39;neutral&#39; reads as woman" in report) == (chosen == "drop")


def careless_at_first(payload, nth):
    """Wrong on queens and policemen until an example shows how it is done."""
    text = payload["messages"][-1]["content"]
    shown = " ".join(message["content"] for message in payload["messages"][1:-1])
    for word, confidence in (("policeman", 0.9), ("queen", 0.8)):
        if word in text and word not in shown:
            return said(json.dumps(dict.fromkeys(("neutral", "man", "woman"), text) | {"confidence": confidence}))
    return rewritten(text)


# The stub answers samples as it answers anything, so its own word is what sorts.
SEARCH = ["+augmentation=prompt_search", "input=texts.jsonl", "search.rounds=3", "output=out", "search.samples=0"]


@pytest.mark.slow
def test_prompt_search_by_rules_unattended(tmp_path):
    with Stub(careless_at_first) as stub:
        assert augment_here(*SEARCH, *of_stub(stub, tmp_path), "search.corrector=rules") == 0
        found = f"rewriter.prompt={tmp_path / 'out/search/prompt-03.yaml'}"
        again = ["+augmentation=counterfactual_groups", "rewriter=llm", "input=texts.jsonl", "output=again", found]
        assert augment_here(*again, *of_stub(stub, tmp_path)) == 0
    rounds = [json.loads(path.read_text()) for path in sorted((tmp_path / "out" / "search").glob("round-*.json"))]
    assert [(one["texts"], one["rewritten"], one["right"]) for one in rounds] == [(6, 6, 4), (6, 6, 5), (6, 6, 6)]
    assert [one["chosen"] and one["chosen"]["text"] for one in rounds] == [TEXTS[4], TEXTS[3], None]
    assert rounds[2]["examples"][0]["man"] == "A policeman asked for bread."
    made = rows(tmp_path / "out")
    assert len(made) == 6
    assert {row["prompt_sha256"] for row in made} == {rounds[2]["prompt_sha256"]}
    record = Record.load(tmp_path / "out")
    assert [round(row["accuracy"], 1) for row in record.history] == [66.7, 83.3, 100.0]
    assert [row["versions"] for row in rows(tmp_path / "again")] == [row["versions"] for row in made]
    assert len(stub.payloads) == 18  # the groups of both runs are the last round's answers
    assert "text that became an example" in (tmp_path / "out" / "report.html").read_text()


def of_another_kind(payload, nth):
    """A pronoun in the place of a name, which polarity cannot see."""
    text = payload["messages"][-1]["content"]
    if text != "Mary Lamb won.":
        return rewritten(text)
    versions = {"neutral": "They Lamb won.", "man": "He Lamb won.", "woman": text}
    return said(json.dumps(versions | {"confidence": 1.0}))


@pytest.mark.parametrize(("verify", "right"), [("[polarity]", [2]), ("[polarity,kinds]", [1, 1])])
def test_prompt_search_by_what_the_augmentation_verifies(tmp_path, verify, right):
    write_texts(tmp_path / "texts.jsonl", ["Mary Lamb won.", "He won."])
    with Stub(of_another_kind) as stub:
        chosen = ["search.rounds=2", "search.corrector=rules", "search.seeds=prompt", f"augmentation.verify={verify}"]
        assert augment_here(*SEARCH, *of_stub(stub, tmp_path), *chosen) == 0
    rounds = [json.loads(path.read_text()) for path in sorted((tmp_path / "out" / "search").glob("round-*.json"))]
    assert [one["right"] for one in rounds] == right
    assert len(rounds[0]["examples"]) == len(load_prompt("counterfactual_group").examples)
    assert [one["chosen"]["text"] for one in rounds if one["chosen"]] == ["Mary Lamb won."] * (len(right) - 1)


@pytest.mark.parametrize("verify", ["[]", "[polarity,label]"])
def test_a_prompt_search_without_a_verifier_of_texts_is_refused(tmp_path, capsys, verify):
    with Stub(careless_at_first) as stub:
        assert augment_here(*SEARCH, *of_stub(stub, tmp_path), f"augmentation.verify={verify}") == 1
    assert "give search.verify=[polarity]" in capsys.readouterr().err
    assert stub.payloads == []


def test_a_prompt_search_on_another_axis_begins_with_the_examples_that_have_its_versions(tmp_path):
    write_texts(tmp_path / "texts.jsonl", ["The elderly woman left.", "A young sailor sang."])
    with Stub(lambda payload, nth: said("{}")) as stub:
        chosen = ["search.seeds=prompt", "axis=age", "search.rounds=1", "search.corrector=rules"]
        augment_here(*SEARCH, *of_stub(stub, tmp_path), *chosen, "rewriter.unanswered=reject")
    assert len(stub.payloads[0]["messages"]) == 2  # the task and the text


@pytest.mark.slow
def test_prompt_search_by_file_stops_says_what_to_do_and_goes_on(tmp_path, capsys):
    with Stub(careless_at_first) as stub:
        arguments = [*SEARCH, *of_stub(stub, tmp_path)]
        for number, word in ((1, "policeman"), (2, "queen")):
            file = tmp_path / "out" / "search" / f"review-0{number}.yaml"
            for _ in range(2):  # asking again without an answer changes nothing
                assert augment_here(*arguments) == 3
                (line,) = capsys.readouterr().err.strip().splitlines()
                assert f"review-0{number}.yaml waits for you: correct its versions (neutral, man, woman)" in line
            assert Record.load(tmp_path / "out").status == "interrupted"
            content = yaml.safe_load(file.read_text())
            assert word in content["text"]
            content["versions"] = {"neutral": "Corrected.", "man": "He.", "woman": f"She, the {word}."}
            file.write_text(yaml.safe_dump(content | {"corrected": True}))
        assert augment_here(*arguments) == 0
        assert len(stub.payloads) == 18  # what was asked is not asked again
    last = json.loads((tmp_path / "out" / "search" / "round-03.json").read_text())
    assert [example["man"] for example in last["examples"]] == ["He.", "He."]
    assert Record.load(tmp_path / "out").status == "finished"


def test_prompt_search_at_a_terminal(tmp_path, capsys, monkeypatch):
    with Stub(careless_at_first) as stub:
        arguments = [*SEARCH, *of_stub(stub, tmp_path), "search.corrector=terminal", "search.rounds=2"]
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert augment_here(*arguments) == 1
        assert (
            "search.corrector=terminal needs a terminal; use search.corrector=file or rules" in capsys.readouterr().err
        )
        answers = iter(["An officer asked for bread.", "", "A policewoman asked for bread."])
        terminal = io.StringIO("")
        terminal.isatty = lambda: True
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
        assert augment_here(*arguments) == 0
    first = json.loads((tmp_path / "out" / "search" / "round-01.json").read_text())
    assert first["correction"] == {
        "text": TEXTS[4],
        "neutral": "An officer asked for bread.",
        "man": "A policeman asked for bread.",
        "woman": "A policewoman asked for bread.",
    }


def test_without_ray_the_extra_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert augment_here(*CDA, "engine=ray", "output=out") == 1
    assert "engine=ray needs the extra ray: pip install 'fairlab[ray]'" in capsys.readouterr().err


def test_ray_gives_the_same_bytes(tmp_path):
    pytest.importorskip("ray")
    write_texts(tmp_path / "texts.jsonl", [f"{text} {k}" for k in range(40) for text in TEXTS])
    assert augment_here(*GROUPS, *FAST, "shard_rows=50", "output=local") == 0
    assert augment_here(*GROUPS, *FAST, "shard_rows=50", "engine=ray", "num_proc=2", "output=ray") == 0
    assert content(tmp_path / "ray") == content(tmp_path / "local")


def test_a_language_model_checks_the_exchanges_of_symmetric(tmp_path, tiny_folders, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [{"evidence": f"It was in {1900 + k}.", "claim": f"In {1900 + k} it was."} for k in range(1, 13)]
    write_rows(tmp_path / "pairs.jsonl", [pair | {"label": "SUPPORTS"} for pair in pairs])
    whole = ["+augmentation=symmetric", "field=[evidence,claim]", "input=pairs.jsonl"]
    node = "augmentation.language_model"
    model = [f"backbone@{node}=smollm2", f"{node}.name={tiny_folders['gpt2']}"]
    model += [f"{node}.{key}=null" for key in ("package", "gguf", "weights_sha256", "max_length")]
    assert augment_here(*whole, *model, "augmentation.rise=100", "output=all") == 0
    assert len(rows(tmp_path / "all")) == 48
    assert augment_here(*whole, *model, "augmentation.rise=-100", "augmentation.others=kept", "output=none") == 0
    assert [row["claim"] for row in rows(tmp_path / "none")] == [pair["claim"] for pair in pairs]
    manifest = json.loads((tmp_path / "all" / "manifest.json").read_text())
    assert str(tiny_folders["gpt2"]) in json.dumps(manifest)
