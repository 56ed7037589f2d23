"""A word that is joined to others so that it cannot be told: the text is rejected by name, or stays and is counted."""

import pytest

from fairlab.augmentation.biasers import Biasers
from fairlab.augmentation.cda import CDA
from fairlab.augmentation.counterfactual_groups import CounterfactualGroups
from fairlab.augmentation.perturbation import CHOICE, Perturbation
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter
from fairlab.rewriting.english.mentions import Unaligned
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.types import Row

GENDER = load_lexicon("gender")
JOINED, PLAIN = "She said that ¬he left.", "He left."
NAMED = "'he' cannot be separated from what it is joined to in ' said that ¬he left.'; part them"
REJECTED = "rewriter: a word is joined to others"


@pytest.fixture(autouse=True)
def words_stay_joined(monkeypatch):
    """Leave words joined that are usually split from the signs beside them."""
    monkeypatch.setattr(Syntax, "part", lambda syntax, spans: None)


def rows(*texts, **extra):
    return [Row(str(number), text, extra, f"line {number}", number) for number, text in enumerate(texts, start=1)]


def test_the_reason_names_the_word_and_the_other_texts_are_turned():
    rules = RuleRewriter(GENDER)
    joined, plain = rules.versions([JOINED, PLAIN], ["woman"])
    assert isinstance(joined, Unaligned)
    assert str(joined) == NAMED
    assert plain == ["She left."]
    assert [str(one) for one in rules.exchanges([JOINED, PLAIN])] == [NAMED, "She left."]
    assert [str(one) for one in rules.turn_people([JOINED, PLAIN], [[("She", "man")], [(0, "woman")]])] == [
        NAMED,
        "She left.",
    ]
    assert rules.unaligned == 0


def test_where_no_reason_can_be_given_the_text_stays_whole_and_is_counted():
    rules = RuleRewriter(GENDER)
    assert rules.rewrite_all([JOINED, PLAIN], ["man", "woman"]) == [JOINED, "She left."]
    assert rules.unaligned == 1
    assert rules.swap_all([JOINED]) == [JOINED]
    assert rules.rewrite_entity(JOINED, "She", "man") == JOINED
    assert rules.unaligned == 3


def test_groups_reject_the_text():
    (made,) = CounterfactualGroups(rewriter=RuleGroups(lexicon=GENDER)).make(rows(JOINED))
    assert (made.rows, made.reason, made.detail) == ((), REJECTED, NAMED)


@pytest.mark.parametrize("output", ["add", "replace"])
def test_an_exchange_keeps_the_row_as_it_was_and_rejects_it(output):
    joined, plain = CDA(output=output, rewriter=RuleGroups(lexicon=GENDER)).make(rows(JOINED, PLAIN))
    assert [made["text"] for made in joined.rows] == [JOINED]
    assert (joined.reason, joined.detail, joined.counts) == (REJECTED, NAMED, {})
    assert plain.rows[-1]["text"] == "She left."


def test_a_perturbation_draws_a_word_and_rejects_the_text():
    perturbation = Perturbation(axes=["gender"], sampling="uniform")
    (choice,) = perturbation.choose([JOINED], [1], {"gender": 1.0})
    assert choice is not None
    (made,) = perturbation.make(rows(JOINED, **{CHOICE: vars(choice)}))
    assert (made.reason, made.detail) == (REJECTED, NAMED)
    assert [one["text"] for one in made.rows] == [JOINED]
    assert not made.rows[0]["perturbed"]


def test_an_entry_without_copies_is_kept_and_rejected():
    whole = load_lexicon("ethnicity")
    rewriter = BiaserRewriter(lexicon=whole.only(["german", "swedish"]), whole=whole)
    text = "A German saw the ¬German."
    (refused,) = rewriter.copies([text], mentions="each")
    assert isinstance(refused, Unaligned)
    (made,) = Biasers(rewriter=rewriter, language_model=None, upshift="llm", llm=Silent()).make(rows(text))
    assert [(one["text"], one["kind"]) for one in made.rows] == [(text, "entry")]
    assert (made.reason, made.detail) == (REJECTED, str(refused))
    assert [isinstance(one, Unaligned) for one in rewriter.copies([text, "A German left."], mentions="first")] == [
        True,
        False,
    ]


class Silent:
    """A language model that is asked for nothing."""

    name = "silent"

    def ask(self, requests, **_):
        assert not requests
        return []
