"""Injection of identities into rows: by rules, by a language model with both passes, with a review."""

from __future__ import annotations

import json

import pytest

from fairlab.augmentation.identity import FLAGGED, Identity, read_review, review_lines
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.record import Record
from fairlab.rewriting.by_llm.kept_facts import FACT_LOST
from fairlab.run.augmenting.subgroups import OfSubgroups
from fairlab.text.fields import NOT_SPLIT
from fairlab.types import FairlabError, Row
from tests.llm.stub import Stub, said

LABELS = {"Ground truth Hate": "0", "example_key": "7"}


def row(text="A Muslim baker.", subgroup="Religion:Islam", number=1):
    return Row(f"r{number}", text, {"subgroup": subgroup, **LABELS}, f"line {number}", number)


def behind(stub, folder):
    return LLM(Server(stub.url, "m"), "m", Ledger(folder / "ledger.sqlite"))


def test_rules_give_every_other_subgroup_and_all_columns_go_along():
    rows = [row(), row("A baker.", "", 2), row("No word of it.", number=3), row("x", "Religion:Mars", 4)]
    first, nobody, unlisted, unknown = Identity().make(rows)
    assert [one["subgroup"] for one in first.rows] == [
        "Religion:Islam",
        *(f"Religion:{name}" for name in ("Atheism", "Christianity", "Hinduism", "Judaism", "Buddhism", "Others")),
    ]
    assert first.rows[0] == {"id": "r1", "text": "A Muslim baker.", "subgroup": "Religion:Islam", **LABELS}
    hindu = first.rows[3]
    assert hindu["text"] == "A Hindu baker."
    assert {key: hindu[key] for key in LABELS} == LABELS
    assert (hindu["id"], hindu["source_id"], hindu["inject"]) == ("r1-Hinduism", "r1", "rules")
    assert first.counts["versions"] == 6
    assert first.counts["to/Religion:Judaism"] == 1
    assert (len(nobody.rows), nobody.counts) == (1, {"about no subgroup": 1})
    assert (len(unlisted.rows), unlisted.counts) == (1, {"without a listed word": 1})
    assert (unknown.rows, unknown.reason) == ((), "unknown subgroup")
    assert "Religion has no subgroup 'Mars'" in unknown.detail


def model(payload, nth):
    """Injects, corrects a missing article, flags what is about atheists; refuses to say anything of Judaism."""
    asked = json.loads(payload["messages"][-1]["content"])
    if "from" in asked:
        return said(json.dumps({"text": f"A {asked['to']} baker"}))
    if asked["to"] == "Judaism":
        return said("", refusal="no")
    if "flagged" in payload["response_format"]["json_schema"]["schema"]["properties"]:
        odd = asked["to"] == "Atheism"
        return said(json.dumps({"flagged": odd, "why": "odd here" if odd else ""}))
    return said(json.dumps({"text": asked["text"] + "." if asked["to"] == "Hinduism" else asked["text"]}))


def test_a_language_model_injects_corrects_and_flags(tmp_path):
    with Stub(model) as stub:
        (made,) = Identity(inject="llm", llm=behind(stub, tmp_path)).make([row()])
        texts = {one["subgroup"]: one["text"] for one in made.rows}
        assert texts["Religion:Hinduism"] == "A Hinduism baker."
        assert "Religion:Atheism" not in texts
        assert [one["corrected"] for one in made.rows[1:]] == [False, True, False, False]
        assert (made.reason, made.detail, made.versions) == (
            FLAGGED,
            "Atheism: odd here",
            {"Atheism": "A Atheism baker"},
        )
        assert made.counts["versions without an answer: refused"] == 1
        assert (made.counts["versions corrected"], made.counts["versions flagged"]) == (1, 1)
        calls = len(stub.payloads)

        rejected = {"id": "r1", "text": "A Muslim baker.", "detail": made.detail, "versions": made.versions}
        (line,) = review_lines(rejected)
        review = tmp_path / "review.jsonl"
        review.write_text(json.dumps(line) + "\n", encoding="utf-8")
        with pytest.raises(FairlabError, match="'keep' must be true or false, not null"):
            read_review(review)
        review.write_text(json.dumps(line | {"keep": True}) + "\n", encoding="utf-8")
        (kept,) = Identity(inject="llm", llm=behind(stub, tmp_path), review=str(review)).make([row()])
        assert "Religion:Atheism" in {one["subgroup"] for one in kept.rows}
        assert (kept.reason, kept.counts["versions kept by review"]) == ("", 1)
        assert len(stub.payloads) == calls  # all answers stood in the ledger


def test_versions_by_rules_are_judged_too(tmp_path):
    with Stub(model) as stub:
        (made,) = Identity(llm=behind(stub, tmp_path)).make([row()])
    assert "A Hindu baker.." in {one["text"] for one in made.rows}
    assert made.reason == FLAGGED


def loses_numbers(payload, nth):
    """Corrects texts by leaving numbers out, and flags none."""
    asked = json.loads(payload["messages"][-1]["content"])
    if "flagged" in payload["response_format"]["json_schema"]["schema"]["properties"]:
        return said(json.dumps({"flagged": False, "why": ""}))
    return said(json.dumps({"text": asked["text"].replace(" of 12", "")}))


@pytest.mark.parametrize("settings", [{}, {"facts": False}])
def test_versions_that_lose_a_number_are_left_out(tmp_path, settings):
    with Stub(loses_numbers) as stub:
        (made,) = Identity(llm=behind(stub, tmp_path), **settings).make([row("A Muslim baker of 12 cakes.")])
    lost = 0 if settings else 6
    assert made.counts.get(f"versions without an answer: {FACT_LOST}", 0) == lost
    assert len(made.rows) == 7 - lost


def test_articles_fit_the_words_that_are_put_in_and_no_others():
    (made,) = Identity().make([row("A Muslim saw an bird and a Muslim.")])
    texts = {one["subgroup"].partition(":")[2]: one["text"] for one in made.rows}
    assert texts["Atheism"] == "An Atheist saw an bird and an Atheist."
    assert texts["Hinduism"] == "A Hindu saw an bird and a Hindu."


def test_versions_that_equal_the_text_or_lose_a_field_are_counted(tmp_path):
    def same(payload, nth):
        asked = json.loads(payload["messages"][-1]["content"])
        if "flagged" in payload["response_format"]["json_schema"]["schema"]["properties"]:
            return said(json.dumps({"flagged": False, "why": ""}))
        return said(json.dumps({"text": "A Muslim. <SEP> A baker." if asked["to"] == "Judaism" else "A baker."}))

    parts = (("a", "A Muslim."), ("b", "A baker."))
    pair = Row("r1", "A Muslim. <SEP> A baker.", {"subgroup": "Religion:Islam"}, "line 1", 1, "a", parts)
    with Stub(same) as stub:
        (made,) = Identity(llm=behind(stub, tmp_path)).make([pair])
    assert made.counts == {"versions equal to their seed": 1, f"versions without an answer: {NOT_SPLIT}": 5}
    assert len(made.rows) == 1


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(FairlabError, match="inject=llm needs a language model"):
        Identity(inject="llm")
    with pytest.raises(FairlabError, match="is not a review"):
        Identity(review=str(tmp_path / "none.jsonl"))
    (tmp_path / "bad.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(FairlabError, match="line 1 is not a reviewed version"):
        Identity(review=str(tmp_path / "bad.jsonl"))


def test_a_missing_column_of_subgroups_is_named_with_its_setting(tmp_path):
    values = {"input": "seeds.csv", "augmentation": {"subgroup": "subgroup"}}
    found = [Row("1", "A baker.", {"who": "Religion:Islam", "label": 1}, "line 2", 1)]
    message = r"seeds\.csv has no column 'subgroup'; it has: who, label; give augmentation\.subgroup=NAME, the column"
    with pytest.raises(FairlabError, match=message):
        OfSubgroups(values, lambda: iter(found), Record(tmp_path, {}, "")).prepare()


def test_without_a_column_of_subgroups_words_tell_them(tmp_path):
    rows = [Row("1", "A Muslim baker.", {"rude": 1}, "line 2", 1), Row("2", "A baker.", {"rude": 0}, "line 3", 2)]
    muslim, nobody = Identity(subgroup=None).make(rows)
    assert muslim.rows[0] == {"id": "1", "text": "A Muslim baker.", "rude": 1, "subgroup": "Religion:Islam"}
    assert (muslim.rows[3]["text"], muslim.rows[3]["subgroup"]) == ("A Hindu baker.", "Religion:Hinduism")
    assert len(muslim.rows) == 7
    assert nobody.rows == ({"id": "2", "text": "A baker.", "rude": 0, "subgroup": ""},)
