"""The shortcut X-ray on data whose shortcuts are known."""

import json

import numpy as np
import pytest

from fairlab.benchmarks.shortcuts import Shortcuts, token_places
from fairlab.metrics.lmi import LMI
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.surface_probe import probe
from fairlab.types import FairlabError


def rows(n=120, seed=0):
    """Claims in which "not" goes with one label, the evidence with none."""
    rng = np.random.default_rng(seed)
    words = "river stone bread ladder piano cloud".split()
    for k in range(n):
        refuted = k % 2 == 0
        claim = f"the {rng.choice(words)} is {'not ' if refuted else ''}{rng.choice(words)} {k}"
        yield {"evidence": f"evidence {k}", "claim": claim, "label": "REFUTES" if refuted else "SUPPORTS"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


def test_a_planted_token_is_found_where_it_stands(file):
    found = Shortcuts().measure_data(str(file), ["evidence", "claim"], None, file.parent)
    values = {(reading.subset, reading.quantity): reading.value for reading in found.readings}
    assert values["negation", "association"] == pytest.approx(1.0)
    assert values["claim_only", "accuracy"] > 95
    assert values["claim_only", "gain"] == pytest.approx(values["claim_only", "accuracy"] - 50)
    texts, labels = [row["claim"] for row in rows()], [row["label"] for row in rows()]
    gamma = TokenSpace(texts, labels).gamma()
    assert values["gamma", "mean"] == pytest.approx(gamma.mean())
    assert found.items["gamma/REFUTES"].tolist() == pytest.approx(gamma[::2].tolist())
    value, share, count = found.items["lmi/REFUTES/not"]
    assert (share, count) == (1.0, 60)
    assert value == max(
        found.items[name][0] for name in found.items if name.startswith("lmi/REFUTES/") and " " not in name
    )
    where = found.items["map/REFUTES/not"]
    assert where[0].tolist() == [0, 0, 0, 60, 0, 0, 0, 0, 0, 0]
    assert where[1][3] == 1.0
    assert not any("evidence" in name for name in found.items)
    assert {len(name.split("/")[2].split()) for name in found.items if name.startswith("lmi/")} == {1, 2}
    assert not any(subset.startswith("gamma_") for subset, _ in values)  # two labels have the same


def test_each_of_three_labels_has_its_score(tmp_path):
    path = tmp_path / "three.jsonl"
    some = [row | {"label": "Not sure"} if k % 3 == 0 else row for k, row in enumerate(rows(30))]
    path.write_text("".join(json.dumps(row) + "\n" for row in some))
    found = Shortcuts().measure_data(str(path), "claim", None, tmp_path)
    labels = [row["label"] for row in some]
    gamma = TokenSpace([row["claim"] for row in some], labels).gamma()
    means = {one.subset: one.value for one in found.readings if one.quantity == "mean" and one.subset != "gamma"}
    expected = {name: gamma[[label == name for label in labels]].mean() for name in labels}
    assert means == pytest.approx(
        {f"gamma_{name.lower().replace(' ', '_')}": value for name, value in expected.items()}
    )


def test_the_probe_sees_neither_a_text_nor_its_equals():
    texts = [f"word{k // 4}" for k in range(40)]  # each text four times, its label at random
    labels = ["a" if (k // 4) % 2 else "b" for k in range(40)]
    assert probe(texts, labels).mean() < 0.8  # knowing the text would give 1


def test_places_by_hand():
    entry = LMI("not", "no", 0.0, 0.0, 0)
    tokens = [["not", "a", "not"], ["not"], ["x"] * 15 + ["not"]]
    found = token_places(entry, tokens, ["no", "yes", "no"])
    assert found[0].tolist() == [2, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert found[1].tolist() == [0.5, 0, 1, 0, 0, 0, 0, 0, 0, 1]


def test_a_row_without_a_label_is_named(file):
    with file.open("a") as lines:
        lines.write('{"evidence": "e", "claim": "c"}\n')
    with pytest.raises(FairlabError, match=r"line 121 of .* has no 'label'"):
        Shortcuts().measure_data(str(file), ["evidence", "claim"], None, file.parent)
    with pytest.raises(FairlabError, match=r"line 121 of .* has no 'label'"):
        Shortcuts().check_data(str(file), ["evidence", "claim"])


def test_rows_that_cannot_be_read_are_left_out_and_counted(file):
    file.write_text(file.read_text() + '{"claim": \n')
    texts, labels, unread = Shortcuts()._read(str(file), ["evidence", "claim"])
    assert (len(texts), len(labels), unread) == (120, 120, 1)


def test_a_field_that_no_row_has_is_named_with_those_there_are(file):
    with pytest.raises(FairlabError, match=r"no row of .* 'premise'; it has: evidence, claim, label; give field=NAME"):
        Shortcuts().measure_data(str(file), ["premise", "claim"], None, file.parent)


@pytest.mark.data
def test_a_labelled_task(data_folder, tmp_path):
    found = Shortcuts(compat="official").measure_data("task:rte:dev", "text", None, tmp_path)
    values = {(reading.subset, reading.quantity): reading for reading in found.readings}
    assert values["claim_only", "accuracy"].n == 277
    assert 0 <= values["gamma", "mean"].value <= 2


def test_untouched_data_that_leaves_nothing_to_train_on(file):
    with pytest.raises(
        FairlabError, match="leaves too little to train a probe on: there are no texts; give other data"
    ):
        Shortcuts(untouched=str(file)).measure_data(str(file), ["evidence", "claim"], None, file.parent)
