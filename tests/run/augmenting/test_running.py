"""Which augmentations may run, which need a rewriter, and what is said about their rows."""

import json
from functools import partial
from types import SimpleNamespace

import pytest

from fairlab.augmentation.benign_prompts import BenignPrompts
from fairlab.augmentation.cda import CDA
from fairlab.augmentation.counterfactual_groups import CounterfactualGroups
from fairlab.augmentation.identity import FLAGGED, Identity
from fairlab.augmentation.perturbation import Perturbation
from fairlab.augmentation.symmetric import Symmetric
from fairlab.augmentation.z_filtered import ZFiltered
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.shards import BAD
from fairlab.run.augmenting.kept_columns import keeping_columns
from fairlab.run.augmenting.running import (
    _rate_notes,
    _row_notes,
    first_readable,
    gather_quarantine,
    gather_review,
    refuse_nothing,
    refuse_provenance,
    refuse_unplanned,
)
from fairlab.types import FairlabError, Made, Row


@pytest.mark.parametrize(
    ("augmentation", "needs"),
    [
        *((one, False) for one in (BenignPrompts, Identity, Perturbation, Symmetric, ZFiltered)),
        *((one, True) for one in (CDA, CounterfactualGroups)),
    ],
)
def test_some_augmentations_need_no_rewriter(augmentation, needs):
    values = {"augmentation": {"_target_": f"{augmentation.__module__}.{augmentation.__name__}"}, "rewriter": None}
    if needs:
        with pytest.raises(FairlabError, match="rewriter=none"):
            refuse_unplanned(values, augmentation.name)
    else:
        refuse_unplanned(values, augmentation.name)
    refuse_unplanned(values | {"rewriter": {"_target_": "any"}}, augmentation.name)


def manifest(rows=(), reasons=(), **files):
    """A manifest with numbers of rows by outcome, of rejected rows by reason, and names of files by kind."""
    counts = {"read": 0, "written": 0, **dict(rows)}
    return SimpleNamespace(
        rows=lambda: dict(counts), reasons=dict(reasons), files=lambda kind: files.get(kind, []), made=counts["written"]
    )


def numbers(notes):
    return [note.text.split(" in ")[0].split("; see")[0] for note in notes]


def test_rows_are_noted_by_what_became_of_them():
    found = _row_notes(
        manifest({"read": 1200, "written": 1, "groups": 7, "rejected": 3, "quiet rows": 0, "odd rows": 2})
    )
    assert numbers(found) == ["1 row written of 1,200 read", "2 odd rows"]
    found = _row_notes(manifest({"read": 9, "written": 5, BAD: 0}, {"empty": 2, "long": 1000}))
    assert numbers(found)[:3] == ["5 rows written of 9 read", "2 rejected: empty", "1,000 rejected: long"]
    assert len(found) == 4  # the last names the file
    assert numbers(_row_notes(manifest({"read": 9, "written": 5, BAD: 1})))[1] == "1 row that cannot be read"


@pytest.mark.parametrize(
    ("reasons", "quarantine", "named"),
    [
        ({}, [], []),
        ({"empty": 1}, [], ["rejected-*.jsonl"]),
        ({}, ["q"], ["quarantine.jsonl"]),
        ({"empty": 1}, ["q"], ["rejected-*.jsonl", "quarantine.jsonl"]),
    ],
)
def test_nothing_to_write_names_the_files_with_the_reasons(tmp_path, reasons, quarantine, named):
    refuse_nothing(manifest({"written": 1}), "a.csv", tmp_path)
    with pytest.raises(FairlabError, match=r"a\.csv yields no rows to write: 2 read") as error:
        refuse_nothing(manifest({"read": 2}, reasons, quarantine=quarantine), "a.csv", tmp_path)
    files = ["rejected-*.jsonl", "quarantine.jsonl"]
    assert [name for name in files if name in str(error.value)] == named


def test_an_input_with_a_column_of_the_origin_of_new_rows_is_refused():
    of_earlier = Row("1", "a", {"source_text": "b", "changed": []}, "line 1", 1)
    of_its_source = Row("1", "b", {"text": "a", "changed": []}, "line 1", 1, field="source_text")
    refuse_provenance(of_earlier, "a.csv")
    refuse_provenance(of_its_source, "a.csv")
    own = Row("1", "a", {"changed": "yes"}, "line 2", 2)
    with pytest.raises(FairlabError, match=r"has the column 'changed', in which the origin of new rows is written"):
        refuse_provenance(own, "a.csv")


@pytest.mark.parametrize(
    ("own", "written", "refused"),
    [
        ({"rewriter": "Ann"}, {"rewriter": "rules"}, "rewriter"),
        ({"note": "n", "axis": "north"}, {"note": "n", "axis": "gender"}, "axis"),
        ({"rewriter": "rules"}, {"rewriter": "rules"}, None),  # the same value is kept
        ({"rewriter": ""}, {"rewriter": "rules"}, None),  # an empty cell loses nothing
        ({"rewriter": None}, {"rewriter": "rules"}, None),
        ({"gold": 0}, {"gold": 1}, None),  # the label that the augmentation changes
        ({"subgroup": "a"}, {"subgroup": "b"}, "subgroup"),  # not the column of subgroups, which has another name
        ({"input": {"text": "a", "n": 1}}, {"input": {"text": "b", "n": 1}}, None),  # column of the text
        ({"axis": "age", "source_text": "a", "changed": []}, {"axis": "gender"}, None),  # row of an earlier output
    ],
)
def test_a_column_of_the_input_is_kept_or_refused(tmp_path, own, written, refused):
    row = Row("1", "a", own, "line 2", 2, field="input.text")
    made = Made(rows=({"id": "1", **own}, {"id": "1-2", **own, **written}))
    values = {"input": "a.csv", "augmentation": {"label": "gold", "subgroup": None}}
    build = partial(SimpleNamespace, make=lambda rows: [made for _ in rows])
    if refused:
        with pytest.raises(FairlabError, match=rf"^a\.csv, line 2: the column '{refused}' has a name that"):
            keeping_columns(build, values).make([row])
        (tmp_path / "manifest.json").write_text("{}")  # a file of an earlier output
        values["input"] = str(tmp_path / "data-00000.jsonl")
    assert keeping_columns(build, values).make([row]) == [made]


def test_input_without_a_readable_row_is_refused_with_the_first_reason():
    bad = [BadRow("line 1", "no text", ""), BadRow("line 2", "not UTF-8 (x); save it", "")]
    row = Row("1", "a", {}, "line 3", 3)
    assert first_readable(iter([*bad, row, None]), "a.csv") is row
    with pytest.raises(FairlabError, match=r"none of the 2 rows of a.csv .* first, line 1: no text; if the text is in"):
        first_readable(bad, "a.csv")
    with pytest.raises(FairlabError, match=r"line 2: not UTF-8 \(x\); save it$"):
        first_readable(bad[1:], "a.csv")
    with pytest.raises(FairlabError, match="holds no rows"):
        first_readable([], "a.csv")


def test_unreadable_and_flagged_rows_are_gathered(tmp_path):
    (tmp_path / "quarantine.jsonl").write_text("old")
    gather_quarantine(manifest(), tmp_path)
    assert not (tmp_path / "quarantine.jsonl").exists()
    for name in "ab":
        (tmp_path / name).write_text(f"{name}\n")
    gather_quarantine(manifest(quarantine=["a", "b"]), tmp_path)
    assert (tmp_path / "quarantine.jsonl").read_text() == "a\nb\n"
    rejected = {"id": "r1", "text": "größe", "detail": "odd", "versions": {"x": "größer"}}
    lines = [json.dumps(rejected | one) + "\n" for one in ({"reason": FLAGGED}, {"reason": "empty", "id": "r2"})]
    (tmp_path / "rejected-0.jsonl").write_text("".join(lines))
    gather_review(manifest(rejected=["rejected-0.jsonl"]), tmp_path)
    assert not (tmp_path / "review.jsonl").exists()
    gather_review(manifest(reasons={FLAGGED: 1}, rejected=["rejected-0.jsonl"]), tmp_path)
    (line,) = (tmp_path / "review.jsonl").read_text(encoding="utf-8").splitlines()
    assert "größer" in line
    assert json.loads(line)["id"] == "r1-x"


def test_error_rates_are_noted_for_rules_alone():
    made = SimpleNamespace(made_by={"rewrites_by_rules": {"gender": "3 %"}})
    rules = {"_target_": "fairlab.rewriting.group_rewriters.RuleGroups"}
    assert [note.text.endswith("gender: 3 %") for note in _rate_notes(made, rules)] == [True]
    assert _rate_notes(made, {"_target_": "fairlab.rewriting.group_rewriters.WordSwapGroups"}) == []
    assert _rate_notes(made, None) == []
