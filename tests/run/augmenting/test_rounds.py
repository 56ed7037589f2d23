"""Readings of a dataset that is rewritten in rounds: by hand."""

import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.metrics import surface_probe
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Record
from fairlab.rewriting.labelled.label_keeping import AllOf, LLMLabelCheck, LLMVerdictCheck
from fairlab.rewriting.labelled.paraphrase import LexicalEntailment
from fairlab.rewriting.labelled.same_facts import SameFacts
from fairlab.run.augmenting import rounds as module
from fairlab.run.augmenting.rounds import Rounds, _negation_readings, _notes, _probe_readings, label_check
from fairlab.types import FairlabError, Row


def items(*pairs):
    return [SimpleNamespace(text=text, label=label) for text, label in pairs]


def test_the_gain_of_a_probe_is_what_it_adds_to_the_commonest_label(monkeypatch):
    right = np.array([1.0] * 100 + [0.0] * 25)
    monkeypatch.setattr(surface_probe, "probe", lambda texts, labels, seed: right)
    some = items(*[(f"a stone {k}", "yes") for k in range(75)], *[(f"no stone {k}", "no") for k in range(50)])
    (reading,) = _probe_readings(some, "before", 0)
    assert (reading.value, reading.n, reading.phase) == (pytest.approx(20.0), 125, "before")  # 80 % less 60 %
    assert 10 < reading.low < 20 < reading.high < 30  # the standard error is 100 sqrt(0.8 * 0.2 / 125) = 3.6
    assert _probe_readings(some[:-1], "before", 0) == []  # too few of one label


def test_negations_are_counted_and_set_against_labels():
    some = items(("it is not red", "no"), ("it never rained", "no"), *[("it rained", "yes")] * 6)
    association, share = _negation_readings(some, "after", 0)
    assert (association.value, association.n) == (pytest.approx(1.0), 8)
    assert (share.value, share.n, share.phase) == (pytest.approx(25.0), 8, "after")
    assert (share.low, share.high) == pytest.approx([100 * bound for bound in wilson_interval(2, 8)])


def test_notes_count_what_was_selected_and_what_was_rewritten():
    rounds = [
        {"tried": ["a", "b", "c"], "objective_before": 0.5, "objective": 0.25},
        {"tried": ["d", "e"], "objective_before": 0.25, "objective": 0.125},
    ]
    first, objective = _notes(rounds, {"worse": 2}, 3, 10)
    assert re.findall(r"\d+", first) == ["3", "10", "5", "2"]
    assert "0.500000" in objective
    assert "0.125000" in objective
    assert _notes(rounds, Counter(worse=5), 10, 10)[2:] == ["no rewrite was taken, so the dataset is unchanged"]
    (*_, above) = _notes([], Counter(), 11, 10)
    assert above == "augmentation.k=11 is above the number of documents, so all were selected"
    assert len(_notes([], Counter(), 10, 10)) == 2


@pytest.mark.parametrize(
    ("names", "llm", "kinds"),
    [
        (None, None, [LexicalEntailment]),
        (None, "llm", [LLMLabelCheck]),
        ("facts", "llm", [SameFacts]),
        (["verdict"], "llm", [LLMVerdictCheck]),
        (["lexical", "llm"], "llm", [LexicalEntailment, LLMLabelCheck]),
    ],
)
def test_checks_of_labels_by_name(names, llm, kinds):
    found = label_check(names, llm, ["a", "b"])
    if len(kinds) == 1:
        assert type(found) is kinds[0]
    else:
        assert isinstance(found, AllOf)
        assert [type(check) for check in found.checks] == kinds


def test_a_check_by_a_classifier_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "backbone_node", lambda name, settings: (name, settings))
    monkeypatch.setattr(module, "build", lambda node: node)
    monkeypatch.setattr(
        "fairlab.rewriting.labelled.classifier_check.ClassifierCheck", lambda model, labels: (*model, labels)
    )
    assert label_check(str(tmp_path), None, ["a"]) == (str(tmp_path), {"max_length": None}, ["a"])
    assert module.load_model("minilm") == ("minilm", {})
    with pytest.raises(FairlabError, match="must be one or more of llm, verdict, lexical, facts, the folder"):
        label_check(str(tmp_path / "none"), None, ["a"])
    with pytest.raises(FairlabError, match=r"augmentation\.verify=verdict needs a language model"):
        label_check("verdict", None, ["a"])


class Shortens:
    """A rewriter that leaves out a text's first word."""

    provenance = {"rewriter": "shortens"}  # noqa: RUF012

    def rewrites(self, items, count):
        return [[item.text.partition(" ")[2]] for item in items]


def test_rows_are_rewritten_in_rounds_and_recorded_before_and_after(tmp_path, monkeypatch):
    texts = ["not red and", "not blue or", "green and", "red or"]
    rows = [Row(str(k), text, {"label": "no" if k < 2 else "yes"}, f"line {k}", k + 5) for k, text in enumerate(texts)]
    node = {"_target_": "fairlab.augmentation.razor.Razor", "label": "label", "verify": None, "features": "surface"}
    node |= {"k": 1, "candidates": 1, "rounds": 2, "tolerance": -9.0, "accept": "always", "vectors": "none"}
    values = {"augmentation": node, "llm": None, "input": "x", "seed": 0}
    monkeypatch.setattr("fairlab.rewriting.labelled.paraphrase.LexicalEntailment.faults", lambda *_: [None])
    monkeypatch.setattr(module, "build_rewriter", lambda values, llm: Shortens())
    record = Record(tmp_path, {}, "")
    plan = Rounds(values, lambda: iter([*rows, "a row that cannot be read"]), record)
    _, builder = plan.prepare()
    made = [one.rows[0] for one in builder().make(rows)]
    rewritten = [k for k, one in enumerate(made) if one["rewritten"]]
    assert len(rewritten) == 2
    assert all(made[k]["text"] == texts[k].partition(" ")[2] for k in rewritten)
    assert [row["round"] for row in record.history] == [0, 1, 2]
    assert [(one.phase, one.quantity) for one in record.readings] == [
        *[("before", "association"), ("before", "share"), ("after", "association"), ("after", "share")],
    ]
    assert record.readings[1].value == 50.0
    assert plan.report(None, 4) == (record.readings, record.notes)
    assert plan.provenance() == {"rewriter": "shortens", "check": "lexical"}
    monkeypatch.setattr(module, "build_rewriter", lambda values, llm: object())
    with pytest.raises(FairlabError, match="razor needs a rewriter that keeps labels: rewriter=paraphrase or"):
        plan.prepare()
