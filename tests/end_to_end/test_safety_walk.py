"""The walks of the page on safety, as a new user takes them: own data from thresholds to drift, and a guard model."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pandas as pd
import pytest

from tests.llm.stub import Stub, first_tokens

ROOT = Path(__file__).parents[2]
SMALL = ["method.trees=10", "method.leaf=10", "method.penalty=1", "data.repeats=1"]
RUDE, KIND = ("awful", "useless", "dull", "stupid"), ("lovely", "kind", "calm", "great")
WHO = (
    "The teacher",
    "A blind man",
    "A deaf woman",
    "My Muslim neighbour",
    "A Jewish friend",
    "The driver",
    "The gay man",
)
ADS = ("buy it now", "a cheap offer", "win free money")
REST = ("see you at noon", "thank you for the soup", "the train was late")


def texts(count, seed):
    rng = random.Random(seed)
    for k in range(count):
        rude, spam = rng.random() < 0.4, rng.random() < 0.4
        words = " and ".join(rng.sample(RUDE if rude else KIND, 2))
        end = rng.choice(ADS if spam else REST)
        yield f"{rng.choice(WHO)} is {words}, {rng.randint(1, 999)} times; {end} {k}.", int(rude), int(spam)


def table(path, count, seed, *, labels=True):
    found = pd.DataFrame(list(texts(count, seed)), columns=["comment", "Rude", "Spam"])
    (found if labels else found[["comment"]]).to_csv(path, index=False)


def steps(heading):
    """Commands of an indented block below a heading of the page, as lists of words."""
    page = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    block = re.search(rf"^### {heading}\n(.*?)(?=^##)", page, flags=re.DOTALL | re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", "\n".join(re.findall(r"^    (.*)", block[1], flags=re.MULTILINE))).splitlines()
    return [shlex.split(line) for line in lines if line.startswith("fairlab ")]


def run(words, folder, *more):
    command = [sys.executable, "-m", "fairlab", *words[1:], *more]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=environment())
    assert found.returncode == 0, found.stderr + found.stdout
    return found.stdout


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_from_a_table_of_ones_own_to_drift(tmp_path):
    train, first, second, serve, drift = steps("Data of your own")
    table(tmp_path / "comments.csv", 300, 0)
    for name, seed in (("monday", 1), ("tuesday", 2)):
        table(tmp_path / f"{name}.csv", 60, seed, labels=False)
    run(train, tmp_path, *SMALL)
    record = json.loads((tmp_path / "outputs/comments/record.json").read_text())
    found = {(one["phase"], one["subset"], one["quantity"]): one["value"] for one in record["readings"]}
    assert found["after", "rude", "auc"] > 0.9
    assert 0 <= found["after", "rude", "acv"] <= found["before", "rude", "acv"] + 0.01
    assert ("after", "rude_disability", "acv") in found
    card = (tmp_path / "outputs/comments/model/README.md").read_text()
    assert "| harm | AUC | average precision | base rate | ACV |" in card

    run(first, tmp_path)
    run(second, tmp_path)
    scored = rows(tmp_path / "monday.jsonl")
    assert len(scored) == 60
    assert {"rude", "rude_label", "spam", "spam_label", "rude_variance"} <= scored[0].keys()
    assert any(row["rude_variance"] is not None for row in scored)

    with subprocess.Popen(
        [sys.executable, "-m", "fairlab", *serve[1:-1], "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as server:
        address = re.search(r"http://\S+", server.stdout.readline())[0]
        rude, kind = (next(text for text, one, _ in texts(60, 1) if one == label) for label in (1, 0))
        body = json.dumps({"input": [rude, kind]}).encode()
        asked = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as reply:
            results = json.load(reply)["results"]
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert results[0]["category_scores"]["rude"] > results[1]["category_scores"]["rude"]
    assert results[0]["categories"].keys() == {"rude", "spam"}

    assert "| rude |" in run(drift, tmp_path)
    columns = json.loads((tmp_path / "drift.json").read_text())["columns"]
    assert columns["rude"]["detectable"] > columns["rude"]["chance"] > 0


@pytest.mark.slow
def test_with_a_guard_model_behind_a_server(tmp_path):
    def act(payload, nth):
        bad = any(word in payload["messages"][0]["content"] for word in RUDE)
        share = {"unsafe": 0.9, "safe": 0.1} if bad else {"safe": 0.8, "unsafe": 0.2}
        return first_tokens("unsafe\nS10" if bad else "safe", share)

    train, score = steps("A guard model as a source")
    table(tmp_path / "comments.csv", 150, 0)
    table(tmp_path / "monday.csv", 20, 1, labels=False)
    with Stub(act) as stub:
        there = [word.replace("http://localhost:8000/v1", stub.url) for word in train]
        run(there, tmp_path, *SMALL)
        asked = len(stub.payloads)
        run([word.replace("http://localhost:8000/v1", stub.url) for word in score], tmp_path)
        assert len(stub.payloads) == asked + 20
    scored = rows(tmp_path / "monday.jsonl")
    truth = [rude for _, rude, _ in texts(20, 1)]
    assert min(row["rude"] for row, one in zip(scored, truth, strict=True) if one) > max(
        row["rude"] for row, one in zip(scored, truth, strict=True) if not one
    )
