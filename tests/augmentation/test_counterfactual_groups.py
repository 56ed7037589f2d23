import pytest

from fairlab.augmentation.counterfactual_groups import NOTHING_TO_TURN, CounterfactualGroups
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.by_llm.llm_rewriter import Versions
from fairlab.rewriting.group_rewriters import NO_WORD, RuleGroups, WordSwapGroups
from fairlab.rewriting.word_rewriters import Selection
from fairlab.types import Row

GENDER = load_lexicon("gender")


class Fixed(WordSwapGroups):
    """Gives the versions it was made with."""

    def __init__(self, *versions):
        super().__init__(lexicon=GENDER)
        self.versions = versions

    def groups(self, texts):
        return [Versions(dict(zip(("neutral", "man", "woman"), self.versions, strict=True)), 0.5) for _ in texts]


def row(text, **extra):
    return Row("a", text, extra, "line 1", 1)


def test_a_text_without_a_word_of_the_axis_is_counted_and_not_asked_about():
    class Never(WordSwapGroups):
        def groups(self, texts):
            assert not texts
            return []

    (made,) = CounterfactualGroups(rewriter=Never(lexicon=GENDER)).make([row("They saw it rain.")])
    assert (made.rows, made.reason, made.counts) == ((), "", {NO_WORD: 1})


def test_a_text_whose_words_mean_no_person_is_counted_apart_from_rejects():
    rewriter = RuleGroups(lexicon=load_lexicon("disability"))
    (made,) = CounterfactualGroups(rewriter=rewriter).make([row("A blind corner lay ahead.")])
    assert (made.rows, made.reason, made.counts) == ((), "", {NOTHING_TO_TURN: 1})


@pytest.mark.parametrize(
    ("mode", "expected"), [("syntax", "A woman met another man."), ("lexical", "A woman met another woman.")]
)
def test_rules_rewrite_one_person_if_they_know_coreference(mode, expected):
    rewriter = RuleGroups(lexicon=GENDER, mode=mode)
    selected = Selection(2, "man", "gender", "man", "woman")
    assert rewriter.rewrite_words(["A man met another man."], [selected]) == [expected]


def test_polarity_is_counted_before_the_filter():
    rewriter = Fixed("They left.", "She left.", "She left.")
    (dropped,) = CounterfactualGroups(rewriter=rewriter).make([row("He left.")])
    assert (dropped.rows, dropped.reason, dropped.detail) == ((), "wrong polarity", "'man' reads as woman by She")
    assert dropped.counts == {"judged": 1, "right/union": 0, "right/neutral": 1, "right/man": 0, "right/woman": 1}
    (kept,) = CounterfactualGroups(rewriter=rewriter, filter="keep").make([row("He left.", split="train")])
    assert kept.rows[0]["split"] == "train"
    assert kept.counts["kept in spite of: wrong polarity"] == 1


def test_a_group_that_fails_is_made_again_by_rules():
    rewriter = Fixed("They left.", "She left.", "She left.")
    (made,) = CounterfactualGroups(rewriter=rewriter, filter="fallback").make([row("He left.")])
    assert made.rows[0]["fallback_from"] == "wrong polarity: 'man' reads as woman by She"
    assert made.rows[0]["versions"] == {"neutral": "They left.", "man": "He left.", "woman": "She left."}
    assert made.counts == {
        **{"judged": 1, "right/union": 0, "right/neutral": 1, "right/man": 0, "right/woman": 1},
        **{"sent to the fallback: wrong polarity": 1, "groups": 1, "groups of the fallback": 1},
    }
    right = Fixed("They left.", "He left.", "She left.")
    (kept,) = CounterfactualGroups(rewriter=right, filter="fallback").make([row("He left.")])
    assert not {"fallback_from", "confidence_by"} & kept.rows[0].keys()
    assert (kept.rows[0]["check"], kept.rows[0]["confidence"], kept.counts["groups"]) == ("passed", 0.5, 1)
    assert "kept in spite of: wrong polarity" not in kept.counts


def test_the_first_verifier_that_objects_gives_the_reason():
    rewriter = Fixed("They ran.", "He left.", "She left.")
    (made,) = CounterfactualGroups(rewriter=rewriter, verify=["polarity", "words"]).make([row("He left.")])
    assert made.reason == "other words changed"
    (made,) = CounterfactualGroups(rewriter=rewriter, verify=[]).make([row("He left.")])
    assert made.rows


def test_an_empty_version_is_no_group():
    (made,) = CounterfactualGroups(rewriter=Fixed(" ", "He", "She"), filter="keep").make([row("He")])
    assert (made.rows, made.reason, made.detail) == ((), "empty version", "'neutral'")
