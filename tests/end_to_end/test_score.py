"""Scoring new texts: killed and continued, moved to another place, from any kind of input, and served."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairlab.methods.safety_ensemble.exported.portable import write_sources
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.methods.safety_ensemble.sources.word_list import WordList
from tests.conftest import write_rows
from tests.end_to_end.conftest import kill, wait_for
from tests.methods.safety_ensemble.conftest import data, ensemble

HERE = "fairlab.methods.safety_ensemble.sources"
TEXTS = ["A lovely day for Muslim bakers.", "An awful, useless thing.", "It rained, as it does."]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """An ensemble on VADER and a word list that lies elsewhere, with a threshold."""
    folder = tmp_path_factory.mktemp("exported")
    words = folder / "words.txt"
    words.write_text("awful\nuseless\n")
    method = ensemble(sources=[Sentiment(), WordList(path=str(words))], target={"false_positive_rate": 0.3}, trees=5)
    method.fit(data())
    method.export(folder / "model", "")
    nodes = {
        "sentiment": {"_target_": f"{HERE}.sentiment.Sentiment"},
        "word_list": {"_target_": f"{HERE}.word_list.WordList", "path": str(words)},
    }
    write_sources(nodes, folder / "model")
    words.unlink()
    return folder / "model"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("num_proc", [1, 2])
def test_killed_in_the_middle_it_goes_on_to_the_same_scores(run, start, exported, tmp_path, num_proc):
    write_rows(tmp_path / "texts.jsonl", [{"text": f"{TEXTS[k % 3]} {k}", "user": k} for k in range(4_000)])
    given = [f"model={exported}", "input=texts.jsonl", "keep=[user]", "part_rows=50", f"num_proc={num_proc}"]
    killed = start(*given, "output=killed.jsonl", entry="score")
    parts = tmp_path / "killed.jsonl.parts"
    wait_for(lambda: len(list(parts.glob("[0-9]*.json"))) >= 3, killed)
    kill(killed)
    assert not (tmp_path / "killed.jsonl").exists()
    before = {path.name: path.stat().st_mtime_ns for path in parts.glob("[0-9]*.json")}
    assert 3 <= len(before) < 80
    changed = (tmp_path / "texts.jsonl").read_text()
    (tmp_path / "texts.jsonl").write_text(changed.replace("lovely", "dull", 1))
    refused = run(*given, "output=killed.jsonl", entry="score")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "the input has changed since its scores were started (from line 1 on" in refused.stderr
    (tmp_path / "texts.jsonl").write_text(changed)
    assert {path.name: path.stat().st_mtime_ns for path in parts.glob("[0-9]*.json")}.items() >= before.items()
    done = run(*given, "output=killed.jsonl", entry="score")
    assert done.returncode == 0, done.stderr
    assert "(resumed after" in done.stdout
    assert not parts.exists()
    assert run(*given, "output=whole.jsonl", entry="score").returncode == 0
    assert (tmp_path / "killed.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert [row["user"] for row in lines(tmp_path / "whole.jsonl")] == list(range(4_000))


def test_a_moved_ensemble_scores_every_kind_of_input_alike(run, exported, tmp_path):
    moved = shutil.copytree(exported, tmp_path / "elsewhere" / "model")
    (tmp_path / "texts.csv").write_text("text,user\n" + "".join(f'"{text}",u\n' for text in TEXTS))
    pq.write_table(pa.table({"text": TEXTS, "user": ["u"] * 3}), tmp_path / "texts.parquet")
    write_rows(tmp_path / "texts.jsonl", [{"text": text, "user": "u"} for text in TEXTS])
    found = []
    for kind in ("csv", "parquet", "jsonl"):
        given = [f"model={moved}", f"input=texts.{kind}", f"output={kind}.jsonl", "keep=[user]", "versions=true"]
        done = run(*given, "source_scores=true", entry="score")
        assert done.returncode == 0, done.stderr
        found.append(lines(tmp_path / f"{kind}.jsonl"))
    assert found[0] == found[1] == found[2]
    first, second, _ = found[0]
    assert first["toxicity"] < second["toxicity"]
    assert {first["toxicity_label"], second["toxicity_label"]} <= {0, 1}
    assert first["toxicity_variance"] >= 0
    assert second["toxicity_variance"] is None
    assert second["sources"]["word_list.any"] == 1.0
    (moved / "sources" / "word_list" / "words.txt").unlink()
    refused = run(f"model={moved}", "input=texts.csv", "output=x.jsonl", entry="score")
    assert refused.returncode == 1
    assert refused.stderr.endswith("copy it there, or give its path: +sources.word_list.path=PATH\n")
    assert not list(tmp_path.glob("x.jsonl*"))


@pytest.fixture
def serving(exported, tmp_path, warm_python):
    """A server as a user starts it, and where it is."""
    called = [warm_python, "-m", "fairlab.serve", f"model={exported}", "port=0", "body=1000"]
    with subprocess.Popen(called, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        process.kill()


def asked(url, body):
    """Status and content of a reply."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body.encode()), timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_served_ensemble_answers_goes_on_after_bad_requests_and_ends_when_told_to(run, serving, exported, tmp_path):
    process, url = serving
    write_rows(tmp_path / "texts.jsonl", [{"text": text} for text in TEXTS])
    assert run(f"model={exported}", "input=texts.jsonl", "output=s.jsonl", entry="score").returncode == 0
    expected = [(row["toxicity"], bool(row["toxicity_label"])) for row in lines(tmp_path / "s.jsonl")]
    for body, status in (("{", 400), ('{"input": 5}', 400), ("x" * 5000, 413)):
        assert asked(url, body)[0] == status
    status, content = asked(url, json.dumps({"input": TEXTS}))
    assert status == 200
    found = [(one["category_scores"]["toxicity"], one["categories"]["toxicity"]) for one in content["results"]]
    assert found == expected
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert process.stderr.read() == ""


def test_a_model_or_port_that_cannot_be_had_is_said(run, exported):
    refused = run("nowhere", entry="serve")
    assert (refused.returncode, refused.stderr) == (
        1,
        "fairlab: nowhere holds no ensemble; give the folder 'model' of a safety_ensemble run\n",
    )
    refused = run(str(exported), "port=99999", entry="serve")
    assert refused.returncode == 1
    assert refused.stderr.startswith("fairlab: port=99999 is not available")
