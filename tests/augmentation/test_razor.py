"""RAZOR's rounds with rewriters and checks that do as they are told."""

import json

import numpy as np
import pytest

from fairlab.augmentation.perturbation import PERTURBED
from fairlab.augmentation.razor import (
    LOST,
    NONE,
    NOT_LOWER,
    RAZOR,
    Razor,
    Replaced,
    rejection_reasons,
    rounds_history,
)
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.surface_probe import probe_gain
from fairlab.rewriting.labelled.label_keeping import Labelled, labelled_item, refuse_unlabelled
from fairlab.types import FairlabError, Row

ITEMS = [
    Labelled(text, label, context)
    for text, label, context in [
        ("a not b c", "no", "e1"),
        ("not d b", "no", "e2"),
        ("c c not", "no", "e3"),
        ("a b", "yes", "e4"),
        ("d c a b", "yes", "e5"),
        ("b a", "yes", "e6"),
    ]
]


class Writer:
    """Offers what a function says of a text, and counts how often it was asked."""

    provenance = {"rewriter": "writer"}  # noqa: RUF012

    def __init__(self, offers):
        self.offers, self.asked = offers, []

    def rewrites(self, items, count):
        self.asked += [item.text for item in items]
        return [self.offers(item.text)[:count] for item in items]


class Check:
    name = "check"

    def __init__(self, fault=lambda text: None):
        self.fault = fault

    def faults(self, items, made):
        return [self.fault(text) for text in made]


def without_not(text):
    words = [word for word in text.split() if word != "not"]
    return [" ".join(words), " ".join(reversed(words))]


def razor(offers=without_not, fault=lambda text: None, **values):
    settings = {"k": 2, "candidates": 2, "rounds": 3, "tolerance": -1.0}
    return Razor(rewriter=Writer(offers), check=Check(fault), **settings | values)


def test_the_highest_scores_are_replaced_by_the_lowest_rewrite(tmp_path):
    gamma = TokenSpace([item.text for item in ITEMS], [item.label for item in ITEMS]).gamma()
    one = razor(rounds=1, accept="always")
    made, rounds = one(ITEMS, tmp_path)
    chosen = np.argsort(-gamma, kind="stable")[:2].tolist()
    assert list(map(int, rounds[0]["tried"])) == chosen
    assert [made[k] for k in range(6) if k not in chosen] == [ITEMS[k] for k in range(6) if k not in chosen]
    first = rounds[0]["tried"][str(chosen[0])]
    space = TokenSpace([item.text for item in ITEMS], [item.label for item in ITEMS])
    options = [text for text in without_not(ITEMS[chosen[0]].text) if text != ITEMS[chosen[0]].text]
    assert first["text"] == min(options, key=lambda text: space.score(chosen[0], text))
    assert [(item.label, item.context) for item in made] == [(item.label, item.context) for item in ITEMS]


def test_no_document_is_selected_twice_and_rounds_end_with_them(tmp_path):
    one = razor(rounds=9, k=4)
    _, rounds = one(ITEMS, tmp_path)
    assert [len(each["tried"]) for each in rounds] == [4, 2]
    assert sorted(one.rewriter.asked) == sorted(item.text for item in ITEMS)


def test_official_selects_of_each_label(tmp_path):
    _, rounds = razor(rounds=1, k=2, compat="official")(ITEMS, tmp_path)
    assert sorted(ITEMS[int(place)].label for place in rounds[0]["tried"]) == ["no", "no", "yes", "yes"]


def test_a_check_that_always_objects_leaves_the_data_as_it_is(tmp_path):
    made, rounds = razor(fault=lambda text: "no", k=99, tolerance=0.0)(ITEMS, tmp_path)
    assert made == ITEMS
    assert rejection_reasons(rounds) == {LOST: 6} or set(rejection_reasons(rounds)) == {LOST, NONE}
    assert rounds[-1]["objective"] == rounds[0]["objective_before"]


def test_if_lower_takes_no_rewrite_that_is_not(tmp_path):
    made, rounds = razor(offers=lambda text: [f"{text} {text}", f"z{len(text)} {text}"], k=6, rounds=1)(ITEMS, tmp_path)
    for place, one in rounds[0]["tried"].items():
        assert (made[int(place)].text != ITEMS[int(place)].text) == (one["after"] < one["before"])
        assert one["reason"] == ("" if one["after"] < one["before"] else NOT_LOWER)


def test_rounds_that_gain_too_little_end_it(tmp_path):
    _, rounds = razor(tolerance=5.0)(ITEMS, tmp_path)
    assert len(rounds) == 1


def test_a_round_without_a_gain_is_no_rise_below_a_tolerance_of_zero(tmp_path):
    _, rounds = razor(fault=lambda text: "no", tolerance=0.0)(ITEMS, tmp_path)
    assert [(one["round"], len(one["tried"])) for one in rounds] == [(1, 2), (2, 2), (3, 2)]
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"round-0{k}.json" for k in (1, 2, 3)]
    _, rounds = razor(fault=lambda text: "no", tolerance=1e-9)(ITEMS, tmp_path / "other")
    assert len(rounds) == 1


def test_a_rewrite_of_the_same_tokens_is_not_lower_and_the_same_text_is_none(tmp_path):
    made, rounds = razor(offers=lambda text: [text.replace(" ", "  ")], k=6, rounds=1)(ITEMS, tmp_path / "a")
    assert (made, {one["reason"] for one in rounds[0]["tried"].values()}) == (ITEMS, {NOT_LOWER})
    made, rounds = razor(offers=lambda text: [text], k=6, rounds=1, accept="always")(ITEMS, tmp_path / "b")
    assert (made, {one["reason"] for one in rounds[0]["tried"].values()}) == (ITEMS, {NONE})


def test_the_width_of_positions_is_the_given_one():
    for compat, usual in (("paper", 128), ("official", 8)):
        gammas = [razor(compat=compat, width=width).space(ITEMS).gamma() for width in (None, usual, 4)]
        assert gammas[0] == pytest.approx(gammas[1])
        assert gammas[0] != pytest.approx(gammas[2])


def test_ranges_of_what_is_read_from_rows():
    ranges = {
        name: (one.ideal, one.low, one.high, one.headline)
        for name, one in (RAZOR.quantities | PERTURBED.quantities).items()
    }
    assert ranges == {
        "gain": (0.0, -100.0, 100.0, True),
        "association": (0.0, 0.0, 1.0, True),
        "share": (None, 0.0, 100.0, False),
        "perturbed": (None, 0.0, 100.0, False),
    }


def told_by_not(count=60):
    """Texts of which half hold "not", and are labelled by it."""
    return [Labelled(f"{'not ' * (k % 2)}word{k}", "no" if k % 2 else "yes", "") for k in range(2 * count)]


def test_rounds_end_where_a_probe_of_the_texts_finds_no_more_than_was_asked(tmp_path):
    items, settings = told_by_not(), {"k": 20, "rounds": 9, "tolerance": -1.0, "accept": "always"}
    assert probe_gain([one.text for one in items], [one.label for one in items]) == pytest.approx(50)
    made, rounds = razor(offers=without_not, until_gain=20.0, **settings)(items, tmp_path / "probed")
    assert 1 < len(rounds) < 9
    assert rounds[0]["gain_before"] == pytest.approx(50)
    gains = [one["gain"] for one in rounds]
    assert gains[-1] <= 20 < min(gains[:-1])
    assert gains[-1] == probe_gain([one.text for one in made], [one.label for one in made])
    history = rounds_history(items, rounds)
    assert [row["gain"] for row in history] == [rounds[0]["gain_before"], *gains]
    again, _ = razor(offers=without_not, until_gain=20.0, **settings)(items, tmp_path / "probed")
    assert again == made
    _, exact = razor(offers=without_not, until_gain=gains[0], **settings)(items, tmp_path / "exact")
    assert len(exact) == 1
    _, unprobed = razor(offers=without_not, **settings)(items, tmp_path / "unprobed")
    assert len(unprobed) > len(rounds)
    assert "gain" not in rounds_history(items, unprobed)[0]


def test_too_few_rows_for_a_probe_are_refused(tmp_path):
    with pytest.raises(FairlabError, match=r"until_gain trains a probe: it needs 50 documents .* 'no' has 3"):
        razor(until_gain=2.0)(ITEMS, tmp_path)


@pytest.mark.parametrize("broken_off", [1, 2])
def test_a_run_that_was_killed_ends_with_the_same_data(tmp_path, broken_off):
    whole, rounds = razor(accept="always")(ITEMS, tmp_path / "whole")
    assert len(rounds) == 3
    calls = []

    def dying(text):
        calls.append(text)
        if len(calls) == 2 * broken_off:
            raise KeyboardInterrupt
        return without_not(text)

    with pytest.raises(KeyboardInterrupt):
        razor(offers=dying, accept="always")(ITEMS, tmp_path / "killed")
    assert len(list((tmp_path / "killed").iterdir())) == broken_off - 1
    again = razor(accept="always")
    made, _ = again(ITEMS, tmp_path / "killed")
    assert made == whole
    assert len(again.rewriter.asked) == 6 - 2 * (broken_off - 1)
    for file in (tmp_path / "whole").iterdir():
        assert json.loads(file.read_text()) == json.loads((tmp_path / "killed" / file.name).read_text())


def test_contexts_count_where_texts_are_joined(tmp_path):
    alone, joined = razor(), razor(scored="joined")
    plain = TokenSpace([f"{item.context} {item.text}" for item in ITEMS], [item.label for item in ITEMS])
    assert joined.space(ITEMS).gamma() == pytest.approx(plain.gamma())
    assert alone.space(ITEMS).gamma() != pytest.approx(plain.gamma())


def test_embeddings_need_an_encoder(tmp_path):
    vectors = {item.text: np.eye(6)[k] for k, item in enumerate(ITEMS)}
    found = razor(features="embedding", embed=lambda texts: np.array([vectors[text] for text in texts])).space(ITEMS)
    assert found.gamma() == pytest.approx(np.ones(6))
    with pytest.raises(FairlabError, match="needs an encoder"):
        razor(features="embedding")(ITEMS, tmp_path)


def test_history_counts_negations_after_every_round(tmp_path):
    _, rounds = razor(accept="always", k=6, rounds=1)(ITEMS, tmp_path)
    rows = rounds_history(ITEMS, rounds)
    assert [row["negations"] for row in rows] == [3, 0]
    assert rows[1]["rewritten"] == sum(one["text"] is not None for one in rounds[0]["tried"].values())
    assert (rows[0]["round"], rows[0]["objective"], rows[1]["round"]) == (0, rounds[0]["objective_before"], 1)
    assert rows[1]["selected"] == 6
    assert rounds_history(ITEMS, []) == []


def test_one_label_is_refused(tmp_path):
    with pytest.raises(FairlabError, match="two labels or more"):
        razor()(ITEMS[:3], tmp_path)


def row(number, **extra):
    parts = (("evidence", f"e{number}"), ("claim", f"c{number}"))
    return Row(f"r{number}", f"e{number} <SEP> c{number}", extra, f"line {number}", number, "evidence", parts)


def test_rows_are_written_with_the_second_sentence_replaced():
    tried = {
        1: {"text": "new", "before": 1.5, "after": 1.0, "reason": "", "turned_down": []},
        2: {"text": None, "before": 1.2, "after": None, "reason": LOST, "turned_down": [["bad", "another label"]]},
    }
    tried[4] = {"text": None, "before": 1.2, "after": 1.3, "reason": NOT_LOWER, "turned_down": [["bad", "unlike"]]}
    rows = [row(k, label="yes", x=k) for k in (1, 2, 3, 4)]
    made = Replaced(tried, "label", {"rewriter": "w", "check": "c"}).make(rows)
    first, second, third, fourth = (one.rows[0] for one in made)
    assert (first["evidence"], first["claim"], first["label"], first["x"]) == ("e1", "new", "yes", 1)
    assert (first["rewritten"], first["gamma"], first["source_text"]) == (True, [1.5, 1.0], "e1 <SEP> c1")
    assert first["changed"] == {"rewritten": [["c1", "new"]]}
    assert (second["claim"], second["rewritten"]) == ("c2", False)
    assert (made[1].reason, made[1].detail, made[1].versions) == (LOST, "another label", {"rewrite": "e2 <SEP> bad"})
    assert [one.counts for one in made] == [
        {"selected": 1, "rewritten": 1, "rewritten/yes": 1},
        {"selected": 1},
        {},
        {"selected": 1},
    ]
    assert fourth["claim"] == "c4"
    assert (made[3].reason, made[3].detail, made[3].versions) == (NOT_LOWER, "1.300000 at best, for 1.200000", {})
    assert third == {"id": "r3", "evidence": "e3", "claim": "c3", "label": "yes", "x": 3, "rewritten": False}


def test_labels_are_read_as_written():
    assert labelled_item(row(1, label=0), "label") == Labelled("c1", "0", "e1")
    assert [labelled_item(row(1, label=one), "label").label for one in (1, 1.0, "1.0", "no")] == ["1", "1", "1", "no"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"x": 1}, "claims.csv, line 2 has no 'label'; it has: x; give augmentation.label=NAME"),
        ({}, "claims.csv, line 2 has no 'label'; it has: no other column; give"),
        ({"label": ""}, "claims.csv, line 2: the cell of 'label' is empty; fill it in or remove the row"),
        ({"label": float("nan")}, "line 2: the cell of 'label' holds 'nan', which counts as a missing label; write"),
        ({"label": "none"}, "holds 'none', which counts as a missing label; write another value or remove the row"),
        ({"label": ["a"]}, "claims.csv, line 2: 'label' is not one label; write a text or a number"),
    ],
)
def test_rows_without_a_label_are_named_with_their_file(other, message):
    with pytest.raises(FairlabError, match=message):
        refuse_unlabelled("claims.csv", [row(1, label=0), row(2, **other)], "label")
