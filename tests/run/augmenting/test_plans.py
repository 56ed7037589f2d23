"""Plans of augmentations: what they build, draw and report."""

import json
from types import SimpleNamespace

import pytest

from fairlab.augmentation.biasers import COPIES, WITH_BIASER
from fairlab.data.stream.shards import BAD
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Record
from fairlab.rewriting.word_rewriters import ByAxis
from fairlab.run.augmenting import perturbing, row_by_row
from fairlab.run.augmenting.building import augment_lexicon, build_perturbation, build_rewriter
from fairlab.run.augmenting.perturbing import Perturbing, changed_shares
from fairlab.run.augmenting.row_by_row import RowByRow, polarity
from fairlab.types import FairlabError, Row


def rows(*texts):
    return [Row(str(k), text, {}, f"line {k}", k) for k, text in enumerate(texts, start=1)]


def test_a_lexicon_has_the_attributes_that_are_asked_for():
    whole = augment_lexicon({"axis": "gender", "attributes": None})
    assert augment_lexicon({"axis": "race", "attributes": ["asian", "black"]}).attributes == ("asian", "black")
    assert {"man", "woman"} <= {*whole.attributes}


class Writes:
    """A rewriter without a lexicon."""

    def __init__(self, seed: int, llm: object) -> None:
        self.seed, self.llm = seed, llm


RULES = {"_target_": "fairlab.rewriting.group_rewriters.RuleGroups", "mode": "lexical"}


def test_a_perturbation_has_a_rewriter_for_each_axis_or_one_for_all():
    node = {"_target_": "fairlab.augmentation.perturbation.Perturbation", "axes": ["gender", "race"]}
    node |= {"sampling": "uniform", "mode": "lexical"}
    config = {"augmentation": node, "llm": None, "seed": 3}
    by_axis = build_perturbation(config | {"rewriter": RULES}).rewriter
    assert isinstance(by_axis, ByAxis)
    assert {axis: one.lexicon.axis for axis, one in by_axis.rewriters.items()} == {"gender": "gender", "race": "race"}
    alone = build_perturbation(config | {"rewriter": {"_target_": f"{__name__}.Writes"}})
    assert (type(alone.rewriter), alone.rewriter.seed, alone.seed) == (Writes, 3, 3)
    assert isinstance(build_perturbation(config | {"rewriter": None}).rewriter, ByAxis)
    assert build_rewriter({"rewriter": None}, None) is None
    made = build_rewriter({"rewriter": RULES, "axis": "gender", "attributes": None, "seed": 0}, None)
    assert made.lexicon.axis == "gender"


def test_changed_rows_are_a_share_of_those_that_can_be_read():
    counts = {BAD: 2, "perturbed": 4, "perturbed/gender": 3}
    manifest = SimpleNamespace(read=10, counts=counts, made_by={"axis": "gender, race"})
    found = changed_shares(manifest, 7)
    assert [(one.subset, one.value, one.n, one.headline, one.seed) for one in found] == [
        *[("all", 50.0, 8, True, 7), ("gender", 37.5, 8, False, 7), ("race", 0.0, 8, False, 7)],
    ]
    assert (found[1].low, found[1].high) == pytest.approx([100 * bound for bound in wilson_interval(3, 8)])


@pytest.mark.parametrize("rewriter", [None, RULES])
def test_choices_are_drawn_before_any_rewriting(tmp_path, monkeypatch, rewriter):
    drawn = SimpleNamespace(weights=lambda texts: {"gender": float(sum(map(len, texts)))})
    monkeypatch.setattr(perturbing, "build_choosing", lambda values, weights: SimpleNamespace(perturbation=drawn))
    summaries = [
        ({"data": {"file": name}} if lines else {}, name, lines) for name, lines in (("a", 2), ("b", 0), ("c", 1))
    ]

    def make_shards(rows, builder, folder, **settings):
        assert settings == {"shard_rows": 9, "num_proc": 1, "engine": "local"}
        for files, name, lines in summaries:
            (folder / name).write_text("{}\n" * lines)
            yield {"read": 5, "files": files}

    monkeypatch.setattr("fairlab.data.stream.shards.make_shards", make_shards)
    values = {
        "augmentation": {"choices": None},
        "rewriter": rewriter,
        "shard_rows": 9,
        "num_proc": 1,
        "engine": "local",
    }
    record = Record(tmp_path, {}, "", status="running")
    plan = Perturbing(values, lambda: iter([*rows("abc", "de"), "a row that cannot be read"]), record)
    for _ in range(2):  # the folder and the weights may be there
        assert (plan.prepare() is None) == (rewriter is None)
    choices = record.provenance["choices"]
    assert (choices["rows"], choices["weights"]) == (3, {"gender": 5.0})
    assert [note.text for note in record.notes] == ["3 choices of 15 rows"]
    assert Record.load(tmp_path).status == ("running" if rewriter else "finished")
    assert json.loads((tmp_path / "choices" / "weights.json").read_text()) == {"gender": 5.0}
    given = Perturbing(values | {"augmentation": {"choices": str(tmp_path / "choices.jsonl")}}, lambda: iter([]), None)
    assert (given.prepare() is None) == (rewriter is None)


def judged(**counts):
    return SimpleNamespace(read=10, counts=counts, made_by={"attributes": ["man", "woman"]})


def test_polarity_is_a_share_of_the_judged_texts():
    found = polarity(judged(judged=8, **{"right/union": 2, "right/neutral": 4, "right/man": 6}), 7)
    assert {one.quantity: (one.value, one.n, one.seed) for one in found} == {
        **{"union_accuracy": (25.0, 8, 7), "accuracy_neutral": (50.0, 8, 7), "accuracy_man": (75.0, 8, 7)},
        "accuracy_woman": (0.0, 8, 7),
    }
    assert (found[0].low, found[0].high) == pytest.approx([100 * bound for bound in wilson_interval(2, 8)])
    assert polarity(judged(), 7) == []


@pytest.mark.parametrize(("counts", "notes"), [({COPIES: 1}, 1), ({WITH_BIASER: 1}, 1), ({"judged": 1}, 0)])
def test_the_size_of_an_expansion_is_noted(counts, notes):
    _, found = RowByRow({"seed": 0}, iter, None).report(judged(**counts), 590)
    assert len(found) == notes
    assert all(note.text.startswith("590 rows of 10 entries and 2 biasers") for note in found)


@pytest.mark.parametrize("correction", [None, {"text": "c"}])
def test_a_search_for_examples_reads_so_many_texts_with_a_word_of_the_axis(tmp_path, monkeypatch, correction):
    asked = []

    class Search:
        texts = 2

        def wanted(self, text):
            return text.startswith("she")

        def __call__(self, texts, folder):
            asked.append((texts, folder))
            one = {"round": 1, "examples": [{"text": "e"}], "texts": 2, "rewritten": 1, "right": 1}
            return [one | {"examples": [], "correction": {"text": "e"}}, one | {"correction": correction}]

    monkeypatch.setattr(
        row_by_row, "build_rewriter", lambda values, llm: SimpleNamespace(lexicon=SimpleNamespace(axis="gender"))
    )
    monkeypatch.setattr(row_by_row, "build", lambda node, rewriter: Search())
    values, record = {"search": {}, "llm": None, "input": "x.csv"}, Record(tmp_path, {}, "")
    texts = ["she", "he", "she left", "she stays"]
    plan = RowByRow(values | {"search": {"a": 1}}, lambda: iter(["a row that cannot be read", *rows(*texts)]), record)
    plan.prepare()
    assert asked == [(["she", "she left"], tmp_path / "search")]
    assert plan.examples == [{"text": "e"}, *([correction] if correction else [])]
    assert [row["rewritten"] for row in record.history] == [50.0, 50.0]
    nothing = RowByRow(values | {"search": {"a": 1}}, lambda: iter(rows("he")), record)
    with pytest.raises(FairlabError, match=r"no row of x\.csv holds a word of the axis 'gender'"):
        nothing.prepare()
    without = RowByRow(values, lambda: iter(rows("he")), record)
    without.prepare()
    assert without.examples is None
